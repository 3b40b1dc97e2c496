"""The run that the page shows, or why there is none."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import numpy as np
import pytest

from transformer import Translator
from transformer.data import CORPORA
from transformer.inference.attention_maps import KINDS
from transformer.network.engine import EngineDecoding
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


def count_steps(monkeypatch: pytest.MonkeyPatch, before: Callable[[int], None]) -> list[int]:
    """The steps of the engine from now on, by their numbers, each of which calls `before` first."""
    steps: list[int] = []
    step = EngineDecoding.step

    def counted(*args: Any) -> Any:
        before(len(steps))
        steps.append(len(steps))
        return step(*args)

    monkeypatch.setattr(EngineDecoding, "step", counted)
    return steps


def test_the_first_sentence_of_a_batch_waits_for_no_longer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    short, long = "Der Hund schläft heute", "heute heute heute heute"
    expected = Translator.load("classroom", device="cpu").translate_many([short, long])
    lengths = [len(run.output) for run in expected]
    assert lengths[0] < 10 < 30 < lengths[1]
    steps = count_steps(monkeypatch, lambda _: None)
    with awaited("classroom", long):
        assert plain_run("classroom", short).output == expected[0].output
        assert len(steps) == lengths[0]
        assert plain_run("classroom", long).output == expected[1].output
    assert len(steps) == lengths[1]  # none twice


def test_a_sentence_that_was_taken_along_waits_for_no_longer_one(monkeypatch: pytest.MonkeyPatch) -> None:
    short, long = "Die Katze schläft heute", "Heute heute heute heute"
    is_far, is_answered, in_time = Event(), Event(), list[bool]()

    def pause(step: int) -> None:
        if step == 20:
            is_far.set()
            in_time.append(is_answered.wait(20))

    count_steps(monkeypatch, pause)
    with awaited("classroom", short), ThreadPoolExecutor(1) as pool:
        leader = pool.submit(plain_run, "classroom", long)
        assert is_far.wait(60)
        assert plain_run("classroom", short).text == "the cat is sleeping today ."
        is_answered.set()
        assert len(leader.result().output) > 30
    assert in_time == [True]
