"""Why a step outputs its token: of words, where the mask is open, and for a visitor who has left.

The numbers of the shipped models are compared in tests/js/engine.test.ts.
"""

import threading
from pathlib import Path

import anyio
import anyio.to_thread
import numpy as np
import pytest

from transformer import Translation, Translator
from transformer.analysis.contribution import direct_effects, integrated_gradients, logit_lens
from transformer.inference.interventions import Interventions
from transformer.web.api import why
from transformer.web.schema import WhyRequest

from ...marian import SENTENCES
from ..loop import TIMEOUT, async_test, until
from .endpoints import BEER, RUN, ask


@async_test
async def test_the_work_for_a_visitor_who_has_left_ends() -> None:
    begun, left, answers = threading.Event(), threading.Event(), []

    def work() -> None:
        begun.set()
        assert left.wait(TIMEOUT)
        answers.append(ask(why.why, {**RUN, "sentence": "Ich möchte ein Cola", "step": 0}))

    async with anyio.create_task_group() as group:
        group.start_soon(anyio.to_thread.run_sync, work)
        await until(begun.is_set)
        group.cancel_scope.cancel()
        left.set()
    assert answers == []


def test_the_pieces_of_a_word_are_one(marian: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = Translator.load(marian, device="cpu")
    monkeypatch.setattr(why, "translator", lambda checkpoint: model)
    monkeypatch.setattr(why, "run_of", lambda request: run)
    run: Translation = model.translate(SENTENCES[0])
    request = WhyRequest(checkpoint="", sentence=run.sentence, step=1, other=None, words=True)
    answer = why.why.__wrapped__(request)  # type: ignore[attr-defined]
    words = run.words()[0]
    assert len(answer["keys"]) == len(words.names) < len(run.source)
    source = integrated_gradients(model, run, 1).source
    sums = [source[np.equal(words.of, i)].sum() for i in range(len(words.names))]
    assert answer["attribution"] == pytest.approx(sums, abs=1e-5)
    assert sum(answer["attention"]) == pytest.approx(1, abs=1e-5)


def test_padding_counts_where_it_is_attended_to() -> None:
    opened = [{"do": "edit_mask", "kind": "cross", "query": 2, "key": 4, "allowed": True}]
    asked = {**RUN, "changes": opened}
    assert ask(why.why, {**asked, "step": 1})["keys"] == [0, 1, 2, 3]
    at_it = ask(why.why, {**asked, "step": 2})
    assert at_it["keys"] == [0, 1, 2, 3, 4]
    assert sum(at_it["attention"]) == pytest.approx(1, abs=1e-5)


def test_each_step_is_read_of_its_own_inputs_where_the_mask_is_open(toy: Translator) -> None:
    opened = Interventions.parse([{"do": "remove_mask", "kind": "decoder"}])
    run = toy.translate(BEER, interventions=opened)
    assert logit_lens(toy, run).tokens[-1] == run.output
    with pytest.raises(ValueError, match="mask"):
        direct_effects(toy, run)


def test_the_scores_are_those_of_the_card(monkeypatch: pytest.MonkeyPatch) -> None:
    rows = "| measure | held-out |\n| AER, integrated gradients | 0.154 | 0.2 |\n| AER, attention | 0.050 | 0.1 |\n"
    rows += "| AER, value-weighted | 0.060 | 0.3 |\n"
    ranks = "integrated gradients | 0.374 | 0.3 |", "attention | -0.458 | 0.4 |"
    rows += "".join(f"| rank correlation, source words, {row}\n" for row in ranks)
    monkeypatch.setattr(why, "card", lambda checkpoint: rows)
    expected = {
        "error_rate": {"attribution": 0.154, "attention": 0.05, "contribution": 0.06},
        "correlation": {"attribution": 0.374, "attention": -0.458},
    }
    assert ask(why.scored, {"checkpoint": "classroom"}) == {"sentences": 100} | expected
    monkeypatch.undo()
    assert ask(why.scored, {"checkpoint": "toy"}) == {"sentences": 100, "error_rate": {}, "correlation": {}}
