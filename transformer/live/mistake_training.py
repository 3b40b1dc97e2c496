"""A training mistake, live: small models are trained with and without it, as a stream of events."""

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Literal

import torch
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from .. import mistakes
from ..inference.attention_maps import AttentionMap, Kind
from ..mistakes import TrainingMistake
from .stream import SEND_SECONDS


class SymptomMap(TypedDict):
    """A map of one side of a mistake; `weights` of its heads one after the other, row by row."""

    kind: Kind
    layer: int
    heads: int
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    allowed: list[list[bool]]
    weights: list[float]


class SymptomSide(TypedDict):
    """The measurements of one side of a mistake, without the losses, which the page has received step by step."""

    numbers: Mapping[str, float]
    text: str
    attention: SymptomMap | None


class Symptom(TypedDict):
    """One thing done right and wrong: see mistakes.Symptom."""

    sentence: str
    wanted: str
    head: int
    right: SymptomSide
    wrong: SymptomSide


class MistakeProgress(TypedDict):
    """`points`: step and loss of the steps since the last one."""

    event: Literal["progress"]
    side: Literal["right", "wrong"]
    steps: int
    points: list[tuple[int, float]]


class SymptomShown(Symptom):
    event: Literal["symptom"]


MistakeEvent = MistakeProgress | SymptomShown


def retrain(mistake: TrainingMistake, stopped: Callable[[], bool] = lambda: False) -> Iterator[MistakeEvent]:
    """Train both sides, one after the other, on one thread. Without a symptom as soon as `stopped` returns True, which
    is called after every step."""
    torch.set_num_threads(1)
    learning = mistake.run()
    points: list[tuple[int, float]] = []
    last, sent = None, time.perf_counter()

    def progress() -> Iterator[MistakeEvent]:
        if last and points:
            yield {"event": "progress", "side": last.side, "steps": last.steps, "points": [*points]}
            points.clear()

    while not stopped():
        try:
            learned = next(learning)
        except StopIteration as end:
            yield from progress()
            yield {"event": "symptom", **for_page(end.value)}
            return
        now = time.perf_counter()
        if (last and learned.side != last.side) or now - sent >= SEND_SECONDS:
            yield from progress()
            sent = now
        last = learned
        points.append((learned.step, learned.loss))


def for_page(symptom: mistakes.Symptom) -> Symptom:
    """A symptom as JSON."""
    return {
        "sentence": symptom.sentence,
        "wanted": symptom.wanted,
        "head": symptom.head,
        "right": _side(symptom.right),
        "wrong": _side(symptom.wrong),
    }


def _side(side: mistakes.Side) -> SymptomSide:
    return {
        "numbers": dict(side.numbers),
        "text": side.text,
        "attention": _map(side.attention) if side.attention else None,
    }


def _map(attention: AttentionMap) -> SymptomMap:
    return {
        "kind": attention.kind,
        "layer": attention.layer,
        "heads": attention.n_heads,
        "queries": attention.query_tokens,
        "keys": attention.key_tokens,
        "allowed": attention.allowed.tolist(),
        "weights": attention.weights.ravel().tolist(),
    }
