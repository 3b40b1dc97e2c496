"""The Train tab's questions before a training are answered with JSON, whatever is sent."""

import base64
import math
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from transformer.data import CORPORA
from transformer.live.limits import Limits
from transformer.live.pace import Pace
from transformer.web.api import training as train

from ...live.test_plan import question, questions
from ...models import json_values
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


# The tab as it opens


def test_the_tab_opens_with_limits_and_defaults() -> None:
    sent = as_sent(train.opening())
    assert sent["limits"].items() >= vars(Limits()).items()
    assert {"file", "pairs", "name", "held_out"} <= sent["limits"].keys()
    assert sent["sentences"] == {
        "toy": "Ich möchte ein Bier",
        "classroom": CORPORA["classroom"].examples[0].sentence,
        "own": "",
    }
    assert sent["defaults"].keys() == {"toy", "classroom", "own", "paper"}
    planned = as_sent(ask(train.plan, question() | {"model": sent["defaults"]["paper"]}))
    assert (planned["problems"], planned["parameters"]) == ([], 44_150_793)


@pytest.mark.parametrize("corpus", ["toy", "classroom"])
def test_the_defaults_of_a_shipped_corpus_can_be_trained(corpus: str) -> None:
    sent = as_sent(train.opening())
    asked = {"name": "x", "corpus": corpus, "pairs": [], "watch": sent["sentences"][corpus], **sent["defaults"][corpus]}
    planned = as_sent(ask(train.plan, asked))
    assert planned["problems"] == []
    assert planned["seconds"] < sent["limits"]["seconds"]
    assert planned["watch"] == sent["sentences"][corpus]


def test_a_process_is_prepared_when_somebody_plans(prepared: list[str]) -> None:
    train.opening()
    ask(train.pairs, {"rows": []})
    assert prepared == []
    ask(train.plan, question())
    ask(train.plan, "nonsense")
    assert prepared == ["process"] * 2


# Pairs


def test_a_file_is_pairs() -> None:
    content = packed("\ufeffDeutsch;English\r\nDanke;Thanks\r\n")
    rows = [["Danke", "Thanks"]]
    assert as_sent(ask(train.pairs, {"file": content, "header": None})) == {"pairs": rows, "bad": [], "header": True}
    assert as_sent(ask(train.pairs, {"file": content, "header": False}))["pairs"] == [["Deutsch", "English"], *rows]
    assert as_sent(ask(train.pairs, {"file": content, "header": True}))["pairs"] == rows


def test_bad_rows_are_named_by_their_numbers() -> None:
    sent = as_sent(ask(train.pairs, {"rows": [["a", "b"], ["c"], ["", ""], ["d", "\0"]]}))
    assert sent["pairs"] == [["a", "b"]]
    assert [(bad["row"], bad["message"]["key"]) for bad in sent["bad"]] == [
        (2, "pairs.one_column"),
        (4, "pairs.invisible"),
    ]


def test_where_no_row_is_good_the_bad_ones_are_told_all_the_same() -> None:
    sent = as_sent(ask(train.pairs, {"file": packed("one\ntwo"), "header": None}))
    assert sent["error"]["key"] == "pairs.none"
    assert [bad["row"] for bad in sent["bad"]] == [1, 2]


@settings(max_examples=20)
@given(st.binary(max_size=100).map(packed) | st.text(max_size=50), json_values | st.none())
@example("YQl4", None)
@example("====", None)
@example("\ud800", None)
def test_any_file_is_answered(text: str, header: Any) -> None:
    sent = as_sent(ask(train.pairs, {"file": text, "header": header}))
    assert sent.keys() in ({"pairs", "bad", "header"}, {"error"}, {"error", "bad"})


# Plans


def test_a_plan_shows_both_vocabularies_and_a_pair_as_ids() -> None:
    sent = as_sent(ask(train.plan, question()))
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


def test_a_plan_with_problems_shows_what_it_can() -> None:
    sent = as_sent(ask(train.plan, question(steps=0)))
    assert [(each["field"], each["message"]["key"]) for each in sent["problems"]] == [("steps", "plan.integer")]
    assert sent["parameters"] == 701_961
    assert sent["seconds"] is sent["bytes"] is None
    assert sent["example"]
    sent = as_sent(ask(train.plan, question("own") | {"pairs": []}))
    assert [each["field"] for each in sent["problems"]] == ["pairs"]
    for name in ("parameters", "seconds", "pairs", "uniform", "vocabularies", "example"):
        assert sent[name] is None


@given(questions() | json_values)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@example(None)
@example([])
@example({"corpus": "toy", "tie_weights": False, "watch": 5})
def test_any_plan_is_answered(asked: Any) -> None:
    sent = ask(train.plan, asked)
    if "error" in sent:  # JSON has no number of 5,000 digits
        return
    assert all(each["message"]["english"].endswith((".", '".')) for each in sent["problems"])
    assert sent.keys() == {
        *("problems", "parameters", "bytes", "seconds", "pairs", "watch", "uniform", "vocabularies", "example"),
    }
