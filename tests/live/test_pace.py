"""An estimate learns from the last training: the machine's speed stays, what it waited for others fades."""

import pytest

from transformer.live.pace import FIRST_STEP_SECONDS, HALF_LIFE, START_SECONDS, Pace, busyness


def test_an_estimate_learns_from_the_last_training_and_from_the_load() -> None:
    now, load = 0.0, 1.0
    pace = Pace(lambda: now, lambda: load)
    assert pace.seconds(10) == START_SECONDS + 10
    load = 2.5
    assert pace.seconds(10) == (START_SECONDS + 10) * 2.5
    took = 20 + FIRST_STEP_SECONDS  # on a slow machine, and eight times as long because of others
    pace.learn(100, estimate=10, seconds=8 * took, processor_seconds=took)
    assert pace.seconds(5) == pytest.approx((START_SECONDS + 10) * 8)
    now += 30 * HALF_LIFE
    assert pace.seconds(5) == pytest.approx((START_SECONDS + 10) * 2.5)  # by the load alone
    load = 1.0
    assert pace.seconds(5) == pytest.approx(START_SECONDS + 10)


def test_a_training_that_says_nothing_teaches_nothing() -> None:
    assert busyness() >= 1
    pace = Pace(lambda: 0.0, lambda: 1.0)
    for taken in ((100, 10, 0, 0), (100, 0, 5, 5), (100, 10, 5, 0.1), (5, 1, 9, 8)):
        pace.learn(*taken)
    assert pace.seconds(10) == START_SECONDS + 10
