"""One thing measured against another: the two run in turn, so that a busy minute slows both."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


class MissingError(Exception):
    """What a measurement needs and this machine has not got."""


@dataclass(frozen=True)
class Ratio:
    """Ours over theirs, round by round.

    Attributes:
        what, against: a row of the table.
        target: what the ratio should at most be, None where nothing was set.
        median, low, high: of the rounds' ratios; low and high are its quartiles.
        ours, theirs: medians, in `unit`.
        note: what a reader of the table must know.
    """

    what: str
    against: str
    target: float | None
    median: float
    low: float
    high: float
    ours: float
    theirs: float
    unit: str
    note: str = ""


def ratio(
    what: str,
    against: str,
    target: float | None,
    ours: Sequence[float],
    theirs: Sequence[float],
    unit: str = "ms",
    note: str = "",
) -> Ratio:
    """From what was measured, a pair a round."""
    rounds = [a / b for a, b in zip(ours, theirs, strict=True)]
    low, median, high = statistics.quantiles(rounds, n=4)
    return Ratio(
        what, against, target, median, low, high, statistics.median(ours), statistics.median(theirs), unit, note
    )


def in_turn(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each, `rounds` times in turn, after three rounds to warm up; who begins alternates."""
    took: tuple[list[float], list[float]] = ([], [])
    for n in range(-3, rounds):
        for which in (0, 1) if n % 2 else (1, 0):
            began = time.perf_counter()
            (ours, theirs)[which]()
            if n >= 0:
                took[which].append(1000 * (time.perf_counter() - began))
    return took
