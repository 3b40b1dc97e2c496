"""Ratios as rows of a Markdown table."""

from collections.abc import Iterable

from .ratio import Ratio

HEADING = (
    "| what | against | ratio, median (quartiles) | ours | theirs | target | |",
    "| --- | --- | --- | --- | --- | --- | --- |",
)


def as_line(row: Ratio) -> str:
    target = "" if row.target is None else f"≤ {row.target:.2f}"
    verdict = "" if row.target is None else "met" if row.median <= row.target else "**missed**"
    remark = "; ".join(filter(None, (verdict, row.note)))
    spread = f"{row.median:.2f} ({row.low:.2f}–{row.high:.2f})"
    cells = (
        row.what,
        row.against,
        spread,
        quantity(row.ours, row.unit),
        quantity(row.theirs, row.unit),
        target,
        remark,
    )
    return "|" + "".join(f" {cell} |" if cell else " |" for cell in cells)


def quantity(value: float, unit: str) -> str:
    """Three digits and the unit."""
    return f"{value:.{2 if value < 10 else 1 if value < 100 else 0}f} {unit}"


def as_table(rows: Iterable[Ratio]) -> str:
    return "\n".join((*HEADING, *map(as_line, rows)))
