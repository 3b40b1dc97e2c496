"""How a request becomes an answer: validated by its model, answered by a plain function, refused in one way."""

import inspect
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from functools import partial, wraps
from typing import Any, ParamSpec, TypeVar, cast, get_type_hints

import gradio as gr
import numpy as np
import orjson
from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_jsonable_python
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...messages import Message, MessageJSON, Words

P = ParamSpec("P")
R = TypeVar("R")
T = TypeVar("T")


PIECES_DEPTH = 4  # of a layer's maps in the answer of what_if


class Refusal(TypedDict):
    """The answer to every request of the page that cannot be met."""

    error: MessageJSON


FUNCTIONS: dict[str, tuple[Any, Any]] = {}  # name -> types of request and answer


def server_function(answer: Callable[[R], T]) -> Callable[[Any], Any]:
    """A function that the page's JavaScript calls with one JSON object.

    Args:
        answer: takes the validated `request`, whose model is its annotation; its ValueErrors are refusals.

    Returns:
        The same for any JSON, answered with JSON, as the annotation of what it returns describes it, or with
        {"error": a message} where the request cannot be met.
    """
    hints = get_type_hints(answer, include_extras=True)
    FUNCTIONS[answer.__name__] = hints["request"], hints["return"]
    dump = partial(TypeAdapter(hints["return"]).dump_python, mode="json", warnings=False)
    return validated(answer, lambda error: {"error": message(error).for_page()}, dump)


def validated(
    answer: Callable[[R], T], refuse: Callable[[ValueError], Any], dump: Callable[[T], Any] = lambda found: found
) -> Callable[[Any], Any]:
    """The same for any JSON; an invalid request and every ValueError are refused."""
    validate = TypeAdapter(get_type_hints(answer, include_extras=True)["request"]).validate_python

    @wraps(answer)
    def ask(request: Any) -> Any:
        try:
            found = answer(validate(request))
        except ValueError as error:
            return refuse(error)
        return dump(found)

    return ask


def action(answer: Callable[P, T]) -> Callable[P, T]:
    """A function for programs: its ValueErrors are raised as gr.Error, with a sentence in English. Arrays in its answer
    become lists."""
    return _asked(answer, _plain)


def encoded(action: Callable[P, T]) -> Callable[P, T]:
    """The same action, whose arrays and long lists are JSON text already.

    The answer about a large model has 80 MB: Gradio would look for files in every number, and encode it on the event
    loop.
    """
    small = inspect.iscoroutinefunction(action)
    return action if small else _asked(inspect.unwrap(action), _encode)


def _asked(answer: Callable[P, T], convert: Callable[[Any], Any]) -> Callable[P, T]:
    @contextmanager
    def refusing() -> Iterator[None]:
        try:
            yield
        except ValueError as error:
            raise gr.Error(sentence(error)) from error

    @wraps(answer)
    def ask(*args: P.args, **named: P.kwargs) -> T:
        with refusing():
            return _in_pieces(answer(*args, **named), convert)

    @wraps(answer)
    async def ask_and_wait(*args: P.args, **named: P.kwargs) -> Any:
        with refusing():
            return _in_pieces(await cast(Awaitable[Any], answer(*args, **named)), convert)

    return cast(Callable[P, T], ask_and_wait) if inspect.iscoroutinefunction(answer) else ask


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray) else to_jsonable_python(value)


def _encode(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        text = orjson.dumps(value.astype(np.float64), option=orjson.OPT_SERIALIZE_NUMPY)  # the digits of a list
        time.sleep(0.001)  # of the thread: others need the interpreter
        return orjson.Fragment(text)
    plain = to_jsonable_python(value)
    return orjson.Fragment(orjson.dumps(plain)) if isinstance(plain, list) else plain


def _in_pieces(value: Any, convert: Callable[[Any], Any], depth: int = PIECES_DEPTH) -> Any:
    """Convert the parts of an answer one call at a time: each call holds the interpreter's lock."""
    if depth and isinstance(value, dict):
        return {name: _in_pieces(part, convert, depth - 1) for name, part in value.items()}
    if depth and isinstance(value, list):
        return [_in_pieces(part, convert, depth - 1) for part in value]
    return convert(value)


FIELD_REFUSALS = {  # pydantic's type of an error -> the message, and the name of its bound
    "missing": ("field.missing", ""),
    "string_type": ("field.text", ""),
    "int_type": ("field.integer", ""),
    "float_type": ("field.number", ""),
    "greater_than": ("field.above", "gt"),
    "greater_than_equal": ("field.least", "ge"),
    "less_than_equal": ("field.most", "le"),
    "multiple_of": ("field.multiple", "multiple_of"),
    "literal_error": ("field.choice", "expected"),
}


def message(error: ValueError) -> Message:
    """Why a request cannot be met. It quotes nothing that was sent."""
    if isinstance(found := getattr(error, "message", None), Message):
        return found
    if not isinstance(error, ValidationError):
        return Message("error.request")
    first = error.errors(include_url=False, include_input=False)[0]
    place, context = first["loc"], first.get("ctx", {})
    if place[:1] == ("changes",):
        return Message("error.changes")
    if first["type"] not in FIELD_REFUSALS or not place:
        return Message("error.request")
    key, name = FIELD_REFUSALS[first["type"]]
    values: dict[str, Any] = {"field": ".".join(map(str, place))}
    if name:
        bound = context[name]
        values["bound"] = Words(tuple(bound.split("'")[1::2])) if isinstance(bound, str) else bound  # 'a', 'b' or 'c'
    return Message(key, values)


def sentence(error: ValueError) -> str:
    """The same for programs, in English, where changes say what is wrong with them."""
    if not isinstance(error, ValidationError):
        return str(error)
    cause = error.errors()[0].get("ctx", {}).get("error")
    return str(cause or message(error))
