"""Ratios of two measurements that alternate, so that a busy minute slows both; and the table of them."""

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

HEADING = """\
| what | against | ratio, median (quartiles) | ours | theirs | target | |
| --- | --- | --- | --- | --- | --- | --- |"""


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

    def __str__(self) -> str:
        """A row of the table."""
        target = verdict = ""
        if self.target is not None:
            target = f"≤ {self.target:.2f}"
            verdict = "met" if self.median <= self.target else "**missed**"
        spread = f"{self.median:.2f} ({self.low:.2f}–{self.high:.2f})"
        times = (quantity(self.ours, self.unit), quantity(self.theirs, self.unit))
        cells = (self.what, self.against, spread, *times, target, "; ".join(filter(None, (verdict, self.note))))
        return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)


def quantity(value: float, unit: str) -> str:
    """Three digits and the unit."""
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {unit}"


def as_table(rows: Iterable[Ratio]) -> str:
    return "\n".join((HEADING, *map(str, rows)))


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


def percentile(took: Sequence[float]) -> float:
    """The 95th."""
    return statistics.quantiles(took, n=20)[-1]


def bound(what: str, most: float, took: Sequence[float], note: str) -> Ratio:
    """The p95 of what took these milliseconds, against a bound."""
    return ratio(f"p95 of {what}", f"{most:.0f} ms", 1.0, [percentile(took)] * 2, [most] * 2, note=note)


def alternate(
    ours: Callable[[], float], theirs: Callable[[], float], rounds: int, warm_up: int = 1
) -> tuple[list[float], list[float]]:
    """What each returns, `rounds` times in turn, after rounds that do not count; the order alternates."""
    found: tuple[list[float], list[float]] = ([], [])
    for n in range(-warm_up, rounds):
        for which in (0, 1) if n % 2 else (1, 0):
            value = (ours, theirs)[which]()
            if n >= 0:
                found[which].append(value)
    return found


def in_turn(ours: Callable[[], object], theirs: Callable[[], object], rounds: int) -> tuple[list[float], list[float]]:
    """Milliseconds of each, in turn, after three rounds of warm-up."""

    def timed(work: Callable[[], object]) -> float:
        begin = time.perf_counter()
        work()
        return 1000 * (time.perf_counter() - begin)

    return alternate(lambda: timed(ours), lambda: timed(theirs), rounds, warm_up=3)
