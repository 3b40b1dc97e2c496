"""The positional encoding and the input of a run are sent whole."""

import base64
from typing import Any

import pytest

from transformer import Translator
from transformer.web.api.positions import input_sum, positional_encoding

from .endpoints import BEER, ask


@pytest.mark.parametrize(
    ("length", "d_model", "key", "values"),
    [
        (201, 64, "field.most", {"field": "length", "bound": 200}),
        (50, 1025, "field.most", {"field": "d_model", "bound": 1024}),
    ],
)
def test_the_size_of_an_encoding_is_bounded(length: Any, d_model: int, key: str, values: dict[str, Any]) -> None:
    error = ask(positional_encoding, {"length": length, "d_model": d_model})["error"]
    assert (error["key"], error["values"]) == (key, values)


@pytest.mark.parametrize(("length", "d_model"), [(1, 1), (5, 7), (200, 1024)])
def test_an_encoding_is_sent_whole(length: int, d_model: int) -> None:
    answer = ask(positional_encoding, {"length": length, "d_model": d_model})
    assert len(base64.b64decode(answer["similarity"])) == 4 * length**2
    assert answer["heatmap"]["data"][0]["z"]["shape"] == f"{length}, {d_model}"
    assert len(answer["wavelengths"]) == d_model


def test_the_order_of_the_waves_is_the_models() -> None:
    question = {"length": 5, "d_model": 6}
    interleaved, halves = (
        ask(positional_encoding, {**question, "sinusoid": order}) for order in ("interleaved", "halves")
    )
    assert interleaved == ask(positional_encoding, question)
    assert halves["wavelengths"] == [interleaved["wavelengths"][i] for i in (0, 2, 4, 1, 3, 5)]
    assert halves["heatmap"] != interleaved["heatmap"]


def test_the_input_sum_is_of_the_run_that_is_shown(toy: Translator) -> None:
    for stack, read in (("encoder", toy.translate(BEER).source_input), ("decoder", toy.translate(BEER).target_input)):
        answer = ask(input_sum, {"checkpoint": "toy", "sentence": BEER, "stack": stack})
        assert tuple(answer["tokens"]) == read.tokens
        assert answer["d_model"] == 64
        assert [trace["z"]["shape"] for trace in answer["figure"]["data"]] == [f"{len(read.tokens)}, 64"] * 3
