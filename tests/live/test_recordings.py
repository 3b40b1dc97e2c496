"""The recorded trainings are of every training mistake, and of what the trainings learn from now."""

import pytest

from transformer.live.mistake_training import Symptom
from transformer.live.recordings import FILE, learned_from, recordings
from transformer.mistakes import MISTAKES, TrainingMistake

TRAININGS = [each for each in MISTAKES.values() if isinstance(each, TrainingMistake)]


@pytest.mark.parametrize("mistake", TRAININGS, ids=lambda mistake: mistake.name)
def test_a_recording_has_every_step_of_the_training_and_its_end(mistake: TrainingMistake) -> None:
    found = recordings()[mistake.name]
    for side in ("wrong", "right"):
        points = found[side]
        assert [step for step, _ in points] in ([*range(1, found["steps"] + 1)], [])
        numbers = found["symptom"][side]["numbers"]
        if points and "loss" in numbers:
            assert points[-1][1] == pytest.approx(numbers["loss"], abs=1e-4)
    assert found["wrong"]
    assert Symptom.__required_keys__ <= found["symptom"].keys()
    assert found["seconds"] > 0


def test_recordings_are_of_the_data_that_trainings_learn_from_now() -> None:
    assert f'"learned_from": "{learned_from()}"' in FILE.read_text("utf-8")  # else: make recordings
    assert FILE.stat().st_size < 2**20
