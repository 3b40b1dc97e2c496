"""Attention is softmax(q kᵀ / sqrt(d)) v over the unmasked keys, written out as on the fused kernel."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

from transformer import TransformerConfig
from transformer.network.attention import KeyValueCache, MultiHeadAttention, scaled_dot_product_attention
from transformer.network.torch_weights import our_names

from ..networks import SIZES, agree

D, H = SIZES["d_model"], SIZES["n_heads"]


def attention() -> MultiHeadAttention:
    return MultiHeadAttention(TransformerConfig(**SIZES)).eval()


def random_mask(queries: int, keys: int, seed: int) -> Tensor:
    """Every query may attend to one key at least."""
    mask = torch.rand(2, 1, queries, keys, generator=torch.Generator().manual_seed(seed)) < 0.6
    mask[..., 0] = True
    return mask


@settings(max_examples=12)
@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 9), st.integers(0, 99))
def test_it_is_the_papers_formula_over_the_unmasked_keys(queries: int, keys: int, d: int, seed: int) -> None:
    q, k, v = (torch.randn(2, 3, length, d) for length in (queries, keys, keys))
    mask = random_mask(queries, keys, seed)
    head_output, weights = scaled_dot_product_attention(q, k, v, mask)
    odds = (q.double() @ k.double().mT / math.sqrt(d)).exp() * mask
    expected = odds / odds.sum(-1, keepdim=True)
    agree(weights.double(), expected)
    agree(head_output.double(), expected @ v.double())


def test_a_fully_masked_query_gets_zeros_and_finite_gradients() -> None:
    q, k, v = (torch.randn(1, 1, 2, 4, requires_grad=True) for _ in range(3))
    head_output, weights = scaled_dot_product_attention(q, k, v, torch.tensor([[True, True], [False, False]]))
    assert not weights[0, 0, 1].any()
    assert not head_output[0, 0, 1].any()
    (head_output.sum() + weights.sum()).backward()
    assert all(x.grad is not None and x.grad.isfinite().all() for x in (q, k, v))


def test_weights_are_returned_before_dropout() -> None:
    q, k, v = (torch.randn(1, 1, 8, 4) for _ in range(3))
    plain, weights = scaled_dot_product_attention(q, k, v)
    dropped, same_weights = scaled_dot_product_attention(q, k, v, dropout=0.5)
    assert torch.equal(weights, same_weights)
    assert (plain - dropped).abs().max() > 0.1


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("queries", "keys"), [(1, 1), (4, 6)])
def test_output_and_every_heads_weights_agree_with_pytorch(queries: int, keys: int, seed: int) -> None:
    torch.manual_seed(seed)
    theirs = nn.MultiheadAttention(D, H, batch_first=True).eval()
    nn.init.normal_(theirs.in_proj_bias)  # PyTorch initialises them to zero, which would hide a swap
    nn.init.normal_(theirs.out_proj.bias)
    ours = attention()
    ours.load_state_dict(our_names(theirs.state_dict()))
    x, memory, mask = torch.randn(2, queries, D), torch.randn(2, keys, D), random_mask(queries, keys, seed)
    forbidden = ~mask.expand(2, H, queries, keys).flatten(0, 1)  # PyTorch's True = may NOT attend
    expected = theirs(x, memory, memory, attn_mask=forbidden, need_weights=True, average_attn_weights=False)
    agree(ours(x, memory, mask), expected)
    fused, no_weights = ours(x, memory, mask, need_weights=False)
    assert no_weights is None
    agree(fused, expected[0])


def test_a_cache_keeps_every_key_and_value_in_order_and_replaces_the_memory() -> None:
    cache, parts = KeyValueCache(), [torch.randn(2, H, length, 4) for length in (1, 3, 2)]
    for i, part in enumerate(parts, start=1):
        k, v = cache.append(part, -part)
        assert torch.equal(k, torch.cat(parts[:i], dim=2))
        assert torch.equal(v, -k)
    ours, cache = attention(), KeyValueCache()
    x, memory = torch.randn(2, 3, D), torch.randn(2, 5, D)
    for one, other in zip(ours(x, memory, cache=cache), ours(x, None, cache=cache), strict=True):
        agree(one, other)
