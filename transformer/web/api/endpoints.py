"""How a request becomes an answer: validated by its model, answered by a plain function, refused in one way."""

import importlib
import pkgutil
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, get_type_hints

import gradio as gr
from pydantic import TypeAdapter, ValidationError

from ...messages import Message
from .. import schema

P = ParamSpec("P")
T = TypeVar("T")

_functions: dict[str, tuple[Any, Any]] = {}  # name -> types of request and answer


def server_function(answer: Callable[[Any], Any]) -> Callable[[Any], dict[str, Any]]:
    """A function that the page's JavaScript calls with one JSON object.

    Args:
        answer: takes the validated `request`, whose type is its annotation; its ValueErrors are refusals.

    Returns:
        The same for anything at all, answered with {"error": a message} where it cannot be met.
    """
    hints = get_type_hints(answer)
    validate = TypeAdapter(hints["request"]).validate_python
    _functions[answer.__name__] = hints["request"], hints["return"]

    @wraps(answer)
    def ask(request: Any) -> dict[str, Any]:
        try:
            return answer(validate(request))
        except ValueError as error:
            return refusal(error)

    return ask


def action(answer: Callable[P, T]) -> Callable[P, T]:
    """A function for programs: its ValueErrors are raised as gr.Error, with a sentence in English."""

    @wraps(answer)
    def ask(*args: P.args, **named: P.kwargs) -> T:
        try:
            return answer(*args, **named)
        except ValueError as error:
            raise gr.Error(sentence(error)) from error

    return ask


def refusal(error: ValueError) -> dict[str, Any]:
    """The page's answer to a request that cannot be met."""
    return {"error": message(error).for_page()}


def message(error: ValueError) -> Message:
    """Why a request cannot be met."""
    if isinstance(found := getattr(error, "message", None), Message):
        return found
    changes = isinstance(error, ValidationError) and error.errors()[0]["loc"][:1] == ("changes",)
    return Message("error.changes" if changes else "error.request")


def sentence(error: ValueError) -> str:
    """The same in English, for programs, with the field that is wrong. It quotes nothing that was sent."""
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors(include_url=False, include_input=False)[0]
    place = ".".join(str(part) for part in first["loc"])
    return str(first["ctx"]["error"]) if first["type"] == "value_error" else f"{place}: {first['msg']}."


def json_schema() -> dict[str, Any]:
    """Of everything that crosses the wire."""
    for module in pkgutil.iter_modules([str(Path(__file__).parent)]):
        importlib.import_module(f"{__package__}.{module.name}")
    return schema.json_schema(_functions)
