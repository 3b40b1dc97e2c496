"""Plan a training from a form: its problems, its estimated cost, and its job."""

import math
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from ..data import TOY, Corpus, Pair, check_rows, classroom_corpus, hold_out, uploaded_corpus
from ..inference.translator import MAX_CHARACTERS
from ..messages import Message, MessageError
from ..network.config import TransformerConfig
from ..network.cost import count_heads, count_parameters, count_run_values, step_seconds, training_bytes
from ..settings import variables
from ..storage.portable import MAX_HEADS, MAX_RUN_VALUES
from ..training import output_limit
from .form import LearningForm, NetworkForm, invalid_fields
from .job import Job
from .limits import Limits

LONGEST_STEP = 0.4  # seconds: training can be stopped between two steps
CLASSROOM_PAIRS = 5_000  # enough to learn the grammar, generated in a second
THREADS_FROM = 5_000_000  # weights: a second thread does not speed up smaller networks


@dataclass(frozen=True)
class Problem:
    """Why a training cannot start; `field` is the setting to change, "" if several are involved."""

    field: str
    message: Message


@dataclass
class Plan:
    """The result of a form. With a problem there is no job, and whatever cannot be computed is None."""

    problems: list[Problem]
    parameters: int | None = None  # the number of weights
    bytes: int | None = None  # the estimated memory of the training
    seconds: float | None = None  # its estimated time, on one thread of an idle machine (see pace.py for this one)
    corpus: Corpus | None = None  # with vocabularies of all pairs
    parts: tuple[int, int] | None = None  # the numbers of training and of held-out pairs
    watch: str = ""
    job: Job | None = None

    def bound(self, field: str, key: str, value: int, most: int, **more: str) -> None:
        """Note a value above its bound as this field's problem."""
        if value > most:
            self.problems.append(Problem(field, Message(key, {"value": value, "most": most, **more})))

    @contextmanager
    def problem_of(self, field: str) -> Iterator[None]:
        """Note a refusal of the code inside as this field's problem."""
        try:
            yield
        except MessageError as error:
            self.problems.append(Problem(field, error.message))


def plan(question: dict[str, Any], limits: Limits) -> Plan:
    """Check an untrusted TrainingForm, and estimate all that its valid fields allow."""
    values, invalid = _read(question)
    found = Plan([Problem(field, message) for field, message in invalid.items()])
    reference: str | None = None

    def valid(*fields: str) -> bool:
        return invalid.keys().isdisjoint(fields)

    if valid("corpus", "tie_weights"):
        with found.problem_of("pairs"):
            found.corpus = _corpus(values, limits)
    corpus = found.corpus
    if not corpus:
        return found
    if valid("watch"):
        with found.problem_of("watch"):
            watch = values["watch"] or corpus.examples[0].sentence
            reference = _reference(corpus, watch)
            found.watch = watch
    if valid("held_out", "seed"):
        pairs, held_out = hold_out(corpus.pairs, values["held_out"], values["seed"])
        found.parts = len(pairs), len(held_out)
    if not valid(*NetworkForm.model_fields):
        return found
    config = _network(values, corpus)
    _estimate_network(found, corpus, config, limits)
    if not found.parts or not valid("batch_size", "steps"):
        return found
    _estimate_training(found, corpus, config, min(values["batch_size"], len(pairs)), values["steps"], limits)
    if found.problems:
        return found
    assert found.parameters
    assert found.seconds
    threads = 1 if found.parameters < THREADS_FROM else max(1, (os.cpu_count() or 1) // limits.concurrency)
    found.job = Job(
        name=values["name"].strip(),
        corpus=values["corpus"],
        pairs=pairs,
        held_out=held_out,
        source_words=corpus.src_vocab.tokens,
        target_words=corpus.tgt_vocab.tokens,
        source_length=corpus.source_length,
        pad_source=corpus.pad_source,
        watch=found.watch,
        reference=reference,
        model=vars(config),
        training={name: values[name] for name in LearningForm.model_fields},
        seconds=limits.seconds,
        threads=threads,
        estimate=found.seconds / threads,
    )
    return found


def _read(question: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Message]]:
    """The values of a form's fields, and why some are invalid."""
    parts = {name: part if isinstance(part := question.get(name), dict) else {} for name in ("model", "training")}
    invalid, values = invalid_fields(question | parts), question
    for name, form in (("model", NetworkForm), ("training", LearningForm)):
        values = values | {field: parts[name].get(field) for field in form.model_fields}
    if invalid.keys().isdisjoint(("d_model", "n_heads")) and values["d_model"] % values["n_heads"]:
        invalid["n_heads"] = Message("plan.heads", {name: values[name] for name in ("d_model", "n_heads")})
    return values, invalid


