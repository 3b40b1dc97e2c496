"""The positional encoding and the input of a run are sent whole."""

import base64
from typing import get_args

import numpy as np
import pytest

from transformer import Translator, sinusoidal_positions
from transformer.network.config import Sinusoid
from transformer.web.api.positions import input_sum, positional_encoding, similarity, wavelengths

from .endpoints import BEER, ask


@pytest.mark.parametrize(("length", "d_model"), [(1, 1), (5, 7), (200, 1024)])
def test_an_encoding_is_sent_whole(length: int, d_model: int) -> None:
    answer = ask(positional_encoding, {"length": length, "d_model": d_model})
    assert len(base64.b64decode(answer["similarity"])) == 4 * length**2
    np.testing.assert_array_equal(numbers(answer["values"]), sinusoidal_positions(length, d_model).ravel())
    assert len(answer["wavelengths"]) == d_model


def numbers(array: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(array), "<f4")


@pytest.mark.parametrize("width", [15, 16])
@pytest.mark.parametrize("order", get_args(Sinusoid))
def test_a_wavelength_is_what_one_turn_takes(order: Sinusoid, width: int) -> None:
    encoding = sinusoidal_positions(20, width, order).numpy()
    for dimension, turn in enumerate(wavelengths(width, order)):
        is_sine = dimension < width / 2 if order == "halves" else dimension % 2 == 0
        expected = (np.sin if is_sine else np.cos)(2 * np.pi * np.arange(20) / turn)
        np.testing.assert_allclose(encoding[:, dimension], expected, atol=1e-5)


def test_a_position_is_most_like_itself() -> None:
    cosines = similarity(sinusoidal_positions(20, 16).numpy())
    np.testing.assert_allclose(np.diag(cosines), 1, atol=1e-5)
    assert cosines.argmax(axis=1).tolist() == list(range(20))


def test_the_input_sum_is_of_the_run_that_is_shown(toy: Translator) -> None:
    for stack, read in (("encoder", toy.translate(BEER).source_input), ("decoder", toy.translate(BEER).target_input)):
        answer = ask(input_sum, {"checkpoint": "toy", "sentence": BEER, "stack": stack})
        assert tuple(answer["tokens"]) == read.tokens
        assert answer["d_model"] == 64
        for name in ("embedding", "positions", "input"):
            np.testing.assert_array_equal(numbers(answer[name]), getattr(read, name).ravel())


def test_the_size_of_an_encoding_is_bounded() -> None:
    for size in ({"length": 201, "d_model": 64}, {"length": 50, "d_model": 1025}):
        assert ask(positional_encoding, size)["error"]["key"] == "field.most"


def test_the_order_of_the_waves_is_the_models() -> None:
    size = {"length": 5, "d_model": 6}
    one, other = (ask(positional_encoding, {**size, "sinusoid": order}) for order in ("interleaved", "halves"))
    assert one["wavelengths"] != other["wavelengths"]
    assert one["values"] != other["values"]
