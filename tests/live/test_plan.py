"""Whatever somebody asks to train: every mistake is found and named; what has none can be trained as it was asked."""

import copy
import json
import math
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from transformer import Transformer, TransformerConfig, Vocabulary
from transformer.data import TOY, encode_pairs, hold_out
from transformer.data.vocabulary import SentenceError
from transformer.live import plan as module
from transformer.live.job import Job
from transformer.live.limits import Limits, variable
from transformer.live.plan import DEFAULTS, PAPER, REAL, SCHEDULES, SWITCHES, WHOLE, Plan, Problem, plan
from transformer.messages import Words
from transformer.network.config import validate_field_types
from transformer.storage.portable import CORPUS_NAMES
from transformer.training import TrainingConfig

from ..models import json_values

LIMITS = Limits()
OWN = [["Guten Morgen!", "Good morning!"], ["Wie geht es dir?", "How are you?"], ["Danke", "Thanks a lot."]]
SETTINGS = (*WHOLE, *REAL, *SWITCHES, "schedule")
FIELDS = (*SETTINGS, "name", "corpus", "watch")


def question(corpus: str = "toy", /, **changes: Any) -> dict[str, Any]:
    """What the page asks, with some settings changed, wherever they stand."""
    defaults = DEFAULTS[corpus]
    asked = {"name": "Bert", "corpus": corpus, "pairs": OWN if corpus == "own" else [], "watch": "", **defaults}
    parts = {part: dict(asked[part]) for part in ("model", "training")}
    for name, value in changes.items():
        next((part for part in parts.values() if name in part), asked)[name] = value
    return asked | parts


def without(name: str) -> dict[str, Any]:
    asked = question()
    for part in (asked, asked["model"], asked["training"]):
        part.pop(name, None)
    return asked


def fields(found: Plan) -> list[str]:
    """Where the problems are. Each is a sentence, and where there is one there is no job."""
    assert (found.job is None) == bool(found.problems)
    for problem in found.problems:
        sent = problem.message.for_page()
        assert sent["english"].endswith((".", '".'))
        assert len(sent["english"]) < 1000
        json.dumps(sent, ensure_ascii=False, allow_nan=False).encode()
    return [problem.field for problem in found.problems]


def problem(asked: dict[str, Any], limits: Limits = LIMITS) -> Problem:
    """The only one that there is."""
    found = plan(asked, limits)
    assert len(fields(found)) == 1
    return found.problems[0]


def job(asked: dict[str, Any], limits: Limits = LIMITS) -> Job:
    found = plan(asked, limits)
    assert [str(each.message) for each in found.problems] == []
    assert found.job is not None
    return found.job


# What can be trained


@pytest.mark.parametrize("corpus", CORPUS_NAMES)
def test_the_defaults_can_be_trained(corpus: str) -> None:
    found = job(question(corpus))
    settings = DEFAULTS[corpus]
    assert found.training == settings["training"]
    sizes = {"d_model", "n_heads", "d_ff", "dropout", "positional_encoding", "norm_first", "tie_weights"}
    assert {name: found.model[name] for name in sizes} == {name: settings["model"][name] for name in sizes}
    assert found.model["num_encoder_layers"] == found.model["num_decoder_layers"] == settings["model"]["layers"]
    assert (found.name, found.corpus, found.held_out, found.seconds) == ("Bert", corpus, (), LIMITS.seconds)
    TrainingConfig(**found.training)


def test_the_papers_network_can_be_trained_on_the_toy() -> None:
    found = plan(question() | {"model": PAPER}, LIMITS)
    assert fields(found) == []
    assert found.parameters == 44_150_793
    base = TransformerConfig(found.job.model["src_vocab_size"], found.job.model["tgt_vocab_size"])
    assert TransformerConfig(**found.job.model) == base


NETWORKS: list[dict[str, Any]] = [
    {},
    {"tie_weights": True},
    {"norm_first": True},
    {"positional_encoding": False, "dropout": 0.0},
    {"d_model": 6, "n_heads": 3, "d_ff": 5, "layers": 2, "tie_weights": True, "norm_first": True},
    {"d_model": 2, "n_heads": 1, "d_ff": 1, "layers": 1},
]


