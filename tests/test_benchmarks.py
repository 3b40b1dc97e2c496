"""Ratios are divided and written right, and answers compared. Nothing here is timed."""

import json
from pathlib import Path

import pytest

from tests.benchmarks.bench import RESULTS
from tests.benchmarks.ratio import HEADING, Ratio, ratio
from tests.visitors import alike


@pytest.mark.parametrize("file", [RESULTS, RESULTS.with_name("load.json")], ids=lambda file: file.name)
def test_what_was_measured_is_json_that_anybody_can_read(file: Path) -> None:
    assert json.loads(file.read_text(), parse_constant=pytest.fail)  # NaN is not JSON


def test_a_ratio_is_the_median_of_rounds_and_not_of_medians() -> None:
    found = ratio("a", "b", 0.5, ours=[1.0, 2.0, 9.0], theirs=[2.0, 2.0, 90.0], unit="s", note="why")
    assert found == Ratio("a", "b", 0.5, 0.5, 0.1, 1.0, 2.0, 2.0, "s", "why")  # the median of 0.5, 1.0 and 0.1
    with pytest.raises(ValueError, match="shorter"):
        ratio("a", "b", None, [1.0, 2.0], [1.0])


@pytest.mark.parametrize(
    ("median", "target", "note", "end"),
    [
        (0.5, 0.5, "", "≤ 0.50 | met |"),
        (0.51, 0.5, "why", "≤ 0.50 | **missed**; why |"),
        (0.5, None, "", "| | |"),
    ],
)
def test_a_line_says_whether_a_target_is_met(median: float, target: float | None, note: str, end: str) -> None:
    line = str(Ratio("a", "b", target, median, 0.4, 0.6, 1.234, 123.4, "ms", note))
    assert line.startswith(f"| a | b | {median:.2f} (0.40–0.60) | 1.23 ms | 123 ms |")
    assert line.endswith(end)
    assert line.count("|") == HEADING.splitlines()[0].count("|")


@pytest.mark.parametrize(
    ("other", "same"),
    [
        ("ich,0,9.9999997e-12,0.0\nein,1,1.0,0.25\n", True),  # of a batch, whose sums have another order
        ("ich,0,1.0e-11,0.0\nein,1,1.0,0.26\n", False),
        ("ich,0,1.0e-11,0.0\nein,2,1.0,0.25\n", False),
        ("ich,0,1.0e-11,0.0\nich,1,1.0,0.25\n", False),
    ],
)
def test_answers_are_alike_up_to_rounding_and_no_further(other: str, same: bool) -> None:
    assert alike("ich,0,1e-11,9e-45\nein,1,1.0,0.25\n", other) == same
