"""What clicks and calls are answered, hostile ones included."""

import base64
import json
from typing import Any

import gradio as gr
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer import Translator
from transformer.maps import KINDS
from transformer.webui import handlers
from transformer.webui.payload import for_page, for_programs

BIER = "Ich möchte ein Bier"
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def test_a_run_for_the_page_carries_every_weight_of_the_run(toy: Translator) -> None:
    run = toy.translate(BIER)
    page = json.loads(json.dumps(for_page(run)))
    for kind in KINDS:
        maps, sent = run.attention.of(kind), page["attention"][kind]
        weights = np.frombuffer(base64.b64decode(sent["weights"]), "<f4")
        np.testing.assert_array_equal(weights, np.stack([m.weights for m in maps]).ravel())
        assert (sent["layers"], sent["heads"]) == (6, 8)
        assert (sent["queries"], sent["keys"]) == (list(maps[0].query_tokens), list(maps[0].key_tokens))
        assert sent["allowed"] == maps[0].allowed.tolist()


def test_a_run_for_programs_has_the_promised_shape(toy: Translator) -> None:
    run = toy.translate(BIER)
    answer = json.loads(json.dumps(for_programs(run)))
    assert answer.keys() == {"text", "source", "decoder_input", "output", "steps", "attention", "device"}
    assert answer["text"] == "i want a beer ."
    assert answer["source"] == ["ich", "mochte", "ein", "bier", "P"]
    assert answer["decoder_input"] == ["S", "i", "want", "a", "beer", "."]
    assert answer["output"] == ["i", "want", "a", "beer", ".", "E"]
    for kind, shape in {"encoder": (6, 8, 5, 5), "decoder": (6, 8, 6, 6), "cross": (6, 8, 6, 5)}.items():
        assert np.array(answer["attention"][kind]).shape == shape
        assert answer["attention"][kind][2][3] == run.attention.of(kind)[2].weights[3].tolist()
    for step, said in zip(answer["steps"], run.steps, strict=True):
        assert (step["token"], step["probability"]) == (said.token, said.probability)
        assert step["candidates"][0] == {"token": said.token, "probability": said.probability}
        assert sum(candidate["probability"] for candidate in step["candidates"]) == pytest.approx(1)  # all 9 words


def test_the_same_question_is_answered_once() -> None:
    assert handlers.show(BIER)["run"] is handlers.show(BIER)["run"]


def test_a_refused_sentence_has_an_error_and_no_run() -> None:
    assert handlers.show("wasser") == {
        "run": None,
        "error": "I don't know “wasser”. This model knows ich, mochte, ein, bier, cola.",
    }


@given(st.text())
def test_any_text_is_answered(sentence: str) -> None:
    answer = handlers.show(sentence)
    assert (answer["run"] is None) != (answer["error"] is None)
    json.dumps(answer).encode()


@given(json_values, json_values)
def test_any_call_is_answered_or_refused_with_a_sentence(sentence: Any, checkpoint: Any) -> None:
    with pytest.raises(gr.Error) as refusal:
        handlers.translate(sentence, checkpoint)
    assert str(refusal.value.message).endswith(".")


@pytest.mark.parametrize("name", ["../toy", "/etc", "", "toy/", ".", "toy\0", "x" * 5000])
def test_only_shipped_checkpoints_can_be_named(name: str) -> None:
    with pytest.raises(gr.Error, match="no such checkpoint"):
        handlers.translate(BIER, name)


@given(json_values)
def test_any_question_about_positions_is_answered(question: Any) -> None:
    assert handlers.positional_encoding(question).keys() == {"error"}
    assert handlers.input_sum(question).keys() == {"error"}


@pytest.mark.parametrize(
    ("length", "d_model"), [(0, 64), (201, 64), (50, 0), (50, 513), (-1, 4), (10**9, 4), (5.0, 4), (True, 4)]
)
def test_the_size_of_an_encoding_is_bounded(length: Any, d_model: int) -> None:
    assert "1 to 200 positions" in handlers.positional_encoding({"length": length, "d_model": d_model})["error"]


@pytest.mark.parametrize(("length", "d_model"), [(1, 1), (5, 7), (200, 512)])
def test_an_encoding_is_sent_whole(length: int, d_model: int) -> None:
    answer = handlers.positional_encoding({"length": length, "d_model": d_model})
    assert len(base64.b64decode(answer["similarity"])) == 4 * length**2
    assert answer["heatmap"]["data"][0]["z"]["shape"] == f"{length}, {d_model}"
    assert len(answer["wavelengths"]) == d_model


def test_the_input_sum_is_of_the_run_that_is_shown(toy: Translator) -> None:
    for stack, read in (("encoder", toy.translate(BIER).source_input), ("decoder", toy.translate(BIER).target_input)):
        answer = handlers.input_sum({"checkpoint": "toy", "sentence": BIER, "stack": stack})
        assert tuple(answer["tokens"]) == read.tokens
        assert answer["d_model"] == 64
        assert [trace["z"]["shape"] for trace in answer["figure"]["data"]] == [f"{len(read.tokens)}, 64"] * 3


@given(json_values)
def test_any_event_is_answered(data: Any) -> None:
    assert (handlers.show(data)["run"] is None) != (handlers.show(data)["error"] is None)
    sentence, answer = handlers.show_example(gr.EventData(None, {"data": data}))
    assert (answer["run"], sentence) == (None, "")
