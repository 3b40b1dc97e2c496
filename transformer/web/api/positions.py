"""The positional encoding: for the page, as values for programs, and as part of what a run reads."""

from functools import lru_cache
from typing import Any

import numpy as np
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...inference.translator import positional_encoding as encode
from ...network.config import Sinusoid
from ..schema import MAX_VALUES, EncodingRequest, InputRequest, ValuesRequest
from ..sessions.models import cached_per_checkpoint
from .payload import floats
from .runs import run_of


class Encoding(TypedDict):
    """The positional encoding and the cosine between every two positions, each as base64 of float32."""

    length: int
    d_model: int
    wavelengths: list[float]
    values: str  # (length, d_model)
    similarity: str  # (length, length)


class InputParts(TypedDict):
    """Embedding + position = input, (tokens, d_model) each as base64 of float32."""

    tokens: tuple[str, ...]
    d_model: int
    embedding: str
    positions: str
    input: str


@lru_cache(maxsize=16)  # 1.3 MB each at most
def positional_encoding(request: EncodingRequest) -> Encoding:
    """The encoding, its wavelengths and how alike its positions are."""
    encoding = encode(request.length, request.d_model, request.sinusoid)
    return {
        "length": request.length,
        "d_model": request.d_model,
        "wavelengths": wavelengths(request.d_model, request.sinusoid).tolist(),
        "values": floats(encoding),
        "similarity": floats(similarity(encoding)),
    }


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


def wavelengths(d_model: int, order: Sinusoid = "interleaved") -> np.ndarray:
    """How many positions one turn of each dimension's sine or cosine takes, (D,): 2π · 10000^(2i / D), i its pair."""
    pair = np.arange(d_model) // 2
    if order == "halves":
        pair = np.concatenate([pair[0::2], pair[1::2]])
    return 2 * np.pi * 10000.0 ** (2 * pair / d_model)


def similarity(encoding: np.ndarray) -> np.ndarray:
    """Cosine between every two positions, (N, N), of an encoding (N, D); 0 where one of them is the zero vector."""
    norm = np.linalg.norm(encoding, axis=1, keepdims=True)
    unit = encoding / np.where(norm > 0, norm, 1.0)  # position 0 of a single dimension is sin 0
    return (unit @ unit.T).astype(np.float32)


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
