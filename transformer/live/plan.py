"""Plan a training from a request: its problems, its estimated cost, and its job.

A request is an untrusted dict; each problem names the field to change.
"""

import math
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ..data import TOY, Corpus, Pair, TableError, check_rows, classroom_corpus, hold_out, uploaded_corpus
from ..data.vocabulary import SentenceError
from ..inference.translator import MAX_CHARACTERS
from ..messages import Message, Words
from ..network.config import TransformerConfig
from ..network.cost import count_heads, count_parameters, count_run_values, step_seconds, training_bytes
from ..storage.portable import CORPUS_NAMES, MAX_HEADS, MAX_NAME_LENGTH, MAX_RUN_VALUES, is_valid_name
from ..training import output_limit
from .job import Job
from .limits import Limits, variable

LONGEST_STEP = 0.4  # seconds: training can be stopped between two steps
CLASSROOM_PAIRS = 4_000  # enough to learn the grammar, generated in half a second
THREADS_FROM = 5_000_000  # weights: a second thread does not speed up smaller networks

WHOLE = {  # field -> minimum and maximum
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
SWITCHES = ("positional_encoding", "norm_first", "tie_weights")
SCHEDULES = ("constant", "warmup", "one-cycle")

_NETWORK = {"dropout": 0.1, "positional_encoding": True, "norm_first": False, "tie_weights": False}
_LEARNING = {"batch_size": 64, "warmup_steps": 4000, "label_smoothing": 0.0, "seed": 0}
_CYCLE = _LEARNING | {"schedule": "one-cycle"}
_SMALL = _NETWORK | {"d_model": 64, "n_heads": 4, "layers": 2, "d_ff": 256, "dropout": 0.0}
DEFAULTS: dict[str, dict[str, Any]] = {
    "toy": {
        "model": _NETWORK | {"d_model": 64, "n_heads": 8, "layers": 6, "d_ff": 256},
        "training": _LEARNING | {"steps": 120, "schedule": "constant", "learning_rate": 1e-3},
        "held_out": 0.0,
    },
    "classroom": {
        "model": _SMALL,
        "training": _CYCLE | {"steps": 800, "learning_rate": 3e-3, "label_smoothing": 0.1},
        "held_out": 0.0,
    },
    "own": {"model": _SMALL, "training": _CYCLE | {"steps": 300, "learning_rate": 2e-3}, "held_out": 0.0},
}
PAPER = _NETWORK | {"d_model": 512, "n_heads": 8, "layers": 6, "d_ff": 2048}  # the base model of §3 and §5


@dataclass(frozen=True)
class Problem:
    """Why a training cannot start; `field` is the setting to change, "" if several are involved."""

    field: str
    message: Message


@dataclass(frozen=True)
class Plan:
    """The result of a request. With a problem there is no job, and whatever cannot be computed is None.

    Attributes:
        parameters: the number of weights.
        bytes: the estimated memory of the training.
        seconds: its estimated time, on one thread of this machine.
        corpus: the corpus, with vocabularies of all pairs.
        parts: the numbers of training and of held-out pairs.
    """

    problems: tuple[Problem, ...]
    parameters: int | None
    bytes: int | None
    seconds: float | None
    corpus: Corpus | None
    parts: tuple[int, int] | None
    watch: str
    job: Job | None


def plan(question: dict[str, Any], limits: Limits) -> Plan:
    """Check a request: `name`, `corpus`, `pairs` (of "own"), `watch`, and the settings as DEFAULTS has them."""
    for part in ("model", "training"):
        settings = question.get(part)
        question = question | (settings if isinstance(settings, dict) else {})
    problems = list(_wrong_values(question))
    corpus = None
    pairs: tuple[Pair, ...] = ()
    held_out_pairs: tuple[Pair, ...] = ()
    fine = {problem.field for problem in problems}.isdisjoint
    if fine({"corpus", "pairs", "tie_weights"}):
        try:
            corpus = _corpus(question, limits)
        except _RefusedError as error:
            problems.append(error.problem)
    if corpus and fine({"held_out", "seed"}):
        pairs, held_out_pairs = hold_out(corpus.pairs, question["held_out"], question["seed"])
    watch, reference = "", None
    if corpus and fine({"watch"}):
        wanted = question["watch"] or corpus.examples[0].sentence
        try:
            reference = _reference(corpus, wanted)
            watch = wanted
        except _RefusedError as error:
            problems.append(error.problem)
    config = parameters = size = seconds = None
    if corpus and fine({"d_model", "n_heads", "layers", "d_ff", "dropout", *SWITCHES}):
        config = _network(question, corpus)
        parameters = count_parameters(config)
        if parameters > limits.parameters:
            problems.append(_too_much("d_model", "parameters", parameters, limits.parameters))
        problems.extend(_too_large_to_show(config, corpus))
    if corpus and config and parameters and pairs and fine({"batch_size", "steps"}):
        lengths = corpus.source_length, corpus.batch().target_length
        rows = min(question["batch_size"], len(pairs))
        size = training_bytes(config, rows, *lengths)
        step = step_seconds(config, rows, *lengths)
        seconds = step * question["steps"]
        if size > limits.memory * 2**20:
            problems.append(_too_much("batch_size", "memory", math.ceil(size / 2**20), limits.memory))
        if step > LONGEST_STEP:
            problems.append(Problem("batch_size", Message("plan.step", {"value": round(step, 1)})))
        if seconds > limits.seconds:
            problems.append(_too_much("steps", "seconds", math.ceil(seconds), limits.seconds))
    job = None
    if not problems and config and corpus and parameters:
        threads = 1 if parameters < THREADS_FROM else max(1, (os.cpu_count() or 1) // limits.concurrency)
        job = Job(
            name=question["name"].strip(),
            corpus=question["corpus"],
            pairs=pairs,
            held_out=held_out_pairs,
            source_words=corpus.src_vocab.tokens,
            target_words=corpus.tgt_vocab.tokens,
            source_length=corpus.source_length,
            pad_source=corpus.pad_source,
            watch=watch,
            reference=reference,
            model=vars(config),
            training={name: question[name] for name in _TRAINING},
            seconds=limits.seconds,
            threads=threads,
        )
    parts = (len(pairs), len(held_out_pairs)) if pairs else None
    return Plan(tuple(problems), parameters, size, seconds, corpus, parts, watch, job)


_TRAINING = ("steps", "batch_size", "schedule", "learning_rate", "warmup_steps", "label_smoothing", "seed")


def _wrong_values(question: dict[str, Any]) -> Iterator[Problem]:
    """Fields with a wrong type or outside their range."""
    for field, (least, most) in WHOLE.items():
        if not _between(question.get(field), int, least, most):
            yield Problem(field, Message("plan.whole", {"least": least, "most": most}))
    for field, (low, high) in REAL.items():
        if not _between(question.get(field), (int, float), low, high):
            ends = {
                "least": f"{low:.5f}".rstrip("0").rstrip("."),
                "most": str(high),
            }  # the page rounds numbers to 0.001
            yield Problem(field, Message("plan.number", ends))
    for field in SWITCHES:
        if not isinstance(question.get(field), bool):
            yield Problem(field, Message("plan.switch"))
    for field, choices in (("schedule", SCHEDULES), ("corpus", CORPUS_NAMES)):
        if question.get(field) not in choices:
            yield Problem(field, Message("plan.choice", {"choices": Words(tuple(choices))}))
    width: Any = question.get("d_model")
    heads: Any = question.get("n_heads")
    if _between(width, int, *WHOLE["d_model"]) and _between(heads, int, *WHOLE["n_heads"]) and width % heads:
        yield Problem("n_heads", Message("plan.heads", {"d_model": width, "n_heads": heads}))
    name, watch = question.get("name"), question.get("watch")
    if not isinstance(name, str) or not is_valid_name(name.strip()):
        yield Problem("name", Message("plan.name", {"most": MAX_NAME_LENGTH}))
    if not isinstance(watch, str):
        yield Problem("watch", Message("plan.text"))


def _between(value: Any, kinds: Any, least: float, most: float) -> bool:
    return isinstance(value, kinds) and not isinstance(value, bool) and least <= value <= most


class _RefusedError(Exception):
    def __init__(self, problem: Problem) -> None:
        self.problem = problem


def _too_much(field: str, name: str, value: int, most: int) -> Problem:
    """A value above the limit of that name."""
    values = {"value": value, "most": most, "variable": variable(name)}
    messages = {
        "parameters": Message("plan.parameters", values),
        "seconds": Message("plan.seconds", values),
        "memory": Message("plan.memory", values),
        "pairs": Message("plan.pairs", values),
        "tokens": Message("plan.tokens", values),
    }
    return Problem(field, messages[name])


def _too_large_to_show(config: TransformerConfig, corpus: Corpus) -> Iterator[Problem]:
    """A model too large for the bounds of a model file, which a visitor could not upload again."""
    if (heads := count_heads(config)) > MAX_HEADS:
        yield Problem("n_heads", Message("plan.many_heads", {"value": heads, "most": MAX_HEADS}))
    output_length = output_limit(corpus.batch().target_length, config)
    if (numbers := count_run_values(config, corpus.source_length, output_length)) > MAX_RUN_VALUES:
        yield Problem("", Message("plan.numbers", {"value": numbers, "most": MAX_RUN_VALUES}))


def _corpus(question: dict[str, Any], limits: Limits) -> Corpus:
    tied = question["tie_weights"]
    if question["corpus"] != "own":
        return _shipped(question["corpus"], tied)
    try:
        table = check_rows(question.get("pairs"))
    except TableError as error:
        raise _RefusedError(Problem("pairs", error.message)) from error
    if table.bad:
        raise _RefusedError(Problem("pairs", table.bad[0].message))
    if len(table.pairs) > limits.pairs:
        raise _RefusedError(_too_much("pairs", "pairs", len(table.pairs), limits.pairs))
    corpus = _own(table.pairs, tied)
    words = sum(len(text.split()) for pair in corpus.pairs for text in pair)
    if words > limits.tokens:
        raise _RefusedError(_too_much("pairs", "tokens", words, limits.tokens))
    return corpus


@lru_cache(maxsize=4)
def _shipped(name: str, tied: bool) -> Corpus:
    """With tied weights both sides have one vocabulary (§3.4)."""
    corpus = TOY if name == "toy" else classroom_corpus(CLASSROOM_PAIRS)
    if not tied:
        return corpus
    shared = uploaded_corpus(corpus.pairs, name, shared_vocabulary=True)
    return replace(corpus, load=shared.load, source_length=shared.source_length)


@lru_cache(maxsize=8)
def _own(pairs: tuple[Pair, ...], tied: bool) -> Corpus:
    return uploaded_corpus(pairs, "own", shared_vocabulary=tied)


def _network(question: dict[str, Any], corpus: Corpus) -> TransformerConfig:
    return TransformerConfig(
        src_vocab_size=len(corpus.src_vocab),
        tgt_vocab_size=len(corpus.tgt_vocab),
        d_model=question["d_model"],
        n_heads=question["n_heads"],
        d_ff=question["d_ff"],
        num_encoder_layers=question["layers"],
        num_decoder_layers=question["layers"],
        dropout=question["dropout"],
        positional_encoding=question["positional_encoding"],
        final_norm="both"
        if question["norm_first"]
        else "none",  # without it, the output of a pre-norm stack is not normalised
        norm_first=question["norm_first"],
        tie_weights=question["tie_weights"],
    )


def _reference(corpus: Corpus, watch: str) -> str | None:
    """The reference translation of the watched sentence, if the corpus has one and the model can output it."""
    try:
        corpus.src_vocab.encode(watch[: MAX_CHARACTERS + 1])
    except SentenceError as error:
        raise _RefusedError(Problem("watch", error.message)) from error
    words = corpus.src_vocab.split(watch)
    if len(words) > corpus.source_length or len(watch) > MAX_CHARACTERS:
        raise _RefusedError(Problem("watch", Message("plan.long_watch", {"most": corpus.source_length})))
    found = corpus.find(" ".join(words))
    words = found.target.split() if found else []
    possible = corpus.tgt_vocab.ids.keys() >= set(words) and len(words) < corpus.batch().target_length  # E follows
    return found.target if found and possible else None
