"""Attention is scored as a word aligner: one link per aligned word, against sure and possible links."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.data.alignment import AlignmentCounts, GoldAlignment, count_links

Links = set[tuple[int, int]]  # (target word, source word)
SOURCE_WORDS = 5


@st.composite
def maps_with_gold(draw: st.DrawFn) -> tuple[np.ndarray, GoldAlignment]:
    """A map without ties, and gold links of its rows; no sure link is possible as well."""
    sets = st.sets(st.integers(0, SOURCE_WORDS - 1), max_size=3)
    words = draw(st.lists(st.tuples(sets, sets), max_size=6))
    gold = GoldAlignment(
        sure=tuple(tuple(sure) for sure, _ in words), possible=tuple(tuple(maybe - sure) for sure, maybe in words)
    )
    rows = [draw(st.permutations(range(SOURCE_WORDS))) for _ in words]
    return np.array(rows, dtype=float).reshape(-1, SOURCE_WORDS), gold


def links(columns: tuple[tuple[int, ...], ...]) -> Links:
    return {(t, s) for t, words in enumerate(columns) for s in words}


def error_rate(weights: np.ndarray, gold: GoldAlignment) -> float:
    """By its definition, on sets of links (Och and Ney 2003)."""
    sure, possible = links(gold.sure), links(gold.sure) | links(gold.possible)
    aligned = {t for t, _ in possible}
    predicted = {(t, max(range(SOURCE_WORDS), key=lambda s: row[s])) for t, row in enumerate(weights) if t in aligned}
    if not predicted and not sure:
        return 0.0
    return 1 - (len(predicted & sure) + len(predicted & possible)) / (len(predicted) + len(sure))


@given(maps_with_gold(), st.integers(0, 3), st.integers(0, 3), st.floats(0.1, 10), st.data())
def test_the_error_rate_is_that_of_sets_of_links(
    case: tuple[np.ndarray, GoldAlignment], rows: int, columns: int, scale: float, data: st.DataObject
) -> None:
    weights, gold = case
    counts = count_links(weights, gold)
    assert counts.error_rate == pytest.approx(error_rate(weights, gold))
    assert counts.predicted == len(gold.aligned_words())
    padded = np.pad(weights + 1, ((0, rows), (0, columns)))  # a mask leaves zeros where padding is
    assert count_links(padded, gold) == counts
    assert count_links(np.exp(weights * scale), gold) == counts
    for t in set(range(len(weights))) - set(gold.aligned_words()):
        weights[t] = data.draw(st.permutations(range(SOURCE_WORDS)))
    assert count_links(weights, gold) == counts


def test_a_fully_masked_row_predicts_no_link() -> None:
    counts = count_links(np.array([[0, 0], [0.5, 0.1]]), GoldAlignment(((0,), ()), ((), (0,))))
    assert counts == AlignmentCounts(predicted=1, sure=1, predicted_sure=0, predicted_possible=1)
    assert (counts + counts).error_rate == counts.error_rate == 0.5
    assert AlignmentCounts().error_rate == 0
