"""Every number inside the network, and checks of them; the positional encoding for programs too."""

from dataclasses import fields
from typing import Any, Literal

import numpy as np
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...analysis import sublayer as analysis
from ...analysis.self_checks import Check, check
from ...analysis.sublayer import inspect_sublayer, parameter_row, residual_stream
from ...inference.attention_maps import KINDS, Kind
from ...inference.interventions import Stack
from ...network.config import TransformerConfig
from ...network.layers import sinusoidal_positions
from ...network.shapes import shapes as shapes_of
from ..schema import (
    MAX_VALUES,
    ChangedRunRequest,
    CheckpointRequest,
    InputRequest,
    ParametersRequest,
    SublayerRequest,
    ValueRequest,
    ValuesRequest,
)
from ..sessions.models import cached_per_checkpoint, translator
from .payload import FloatArray, array, floats
from .runs import run_of


class Sublayer(TypedDict):
    """Every number of one attention sublayer: see analysis.sublayer."""

    kind: Kind
    layer: int
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    norm_first: bool
    head_dim: int
    eps: float
    allowed: list[list[bool]]
    arrays: dict[str, FloatArray]


class ParameterRow(TypedDict):
    """One row of a matrix, base64 of float32, and its bias, if it has one."""

    weights: str
    bias: float | None


Size = int | Literal["source", "target"]  # or a run's number of these tokens
# No other size equals these.
LENGTHS: dict[int, Literal["source", "target"]] = {1_000_003: "source", 1_000_033: "target"}


class ShapeRow(TypedDict):
    """The shape of a tensor here, and in a network of the paper's size."""

    stage: str
    layers: int
    here: list[Size]
    paper: list[Size]


class InputParts(TypedDict):
    """Embedding + position = input, (tokens, d_model) each as base64 of float32."""

    tokens: tuple[str, ...]
    d_model: int
    embedding: str
    positions: str
    input: str


@cached_per_checkpoint(16)
def inside(request: SublayerRequest) -> Sublayer:
    """Every number of one attention sublayer."""
    seen = inspect_sublayer(translator(request.checkpoint), run_of(request), request.kind, request.layer)
    arrays = {field.name: getattr(seen, field.name) for field in fields(seen) if field.name != "allowed"}
    return {
        "kind": seen.kind,
        "layer": seen.layer,
        "queries": seen.queries,
        "keys": seen.keys,
        "norm_first": seen.norm_first,
        "head_dim": seen.head_dim,
        "eps": seen.norm_eps,
        "allowed": seen.allowed.tolist(),
        "arrays": {name: array(value) for name, value in arrays.items() if isinstance(value, np.ndarray)},
    }


@cached_per_checkpoint(16)
def value_norms(request: ChangedRunRequest) -> dict[Kind, FloatArray]:
    """How long what every word's value adds is, ‖v W_O‖, (L, H, K): times their weights, the value-weighted maps."""
    norms = analysis.value_norms(translator(request.checkpoint), run_of(request))
    return {kind: array(norms[kind]) for kind in KINDS}


def value_output(request: ValueRequest) -> FloatArray:
    """One word's value in a head, after W_O."""
    model, run = translator(request.checkpoint), run_of(request)
    return array(analysis.value_output(model, run, request.kind, request.layer, request.head, request.key))


@cached_per_checkpoint(16)
def stack(request: ChangedRunRequest) -> dict[Stack, FloatArray]:
    """Every token's vector before the first layer and after each, (L + 1, tokens, d_model), of both stacks."""
    found = residual_stream(translator(request.checkpoint), run_of(request))
    return {"encoder": array(found["encoder"]), "decoder": array(found["decoder"])}


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


@cached_per_checkpoint(256)
def checks(request: ChangedRunRequest) -> list[Check]:
    """Measurements on one run, each with its limit."""
    return check(translator(request.checkpoint), run_of(request))


def parameters(request: ParametersRequest) -> ParameterRow:
    """One row of a matrix and its bias."""
    model = translator(request.checkpoint)
    weights, bias = parameter_row(model, request.kind, request.layer, request.part, request.row)
    return {"weights": floats(weights), "bias": bias}


def shapes(request: CheckpointRequest) -> list[ShapeRow]:
    """The shape of every tensor of any run, and in a network of the paper's size."""
    config = translator(request.checkpoint).checkpoint.model.config
    papers = TransformerConfig(config.src_vocab_size, config.tgt_vocab_size)

    def named(shape: tuple[int, ...]) -> list[Size]:
        return [LENGTHS.get(size, size) for size in shape]

    both = zip(shapes_of(config, *LENGTHS), shapes_of(papers, *LENGTHS), strict=True)
    return [
        {"stage": here.stage, "layers": here.layers, "here": named(here.shape), "paper": named(paper.shape)}
        for here, paper in both
    ]


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
    encoding = sinusoidal_positions(request.length, request.d_model).tolist()
    return {"length": length, "d_model": d_model, "values": [[round(value, 4) for value in row] for row in encoding]}
