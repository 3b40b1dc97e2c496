"""Changes of a run reach everything that the page shows of it; what cannot be changed is refused with a sentence."""

import base64
from typing import Any

import numpy as np
import pytest

from transformer.analysis import ablate_every_head, compare
from transformer.inference.attention_maps import KINDS
from transformer.inference.interventions import Interventions
from transformer.web.api import what_if
from transformer.web.api.translate import show
from transformer.web.sessions.models import corpus_of, translator

from .endpoints import BEER, SENTENCES, as_sent, ask, called
from .test_endpoints import refused

CHANGES: list[dict[str, Any]] = [
    {"do": "ablate", "kind": "cross", "layer": 1, "head": 2},
    {"do": "edit_mask", "kind": "cross", "query": 0, "key": 1, "allowed": False},
    {"do": "swap_word", "position": 0, "word": "ich"},
    {"do": "force_word", "step": 1, "word": "."},
]


@pytest.fixture(scope="module", params=SENTENCES)
def checkpoint(request: pytest.FixtureRequest) -> str:
    return request.param


def weights(page: dict[str, Any], kind: str) -> np.ndarray:
    sent = page["attention"][kind]
    shape = (sent["layers"], sent["heads"], len(sent["queries"]), len(sent["keys"]))
    return np.frombuffer(base64.b64decode(sent["weights"]), "<f4").reshape(shape)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change["do"])
def test_the_page_has_the_modified_run_beside_the_baseline(checkpoint: str, change: dict[str, Any]) -> None:
    sentence, model = SENTENCES[checkpoint], translator(checkpoint)
    answer = as_sent(show(checkpoint, sentence, Interventions.parse([change])))
    modified = model.translate(sentence, interventions=Interventions.parse([change]))
    assert answer["refused"] is None
    assert answer["baseline"]["output"] == list(model.translate(sentence).output)
    assert answer["baseline"]["changes"] == []
    assert answer["run"]["changes"] == as_sent(Interventions.parse([change]).to_json())
    assert answer["run"]["output"] == list(modified.output)
    assert [step["probability"] for step in answer["run"]["steps"]] == [step.probability for step in modified.steps]
    for kind in KINDS:
        np.testing.assert_array_equal(
            weights(answer["run"], kind), np.stack([m.weights for m in modified.attention.of(kind)])
        )
    steps = compare(model.translate(sentence), modified).steps
    assert answer["run"]["comparison"] == [
        {"new_probability": step.new_probability, "same_input": step.same_input} for step in steps
    ]


def test_a_run_without_changes_has_nothing_beside_it() -> None:
    answer = show("toy", BEER, Interventions.parse([]))
    assert answer["baseline"] is None
    assert not answer["run"]["changes"]
    assert "comparison" not in answer["run"]


def test_a_word_that_was_forced_is_among_the_candidates_however_unlikely() -> None:
    change = {"do": "force_word", "step": 0, "word": "quickly"}
    words = translator("classroom").checkpoint.tgt_vocab.tokens
    change["word"] = next(word for word in reversed(words) if word.isalpha())
    shown = show("classroom", SENTENCES["classroom"], Interventions.parse([change]))
    step = as_sent(shown)["run"]["steps"][0]
    assert step["token"] == change["word"]
    assert change["word"] in [candidate["token"] for candidate in step["candidates"]]


# Which heads matter


@pytest.mark.parametrize("on", ["sentence", "held_out"])
def test_a_sweep_says_what_is_lost_without_each_head(on: str) -> None:
    sentence, model = SENTENCES["classroom"], translator("classroom")
    answer = as_sent(ask(what_if.sweep, {"checkpoint": "classroom", "sentence": sentence, "on": on}))
    known = corpus_of("classroom")
    assert known
    held_out = [(pair.source, pair.target) for pair in next(iter(known.held_out.values()))()[: what_if.MAX_PAIRS]]
    pairs = held_out if on == "held_out" else [(sentence, model.translate(sentence).text)]
    expected = ablate_every_head(model.checkpoint, pairs)
    assert answer["sentences"] == len(pairs)
    assert answer["baseline"] == pytest.approx(expected.baseline)
    assert answer["reference"] == (None if on == "held_out" else pairs[0][1])
    for kind in KINDS:
        np.testing.assert_allclose(answer["drop"][kind], expected.drop(kind), atol=1e-6)


def test_a_model_without_held_out_sentences_says_so() -> None:
    answer = ask(what_if.sweep, {"checkpoint": "toy", "sentence": BEER, "on": "held_out"})
    assert refused(answer, "error.no_held_out")


def test_every_word_of_the_lists_can_be_read_or_said() -> None:
    words = ask(what_if.vocabulary, {"checkpoint": "toy"})
    assert words["source"] == ["bier", "cola", "ein", "ich", "mochte"]
    for i, word in enumerate(words["source"]):
        change = {"do": "swap_word", "position": 0, "word": word}
        assert show("toy", BEER, Interventions.parse([change]))["run"]["source"][0] == words["source"][i]
    for word in words["target"]:
        change = {"do": "force_word", "step": 0, "word": word}
        assert show("toy", BEER, Interventions.parse([change]))["run"]["output"][0] == word
    assert refused(ask(what_if.vocabulary, {"checkpoint": "../toy"}), "error.no_checkpoint")


# For programs


def test_what_if_answers_with_both_runs_and_their_difference() -> None:
    change = {"do": "ablate", "kind": "cross", "layer": 1, "head": 0}
    sentence, model = SENTENCES["classroom"], translator("classroom")
    answer = called(what_if.what_if, sentence=sentence, changes=[change], checkpoint="classroom")
    modified = model.translate(sentence, interventions=Interventions.parse([change]))
    whole = model.translate(sentence)
    assert (answer["baseline"]["text"], answer["modified"]["text"]) == (whole.text, modified.text)
    assert answer["same_text"] is (whole.text == modified.text)
    assert answer["steps"][0]["word"] == whole.output[0]
    difference = modified.attention.encoder[1].weights - whole.attention.encoder[1].weights
    np.testing.assert_allclose(answer["difference"]["encoder"][1], difference)
