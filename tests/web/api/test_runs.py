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
from transformer.data.alignment import AlignedPair, GoldAlignment
from transformer.inference.attention_maps import KINDS
from transformer.web.api import runs as handlers
from transformer.web.api.payload import for_page, for_programs

BIER = "Ich möchte ein Bier"
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def test_a_run_for_the_page_carries_every_weight_of_the_run(toy: Translator) -> None:
    run = toy.translate(BIER)
    page = json.loads(json.dumps(for_page(run, None, toy.checkpoint)))
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
        "whole": None,
        "error": {
            "key": "error.unknown",
            "english": "I don't know “wasser”. This model knows ich, mochte, ein, bier, cola.",
            "values": {
                "unknown": {"shown": ("“wasser”",), "rest": 0},
                "known": {"shown": ("ich", "mochte", "ein", "bier", "cola"), "rest": 0},
            },
        },
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
    ("length", "d_model"), [(0, 64), (201, 64), (50, 0), (50, 1025), (-1, 4), (10**9, 4), (5.0, 4), (True, 4)]
)
def test_the_size_of_an_encoding_is_bounded(length: Any, d_model: int) -> None:
    assert "1 to 200 positions" in handlers.positional_encoding({"length": length, "d_model": d_model})["error"]


@pytest.mark.parametrize(("length", "d_model"), [(1, 1), (5, 7), (200, 1024)])
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


def event(**data: Any) -> gr.EventData:
    return gr.EventData(None, data)


HANDLERS = (handlers.ask, handlers.example, handlers.surprise, handlers.choose)


@pytest.mark.parametrize("handler", HANDLERS)
@given(json_values, json_values, json_values)
def test_any_event_is_answered(handler: Any, data: Any, sentence: Any, checkpoint: Any) -> None:
    assert (handlers.show(data)["run"] is None) != (handlers.show(data)["error"] is None)
    for asked in (event(data=data), event(sentence=sentence, checkpoint=checkpoint)):
        answer = handler(asked)
        answer = answer if isinstance(answer, dict) else answer[1]
        assert answer["run"] is None
        assert answer["error"]["english"].endswith(".")


def test_a_typed_sentence_stays_in_its_box_and_an_example_goes_there() -> None:
    typed = handlers.ask(event(sentence=BIER, checkpoint="toy"))
    sentence, clicked = handlers.example(event(sentence=BIER, checkpoint="toy"))
    assert sentence == BIER
    assert typed["run"] is clicked["run"] is not None


def test_a_surprise_is_a_held_out_sentence_translated_by_the_model_that_never_saw_it() -> None:
    sentences = {handlers.surprise(event(checkpoint="classroom"))[0] for _ in range(5)}
    assert len(sentences) > 1
    for sentence in sentences:
        run = handlers.show(sentence, "classroom")["run"]
        assert run["checkpoint"] == "classroom"
        assert run["reference"]["held_out"]


def test_the_toy_has_no_surprise() -> None:
    assert "no held-out sentences" in handlers.surprise(event(checkpoint="toy"))[1]["error"]["english"]


def test_another_model_keeps_the_visitors_own_sentence_where_it_knows_the_words() -> None:
    kept, answer = handlers.choose(event(checkpoint="classroom", sentence=BIER, example=False))
    assert answer["run"]["sentence"] == BIER
    assert kept == gr.skip()
    for own, is_example in ((BIER, True), ("wasser", False), ("", False)):
        sentence, answer = handlers.choose(event(checkpoint="classroom", sentence=own, example=is_example))
        assert sentence == answer["run"]["sentence"] == "Heute habe ich ein kaltes Bier getrunken"


def test_the_page_learns_what_the_corpus_says() -> None:
    reference = handlers.show("Gestern hat sie drei Bücher gelesen", "classroom")["run"]["reference"]
    assert reference["text"] == "yesterday she read three books ."
    words = reference["text"].split()
    assert reference["gold"]["sure"][words.index("read")] == (5,)
    assert reference["gold"]["possible"][words.index("read")] == (1,)
    assert handlers.show("cola bier")["run"]["reference"] is None


def test_gold_belongs_to_a_run_that_says_the_reference(toy: Translator) -> None:
    run = toy.translate(BIER)
    other = AlignedPair("ich mochte ein bier", "i want beer .", GoldAlignment(((0,), (1,), (3,), ()), ((),) * 4), BIER)
    assert for_page(run, other, toy.checkpoint)["reference"] == {
        "text": "i want beer .",
        "same": False,
        "aligned": True,
        "held_out": "",
        "gold": None,
        "error_rates": None,
    }


def test_a_run_carries_what_every_head_is_like(toy: Translator) -> None:
    run = toy.translate(BIER)
    sent = json.loads(json.dumps(for_page(run, None, toy.checkpoint)))["heads"]
    assert sent["columns"] == ["kind", "layer", "head", "entropy", "distance"]
    assert len(sent["data"]) == 3 * 6 * 8
    kind, layer, head, entropy, distance = sent["data"][100]
    m = run.attention.of(kind)[layer]
    assert entropy == pytest.approx(m.entropy()[head].mean(), abs=1e-4)
    assert distance == pytest.approx(m.distance()[head].mean(), abs=1e-4)


def test_the_page_learns_what_heads_are_worth() -> None:
    answer = json.loads(json.dumps(handlers.heads({"checkpoint": "toy", "sentence": BIER})))
    assert answer["held_out"] is None
    assert [(each["layer"], each["head"]) for each in answer["silenced"]] == [
        (n, i) for n in range(6) for i in range(8)
    ]
    answer = handlers.heads({"checkpoint": "classroom", "sentence": "Den Hund sieht der Lehrer"})
    assert answer["held_out"]["sentences"] == 1000
    assert np.array(answer["held_out"]["error_rates"]).shape == (2, 4)


@given(json_values)
def test_any_question_about_heads_is_answered(question: Any) -> None:
    assert handlers.heads(question).keys() == {"error"}
    assert handlers.heads({"checkpoint": question, "sentence": question}).keys() == {"error"}
