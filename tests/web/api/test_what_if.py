"""What programs get of a changed run. What the page gets is compared in tests/js/engine.test.ts."""

import numpy as np

from transformer.inference.interventions import Interventions
from transformer.web.api import what_if
from transformer.web.sessions.models import translator

from .endpoints import BEER, asked, called
from .test_endpoints import refused


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