def _estimate_network(found: Plan, corpus: Corpus, config: TransformerConfig, limits: Limits) -> None:
    found.parameters = count_parameters(config)
    _check(found, limits, "d_model", "plan.parameters", found.parameters)
    # A visitor could not upload a larger model again.
    found.bound("n_heads", "plan.many_heads", count_heads(config), MAX_HEADS)
    outputs = output_limit(corpus.batch().target_length, config)
    found.bound("", "plan.numbers", count_run_values(config, corpus.source_length, outputs), MAX_RUN_VALUES)


def _estimate_training(
    found: Plan, corpus: Corpus, config: TransformerConfig, rows: int, steps: int, limits: Limits
) -> None:
    """The estimate for `steps` batches of `rows` pairs."""
    sizes = (config, rows, corpus.source_length, corpus.batch().target_length)
    found.bytes, step = training_bytes(*sizes), step_seconds(*sizes)
    found.seconds = step * steps
    _check(found, limits, "batch_size", "plan.memory", math.ceil(found.bytes / 2**20))
    if step > LONGEST_STEP:
        found.problems.append(Problem("batch_size", Message("plan.step", {"value": round(step, 1)})))
    _check(found, limits, "steps", "plan.seconds", math.ceil(found.seconds))


def _check(found: Plan, limits: Limits, field: str, key: str, value: int) -> None:
    """Compare with the limit whose name the message's key ends with."""
    name = key.removeprefix("plan.")
    found.bound(field, key, value, getattr(limits, name), variable=variables(Limits)[name].name)


def _corpus(values: dict[str, Any], limits: Limits) -> Corpus:
    if values["corpus"] != "own":
        return _shipped(values["corpus"], values["tie_weights"])
    table = check_rows(values.get("pairs"))
    if table.bad:
        raise MessageError(table.bad[0].message.key, **table.bad[0].message.values)
    corpus = _own(table.pairs, values["tie_weights"])
    tokens = sum(len(text.split()) for pair in corpus.pairs for text in pair)
    if tokens > limits.tokens:
        raise MessageError("plan.tokens", value=tokens, most=limits.tokens)
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


def _network(values: dict[str, Any], corpus: Corpus) -> TransformerConfig:
    settings = {name: values[name] for name in NetworkForm.model_fields}
    layers = settings.pop("layers")
    return TransformerConfig(
        src_vocab_size=len(corpus.src_vocab),
        tgt_vocab_size=len(corpus.tgt_vocab),
        num_encoder_layers=layers,
        num_decoder_layers=layers,
        # Without it, the output of a pre-norm stack is not normalised.
        final_norm="both" if values["norm_first"] else "none",
        **settings,
    )


def _reference(corpus: Corpus, watch: str) -> str | None:
    """The reference translation of the watched sentence, if the corpus has one and the model can output it. Raises
    MessageError if the model cannot translate the sentence."""
    corpus.src_vocab.encode(watch[: MAX_CHARACTERS + 1])
    words = corpus.src_vocab.split(watch)
    if len(words) > corpus.source_length or len(watch) > MAX_CHARACTERS:
        raise MessageError("plan.long_watch", most=corpus.source_length)
    found = corpus.find(" ".join(words))
    words = found.target.split() if found else []
    possible = corpus.tgt_vocab.ids.keys() >= set(words) and len(words) < corpus.batch().target_length  # E follows
    return found.target if found and possible else None
