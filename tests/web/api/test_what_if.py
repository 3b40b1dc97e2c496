"""Changes of a run reach everything that the page shows of it; what cannot be changed is refused with a sentence."""

from dataclasses import asdict
from typing import Any

import numpy as np
import pytest

from transformer.analysis import ablate_every_head, compare
from transformer.inference.attention_maps import KINDS
from transformer.inference.interventions import Interventions
from transformer.web.api import what_if
from transformer.web.api.payload import for_page
from transformer.web.api.translate import translate
from transformer.web.sessions.models import held_out, translator

from .endpoints import BEER, SENTENCES, Answer, as_sent, asked, called
from .test_endpoints import refused

CHANGES: list[dict[str, Any]] = [
    {"do": "ablate", "kind": "cross", "layer": 1, "head": 2},
    {"do": "edit_mask", "kind": "cross", "query": 0, "key": 1, "allowed": False},
    {"do": "swap_word", "position": 0, "word": "ich"},
    {"do": "force_word", "step": 1, "word": "."},
]


def shown(change: dict[str, Any], checkpoint: str = "toy") -> Answer:
    return asked(translate, checkpoint, changes=[change])


@pytest.mark.parametrize("checkpoint", SENTENCES)
@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change["do"])
def test_the_page_has_the_modified_run_beside_the_baseline(checkpoint: str, change: dict[str, Any]) -> None:
    model, sentence = translator(checkpoint), SENTENCES[checkpoint]
    baseline, modified = (
        model.translate(sentence),
        model.translate(sentence, interventions=Interventions.parse([change])),
    )
    answer = shown(change, checkpoint)
    assert answer["refused"] is None
    assert (answer["baseline"]["changes"], answer["run"]["changes"]) == ([], [change])
    expected: Any = for_page(modified, None, model.checkpoint)
    for name in ("output", "steps", "attention"):
        assert answer["run"][name] == as_sent(expected[name])
    assert answer["baseline"]["output"] == list(baseline.output)
    steps = [asdict(step) for step in compare(baseline, modified).steps]
    assert answer["run"]["comparison"] == [
        {name: step[name] for name in ("new_probability", "same_input")} for step in steps
    ]


def test_a_word_that_was_forced_is_among_the_candidates_however_unlikely() -> None:
    words = translator("classroom").checkpoint.tgt_vocab.tokens
    word = next(word for word in reversed(words) if word.isalpha())
    step = shown({"do": "force_word", "step": 0, "word": word}, "classroom")["run"]["steps"][0]
    assert step["token"] == word
    assert word in [candidate["token"] for candidate in step["candidates"]]


@pytest.mark.parametrize("on", ["sentence", "held_out"])
def test_a_sweep_says_what_is_lost_without_each_head(on: str) -> None:
    model = translator("classroom")
    answer = asked(what_if.sweep, "classroom", on=on)
    pairs = [(pair.source, pair.target) for pair in held_out("classroom")[: what_if.MAX_PAIRS]]
    if on == "sentence":
        pairs = [(SENTENCES["classroom"], model.translate(SENTENCES["classroom"]).text)]
    expected = ablate_every_head(model.checkpoint, pairs)
    assert answer["sentences"] == len(pairs)
    assert answer["baseline"] == pytest.approx(expected.baseline)
    assert answer["reference"] == (None if on == "held_out" else pairs[0][1])
    for kind in KINDS:
        np.testing.assert_allclose(answer["drop"][kind], expected.drop(kind), atol=1e-6)


def test_a_model_without_held_out_sentences_says_so() -> None:
    assert refused(asked(what_if.sweep, "toy", on="held_out"), "error.no_held_out")


def test_what_if_answers_programs_with_both_runs_and_their_difference() -> None:
    change = {"do": "ablate", "kind": "cross", "layer": 1, "head": 0}
    model = translator("toy")
    answer = called(what_if.what_if, sentence=BEER, changes=[change], checkpoint="toy")
    baseline, modified = model.translate(BEER), model.translate(BEER, interventions=Interventions.parse([change]))
    assert (answer["baseline"]["text"], answer["modified"]["text"]) == (baseline.text, modified.text)
    assert answer["same_text"] is (baseline.text == modified.text)
    assert answer["steps"][0]["word"] == baseline.output[0]
    difference = modified.attention.cross[2].weights - baseline.attention.cross[2].weights
    np.testing.assert_allclose(answer["difference"]["cross"][2], difference, atol=1e-6)
    assert np.abs(difference).max() > 1e-3
