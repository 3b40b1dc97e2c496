"""The Train tab's requests: before a training, the training, and its end."""

import asyncio
import base64
import math
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict, replace
from typing import Any, Literal, NotRequired

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...data import CORPORA, BadRow, Corpus, Table, TableError, check_rows, read_table
from ...data.uploaded_pairs import MAX_BYTES, MAX_PAIRS
from ...live.form import DEFAULTS, MAX_HELD_OUT, PAPER
from ...live.plan import Problem
from ...live.plan import plan as planned
from ...messages import MessageError
from ...storage.portable import MAX_NAME_LENGTH
from ..client import Client
from ..schema import AnyTrainingForm, FileRequest, PairsRequest, StopRequest
from ..sessions.training_queue import TrainingEvent, training_queue
from .question import Refusal
from .turns import turn

SHOWN_WORDS = 60  # of a vocabulary


def opening() -> dict[str, Any]:
    """The tab's first contents."""
    sentences = {name: known.examples[0].sentence for name, known in CORPORA.items()}
    return {
        "limits": asdict(training_queue().limits)
        | {"file": MAX_BYTES, "pairs": MAX_PAIRS, "name": MAX_NAME_LENGTH, "held_out": MAX_HELD_OUT},
        "defaults": DEFAULTS | {"paper": PAPER},
        "sentences": sentences | {"own": ""},
    }


class PairsRefusal(Refusal):
    """There is not one pair."""

    bad: NotRequired[tuple[BadRow, ...]]


def pairs(request: PairsRequest) -> Table | PairsRefusal:
    """A visitor's sentence pairs, checked, and the rows that cannot be used."""
    try:
        if isinstance(request, FileRequest):
            return read_table(base64.b64decode(request.file, validate=True), request.header)
        return check_rows(request.rows)
    except TableError as error:
        return {"error": error.message.for_page(), "bad": error.bad}


class ShownVocabularies(TypedDict):
    """The first words of both, and their sizes."""

    source: tuple[str, ...]
    target: tuple[str, ...]
    source_size: int
    target_size: int


class PairAsIds(TypedDict):
    """The first pair as a network reads it."""

    source: list[str]
    source_ids: list[int]
    decoder_input: list[str]
    decoder_input_ids: list[int]
    target: list[str]
    target_ids: list[int]


class TrainingPlan(TypedDict):
    """A training's size and cost before it starts: see live.plan.Plan."""

    problems: list[Problem]
    parameters: int | None
    bytes: int | None
    seconds: float | None
    pairs: dict[Literal["training", "held_out"], int] | None
    watch: str
    uniform: float | None
    vocabularies: ShownVocabularies | None
    example: PairAsIds | None


def plan(request: AnyTrainingForm) -> TrainingPlan:
    """Plan a training before it starts. Errors in the form are part of the answer, not a refusal."""
    training_queue().prepare()
    found = planned(request, training_queue().limits)
    seconds = found.job.estimate if found.job else found.seconds
    return {
        "problems": found.problems,
        "parameters": found.parameters,
        "bytes": found.bytes,
        "seconds": None if seconds is None else training_queue().pace.seconds(seconds),
        "pairs": {"training": found.parts[0], "held_out": found.parts[1]} if found.parts else None,
        "watch": found.watch,
        "uniform": math.log(len(found.corpus.tgt_vocab)) if found.corpus else None,
        "vocabularies": _vocabularies(found.corpus) if found.corpus else None,
        "example": _first_pair(found.corpus) if found.corpus else None,
    }


def _vocabularies(corpus: Corpus) -> ShownVocabularies:
    source, target = corpus.src_vocab, corpus.tgt_vocab
    return {
        "source": source.tokens[:SHOWN_WORDS],
        "target": target.tokens[:SHOWN_WORDS],
        "source_size": len(source),
        "target_size": len(target),
    }


def _first_pair(corpus: Corpus) -> PairAsIds:
    """As a network reads it."""
    source, target = corpus.src_vocab, corpus.tgt_vocab
    batch = corpus.batch(corpus.pairs[:1])
    src, read, output = (ids[0].tolist() for ids in (batch.src, batch.tgt_in, batch.tgt_out))
    return {
        "source": [source.tokens[i] for i in src],
        "source_ids": src,
        "decoder_input": [target.tokens[i] for i in read],
        "decoder_input_ids": read,
        "target": [target.tokens[i] for i in output],
        "target_ids": output,
    }


async def train(request: AnyTrainingForm, client: Client) -> AsyncGenerator[TrainingEvent]:
    """Train, and keep the model for the session."""
    training_queue().check(client)
    async with turn(None, client, is_slow=True):  # a plan can take a second
        found = await asyncio.to_thread(planned, request, training_queue().limits)
    if found.job is None:
        refusal = found.problems[0].message
        raise MessageError(refusal.key, **refusal.values)
    job = replace(found.job, hub_token=client.hub_token)
    async with aclosing(training_queue().train(job, client)) as events:
        async for event in events:
            yield event  # type: ignore[misc]  # a dict


async def stop_training(request: StopRequest, client: Client) -> None:
    """End a training after its present step; its model is kept."""
    training_queue().stop(request.run)
