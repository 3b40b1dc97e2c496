"""Ratios are divided and written right, and answers compared. Nothing here is timed."""

import pytest

from tests.benchmarks.ratio import Ratio, ratio
from tests.visitors import alike


def test_a_ratio_is_the_median_of_rounds_and_not_of_medians() -> None:
    found = ratio("a", "b", None, ours=[1.0, 2.0, 9.0], theirs=[2.0, 2.0, 90.0], unit="s", note="why")
    assert found == Ratio("a", "b", None, 0.5, 0.1, 1.0, 2.0, 2.0, "s", "why")  # the median of 0.5, 1.0 and 0.1
    assert str(found) == "| a | b | 0.50 (0.10–1.00) | 2.00 s | 2.00 s | | why |"  # of a target: test_documents.py
    with pytest.raises(ValueError, match="shorter"):
        ratio("a", "b", None, [1.0, 2.0], [1.0])


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
