"""The input of a run is sent whole."""

import numpy as np

from transformer import Translator
from transformer.web.api.positions import input_sum

from .endpoints import BEER, ask, floats


def test_the_input_sum_is_of_the_run_that_is_shown(toy: Translator) -> None:
    for stack, read in (("encoder", toy.translate(BEER).source_input), ("decoder", toy.translate(BEER).target_input)):
        answer = ask(input_sum, {"checkpoint": "toy", "sentence": BEER, "stack": stack})
        assert tuple(answer["tokens"]) == read.tokens
        assert answer["d_model"] == 64
        for name in ("embedding", "positions", "input"):
            np.testing.assert_array_equal(floats(answer[name]), getattr(read, name).ravel())
