"""Any token of a vocabulary is found by typing, with what the model thinks of it at a step."""

import math

import pytest

from transformer import Translator
from transformer.web.api.candidates import candidates

from .endpoints import BEER, RUN, ask


def test_every_token_has_its_rank_probability_and_logit(toy: Translator) -> None:
    step = toy.translate(BEER).steps[1]
    answer = ask(candidates, {**RUN, "step": 1, "text": ""})
    assert answer["count"] == len(toy.checkpoint.tgt_vocab)
    known = {each.token: (rank, each.probability) for rank, each in enumerate(step.candidates, 1)}
    for found in answer["found"]:
        assert (found["rank"], found["probability"]) == pytest.approx(known[found["token"]], abs=1e-6)
    assert answer["found"][0]["logit"] == max(each["logit"] or -math.inf for each in answer["found"])


@pytest.mark.parametrize(
    ("text", "tokens"),
    [("A", ["a", "want"]), ("want", ["want"]), (" Be", ["beer"]), ("ee", ["beer"]), ("nothing", [])],
)
def test_a_token_that_is_the_text_comes_first_then_those_that_begin_with_it(text: str, tokens: list[str]) -> None:
    answer = ask(candidates, {**RUN, "step": 1, "text": text})
    assert [each["token"] for each in answer["found"]][: len(tokens)] == tokens
    assert (answer["count"] == 0) == (not tokens)
