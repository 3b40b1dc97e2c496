"""The run that the page shows, or why there is none."""

import numpy as np
import pytest

from transformer import Translator
from transformer.data import CORPORA
from transformer.inference.attention_maps import KINDS
from transformer.web.api.runs import awaited
from transformer.web.api.runs import run as plain_run
from transformer.web.api.translate import surprise, translate

from .endpoints import ask


def test_a_surprise_is_a_held_out_sentence_translated_by_the_model_that_never_saw_it() -> None:
    runs = [ask(surprise, {"checkpoint": "classroom"})["run"] for _ in range(5)]
    assert len({run["sentence"] for run in runs}) > 1
    for run in runs:
        assert run["checkpoint"] == "classroom"
        assert run["reference"]["held_out"]


def test_the_examples_of_the_classroom_are_translated_right() -> None:
    for each in CORPORA["classroom"].examples:
        assert ask(translate, {"checkpoint": "classroom", "sentence": each.sentence})["run"]["reference"]["same"]


def test_sentences_that_wait_are_translated_with_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of the same model and of as many words; their numbers are those of a run alone."""
    first, same, shorter, unknown = "Der Hund trinkt", "Die Katze trinkt", "Hallo", "Der Hund xyzt"
    alone = Translator.load("classroom", device="cpu").translate(same)
    with awaited("classroom", same), awaited("classroom", shorter), awaited("classroom", unknown), awaited("toy", same):
        assert plain_run("classroom", first).sentence == first
        monkeypatch.setattr(Translator, "translate", lambda *args, **named: pytest.fail("translated again"))
        found = plain_run("classroom", same)
        with pytest.raises(pytest.fail.Exception):
            plain_run("classroom", shorter)
    assert (found.sentence, found.output) == (alone.sentence, alone.output)
    for kind in KINDS:
        for one, other in zip(found.attention.of(kind), alone.attention.of(kind), strict=True):
            np.testing.assert_allclose(one.weights, other.weights, rtol=0, atol=1e-5)
