"""An attention map checks its axes and computes its entropy, its distance and its deviation from uniform."""

import math
from dataclasses import FrozenInstanceError
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from transformer import AttentionMap, Translator
from transformer.inference.attention_maps import KINDS, Kind

TOKENS = ("a", "b", "c", "d")


def a_map(weights: Any, /, allowed: Any = None, **fields: Any) -> AttentionMap:
    weights = np.array(weights, dtype=np.float32)
    allowed = np.ones(weights.shape[1:], dtype=bool) if allowed is None else np.array(allowed)
    tokens = {"query_tokens": TOKENS[: weights.shape[1]], "key_tokens": TOKENS[: weights.shape[2]]}
    return AttentionMap(**({"kind": "cross", "layer": 0, **tokens, "weights": weights, "allowed": allowed} | fields))


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"query_tokens": TOKENS[:3]}, "weights (1, 2, 3) do not fit 3 queries × 3 keys"),
        ({"key_tokens": TOKENS}, "weights (1, 2, 3) do not fit 2 queries × 4 keys"),
        ({"query_tokens": TOKENS[:3], "key_tokens": TOKENS[:2]}, "weights (1, 2, 3) do not fit 3 queries × 2 keys"),
        ({"weights": np.zeros((2, 3))}, "weights (2, 3)"),
        ({"allowed": np.ones((3, 2), dtype=bool)}, "allowed (3, 2) does not fit 2 queries × 3 keys"),
    ],
)
def test_arrays_that_disagree_with_the_tokens_are_refused(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match="fit") as error:
        a_map(np.zeros((1, 2, 3)), **fields)
    assert named in str(error.value)


def test_a_map_is_immutable() -> None:
    m = a_map([[[0.5, 0.5]]])
    with pytest.raises(FrozenInstanceError):
        m.layer = 1  # type: ignore[misc]
    for array in (m.weights, m.allowed):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 0


@given(st.integers(1, 4), st.integers(1, 4))
def test_uniform_weights_over_n_keys_have_entropy_ln_n(heads: int, n: int) -> None:
    allowed = np.arange(4) < n
    m = a_map(np.broadcast_to(allowed / n, (heads, 2, 4)), np.broadcast_to(allowed, (2, 4)))
    assert m.n_heads == heads
    assert m.entropy() == pytest.approx(np.full((heads, 2), math.log(n)), abs=1e-5)
    assert m.from_uniform() == pytest.approx(np.zeros(heads), abs=1e-5)


def test_a_one_hot_row_has_entropy_0_is_far_from_uniform_and_has_the_distance_of_its_key() -> None:
    m = a_map([[[1, 0, 0, 0], [0, 0, 0, 1]], [[0.25] * 4, [0.25, 0.25, 0.5, 0]]])
    assert m.entropy()[0].tolist() == [0, 0]
    assert m.from_uniform().tolist() == [0.75, 0.25]
    assert m.distance().tolist() == [[0, 2], [1.5, 0.75]]
    masked = a_map([[[0, 0]]], [[False, False]])
    assert not np.concatenate([masked.entropy()[0], masked.distance()[0], masked.from_uniform()]).any()


@given(st.lists(st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=2, max_size=2), min_size=1))
def test_distance_is_the_weighted_mean_over_the_keys(counts: list[list[list[int]]]) -> None:
    weights = np.array(counts) / np.sum(counts, axis=-1, keepdims=True)
    away = abs(np.subtract.outer(range(2), range(3)))
    np.testing.assert_allclose(a_map(weights).distance(), (weights * away).sum(axis=-1), atol=1e-5)


# Other libraries


def test_bertviz_gets_a_tensor_per_layer_and_the_tokens_of_its_axes(classroom: Translator) -> None:
    run = classroom.translate("Wir kaufen kein altes Auto")
    view = run.attention.to_bertviz()
    assert view.pop("encoder_tokens") == list(run.source)
    assert view.pop("decoder_tokens") == list(run.decoder_input)
    assert view.keys() == {"encoder_attention", "decoder_attention", "cross_attention"}  # as head_view calls them
    for kind in KINDS:
        layers = view[f"{kind}_attention"]
        assert isinstance(layers, tuple)
        for weights, m in zip(layers, run.attention.of(kind), strict=True):
            assert weights.dtype == torch.float32
            assert np.array_equal(weights.numpy(), m.weights[None])


@pytest.mark.parametrize("kind", KINDS)
def test_xarray_gets_named_axes_with_their_tokens(classroom: Translator, kind: Kind) -> None:
    run = classroom.translate("Wir kaufen kein altes Auto")
    weights = run.attention.to_xarray(kind)
    assert (weights.dims, weights.name) == (("layer", "head", "query", "key"), kind)
    for m in run.attention.of(kind):
        assert np.array_equal(weights.sel(layer=m.layer), m.weights)
        assert tuple(weights.query_token.values) == m.query_tokens
        assert tuple(weights.key_token.values) == m.key_tokens
