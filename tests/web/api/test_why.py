"""Why a step outputs its token: the page gets the library's numbers, also of words and of runs with changes."""

import math
import threading
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import numpy as np
import pytest

from transformer import Translation, Translator
from transformer.analysis.contribution import direct_effects, integrated_gradients, logit_lens
from transformer.analysis.faithfulness import word_effects
from transformer.analysis.word_removal import scores_without
from transformer.data.vocabulary import PAD
from transformer.inference.interventions import Interventions
from transformer.web.api import why
from transformer.web.schema import WhyRequest

from ...marian import SENTENCES
from ..loop import TIMEOUT, async_test, until
from .endpoints import BEER, CHANGED, RUN, ask


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


@pytest.mark.parametrize("changes", [[], CHANGED["changes"]])
@pytest.mark.parametrize("other", [None, "want"])
def test_each_word_has_its_attribution_its_attention_and_its_effect(
    toy: Translator, changes: list[Any], other: str | None
) -> None:
    run = toy.translate(BEER, interventions=Interventions.parse(changes))
    answer = ask(why.why, {**RUN, "changes": changes, "step": 3, "other": other})
    words = [i for i, token in enumerate(run.source) if token != PAD]
    assert answer["keys"] == words == [0, 1, 2, 3]
    assert answer["attribution"] == pytest.approx(integrated_gradients(toy, run, 3, other).source[words], abs=1e-5)
    attention = np.mean([m.weights[:, 3, :4] for m in run.attention.cross], axis=(0, 1))
    assert answer["attention"] == pytest.approx(attention, abs=1e-6)
    expected = run.steps[3].candidates.probability_of("beer")
    if other:
        expected = math.log(expected / run.steps[3].candidates.probability_of(other))
    assert answer["score"] == pytest.approx(expected, abs=1e-4)
    scores = scores_without(toy, run, [[i] for i in words], 3, other)[:, 0]
    assert answer["without"] == pytest.approx(scores[1:] if other else np.exp(scores[1:]), abs=1e-5)
    assert answer["complete"] == pytest.approx(1, abs=0.05)
    if not changes and not other:
        effects = word_effects(toy, run)[3, words]
        assert math.log(expected) - np.log(answer["without"]) == pytest.approx(effects, abs=1e-5)


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


def test_each_step_is_read_of_its_own_inputs_where_the_mask_is_open(toy: Translator) -> None:
    opened = Interventions.parse([{"do": "remove_mask", "kind": "decoder"}])
    run = toy.translate(BEER, interventions=opened)
    assert logit_lens(toy, run).tokens[-1] == run.output
    with pytest.raises(ValueError, match="mask"):
        direct_effects(toy, run)


def test_the_lens_is_the_librarys(toy: Translator) -> None:
    found, answer = logit_lens(toy, toy.translate(BEER)), ask(why.lens, RUN)
    assert [tuple(row) for row in answer["tokens"]] == list(found.tokens)
    np.testing.assert_allclose(answer["probabilities"], found.probabilities, atol=1e-6)


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