@pytest.mark.parametrize("changes", NETWORKS)
@pytest.mark.parametrize("corpus", CORPUS_NAMES)
def test_the_parameters_are_those_of_the_real_network(corpus: str, changes: dict[str, Any]) -> None:
    found = plan(question(corpus, **changes), LIMITS)
    assert found.job is not None
    model = Transformer(TransformerConfig(**found.job.model))
    assert found.parameters == sum(values.numel() for values in model.parameters())
    assert (len(found.corpus.src_vocab), len(found.corpus.tgt_vocab)) == (
        model.config.src_vocab_size,
        model.config.tgt_vocab_size,
    )


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("corpus", CORPUS_NAMES)
def test_a_jobs_words_cover_its_pairs_and_what_is_watched(corpus: str, tied: bool) -> None:
    found = job(question(corpus, tie_weights=tied, held_out=0.3))
    source, target = Vocabulary(found.source_words), Vocabulary(found.target_words)
    batch = encode_pairs((*found.pairs, *found.held_out), source, target, found.source_length)
    assert batch.src.size(1) == found.source_length
    assert len(source.encode(found.watch)) <= found.source_length
    assert set(found.reference.split()) <= target.ids.keys()
    assert len(found.reference.split()) < batch.target_length
    assert (found.source_words == found.target_words) is tied
    assert found.model["tie_weights"] is tied
    validate_field_types(TransformerConfig(**found.model))


def test_tied_weights_change_the_vocabulary_and_nothing_else_of_a_shipped_corpus() -> None:
    for corpus in ("toy", "classroom"):
        one, two = (job(question(corpus, tie_weights=tied)) for tied in (False, True))
        assert one.pairs == two.pairs
        assert (one.watch, one.reference, one.pad_source) == (two.watch, two.reference, two.pad_source)
        assert {*one.source_words, *one.target_words} == set(two.source_words)


def test_pre_norm_has_norms_behind_both_stacks_and_post_norm_none() -> None:
    assert job(question(norm_first=True)).model["final_norm"] == "both"
    assert job(question(norm_first=False)).model["final_norm"] == "none"


@pytest.mark.parametrize("share", [0, 0.1, 0.4, 0.5])
def test_the_share_that_is_held_out_is_kept_from_training(share: float) -> None:
    asked = question("own", held_out=share, seed=3)
    asked["pairs"] = [[f"wort{i}", f"word{i}"] for i in range(20)]
    found = plan(asked, LIMITS)
    pairs, held_out = found.job.pairs, found.job.held_out
    assert found.parts == (len(pairs), len(held_out)) == (20 - 20 * share, 20 * share)
    assert {*pairs}.isdisjoint(held_out)
    assert {*pairs, *held_out} == {(f"wort{i}", f"word{i}") for i in range(20)}
    assert (pairs, held_out) == hold_out(found.corpus.pairs, share, 3)
    assert {f"wort{i}" for i in range(20)} <= {*found.job.source_words}


@pytest.mark.parametrize("corpus", CORPUS_NAMES)
def test_a_job_comes_back_from_json(corpus: str) -> None:
    before = job(question(corpus, held_out=0.3, tie_weights=True, watch=""))
    text = before.to_json()
    assert len(text.splitlines()) == 1
    after = Job.from_json(text)
    assert after == before
    assert after.to_json() == text
    assert TransformerConfig(**after.model) == TransformerConfig(**before.model)
    json.loads(text, parse_constant=pytest.fail)


def test_a_name_loses_the_space_around_it() -> None:
    assert job(question(name="  Bert und Otto ")).name == "Bert und Otto"


