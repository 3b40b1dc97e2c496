"""A training mistake as a stream: every step once, then the symptom; it can be stopped at any step."""

import json
from copy import deepcopy
from typing import Any

import pytest

from transformer import Translator
from transformer.live import recordings as recorded
from transformer.live.mistake_training import for_page, retrain
from transformer.live.recordings import record, recordings
from transformer.mistakes import MISTAKES, TrainingMistake

pytestmark = pytest.mark.slow


def mistake() -> TrainingMistake:
    found = MISTAKES["rank_collapse"]
    assert isinstance(found, TrainingMistake)
    return found


@pytest.fixture(scope="module")
def events() -> list[Any]:
    """The events of a whole training, which takes seconds."""
    return list(retrain(mistake()))


def test_every_step_is_reported_once_and_then_the_symptom(events: list[Any]) -> None:
    *progress, symptom = json.loads(json.dumps(events, allow_nan=False))
    assert {each["event"] for each in progress} == {"progress"}
    points: dict[str, list[Any]] = {"wrong": [], "right": []}
    for each in progress:
        assert each.keys() == {"event", "side", "steps", "points"}
        assert each["steps"] == 60
        points[each["side"]] += each["points"]
    for side in ("wrong", "right"):
        assert [step for step, _ in points[side]] == list(range(1, 61))
        assert points[side][-1][1] == symptom[side]["numbers"]["loss"]
    sides = [each["side"] for each in progress]
    assert sides == sorted(sides, reverse=True)  # the wrong side comes first
    assert symptom.keys() == {"event", "sentence", "wanted", "head", "right", "wrong"}
    assert symptom["right"].keys() == {"numbers", "text", "attention"}


def test_a_training_is_recorded_as_it_was_recorded_before(events: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorded, "retrain", lambda _: deepcopy(events))
    one, two = record(mistake()), recordings()["rank_collapse"]
    assert [step for step, _ in one["wrong"]] == [step for step, _ in two["wrong"]]
    assert one["symptom"]["wrong"]["text"] == two["symptom"]["wrong"]["text"]
    assert one["wrong"][0][1] == pytest.approx(two["wrong"][0][1], rel=1e-3)


def test_a_map_is_sent_row_by_row(toy: Translator) -> None:
    found: Any = MISTAKES["cross_padding"]
    symptom = found.run(toy, "ich möchte ein Bier")
    sent = json.loads(json.dumps(for_page(symptom)))["wrong"]["attention"]
    seen = symptom.wrong.attention
    assert sent["weights"] == seen.weights.ravel().tolist()
    assert (sent["kind"], sent["layer"], sent["heads"]) == ("cross", seen.layer, 8)
    assert (sent["queries"], sent["keys"]) == (list(seen.query_tokens), list(seen.key_tokens))
    assert sent["allowed"] == seen.allowed.tolist()
