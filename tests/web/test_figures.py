"""Figures by the data that they carry and the words on their axes, not by pixels."""

from typing import get_args

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from transformer import sinusoidal_positions
from transformer.network.config import Sinusoid
from transformer.web.figures import positions

ENCODING = sinusoidal_positions(20, 16).numpy()


def test_the_heatmap_carries_the_encoding() -> None:
    figure = positions.heatmap(ENCODING)
    np.testing.assert_array_equal(figure.data[0].z, ENCODING)
    assert (figure.data[0].zmin, figure.data[0].zmax) == (-1, 1)  # one scale, so that two encodings compare
    assert figure.layout.yaxis.title.text == "position"
    assert figure.layout.xaxis.title.text == "dimension"


@settings(max_examples=8)
@given(st.integers(0, 15), st.integers(0, 19))
def test_the_curves_are_a_column_of_the_encoding_and_a_row_of_the_similarity(dimension: int, position: int) -> None:
    cosine = positions.similarity(ENCODING)
    np.testing.assert_array_equal(positions.curve(ENCODING, dimension).data[0].y, ENCODING[:, dimension])
    np.testing.assert_array_equal(positions.similar(cosine, position).data[0].y, cosine[position])


@pytest.mark.parametrize("width", [15, 16])
@pytest.mark.parametrize("order", get_args(Sinusoid))
def test_a_wavelength_is_what_one_turn_takes(order: Sinusoid, width: int) -> None:
    encoding = sinusoidal_positions(20, width, order).numpy()
    for dimension, turn in enumerate(positions.wavelengths(width, order)):
        is_sine = dimension < width / 2 if order == "halves" else dimension % 2 == 0
        expected = (np.sin if is_sine else np.cos)(2 * np.pi * np.arange(20) / turn)
        np.testing.assert_allclose(encoding[:, dimension], expected, atol=1e-5)


def test_the_input_sum_stacks_three_strips_on_one_scale() -> None:
    embedding = np.random.default_rng(0).normal(size=(3, 16)).astype(np.float32)
    figure = positions.input_sum(("ich", "ich", "P"), embedding, ENCODING[:3], embedding + ENCODING[:3])
    for trace, strip in zip(figure.data, (embedding, ENCODING[:3], embedding + ENCODING[:3]), strict=True):
        np.testing.assert_array_equal(trace.z, strip)
    assert len({trace.zmax for trace in figure.data}) == 1
    assert figure.layout.yaxis.ticktext == ("ich", "ich", "P")  # a repeated word keeps a row of its own


def test_markup_in_a_word_is_written_not_read() -> None:
    figure = positions.input_sum(("<b>x</b>",), ENCODING[:1], ENCODING[:1], ENCODING[:1])
    assert figure.layout.yaxis.ticktext == ("&lt;b&gt;x&lt;/b&gt;",)
    assert "<b>" not in figure.to_json().replace("\\u003c", "<")
