"""An attention map checks its axes and computes its entropy, its distance and its deviation from uniform."""

import math
from typing import Any

import numpy as np
import pytest
import torch

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
        ({"query_tokens": TOKENS[:3]}, r"weights \(1, 2, 3\) do not fit 3 queries × 3 keys"),
        ({"weights": np.zeros((2, 3))}, r"weights \(2, 3\) do not fit"),
        ({"allowed": np.ones((3, 2), dtype=bool)}, r"allowed \(3, 2\) does not fit 2 queries × 3 keys"),
    ],
)
def test_arrays_that_disagree_with_the_tokens_are_refused(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        a_map(np.zeros((1, 2, 3)), **fields)


def test_entropy_distance_and_deviation_of_rows() -> None:
    m = a_map([[[1, 0, 0, 0], [0, 0, 0, 1]], [[0.25] * 4, [0.25, 0.25, 0.5, 0]]])
    assert m.entropy() == pytest.approx(np.array([[0.0, 0.0], [math.log(4), 1.5 * math.log(2)]]), abs=1e-5)
    assert m.from_uniform().tolist() == [0.75, 0.25]
    assert m.distance().tolist() == [[0, 2], [1.5, 0.75]]
    masked = a_map([[[0, 0]]], [[False, False]])
    assert not np.concatenate([masked.entropy()[0], masked.distance()[0], masked.from_uniform()]).any()


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
