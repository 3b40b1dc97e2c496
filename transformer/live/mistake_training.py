"""A training mistake, live: small models are trained with and without it, as a stream of JSON events.

{"event": "progress", "side", "steps", "points": [[step, loss], ...] since the last}      side: "right" or "wrong"
{"event": "symptom", "sentence", "wanted", "head", "right", "wrong"}                      see `for_page`
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import torch

from ..inference.attention_maps import AttentionMap
from ..mistakes import Side, Symptom, TrainingMistake
from .stream import SEND_SECONDS, Event


def retrain(mistake: TrainingMistake, stopped: Callable[[], bool] = lambda: False) -> Iterator[Event]:
    """Train both sides, one after the other, on one thread.

    Args:
        stopped: called after every step; if it returns True, training ends without a symptom.
    """
    torch.set_num_threads(1)
    learning = mistake.run()
    points: list[tuple[int, float]] = []
    last, sent = None, time.perf_counter()

    def progress() -> Iterator[Event]:
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


def for_page(symptom: Symptom) -> dict[str, Any]:
    """What assets/js/mistakes.js reads; of a map, the weights of its heads one after the other, row by row."""
    return {
        "sentence": symptom.sentence,
        "wanted": symptom.wanted,
        "head": symptom.head,
        "right": _side(symptom.right),
        "wrong": _side(symptom.wrong),
    }


def _side(side: Side) -> dict[str, Any]:
    """Without the losses: a page has had them, step by step."""
    return {"numbers": dict(side.numbers), "text": side.text, "attention": side.attention and _map(side.attention)}


def _map(attention: AttentionMap) -> dict[str, Any]:
    return {
        "kind": attention.kind,
        "layer": attention.layer,
        "heads": attention.n_heads,
        "queries": attention.query_tokens,
        "keys": attention.key_tokens,
        "allowed": attention.allowed.tolist(),
        "weights": attention.weights.ravel().tolist(),
    }
