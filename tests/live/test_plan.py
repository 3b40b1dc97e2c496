"""Every problem of a training form is found and names its field; a form without problems becomes a job."""

import json
import math
import os
from dataclasses import replace
from typing import Any

import pytest

from transformer import TransformerConfig, Vocabulary
from transformer.data import TOY, encode_pairs, hold_out
from transformer.data.vocabulary import SentenceError
from transformer.inference.translator import MAX_CHARACTERS
from transformer.live.form import DEFAULTS, PAPER, LearningForm, NetworkForm, TrainingForm
from transformer.live.job import Job
from transformer.live.limits import Limits
from transformer.live.plan import Plan, Problem, plan
from transformer.network.config import validate_field_types
from transformer.settings import variables
from transformer.storage.portable import CORPUS_NAMES
from transformer.training import TrainingConfig

LIMITS = Limits()
OWN = [["Guten Morgen!", "Good morning!"], ["Wie geht es dir?", "How are you?"], ["Danke", "Thanks a lot."]]
# field -> the ends of its range
WHOLE: dict[str, tuple[float, float]] = {
    "d_model": (2, 1024),
    "n_heads": (1, 64),
    "layers": (1, 12),
    "d_ff": (1, 8192),
    "steps": (1, 100_000),
    "batch_size": (1, 1024),
    "warmup_steps": (1, 100_000),
    "seed": (0, 2**31 - 1),
}
REAL = {"dropout": (0, 0.9), "learning_rate": (0.00001, 1), "label_smoothing": (0, 0.9), "held_out": (0, 0.5)}
FIELDS = {*TrainingForm.model_fields, *NetworkForm.model_fields, *LearningForm.model_fields}
FIELDS -= {"model", "training", "pairs"}


def question(corpus: str = "toy", /, **changes: Any) -> dict[str, Any]:
    """The request that the page sends, with some settings changed at whatever level they stand."""
    defaults = DEFAULTS[corpus]
    asked = {"name": "Bert", "corpus": corpus, "pairs": OWN if corpus == "own" else [], "watch": "", **defaults}
    parts = {part: dict(asked[part]) for part in ("model", "training")}
    for name, value in changes.items():
        next((part for part in parts.values() if name in part), asked)[name] = value
    return asked | parts


def fields(found: Plan) -> list[str]:
    """The fields of the problems. Each message is a full sentence; a plan with a problem has no job."""
    assert (found.job is None) == bool(found.problems)
    for problem in found.problems:
        sent = problem.message.for_page()
        assert sent["english"].endswith((".", '".'))
        assert len(sent["english"]) < 1000
        json.dumps(sent, ensure_ascii=False, allow_nan=False).encode()
    return [problem.field for problem in found.problems]


def problem(asked: dict[str, Any], limits: Limits = LIMITS) -> Problem:
    """The only problem of a request."""
    found = plan(asked, limits)
    assert len(fields(found)) == 1
    return found.problems[0]


def job(asked: dict[str, Any], limits: Limits = LIMITS) -> Job:
    found = plan(asked, limits)
    assert [str(each.message) for each in found.problems] == []
    assert found.job is not None
    return found.job


# Requests that can be trained


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("corpus", CORPUS_NAMES)
def test_the_defaults_become_a_complete_job_that_survives_json(corpus: str, tied: bool) -> None:
    found = job(question(corpus, name=f"  Bert {'x' * 35} ", tie_weights=tied, held_out=0.3))
    asked = DEFAULTS[corpus]["model"] | {"tie_weights": tied}
    layers = asked.pop("layers")
    assert found.training == DEFAULTS[corpus]["training"]
    assert found.model.items() >= {**asked, "num_encoder_layers": layers, "num_decoder_layers": layers}.items()
    assert (found.name, found.corpus, found.seconds) == (f"Bert {'x' * 35}", corpus, LIMITS.seconds)
    source, target = (Vocabulary(words, folds=True) for words in (found.source_words, found.target_words))
    batch = encode_pairs((*found.pairs, *found.held_out), source, target, found.source_length)
    assert batch.src.size(1) == found.source_length >= len(source.encode(found.watch))
    assert set(found.reference.split()) <= target.ids.keys()
    assert len(found.reference.split()) < batch.target_length
    assert (found.source_words == found.target_words) is tied
    TrainingConfig(**found.training)
    config = TransformerConfig(**found.model)
    validate_field_types(config)
    assert (config.src_vocab_size, config.tgt_vocab_size) == (len(source), len(target))
    assert (config.final_norm, job(question(corpus, norm_first=True)).model["final_norm"]) == ("none", "both")
    line = found.to_json()
    json.loads(line, parse_constant=pytest.fail)
    assert (len(line.splitlines()), Job.from_json(line)) == (1, found)


