"""How a request becomes an answer: validated by its model, answered by a plain function, refused in one way."""

import inspect
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, get_args, get_origin, get_type_hints

from pydantic import TypeAdapter, ValidationError
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...messages import Listed, Message, MessageError, MessageJSON

MAX_PARTS = 100_000  # brackets and commas of a request; 2,000 pairs of sentences have a tenth


class Refusal(TypedDict):
    """The answer to every request that cannot be met."""

    error: MessageJSON


@dataclass(frozen=True)
class Question:
    """One question that the page asks, at `POST /api/NAME`.

    Its function takes the validated `request`, whose model is its annotation; its ValueErrors are refusals. One that
    computes is a plain function. A coroutine waits for no turn, and takes the `client` too, as does one that returns an
    async generator of events, whose answer is a stream. One `is_slow` that takes longer than a translation may wait.
    """

    name: str
    function: Callable[..., Any]
    is_slow: bool = False

    @property
    def computes(self) -> bool:
        return not self.streams and not inspect.iscoroutinefunction(self.function)

    @cached_property
    def streams(self) -> bool:
        return get_origin(get_type_hints(self.function)["return"]) is AsyncGenerator

    @cached_property
    def types(self) -> tuple[Any, Any]:
        """The request's, and the answer's or that of each event."""
        hints = get_type_hints(self.function, include_extras=True)
        return hints["request"], get_args(hints["return"])[0] if self.streams else hints["return"]

    @cached_property
    def _request(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.types[0])

    @cached_property
    def _answer(self) -> TypeAdapter[Any]:
        return TypeAdapter(self.types[1])

    def read(self, body: bytes) -> Any:
        """The request in a body of JSON. Raises ValidationError if it is another one; MessageError if it has more
        parts than any valid one, which would take a hundred times its bytes in memory."""
        if sum(map(body.count, (b"[", b"{", b","))) > MAX_PARTS:
            raise MessageError("error.request")
        return self._request.validate_json(body)

    def dump(self, answer: Any) -> bytes:
        """An answer as JSON."""
        return self._answer.dump_json(answer, warnings=False)


FIELD_REFUSALS = {  # pydantic's type of an error -> the message, and the name of its bound
    "missing": ("field.missing", ""),
    "string_type": ("field.text", ""),
    "int_type": ("field.integer", ""),
    "float_type": ("field.number", ""),
    "finite_number": ("field.number", ""),
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
        values["bound"] = Listed(tuple(bound.split("'")[1::2])) if isinstance(bound, str) else bound  # 'a', 'b' or 'c'
    return Message(key, values)


def sentence(error: ValueError) -> str:
    """Why a program's request cannot be met, in English; changes say what is wrong with them."""
    if not isinstance(error, ValidationError):
        return str(error)
    cause = error.errors()[0].get("ctx", {}).get("error")
    return str(cause or message(error))
