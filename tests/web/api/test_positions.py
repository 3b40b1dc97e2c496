"""The positional encoding and the input of a run are sent whole."""

import numpy as np
import pytest

from transformer import Translator, sinusoidal_positions
from transformer.web.api.positions import input_sum, positional_encoding

from .endpoints import BEER, ask, floats


@pytest.mark.parametrize(("length", "d_model"), [(1, 1), (5, 7), (200, 1024)])
def test_an_encoding_is_sent_whole(length: int, d_model: int) -> None:
    answer = ask(positional_encoding, {"length": length, "d_model": d_model})
    np.testing.assert_array_equal(floats(answer["data"]), sinusoidal_positions(length, d_model).ravel())


def test_the_input_sum_is_of_the_run_that_is_shown(toy: Translator) -> None:
    for stack, read in (("encoder", toy.translate(BEER).source_input), ("decoder", toy.translate(BEER).target_input)):
        answer = ask(input_sum, {"checkpoint": "toy", "sentence": BEER, "stack": stack})
        assert tuple(answer["tokens"]) == read.tokens
        assert answer["d_model"] == 64
        for name in ("embedding", "positions", "input"):
            np.testing.assert_array_equal(floats(answer[name]), getattr(read, name).ravel())


def test_the_size_of_an_encoding_is_bounded() -> None:
    for size in ({"length": 201, "d_model": 64}, {"length": 50, "d_model": 1025}):
        assert ask(positional_encoding, size)["error"]["key"] == "field.most"


def test_the_order_of_the_waves_is_the_models() -> None:
    size = {"length": 5, "d_model": 6}
    one, other = (ask(positional_encoding, {**size, "sinusoid": order}) for order in ("interleaved", "halves"))
    assert one["data"] != other["data"]
