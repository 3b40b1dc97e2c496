"""Other roads of decoding are answered with the model's own numbers, or refused with a sentence."""

import json
import math
from collections.abc import Callable
from typing import Any

import gradio as gr
import pytest
import torch
from hypothesis import given

from transformer import Translator
from transformer.data.vocabulary import END
from transformer.inference.translator import Branch, Sampling
from transformer.web.api import decoding as roads
from transformer.web.api import runs as handlers

from .test_lesson import refused
from .test_runs import BIER, json_values

FLAGSHIP = "Heute habe ich ein kaltes Bier getrunken"
MISTAKEN = "Wir zeigen die alten Hunde einer Schwester"  # the model says “an old sister the old dogs”
ASKED = [("toy", BIER), ("classroom", FLAGSHIP), ("classroom", MISTAKEN)]
HANDLERS = (roads.beam, roads.sampled, roads.forced)
LIMITS = {"temperature": 1.5, "top_k": 5, "top_p": 0.9, "seed": 1}
RIGHT = {"checkpoint": "toy", "sentence": BIER, "width": 2, "alpha": 0.6, **LIMITS, "slip": {"step": 1, "word": "a"}}
Answer = dict[str, Any]


def asked(handler: Callable[[Any], Answer], checkpoint: str, sentence: str, **more: Any) -> Answer:
    """An answer as it reaches the page."""
    return json.loads(json.dumps(handler({"checkpoint": checkpoint, "sentence": sentence, **more})))


def way(branches: list[Answer], number: int | None) -> list[str]:
    """The words from the first one to this one."""
    if number is None:
        return []
    return [*way(branches, branches[number]["parent"]), branches[number]["token"]]


# Beam search


@pytest.mark.parametrize(("checkpoint", "sentence"), ASKED)
@pytest.mark.parametrize("width", [1, 2, 5])
@pytest.mark.parametrize("alpha", [0, 0.6, 2.0])
def test_the_tree_is_the_translators(checkpoint: str, sentence: str, width: int, alpha: float) -> None:
    tree = handlers.translator(checkpoint).beam(sentence, width, alpha)
    told = roads.beam_search(sentence, width, alpha, checkpoint)
    assert [Branch(**branch) for branch in told["branches"]] == list(tree.branches)
    assert (told["text"], told["best"]) == (tree.text, tree.best)

    shown = asked(roads.beam, checkpoint, sentence, width=width, alpha=alpha)
    ways = {tuple(way(told["branches"], n)): n for n in range(len(tree.branches))}
    steps = [branch.step for branch in tree.branches if branch.fate == "dropped"]
    kept = 0
    for n, branch in enumerate(shown["branches"]):  # no number is changed by what is left out
        original = told["branches"][ways[tuple(way(shown["branches"], n))]]
        assert branch == original | {"parent": branch["parent"]}
        kept += branch["fate"] != "dropped"
    assert kept == sum(branch.fate != "dropped" for branch in tree.branches)
    assert way(shown["branches"], shown["best"]) == way(told["branches"], tree.best)
    for step, left_out in enumerate(shown["left_out"]):
        dropped = [each for each in shown["branches"] if each["step"] == step and each["fate"] == "dropped"]
        assert left_out == steps.count(step) - len(dropped)
        assert len(dropped) <= roads.DROPPED
        assert len(dropped) == roads.DROPPED or not left_out
        others = [b.log_probability for b in tree.branches if b.step == step and b.fate == "dropped"]
        assert [each["log_probability"] for each in dropped] == sorted(others, reverse=True)[: len(dropped)]


@pytest.mark.parametrize(("checkpoint", "sentence"), ASKED)
def test_hypotheses_are_what_was_finished_best_first(checkpoint: str, sentence: str) -> None:
    told = asked(roads.beam, checkpoint, sentence, width=5, alpha=0.6)
    branches, hypotheses = told["branches"], told["hypotheses"]
    assert hypotheses[0]["branch"] == told["best"]
    assert hypotheses[0]["text"] == told["text"]
    assert [each["score"] for each in hypotheses] == sorted((each["score"] for each in hypotheses), reverse=True)
    finished = [n for n, branch in enumerate(branches) if branch["fate"] == "finished"]
    assert sorted(each["branch"] for each in hypotheses) == finished
    for each in hypotheses:
        words = way(branches, each["branch"])
        assert words[-1] == END
        assert each["text"].split() == [word for word in words if word not in ("S", "P", END)]
        assert each["probability"] == pytest.approx(math.exp(branches[each["branch"]]["log_probability"]))


@pytest.mark.parametrize(("checkpoint", "sentence"), ASKED)
def test_a_beam_of_one_is_greedy(checkpoint: str, sentence: str) -> None:
    told = asked(roads.beam, checkpoint, sentence, width=1, alpha=1.3)
    run = handlers.run(checkpoint, sentence)
    assert told["text"] == told["greedy"]["text"] == run.text
    assert tuple(way(told["branches"], told["best"])) == run.output
    [only] = told["hypotheses"]
    for name in ("log_probability", "probability"):
        assert only[name] == pytest.approx(told["greedy"][name], abs=1e-4)
    assert told["greedy"]["probability"] == pytest.approx(math.prod(step.probability for step in run.steps))


