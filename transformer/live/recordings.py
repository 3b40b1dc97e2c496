"""Recorded runs of the training mistakes, for a lesson without the time to train.

    python -m transformer.live.recordings     # make recordings: trains each once and writes recordings.json (2 minutes)

Every training is seeded, but for the random layers that `output_in_forward` is about.
"""

import hashlib
import json
import time
from functools import cache
from pathlib import Path

from pydantic import TypeAdapter
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ..data import TOY, classroom_corpus
from ..mistakes import MISTAKES, TrainingMistake
from ..mistakes.training import PAIRS, SMALL, STEPS
from .mistake_training import Symptom, retrain

FILE = Path(__file__).with_suffix(".json")
DIGITS = 6  # of a loss and of a weight


class Recording(TypedDict):
    """A run that was recorded: its losses by side as [step, loss], what it came to, and the `seconds` of one
    processor that it took."""

    steps: int
    wrong: list[tuple[int, float]]
    right: list[tuple[int, float]]
    symptom: Symptom
    seconds: float


def record(mistake: TrainingMistake) -> Recording:
    """Train both sides now."""
    began, steps = time.process_time(), 0
    points: dict[str, list[tuple[int, float]]] = {"wrong": [], "right": []}
    for event in retrain(mistake):
        if event["event"] == "progress":
            points[event["side"]] += [(step, round(loss, DIGITS)) for step, loss in event["points"]]
            steps = event["steps"]
        else:
            symptom: Symptom = event
    for side in (symptom["right"], symptom["wrong"]):
        if side["attention"]:
            side["attention"]["weights"] = [round(weight, DIGITS) for weight in side["attention"]["weights"]]
    return {
        "steps": steps,
        "wrong": points["wrong"],
        "right": points["right"],
        "symptom": symptom,
        "seconds": round(time.process_time() - began, 1),
    }


def learned_from() -> str:
    """A hash of what the trainings learn from: after a change of it, recordings are of something else."""
    pairs = [*TOY.pairs, *classroom_corpus(PAIRS).pairs]
    return hashlib.sha256(json.dumps([pairs, SMALL, STEPS]).encode()).hexdigest()[:16]


@cache
def recordings() -> dict[str, Recording]:
    """By the mistake's name."""
    return TypeAdapter(dict[str, Recording]).validate_python(json.loads(FILE.read_text("utf-8"))["recordings"])


def main() -> None:
    trainings = [mistake for mistake in MISTAKES.values() if isinstance(mistake, TrainingMistake)]
    recorded = {mistake.name: record(mistake) for mistake in trainings}
    FILE.write_text(json.dumps({"learned_from": learned_from(), "recordings": recorded}) + "\n", "utf-8")


if __name__ == "__main__":
    main()
