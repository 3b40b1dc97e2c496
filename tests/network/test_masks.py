"""True = may attend."""

import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from transformer.network.masks import causal_mask, padding_mask

from ..networks import any_padding


@given(any_padding(), st.integers(0, 3))
def test_padding_is_closed_as_a_key_to_every_query(ids: tuple[Tensor, Tensor], pad_id: int) -> None:
    source, _ = ids
    mask = padding_mask(source, pad_id)
    assert mask.dtype == torch.bool
    assert mask.shape == (source.size(0), 1, 1, source.size(1))
    assert torch.equal(mask[:, 0, 0], source != pad_id)


@given(st.integers(1, 8), st.integers(0, 8))
def test_a_position_may_look_at_itself_and_at_its_past(length: int, past: int) -> None:
    mask = causal_mask(length, past)
    assert mask.dtype == torch.bool
    assert mask.tolist() == [[key <= past + query for key in range(past + length)] for query in range(length)]
