"""Positions."""

import math

import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from transformer import sinusoidal_positions

from ..networks import agree


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


def test_positions_are_computed_on_the_cpu_whatever_the_default_device() -> None:
    with torch.device("meta"):  # stands for an accelerator without float64
        assert sinusoidal_positions(3, 4).device.type == "cpu"
