"""Attention is scored as a word aligner: one link per aligned word, against sure and possible links."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.data.alignment import AlignmentCounts, GoldAlignment, count_links

Links = set[tuple[int, int]]  # (target word, source word)
SOURCE_WORDS = 5


def attending_to(*columns: int) -> np.ndarray:
    """A map whose row t has its highest weight in columns[t], and a low one everywhere else."""
    return np.eye(SOURCE_WORDS)[list(columns)] * 0.5 + 0.1


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


@pytest.mark.parametrize(
    ("columns", "sure", "possible", "expected", "rate"),
    [
        ((0, 1), ((0,), (1,)), ((), ()), AlignmentCounts(2, 2, 2, 2), 0.0),
        ((1, 0), ((0,), (1,)), ((), ()), AlignmentCounts(2, 2, 0, 0), 1.0),
        ((0, 0), ((0,), (1,)), ((), ()), AlignmentCounts(2, 2, 1, 1), 0.5),
        ((2, 1), ((), (1,)), ((2, 3), ()), AlignmentCounts(2, 1, 1, 2), 0.0),  # a possible link costs nothing
        ((4, 1), ((), (1,)), ((2, 3), ()), AlignmentCounts(2, 1, 1, 1), 1 / 3),  # and another one does
        ((3, 0), ((3, 4), ()), ((), ()), AlignmentCounts(1, 2, 1, 1), 1 / 3),  # one link of two sure ones
        ((2,), ((1,),), ((2,),), AlignmentCounts(1, 1, 0, 1), 0.5),  # possible where another is sure
        ((0, 1), ((), ()), ((), ()), AlignmentCounts(), 0.0),
    ],
)
def test_hand_computed_cases(
    columns: tuple[int, ...],
    sure: tuple[tuple[int, ...], ...],
    possible: tuple[tuple[int, ...], ...],
    expected: AlignmentCounts,
    rate: float,
) -> None:
    counts = count_links(attending_to(*columns), GoldAlignment(sure, possible))
    assert counts == expected
    assert counts.error_rate == pytest.approx(rate)


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
    weights = attending_to(0, 1)
    weights[0] = 0
    assert count_links(weights, GoldAlignment(((0,), (1,)), ((), ()))) == AlignmentCounts(1, 2, 1, 1)


@given(st.lists(maps_with_gold(), min_size=1, max_size=4))
def test_counts_of_sentences_add_up_to_those_of_all_their_words(cases: list[tuple[np.ndarray, GoldAlignment]]) -> None:
    total = sum((count_links(weights, gold) for weights, gold in cases), start=AlignmentCounts())
    joined = GoldAlignment(
        sure=tuple(word for _, gold in cases for word in gold.sure),
        possible=tuple(word for _, gold in cases for word in gold.possible),
    )
    assert total == count_links(np.concatenate([weights for weights, _ in cases]), joined)