# Sampling


@pytest.mark.parametrize(("checkpoint", "sentence"), ASKED)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    ("temperature", "top_k", "top_p"), [(1, 0, 1), (2.5, 0, 1.0), (1.7, 4, 1.0), (3.0, 0, 0.6), (0, 0, 1.0)]
)
def test_what_is_drawn_is_the_translators(
    checkpoint: str, sentence: str, seed: int, temperature: float, top_k: int, top_p: float
) -> None:
    limits = {"temperature": temperature, "top_k": top_k, "top_p": top_p, "seed": seed}
    sampling = Sampling(**limits)  # type: ignore[arg-type]
    run = handlers.translator(checkpoint).translate(sentence, sampling=sampling)
    told = asked(roads.sampled, checkpoint, sentence, **limits)
    assert told == roads.sample(sentence, **limits, checkpoint=checkpoint)  # type: ignore[arg-type]
    assert {name: told[name] for name in limits} == limits
    assert (told["text"], told["complete"]) == (run.text, run.complete)
    assert told["log_probability"] == pytest.approx(sum(math.log(step.probability) for step in run.steps))
    for step, said in zip(run.steps, told["steps"], strict=True):
        assert (said["token"], said["probability"]) == (step.token, step.probability)
        assert said["drawn"] > 0  # or it could not have been drawn
        after = step.drawn_from(sampling)
        assert sum(after) == pytest.approx(1)
        assert said["left"] == sum(p > 0 for p in after) <= (top_k or len(after))
        shown = {each["token"]: each for each in said["candidates"]}
        assert len(shown) == len(said["candidates"]) == min(roads.SHOWN, len(after))
        assert shown[step.token] == {name: said[name] for name in ("token", "probability", "drawn")}
        for candidate, p in zip(step.candidates, after, strict=True):
            if candidate.token in shown:
                each = shown[candidate.token]
                assert (each["probability"], each["drawn"]) == (candidate.probability, p)


# Teacher forcing


@pytest.mark.parametrize(("checkpoint", "sentence"), ASKED)
def test_the_teacher_reads_the_reference_and_free_running_itself(checkpoint: str, sentence: str) -> None:
    run = handlers.run(checkpoint, sentence)
    told = asked(roads.forced, checkpoint, sentence, slip=None)
    assert told == json.loads(json.dumps(roads.teacher_forcing(sentence, checkpoint)))
    pair = handlers.reference(checkpoint, run)
    assert pair is not None
    wanted = [*pair.target.split(), END]
    assert (told["reference"], told["of"], told["slip"]) == (True, len(wanted), None)
    assert [row["wanted"] for row in told["teacher"]] == wanted
    assert [row["read"] for row in told["teacher"]] == ["S", *wanted[:-1]]
    assert tuple(row["said"] for row in told["free"]) == run.output
    assert [row["probability"] for row in told["free"]] == [step.probability for step in run.steps]
    taught = handlers.translator(checkpoint).translate(sentence, forced=wanted)
    for row, step in zip(told["teacher"], taught.steps, strict=True):
        assert (row["said"], row["probability"]) == (step.candidates[0].token, step.candidates[0].probability)
    teacher, free = (8, 2) if sentence == MISTAKEN else (len(wanted), len(wanted))
    assert told["right"] == {"teacher": teacher, "free": free}


def next_word(translator: Translator, source: tuple[str, ...], read: list[str]) -> dict[str, float]:
    """What a full pass makes of a decoder input: the last row's probabilities, by word."""
    src, tgt = translator.checkpoint.src_vocab.ids, translator.checkpoint.tgt_vocab
    ids = torch.tensor([[src[token] for token in source]]), torch.tensor([[tgt.ids[token] for token in read]])
    logits = translator.checkpoint.model(*ids).logits[0, -1]
    return dict(zip(tgt.tokens, logits.softmax(-1).tolist(), strict=True))


@pytest.mark.parametrize(
    ("checkpoint", "sentence", "step", "word"),
    [("toy", BIER, 3, "coke"), ("classroom", "Gestern hat sie drei Bücher gelesen", 2, "saw")],
)
def test_after_a_slip_every_number_is_a_full_passs(checkpoint: str, sentence: str, step: int, word: str) -> None:
    run = handlers.run(checkpoint, sentence)
    told = asked(roads.forced, checkpoint, sentence, slip={"step": step, "word": word})
    for name in ("teacher", "free"):
        for t, row in enumerate(told[name]):
            read = [each["read"] for each in told[name][: t + 1]]
            would = next_word(handlers.translator(checkpoint), run.source, read)
            assert row["said"] == (word if t == step else max(would, key=lambda each: would[each]))
            assert row["probability"] == pytest.approx(would[row["said"]], abs=1e-6)
    assert [row["read"] for row in told["free"]] == ["S", *(row["said"] for row in told["free"][:-1])]
    assert told["free"][-1]["said"] == END