def test_big_networks_share_the_processors_among_trainings(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    assert job(question() | {"model": PAPER}).threads == 4
    assert job(question() | {"model": PAPER}, Limits(concurrency=3)).threads == 2
    assert job(question() | {"model": PAPER}, Limits(concurrency=30)).threads == 1
    assert job(question()).threads == 1


def test_a_plan_says_what_a_training_will_cost() -> None:
    small, more = plan(question(), LIMITS), plan(question(steps=240), LIMITS)
    assert more.seconds == pytest.approx(2 * small.seconds)
    assert more.bytes == small.bytes > 4 * small.parameters
    assert plan(question(batch_size=2), LIMITS).seconds == small.seconds  # there are no more than two pairs
    assert plan(question(batch_size=1), LIMITS).seconds < small.seconds
    wide = plan(question(d_model=128), LIMITS)
    assert wide.seconds > small.seconds
    assert wide.bytes > small.bytes


# The sentence that is watched


def test_without_a_sentence_to_watch_the_first_example_is() -> None:
    for corpus, sentence in (("toy", "Ich möchte ein Bier"), ("own", "Guten Morgen!")):
        found = plan(question(corpus), LIMITS)
        assert found.watch == found.job.watch == sentence
    assert job(question()).reference == "i want a beer ."
    assert job(question("own")).reference == "good morning !"


def test_a_sentence_that_nobody_translated_has_no_reference() -> None:
    assert job(question(watch="bier cola")).reference is None
    assert job(question("own", watch="Danke dir")).reference is None
    assert job(question("classroom", watch="der Hund der Hund")).reference is None


def test_a_reference_is_known_however_the_sentence_is_typed() -> None:
    assert job(question(watch="  ICH mochte,\tein Cola!! ")).reference == "i want a coke ."
    assert job(question("own", watch="wie geht es dir")).reference == "how are you ?"
    assert job(question("classroom", watch="Gestern hat sie drei Bücher gelesen")).reference is not None


@pytest.mark.parametrize("target", ["today a word that it has not: xyzzy", " ".join(["today"] * 20)])
def test_a_reference_that_the_model_could_not_say_is_none(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = module._shipped("classroom", False)
    found = corpus.find("heute habe ich ein kaltes bier getrunken")
    assert found
    said = replace(found, target=target)
    other = replace(corpus, find=lambda source: said)
    assert job(question("classroom")).reference is not None
    monkeypatch.setattr(module, "_shipped", lambda name, tied: other)
    assert job(question("classroom")).reference is None


@pytest.mark.parametrize(
    "watch",
    [
        *(
            "wasser",
            "Ich möchte ein Wasser",
            " ",
            "...",
            "ich\0",
            "\u200b",
            "\ud800",
            "P",
            "😀",
            "a" * 501,
            "a " * 5000,
        ),
        *("ich " * 6, "ich" + "!" * 500),
    ],
)
def test_a_sentence_that_cannot_be_watched_is_a_problem_of_its_own(watch: str) -> None:
    assert problem(question(watch=watch)).field == "watch"


def test_a_sentence_with_unknown_words_is_refused_as_in_a_translation() -> None:
    with pytest.raises(SentenceError) as error:
        TOY.src_vocab.encode("wasser")
    assert problem(question(watch="wasser")).message == error.value.message


def test_a_sentence_that_is_too_long_is_told_how_long_it_may_be() -> None:
    assert problem(question(watch="ich ich ich ich ich ich")).message.values == {"most": 5}
    assert job(question(watch="ich ich ich ich ich")).watch == "ich ich ich ich ich"


@given(st.lists(st.sampled_from(module._shipped("classroom", False).src_vocab.words), max_size=20), st.booleans())
def test_any_known_words_can_be_watched_if_they_are_not_too_many(words: list[str], tied: bool) -> None:
    found = plan(question("classroom", watch=" ".join(words), tie_weights=tied), LIMITS)
    assert fields(found) in ([], ["watch"])
    assert bool(found.problems) == (len(words) > found.corpus.source_length)


# What cannot be

NUMBERS: list[Any] = [None, "", "5", [], [5], {}, float("nan"), float("inf"), -float("inf"), -1, 10**30, 10**5000]


@pytest.mark.parametrize("value", [*NUMBERS, True, False, 1.5, 2.0], ids=lambda value: f"{type(value).__name__}")
@pytest.mark.parametrize("field", WHOLE)
def test_what_is_no_whole_number_in_its_range_is_a_problem(field: str, value: Any) -> None:
    assert problem(question(**{field: value})).field == field


@pytest.mark.parametrize("value", [*NUMBERS, True, False], ids=lambda value: f"{type(value).__name__}")
@pytest.mark.parametrize("field", REAL)
def test_what_is_no_number_in_its_range_is_a_problem(field: str, value: Any) -> None:
    assert problem(question(**{field: value})).field == field


@pytest.mark.parametrize("field", [*WHOLE, *REAL])
def test_a_numbers_range_is_told_and_its_ends_are_in_it(field: str) -> None:
    least, most = (WHOLE | REAL)[field]
    for end, outside in ((least, least - 1), (most, most + 1)):
        assert field not in {each.field for each in plan(question(**{field: end}), Limits(10**9, 10**12)).problems} - {
            "n_heads"  # that do not share the dimensions evenly
        }
        message = problem(question(**{field: outside})).message
        assert {name: float(value) for name, value in message.values.items()} == {"least": least, "most": most}


@pytest.mark.parametrize("value", [None, 0, 1, "true", "", [], {}, float("nan")])
@pytest.mark.parametrize("field", SWITCHES)
def test_a_switch_is_on_or_off(field: str, value: Any) -> None:
    assert problem(question(**{field: value})).field == field


@pytest.mark.parametrize("value", [None, 0, "", "paper", [], ["toy"], {}, "constant\0", "x" * 10_000])
@pytest.mark.parametrize("field", ["schedule", "corpus"])
def test_a_choice_is_one_of_those_that_there_are(field: str, value: Any) -> None:
    found = problem(question(**{field: value}))
    assert found.field == field
    assert found.message.values == {"choices": Words(tuple(SCHEDULES if field == "schedule" else CORPUS_NAMES))}


@pytest.mark.parametrize("value", ["", " ", "x" * 41, "a\nb", "\0", "\u200b", "\u3164", "\ud800", None, 5, [], {}])
def test_a_model_needs_a_name_that_shows(value: Any) -> None:
    assert problem(question(name=value)).field == "name"


@pytest.mark.parametrize("value", [None, 5, True, [], ["ich"], {}])
def test_what_is_watched_is_a_text(value: Any) -> None:
    assert problem(question(watch=value)).field == "watch"


@pytest.mark.parametrize("field", FIELDS)
def test_a_field_that_is_missing_is_named(field: str) -> None:
    assert problem(without(field)).field == field


@pytest.mark.parametrize("part", ["model", "training"])
@pytest.mark.parametrize("value", [None, [], "x", 5, {}])
def test_settings_that_are_missing_are_named_one_by_one(part: str, value: Any) -> None:
    assert set(fields(plan(question() | {part: value}, LIMITS))) == DEFAULTS["toy"][part].keys()


def test_an_empty_question_has_every_problem_and_nothing_else() -> None:
    found = plan({}, LIMITS)
    assert sorted(fields(found)) == sorted(FIELDS)
    nothing = Plan(
        found.problems, parameters=None, bytes=None, seconds=None, corpus=None, parts=None, watch="", job=None
    )
    assert found == nothing


def test_all_problems_are_found_at_once() -> None:
    asked = question(name="", steps=0, watch="wasser", dropout=2, d_model=9, n_heads=2)
    assert sorted(fields(plan(asked, LIMITS))) == ["dropout", "n_heads", "name", "steps", "watch"]


def test_heads_share_the_dimensions_evenly() -> None:
    found = problem(question(d_model=64, n_heads=7))
    assert found.field == "n_heads"
    assert found.message.values == {"d_model": 64, "n_heads": 7}
    assert job(question(d_model=63, n_heads=7)).model["n_heads"] == 7
    assert job(question(d_model=3, n_heads=3)).model["d_model"] == 3


# Limits


def test_a_network_above_the_limit_is_told_the_limit_and_who_can_raise_it() -> None:
    size = plan(question(), LIMITS).parameters
    assert size
    assert job(question(), Limits(parameters=size))
    found = problem(question(), Limits(parameters=size - 1))
    assert found.field == "d_model"
    assert found.message.values == {"value": size, "most": size - 1, "variable": variable("parameters")}
    assert variable("parameters") in str(found.message)


def test_a_training_above_the_limit_is_told_the_limit_and_who_can_raise_it() -> None:
    asked = question(steps=5000)
    seconds = math.ceil(plan(asked, LIMITS).seconds or 0)
    assert job(asked, Limits(seconds=seconds)).seconds == seconds
    found = problem(asked, Limits(seconds=seconds - 1))
    assert found.field == "steps"
    assert found.message.values == {"value": seconds, "most": seconds - 1, "variable": variable("seconds")}


def test_a_training_that_takes_more_memory_than_the_server_gives_is_refused() -> None:
    pairs = [[" ".join(f"w{i}" for i in range(60)), " ".join(f"v{i}" for i in range(60))] for _ in range(500)]
    asked = question(corpus="own", pairs=pairs, d_model=64, n_heads=64, layers=12, batch_size=1024, steps=1)
    found = plan(asked, LIMITS)
    assert found.job is None
    assert found.bytes > 10 * LIMITS.memory * 2**20
    keys = ["plan.many_heads", "plan.numbers", "plan.memory", "plan.step"]
    assert [each.message.key for each in found.problems] == keys
    assert variable("memory") in str(found.problems[2].message)


def test_a_step_that_stop_would_have_to_wait_for_is_refused() -> None:
    asked = question(corpus="classroom", d_model=512, n_heads=8, layers=6, d_ff=2048, batch_size=64, steps=10)
    assert [each.message.key for each in plan(asked, Limits(memory=100_000)).problems] == ["plan.step"]


def test_the_largest_network_that_can_be_asked_for_is_measured_and_refused() -> None:
    most = {field: ends[1] for field, ends in WHOLE.items()}
    found = plan(question(**most), LIMITS)
    assert sorted(fields(found)) == ["batch_size", "batch_size", "d_model", "n_heads", "steps"]
    assert all(math.isfinite(value or math.nan) for value in (found.parameters, found.bytes, found.seconds))


SENTENCE = " ".join(f"w{i}" for i in range(60))  # as long as a visitor's own may be


def test_all_that_trains_buttons_lead_to_can_be_shown() -> None:
    most = {"d_model": 64, "n_heads": 16, "layers": 12}
    for corpus in CORPUS_NAMES:
        assert fields(plan(question(corpus, batch_size=1, steps=1, **most), LIMITS)) == []


def test_the_papers_network_can_be_shown_with_the_longest_sentences() -> None:
    asked = question("own", pairs=[[SENTENCE, SENTENCE]], batch_size=1, steps=1) | {"model": PAPER}
    assert fields(plan(asked, LIMITS)) == []


def test_more_heads_than_the_page_shows_are_a_problem() -> None:
    assert job(question(n_heads=64, layers=3)).model["n_heads"] == 64
    found = problem(question(n_heads=64, layers=4))
    assert (found.field, found.message.key) == ("n_heads", "plan.many_heads")
    assert found.message.values == {"value": 64 * 4 * 3, "most": 64 * 3 * 3}


def test_longer_sentences_than_the_page_shows_with_these_heads_are_a_problem() -> None:
    asked = {"pairs": [[SENTENCE, SENTENCE]], "n_heads": 16, "batch_size": 1, "steps": 1}
    assert job(question("own", layers=7, **asked))
    found = problem(question("own", layers=8, **asked))
    assert (found.field, found.message.key) == ("", "plan.numbers")
    said = 61 * 3 // 2
    assert found.message.values["value"] == 8 * 16 * (61**2 + 61 * said + said**2)  # one word of padding is added


def test_pairs_above_the_limit_are_a_problem() -> None:
    assert job(question("own"), Limits(pairs=3))
    found = problem(question("own"), Limits(pairs=2))
    assert found.field == "pairs"
    assert found.message.values["value"] == 3


def test_words_above_the_limit_are_a_problem() -> None:
    words = sum(len(text.split()) for pair in job(question("own")).pairs for text in pair)
    assert words == 2 + 3 + 4 + 4 + 1 + 4
    assert job(question("own"), Limits(tokens=words))
    found = problem(question("own"), Limits(tokens=words - 1))
    assert found.field == "pairs"
    assert found.message.values["value"] == words


# A visitor's own pairs


@pytest.mark.parametrize(
    "pairs", [None, [], {}, "", 5, [[]], [["", ""]], [None], [["a"]], [["a", "b", "c"]], [["a", 5]]]
)
def test_without_pairs_there_is_nothing_to_learn(pairs: Any) -> None:
    found = plan(question("own") | {"pairs": pairs}, LIMITS)
    assert fields(found) == ["pairs"]
    assert (found.corpus, found.parameters, found.parts, found.watch) == (None, None, None, "")


@pytest.mark.parametrize("row", [["a"], ["a", "\0"], ["...", "b"], ["a", ""], ["a " * 61, "b"], ["a" * 501, "b"]])
def test_one_bad_row_is_a_problem(row: list[str]) -> None:
    assert problem(question("own") | {"pairs": [*OWN, row]}).field == "pairs"


def test_pairs_are_asked_for_only_where_they_are_learned_from() -> None:
    assert job(question() | {"pairs": "nonsense"}).corpus == "toy"


def test_one_pair_is_enough() -> None:
    found = job(question("own", held_out=0.5) | {"pairs": [["ja", "yes"]]})
    assert (found.pairs, found.held_out) == ((("ja", "yes"),), ())


@given(
    st.lists(st.lists(st.text(alphabet='aß.!? ΐİﬁ…"é', max_size=12), min_size=2, max_size=2), max_size=4),
    st.booleans(),
    st.sampled_from([0, 0.5]),
)
@example([["ß" * 500, "ﬃ" * 500]], False, 0)
def test_any_rows_are_learned_from_or_refused(rows: list[list[str]], tied: bool, share: float) -> None:
    found = plan(question("own", tie_weights=tied, held_out=share) | {"pairs": rows}, LIMITS)
    if fields(found) == []:
        assert Job.from_json(found.job.to_json()) == found.job
        assert len(found.job.pairs) + len(found.job.held_out) == len([row for row in rows if any(map(str.strip, row))])
        Transformer(TransformerConfig(**found.job.model))


# Anything


@st.composite
def questions(draw: st.DrawFn) -> dict[str, Any]:
    """A right question with some of it replaced, left out or put elsewhere."""
    asked: dict[str, Any] = question(draw(st.sampled_from(CORPUS_NAMES)))
    for name in draw(st.lists(st.sampled_from([*FIELDS, "pairs", "model", "training"]), max_size=4)):
        value = draw(json_values | st.just(10**5000) | st.lists(st.lists(st.text(), max_size=3), max_size=3))
        draw(st.sampled_from([asked, asked, *(part for part in asked.values() if isinstance(part, dict))]))[name] = (
            value
        )
    return asked


@given(questions() | st.dictionaries(st.sampled_from([*FIELDS, "pairs", "model", "training"]) | st.text(), json_values))
def test_any_question_is_answered(asked: dict[str, Any]) -> None:
    before = copy.deepcopy(asked)
    found = plan(asked, LIMITS)
    assert set(fields(found)) <= {*FIELDS, "pairs"}
    assert asked == before


@pytest.mark.parametrize("change", [lambda asked: asked["model"].update(model={}, training=5), lambda asked: None])
def test_settings_inside_settings_do_no_harm(change: Callable[[dict[str, Any]], object]) -> None:
    asked = question()
    change(asked)
    fields(plan(asked, LIMITS))
