"""Positions, masks, and what one layer returns."""

import math

import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from transformer import sinusoidal_positions
from transformer.network.masks import causal_mask, padding_mask

from ..networks import SIZES, agree

D, H = SIZES["d_model"], SIZES["n_heads"]


@settings(max_examples=15)
@given(st.integers(1, 5000), st.integers(1, 520))
@example(1, 1)
@example(5000, 512)
@example(9, 7)
def test_positions_are_the_papers_sines_and_cosines(length: int, d_model: int) -> None:
    encoding = sinusoidal_positions(length, d_model)
    assert encoding.shape == (length, d_model)
    assert encoding.dtype == torch.float32
    for position in {0, length // 2, length - 1}:
        angles = [position / 10000 ** (2 * (i // 2) / d_model) for i in range(d_model)]
        waves = [math.cos(angle) if i % 2 else math.sin(angle) for i, angle in enumerate(angles)]
        agree(encoding[position].double(), torch.tensor(waves, dtype=torch.float64))


@pytest.mark.parametrize("d_model", [4, 7])
def test_positions_in_halves_are_the_same_columns(d_model: int) -> None:
    halves, interleaved = sinusoidal_positions(9, d_model, "halves"), sinusoidal_positions(9, d_model)
    agree(halves, torch.cat([interleaved[:, 0::2], interleaved[:, 1::2]], dim=1))


@settings(max_examples=15)
@given(st.integers(0, 200), st.integers(1, 20))
def test_k_positions_further_is_the_same_rotation_everywhere(start: int, k: int) -> None:
    encoding = sinusoidal_positions(start + k + 1, D).double()
    angle = k / 10000 ** (torch.arange(0, D, 2, dtype=torch.float64) / D)
    sin, cos = encoding[start, 0::2], encoding[start, 1::2]
    agree(encoding[start + k, 0::2], sin * angle.cos() + cos * angle.sin())
    agree(encoding[start + k, 1::2], cos * angle.cos() - sin * angle.sin())


def test_positions_are_computed_on_the_cpu_whatever_the_default_device() -> None:
    with torch.device("meta"):  # stands for an accelerator without float64
        assert sinusoidal_positions(3, 4).device.type == "cpu"


def test_a_padding_mask_covers_key_columns() -> None:
    assert padding_mask(torch.tensor([[3, 0, 4], [9, 9, 0]]), pad_id=9).tolist() == [
        [[[True] * 3]],
        [[[False] * 2 + [True]]],
    ]


@pytest.mark.parametrize(("length", "past"), [(1, 0), (4, 0), (1, 5), (3, 2)])
def test_a_causal_mask_allows_a_position_and_its_past(length: int, past: int) -> None:
    mask = causal_mask(length, past)
    assert mask.tolist() == [[key <= past + query for key in range(past + length)] for query in range(length)]