def test_a_slip_may_end_the_sentence() -> None:
    told = asked(roads.forced, "toy", BIER, slip={"step": 2, "word": END})
    assert [row["said"] for row in told["free"]] == ["i", "want", END]
    assert len(told["teacher"]) == 6


def test_a_slip_costs_the_teacher_one_word_and_stays_in_free_running() -> None:
    told = asked(roads.forced, "classroom", FLAGSHIP, slip={"step": 2, "word": "saw"})
    assert (told["slip"], told["of"]) == (2, 9)
    for name in ("teacher", "free"):
        assert told[name][2]["said"] == "saw"
    assert told["teacher"][3]["read"] == "have"
    assert told["free"][3]["read"] == "saw"
    assert told["right"]["teacher"] == 8 > told["right"]["free"]
    whole = asked(roads.forced, "classroom", FLAGSHIP, slip=None)
    assert told["teacher"][3:] == whole["teacher"][3:]


def test_without_a_reference_the_models_own_words_are_the_teachers() -> None:
    told = asked(roads.forced, "toy", "cola bier", slip=None)
    assert told["reference"] is False
    assert told["teacher"] == told["free"]
    assert told["right"] == {"teacher": told["of"], "free": told["of"]}


@pytest.mark.parametrize("step", [-1, 6, 10**30])
def test_a_slip_is_at_a_step_of_both(step: int) -> None:
    answer = asked(roads.forced, "toy", BIER, slip={"step": step, "word": "a"})
    assert answer == {"error": "A slip happens at a step from 0 to 5."}


# Refusals


@pytest.mark.parametrize("handler", HANDLERS)
@given(json_values)
def test_any_question_is_answered_or_refused(handler: Callable[[Any], Answer], question: Any) -> None:
    refused(handler(question))
    assert "error" not in handler(RIGHT)
    for name in RIGHT:  # one thing wrong at a time
        answer = handler(RIGHT | {name: question})
        if "error" in answer:
            refused(answer)
        else:
            json.dumps(answer, allow_nan=False)
        assert ("error" in answer) or name != "checkpoint"


NUMBERS = [True, False, -1, 1.0, 0.5, 1e308, math.nan, math.inf, -math.inf, 10**400, 2**63, None, "1", [1]]
REALS = ("alpha", "temperature", "top_p")  # of all these 0.5 and 1.0 can be taken, and nothing else


@pytest.mark.parametrize("number", NUMBERS, ids=lambda number: str(number)[:12])
@pytest.mark.parametrize("name", [*REALS, "width", "top_k", "seed"])
def test_a_number_is_one_that_means_something(name: str, number: Any) -> None:
    handler = roads.beam if name in ("width", "alpha") else roads.sampled
    assert "error" not in handler(RIGHT | {name: 1})
    answer = handler(RIGHT | {name: number})
    if name in REALS and type(number) is float and number in (0.5, 1.0):
        assert "error" not in answer
    else:
        refused(answer)


@pytest.mark.parametrize(
    "slip", [{}, {"step": 1}, {"word": "a"}, {"step": True, "word": "a"}, [1, "a"], "1.a", 0, False]
)
def test_a_slip_is_a_step_and_a_word(slip: Any) -> None:
    refused(roads.forced(RIGHT | {"slip": slip}))


@pytest.mark.parametrize("word", ["tea", "P", "S", "", "\ud800", "<b>"])
def test_a_slip_is_a_word_that_can_be_said(word: str) -> None:
    answer = asked(roads.forced, "toy", BIER, slip={"step": 0, "word": word})
    assert "is not a word that this model can say." in answer["error"]


@pytest.mark.parametrize("handler", HANDLERS)
def test_models_and_sentences_are_refused_as_everywhere(handler: Callable[[Any], Answer]) -> None:
    for name in ("../toy", "/etc", "", "toy/", ".", "toy\0", "x" * 5000):
        answer = handler(RIGHT | {"checkpoint": name})
        refused(answer)
        assert "no such checkpoint" in answer["error"]
    answer = handler(RIGHT | {"sentence": "wasser"})
    assert answer == {"error": "I don't know “wasser”. This model knows ich, mochte, ein, bier, cola."}


@pytest.mark.parametrize(
    "call",
    [
        lambda: roads.beam_search(BIER, width=6),
        lambda: roads.beam_search(BIER, alpha=-1),
        lambda: roads.sample(BIER, top_p=0),
        lambda: roads.sample(["ich"]),  # type: ignore[arg-type]
        lambda: roads.teacher_forcing("wasser"),
        lambda: roads.teacher_forcing(BIER, "../toy"),
    ],
)
def test_a_program_is_refused_with_a_sentence(call: Callable[[], Answer]) -> None:
    with pytest.raises(gr.Error, match=r"\.['\"]?$"):
        call()


def test_the_same_question_is_answered_once() -> None:
    for handler in HANDLERS:
        assert handler(RIGHT) is handler(dict(RIGHT))
