"""Ratios of two measurements that alternate, so that a busy minute slows both."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


class MissingError(Exception):
    """This machine lacks a requirement of a measurement."""


@dataclass(frozen=True)
class Ratio:
    """Our time over theirs, round by round.

    Attributes:
        what, against: a row of the table.
        target: the maximum of the ratio; None without a target.
        median, low, high: of the rounds' ratios; low and high are its quartiles.
        ours, theirs: medians, in `unit`.
        note: a remark in the table.
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
    """The ratio of measured pairs, one per round."""
    rounds = [a / b for a, b in zip(ours, theirs, strict=True)]
    low, median, high = statistics.quantiles(rounds, n=4)
    return Ratio(
        what, against, target, median, low, high, statistics.median(ours), statistics.median(theirs), unit, note
    )


def in_turn(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each, `rounds` times in turn, after three rounds of warm-up; the order alternates."""
    took: tuple[list[float], list[float]] = ([], [])
    for n in range(-3, rounds):
        for which in (0, 1) if n % 2 else (1, 0):
            began = time.perf_counter()
            (ours, theirs)[which]()
            if n >= 0:
                took[which].append(1000 * (time.perf_counter() - began))
    return took
