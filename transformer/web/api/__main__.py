"""`python -m transformer.web.api` prints README.md's table of the page's questions."""

from collections.abc import Iterator
from typing import Any, get_args, get_origin, get_type_hints

from .question import Question
from .table import QUESTIONS


def main() -> None:
    print(table())


def table() -> str:
    """Every question in Markdown: its name, the models of its request, what it answers, and what that is."""
    rows = [("question", "request", "answer", "what it is"), ("---",) * 4, *map(_row, QUESTIONS.values())]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _row(question: Question) -> tuple[str, ...]:
    request, answer = question.types
    about = " ".join((question.function.__doc__ or "").split()).partition(". ")[0].rstrip(".")
    answered = list(dict.fromkeys(_names(answer)))
    if question.streams:
        events = (get_args(get_type_hints(each)["event"]) for each in get_args(answer))
        answered = ["events " + ", ".join(dict.fromkeys(name for names in events for name in names))]
    return f"`{question.name}`", " or ".join(_names(request)), " or ".join(answered), about


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
