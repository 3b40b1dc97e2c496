"""Any token of a vocabulary is found by typing, with what the model thinks of it at a step."""

import json

import pytest
import torch

from transformer import Translator
from transformer.analysis.sublayer import record
from transformer.web.api import candidates as module
from transformer.web.api.candidates import candidates

from .endpoints import BEER, RUN, ask


def test_every_token_has_its_rank_probability_and_logit(toy: Translator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FOUND", 100)
    run = toy.translate(BEER)
    logits = record(toy, run)["logits"][0, 1]
    answer = ask(candidates, {**RUN, "step": 1, "text": ""})
    assert answer["count"] == len(toy.checkpoint.tgt_vocab)
    assert [each["token"] for each in answer["found"]] == [each.token for each in run.steps[1].candidates]
    for rank, (found, known) in enumerate(zip(answer["found"], run.steps[1].candidates, strict=True), 1):
        assert found["rank"] == rank
        assert found["probability"] == pytest.approx(known.probability, abs=1e-6)
        logit = logits[toy.checkpoint.tgt_vocab.ids[known.token]].item()
        assert found["logit"] == pytest.approx(logit, abs=1e-4) if logit > -torch.inf else found["logit"] is None
    json.dumps(answer, allow_nan=False)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("A", ["a", "want"]), ("want", ["want"]), (" Be", ["beer"]), ("ee", ["beer"]), ("nothing", [])],
)
def test_a_token_that_is_the_text_comes_first_then_those_that_begin_with_it(text: str, tokens: list[str]) -> None:
    answer = ask(candidates, {**RUN, "step": 1, "text": text})
    assert [each["token"] for each in answer["found"]][: len(tokens)] == tokens
    assert (answer["count"] == 0) == (not tokens)
