"""A training mistake, live: small models are trained with and without it, as a stream of events."""

import time
from collections.abc import Callable, Iterator
from typing import Literal

import torch
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ..mistakes import Symptom, TrainingMistake
from .stream import SEND_SECONDS


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
            symptom: Symptom = end.value
            yield {"event": "symptom", **symptom}
            return
        now = time.perf_counter()
        if (last and learned.side != last.side) or now - sent >= SEND_SECONDS:
            yield from progress()
            sent = now
        last = learned
        points.append((learned.step, learned.loss))
