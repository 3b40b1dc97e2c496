"""The positional encoding as values for programs, and as part of what a run reads."""

from typing import Any

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...inference.translator import positional_encoding
from ..schema import MAX_VALUES, InputRequest, ValuesRequest
from ..sessions.models import cached_per_checkpoint
from .payload import floats
from .runs import run_of


class InputParts(TypedDict):
    """Embedding + position = input, (tokens, d_model) each as base64 of float32."""

    tokens: tuple[str, ...]
    d_model: int
    embedding: str
    positions: str
    input: str


@cached_per_checkpoint(16)
def input_sum(request: InputRequest) -> InputParts:
    """Embedding + position = input of a stack of a run."""
    translation = run_of(request)
    read = translation.source_input if request.stack == "encoder" else translation.target_input
    return {
        "tokens": read.tokens,
        "d_model": read.input.shape[1],
        "embedding": floats(read.embedding),
        "positions": floats(read.positions),
        "input": floats(read.input),
    }


def positions(length: int = 10, d_model: int = 64) -> dict[str, Any]:
    """Compute the sinusoidal positional encoding of "Attention Is All You Need".

    Args:
        length: how many positions.
        d_model: how many dimensions, an even number; length × d_model is at most 4096.

    Returns:
        length, d_model, and values [position][dimension]: sines at even dimensions, cosines at odd ones.
    """
    request = ValuesRequest(length=length, d_model=d_model)
    if request.length * request.d_model > MAX_VALUES:
        raise ValueError(f"length × d_model is at most {MAX_VALUES}.")
    values = [[round(float(value), 4) for value in row] for row in positional_encoding(request.length, request.d_model)]
    return {"length": length, "d_model": d_model, "values": values}
