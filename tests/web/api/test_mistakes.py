"""Spot the bug: every mistake is shown with the model's own numbers, or refused with a sentence."""

from collections.abc import AsyncGenerator
from typing import Any

import pytest

from transformer.mistakes import MISTAKES, DecodingMistake
from transformer.web.api import mistakes
from transformer.web.client import Client
from transformer.web.sessions.models import translator
from transformer.web.sessions.shared_run import Event

from .endpoints import BEER, as_sent, called


def test_a_program_gets_code_numbers_and_texts() -> None:
    mistake = MISTAKES["cross_padding"]
    assert isinstance(mistake, DecodingMistake)
    found = mistake.run(translator("toy"), BEER)
    expected: dict[str, Any] = {"name": "cross_padding", "kind": "decoding", "sentence": BEER, "checkpoint": "toy"}
    expected |= {"right_code": mistake.right, "wrong_code": mistake.wrong}
    for name, side in (("right", found.right), ("wrong", found.wrong)):
        expected[name] = {"numbers": dict(side.numbers), "text": side.text, "losses": []}
    assert called(mistakes.spot_the_bug, name="cross_padding") == as_sent(expected)
    assert called(mistakes.spot_the_bug, name="no_eval")["checkpoint"] == "classroom"


class Busy:
    """A training queue that shows what a test has it show."""

    def __init__(self, *events: Event) -> None:
        self.events = events
        self.asked: list[tuple[str, Client]] = []

    async def train_mistake(self, mistake: str, client: Client) -> AsyncGenerator[Event]:
        self.asked.append((mistake, client))
        for event in self.events:
            yield event


SIDE = {"numbers": {"loss": 1.0}, "text": "a", "attention": None}
SYMPTOM = {"event": "symptom", "sentence": "s", "wanted": "w", "head": 0, "right": SIDE, "wrong": SIDE}


def progress(side: str, *points: tuple[int, float]) -> Event:
    return {"event": "progress", "side": side, "steps": 2, "points": points}


def test_a_mistake_of_training_is_trained_in_the_queue_of_trainings(monkeypatch: pytest.MonkeyPatch) -> None:
    told = [progress("wrong", (1, 3.0)), progress("wrong", (2, 2.5)), progress("right", (1, 2.0))]
    shop = Busy({"event": "waiting", "place": 1}, {"event": "run", "run": "x"}, *told, SYMPTOM)
    monkeypatch.setattr(mistakes, "training_queue", lambda: shop)
    answer = called(mistakes.spot_the_bug, name="causal_mask")
    assert (answer["kind"], answer["checkpoint"], answer["sentence"]) == ("training", None, "s")
    assert (answer["wrong"]["losses"], answer["right"]["losses"]) == ([3.0, 2.5], [2.0])
    ((name, client),) = shop.asked
    assert (name, client.session) == ("causal_mask", "")  # no call is refused because another trains