def test_the_papers_network_can_be_trained_on_the_toy() -> None:
    found = plan(question() | {"model": PAPER}, LIMITS)
    assert fields(found) == []
    assert found.parameters == 44_150_793
    base = TransformerConfig(found.job.model["src_vocab_size"], found.job.model["tgt_vocab_size"])
    assert TransformerConfig(**found.job.model) == base


def test_the_held_out_share_is_not_trained_on() -> None:
    pairs = [[f"wort{i}", f"word{i}"] for i in range(20)]
    found = plan(question("own", held_out=0.1, seed=3) | {"pairs": pairs}, LIMITS)
    assert found.parts == (len(found.job.pairs), len(found.job.held_out)) == (18, 2)
    assert (found.job.pairs, found.job.held_out) == hold_out(found.corpus.pairs, 0.1, 3)
    assert {f"wort{i}" for i in range(20)} <= {*found.job.source_words}
    assert job(question("own", held_out=0.5) | {"pairs": [["ja", "yes"]]}).held_out == ()  # of a single pair


def test_trainings_share_the_processors(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    for concurrency, threads in ((2, 4), (3, 2), (30, 1)):
        assert job(question() | {"model": PAPER}, Limits(concurrency=concurrency)).threads == threads
    assert job(question()).threads == 1  # a small network


# The watched sentence


@pytest.mark.parametrize(
    ("corpus", "watch", "reference"),
    [
        ("toy", "", "i want a beer ."),  # the first example
        ("toy", "bier cola", None),
        ("own", "Danke dir", None),
        ("classroom", "der Hund der Hund", None),
        ("toy", "  ICH mochte,\tein Cola!! ", "i want a coke ."),
        ("own", "wie geht es dir", "How are you ?"),
        ("classroom", "gestern hat sie drei Bücher gelesen", "yesterday she read three books ."),
    ],
)
def test_the_reference_is_the_corpus_translation_in_any_spelling(
    corpus: str, watch: str, reference: str | None
) -> None:
    found = plan(question(corpus, watch=watch), LIMITS)
    assert found.job.reference == reference
    assert found.watch == found.job.watch == (watch or found.corpus.examples[0].sentence)


@pytest.mark.parametrize("watch", ["wasser", " ", "ich\0", "\ud800", "P", "a" * (MAX_CHARACTERS + 1)])
def test_an_unusable_sentence_is_refused_with_the_message_of_a_translation(watch: str) -> None:
    found = problem(question(watch=watch))
    with pytest.raises(SentenceError) as error:
        TOY.src_vocab.encode(watch)
    assert (found.field, found.message) == ("watch", error.value.message)


def test_a_sentence_of_too_many_words_is_refused() -> None:
    found = problem(question(watch="ich " * 6))
    assert (found.field, found.message.key, found.message.values) == ("watch", "plan.long_watch", {"most": 5})


# Fields that are missing or invalid

NO_NUMBER: list[Any] = [None, "5", [5], {}, math.nan, math.inf, -math.inf, -1, 10**30, 10**5000, True, False]
NO_CHOICE: list[Any] = [None, 0, "", "paper", [], ["toy"], {}, "constant\0", "x" * 10_000]
INVALID: dict[str, tuple[str, list[Any]]] = {  # field -> the key of its message, and values
    **{field: ("integer", [*NO_NUMBER, 1.5, 2.0, least - 1, most + 1]) for field, (least, most) in WHOLE.items()},
    **{field: ("number", [*NO_NUMBER, least - 1, most + 1]) for field, (least, most) in REAL.items()},
    **dict.fromkeys(
        ("positional_encoding", "norm_first", "tie_weights"), ("switch", [None, 0, 1, "true", "", [], {}, math.nan])
    ),
    **dict.fromkeys(("schedule", "corpus"), ("choice", NO_CHOICE)),
    "name": ("name", ["", " ", "x" * 41, "a\nb", "\0", "\u200b", "\u3164", "\ud800", None, 5, [], {}]),
    "watch": ("text", [None, 5, True, [], ["ich"], {}]),
}


@pytest.mark.parametrize("field", sorted(FIELDS))
def test_a_missing_or_invalid_value_is_a_problem_of_its_field(field: str) -> None:
    key, values = INVALID[field]
    missing = question()
    for part in (missing, missing["model"], missing["training"]):
        part.pop(field, None)
    for asked in [missing, *(question(**{field: value}) for value in values)]:
        found = problem(asked)
        assert (found.field, found.message.key) == (field, f"plan.{key}")
    for end in (WHOLE | REAL).get(field, ()):
        found_at_end = plan(question(**{"n_heads": 1, field: end}), Limits(10**9, 10**12)).problems
        assert field not in {each.field for each in found_at_end if each.message.key in ("plan.integer", "plan.number")}


def test_all_problems_are_found_at_once() -> None:
    asked = question(name="", steps=0, watch="wasser", dropout=2, d_model=9, n_heads=2)
    assert sorted(fields(plan(asked, LIMITS))) == ["dropout", "n_heads", "name", "steps", "watch"]
    assert problem(question(d_model=64, n_heads=7)).message.values == {"d_model": 64, "n_heads": 7}
    for odd in ({"model": {"model": {}, "training": 5}}, {"model": None}, {"training": [5]}, {"pairs": 10**5000}):
        assert set(fields(plan(question("own") | odd, LIMITS))) <= FIELDS | {"pairs"}
    found = plan({}, LIMITS)
    assert sorted(fields(found)) == sorted(FIELDS)
    assert found == Plan(found.problems)


# Limits


@pytest.mark.parametrize(
    ("limit", "field"), [("parameters", "d_model"), ("seconds", "steps"), ("memory", "batch_size")]
)
def test_a_request_above_a_limit_is_refused_with_the_variable_that_raises_it(limit: str, field: str) -> None:
    asked = question("toy", steps=5000)
    found: Any = plan(asked, LIMITS)
    value: int = {
        "parameters": found.parameters,
        "seconds": math.ceil(found.seconds),
        "memory": math.ceil(found.bytes / 2**20),
    }[limit]
    assert job(asked, replace(LIMITS, **{limit: value}))
    refused = problem(asked, replace(LIMITS, **{limit: value - 1}))
    assert refused.field == field
    variable = variables(Limits)[limit].name
    assert refused.message.values == {"value": value, "most": value - 1, "variable": variable}
    assert variable in str(refused.message)


def test_pairs_of_too_many_words_are_refused() -> None:
    words = 3 + 3 + 5 + 4 + 1 + 4  # "Good morning !" has three
    assert job(question("own"), replace(LIMITS, tokens=words))
    refused = problem(question("own"), replace(LIMITS, tokens=words - 1))
    assert (refused.field, refused.message.values) == ("pairs", {"value": words, "most": words - 1})


def test_a_step_that_is_too_long_to_be_stopped_is_refused() -> None:
    asked = question(corpus="classroom", d_model=512, n_heads=8, layers=6, d_ff=2048, batch_size=64, steps=10)
    assert [each.message.key for each in plan(asked, Limits(memory=100_000)).problems] == ["plan.step"]


def test_a_network_whose_maps_are_too_many_to_show_is_refused() -> None:
    for corpus in CORPUS_NAMES:  # the most that the page offers
        assert job(question(corpus, d_model=64, n_heads=16, layers=12, batch_size=1, steps=1))
    assert job(question(n_heads=64, layers=3)).model["n_heads"] == 64
    found = problem(question(n_heads=64, layers=4))
    assert (found.field, found.message.key) == ("n_heads", "plan.many_heads")
    assert found.message.values == {"value": 64 * 4 * 3, "most": 64 * 3 * 3}
    sentence = " ".join(f"w{i}" for i in range(60))  # the longest that a visitor's own pair may have
    asked = {"pairs": [[sentence, sentence]], "n_heads": 16, "batch_size": 1, "steps": 1}
    assert job(question("own", layers=8, **asked))
    found = problem(question("own", layers=9, **asked))
    assert (found.field, found.message.key) == ("", "plan.numbers")


# A visitor's own pairs


def test_bad_pairs_are_a_problem_of_pairs() -> None:
    unusable: list[Any] = [None, [], 5, [["", ""]], [["a", 5]]]  # data/test_uploaded_pairs.py has all of them
    for pairs in unusable:
        found = plan(question("own") | {"pairs": pairs}, LIMITS)
        assert fields(found) == ["pairs"]
        assert (found.corpus, found.parameters, found.parts, found.watch) == (None, None, None, "")
    assert problem(question("own") | {"pairs": [*OWN, ["a"]]}).field == "pairs"
    assert job(question() | {"pairs": "ignored"}).corpus == "toy"
