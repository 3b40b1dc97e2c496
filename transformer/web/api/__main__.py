"""`python -m transformer.web.api` prints README.md's tables of the actions and of the page's questions."""

from collections.abc import Callable, Iterator
from inspect import signature
from typing import Any, get_args, get_origin, get_type_hints

from .question import Question
from .table import ACTIONS, QUESTIONS


def main() -> None:
    print(actions(), questions(), sep="\n\n")


def actions() -> str:
    """Every action in Markdown: its name, the values that it takes, what it does, and what it answers."""
    rows = []
    for action in ACTIONS:
        takes = ", ".join(name for name in signature(action).parameters if name != "client")
        answers = " ".join((action.__doc__ or "").partition("Returns:")[2].split()).rstrip(".")
        rows.append((f"`/{action.__name__}`", takes, _about(action), answers))
    return _table(("action", "takes", "what it does", "answers"), *rows)


def questions() -> str:
    """Every question in Markdown: its name, the models of its request, what it answers, and what that is."""
    return _table(("question", "request", "answer", "what it is"), *map(_row, QUESTIONS.values()))


def _table(head: tuple[str, ...], *rows: tuple[str, ...]) -> str:
    rows = (head, ("---",) * len(head), *rows)
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(question: Question) -> tuple[str, ...]:
    request, answer = question.types
    answered = list(dict.fromkeys(_names(answer)))
    if question.streams:
        events = (get_args(get_type_hints(each)["event"]) for each in get_args(answer))
        answered = ["events " + ", ".join(dict.fromkeys(name for names in events for name in names))]
    return f"`{question.name}`", " or ".join(_names(request)), " or ".join(answered), _about(question.function)


def _about(function: Callable[..., Any]) -> str:
    return " ".join((function.__doc__ or "").split()).partition(". ")[0].rstrip(".")


def _names(of: Any) -> Iterator[str]:
    """The types that a value may have."""
    for form in getattr(of, "__metadata__", ()):
        if written := getattr(form, "json_schema_input_type", None):  # what is checked by a function
            yield written.__name__
            return
    of = get_args(of)[0] if hasattr(of, "__metadata__") else of
    if get_origin(of) is dict:
        yield " and ".join(get_args(get_args(of)[0])) or get_args(of)[1].__name__
    elif get_args(of):
        for each in get_args(of):
            yield from _names(each)
    else:
        yield "nothing" if of is type(None) else of.__name__


if __name__ == "__main__":
    main()
