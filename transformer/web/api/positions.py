"""The positional encoding: as figures for the page, as values for programs, and as part of what a run reads."""

import json
from functools import lru_cache
from typing import Any

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...inference.translator import positional_encoding as encode
from ..figures import positions as figures
from ..schema import MAX_VALUES, EncodingRequest, InputRequest, ValuesRequest
from ..sessions.models import cached_per_checkpoint
from .payload import floats
from .runs import run_of

Figure = dict[str, Any]  # of Plotly


class Encoding(TypedDict):
    """The positional encoding as figures; the page moves the two curves itself."""

    length: int
    d_model: int
    wavelengths: list[float]
    similarity: str  # (length, length), base64 of float32
    heatmap: Figure
    curve: Figure
    similar: Figure


class InputFigure(TypedDict):
    """Embedding + position = input."""

    tokens: tuple[str, ...]
    d_model: int
    figure: Figure


@lru_cache(maxsize=16)  # 1.3 MB each at most
def positional_encoding(request: EncodingRequest) -> Encoding:
    """The encoding as figures; the page moves the two curves itself."""
    encoding = encode(request.length, request.d_model, request.sinusoid)
    cosine = figures.similarity(encoding)
    return {
        "length": request.length,
        "d_model": request.d_model,
        "wavelengths": figures.wavelengths(request.d_model, request.sinusoid).tolist(),
        "similarity": floats(cosine),
        "heatmap": json.loads(figures.heatmap(encoding).to_json()),
        "curve": json.loads(figures.curve(encoding, 0).to_json()),
        "similar": json.loads(figures.similar(cosine, 0).to_json()),
    }


@cached_per_checkpoint(16)
def input_sum(request: InputRequest) -> InputFigure:
    """Embedding + position = input of a stack of a run, as a figure."""
    translation = run_of(request)
    read = translation.source_input if request.stack == "encoder" else translation.target_input
    figure = figures.input_sum(read.tokens, read.embedding, read.positions, read.input)
    return {"tokens": read.tokens, "d_model": read.input.shape[1], "figure": json.loads(figure.to_json())}


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
    values = [[round(float(value), 4) for value in row] for row in encode(request.length, request.d_model)]
    return {"length": length, "d_model": d_model, "values": values}
