"""The Train tab's questions before a training are answered, whatever is sent. What a plan says is in live/test_plan."""

import base64
import math
from types import SimpleNamespace

import pytest

from transformer.live.limits import Limits
from transformer.live.pace import Pace
from transformer.web.api import training as train

from ...live.test_plan import question
from .endpoints import as_sent, ask


@pytest.fixture(autouse=True)
def prepared(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """How often a process was prepared. None is."""
    asked: list[str] = []
    shop = SimpleNamespace(limits=Limits(), pace=Pace(busy=lambda: 1.0), prepare=lambda: asked.append("process"))
    monkeypatch.setattr(train, "training_queue", lambda: shop)
    return asked


def packed(content: str | bytes) -> str:
    return base64.b64encode(content.encode() if isinstance(content, str) else content).decode()


@pytest.mark.parametrize("corpus", ["toy", "classroom"])
def test_what_the_tab_opens_with_can_be_trained(corpus: str, prepared: list[str]) -> None:
    sent = as_sent(train.opening())
    assert sent["limits"].items() >= vars(Limits()).items()
    assert {"file", "pairs", "name", "held_out"} <= sent["limits"].keys()
    assert sent["defaults"].keys() == {"toy", "classroom", "own", "paper"}
    assert prepared == []
    watch = sent["sentences"][corpus]
    planned = ask(train.plan, {"name": "x", "corpus": corpus, "pairs": [], "watch": watch, **sent["defaults"][corpus]})
    assert (planned["problems"], planned["watch"]) == ([], watch)
    assert planned["seconds"] < sent["limits"]["seconds"]
    assert prepared == ["process"]  # somebody plans, and so may train


def test_a_file_is_pairs_and_bad_rows_are_named_by_their_numbers() -> None:
    content = packed("\ufeffDeutsch;English\r\nDanke;Thanks\r\n")
    rows = [["Danke", "Thanks"]]
    assert ask(train.pairs, {"file": content, "header": None}) == {"pairs": rows, "bad": [], "header": True}
    assert ask(train.pairs, {"file": content, "header": False})["pairs"] == [["Deutsch", "English"], *rows]
    sent = ask(train.pairs, {"file": packed("one\ntwo"), "header": None})
    assert sent["error"]["key"] == "pairs.none"
    assert [(bad["row"], bad["message"]["key"]) for bad in sent["bad"]] == [(n, "pairs.one_column") for n in (1, 2)]


def test_a_plan_shows_both_vocabularies_and_a_pair_as_ids() -> None:
    sent = ask(train.plan, question())
    assert sent["uniform"] == math.log(9)
    assert sent["pairs"] == {"training": 2, "held_out": 0}
    words = sent["vocabularies"]
    assert words["source"] == ["P", "ich", "mochte", "ein", "bier", "cola"]
    assert (words["source_size"], words["target_size"]) == (6, 9)
    pair = sent["example"]
    assert pair["source"] == ["ich", "mochte", "ein", "bier", "P"]
    assert pair["decoder_input"] == ["S", "i", "want", "a", "beer", "."]
    assert pair["target"] == ["i", "want", "a", "beer", ".", "E"]
    for side, ids in (("source", "source_ids"), ("target", "decoder_input_ids"), ("target", "target_ids")):
        assert [words[side][i] for i in pair[ids]] == pair[ids.removesuffix("_ids")]
