"""Parameters are counted exactly; memory and time are close to measured values, and grow with every size."""

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer import Transformer, TransformerConfig
from transformer.network.cost import count_heads, count_parameters, count_run_values, step_seconds, training_bytes

from ..networks import network

FIELDS: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("d_ff", "tgt_vocab_size"), st.integers(1, 20)),
    **dict.fromkeys(("num_encoder_layers", "num_decoder_layers"), st.integers(1, 3)),
    **dict.fromkeys(("qkv_bias", "bias", "norm_first", "positional_encoding", "tie_output"), st.booleans()),
    "final_norm": st.sampled_from(["none", "encoder", "both"]),
    "max_len": st.integers(1, 9),
}


@st.composite
def configs(draw: st.DrawFn) -> TransformerConfig:
    """Small networks of every kind."""
    heads, words, tie = draw(st.integers(1, 3)), draw(st.integers(1, 20)), draw(st.booleans())
    fields = {name: draw(values) for name, values in FIELDS.items()} | ({"tgt_vocab_size": words} if tie else {})
    width = heads * draw(st.integers(1, 5))
    return TransformerConfig(src_vocab_size=words, d_model=width, n_heads=heads, tie_weights=tie, **fields)


@given(configs())
def test_the_parameters_are_those_of_the_network(config: TransformerConfig) -> None:
    assert count_parameters(config) == sum(parameter.numel() for parameter in Transformer(config).parameters())


def test_the_run_values_are_those_of_the_attention_weights_or_of_something_wider() -> None:
    model = network(d_model=4, n_heads=4, d_ff=4, tgt_vocab_size=4)
    attention = model(torch.ones(1, 7, dtype=torch.long), torch.ones(1, 3, dtype=torch.long)).attention
    maps = (*attention.encoder, *attention.decoder, *attention.cross)
    assert count_heads(model.config) == sum(weights.size(1) for weights in maps)
    assert count_run_values(model.config, 7, 3) == sum(weights.numel() for weights in maps)
    config = TransformerConfig(11, 30_000, d_model=2, n_heads=1, num_encoder_layers=1, num_decoder_layers=1)
    assert count_run_values(config, 5, 60) == 60 * 30_000
    assert count_run_values(replace(config, d_ff=40_000), 70, 60) == 70 * 40_000


def sized(words: int, width: int, heads: int, hidden: int, layers: int, dropout: float) -> TransformerConfig:
    return TransformerConfig(words, words, width, heads, hidden, layers, layers, dropout)


# (network, batch, source, target): measured peak in MB and shortest step in ms (see cost.py).
MEASURED = {
    (sized(9, 64, 8, 256, 6, 0.1), 2, 5, 6): (17, 9.5),  # the toy
    (replace(sized(600, 64, 4, 256, 2, 0.1), tgt_vocab_size=500), 128, 12, 12): (107, 54),  # the classroom
    (sized(9, 512, 8, 2048, 6, 0.1), 2, 5, 6): (858, 113),  # the paper's size
    (sized(2000, 512, 8, 2048, 6, 0.1), 64, 12, 14): (1508, 2354),
    (sized(8000, 256, 4, 256, 1, 0.0), 32, 20, 20): (296, 129),
    (sized(20, 16, 2, 32, 1, 0.0), 64, 8, 8): (3.7, 2.6),
}


@pytest.mark.parametrize(("asked", "measured"), MEASURED.items())
def test_estimates_are_close_to_measured_values(
    asked: tuple[TransformerConfig, int, int, int], measured: tuple[float, float]
) -> None:
    megabytes, milliseconds = measured
    assert 0.8 < training_bytes(*asked) / 2**20 / megabytes < 1.25
    assert 0.8 < step_seconds(*asked) * 1e3 / milliseconds < 1.25


GROWING = ["src_vocab_size", "tgt_vocab_size", "d_model", "d_ff", "num_encoder_layers", "num_decoder_layers"]


@pytest.mark.parametrize("estimate", [training_bytes, step_seconds])
@settings(max_examples=15)
@given(configs(), st.integers(1, 9), st.integers(1, 9), st.integers(1, 9), st.data())
def test_more_of_anything_costs_more(
    estimate: Callable[..., float], config: TransformerConfig, batch: int, source: int, target: int, data: st.DataObject
) -> None:
    config = replace(config, tie_weights=False)
    before = estimate(config, batch, source, target)
    assert before < estimate(config, batch + 1, source, target)
    assert before < estimate(config, batch, source + 1, target)
    assert before < estimate(config, batch, source, target + 1)
    name = data.draw(st.sampled_from(GROWING))
    assert before < estimate(replace(config, **{name: 2 * getattr(config, name)}), batch, source, target)
    assert estimate(replace(config, attention_dropout=False), batch, source, target) < before
    assert estimate(replace(config, dropout=0.0), batch, source, target) < before


def test_impossible_sizes_are_estimated_without_overflow() -> None:
    many = 10**1000
    config = TransformerConfig(many, many, many, 10, many, many, many, max_len=many)
    assert count_parameters(config) > many**3
    assert training_bytes(config, many, many, many) > many**4
    assert 1e20 < step_seconds(config, many, many, many) < math.inf
