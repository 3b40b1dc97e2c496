"""Attention is softmax(q kᵀ / sqrt(d)) v over the unmasked keys."""

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer.network.attention import scaled_dot_product_attention

from ..networks import agree


@settings(max_examples=12)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 9), st.integers(0, 99))
def test_it_is_the_papers_formula_over_the_unmasked_keys(queries: int, keys: int, d: int, seed: int) -> None:
    q, k, v = (torch.randn(2, 3, length, d) for length in (queries, keys, keys))
    mask = torch.rand(2, 1, queries, keys, generator=torch.Generator().manual_seed(seed)) < 0.6
    mask[..., 0] = True  # every query may attend to one key at least
    head_output, weights = scaled_dot_product_attention(q, k, v, mask)
    odds = (q.double() @ k.double().mT / math.sqrt(d)).exp() * mask
    expected = odds / odds.sum(-1, keepdim=True)
    agree(weights.double(), expected)
    agree(head_output.double(), expected @ v.double())
