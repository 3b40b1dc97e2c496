"""Attention is counted as a word aligner would be: one link a word that is asked about, against sure and possible."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from transformer.data.alignment import Counts, Gold, count

Links = set[tuple[int, int]]  # (target word, source word)
SOURCE_WORDS = 5


def looking_at(*columns: int) -> np.ndarray:
    """A map whose row t looks hardest at columns[t], and a little at all others."""
    return np.eye(SOURCE_WORDS)[list(columns)] * 0.5 + 0.1


@st.composite
def golds(draw: st.DrawFn) -> Gold:
    """Links of up to six target words; what is sure is not possible as well."""
    sets = st.sets(st.integers(0, SOURCE_WORDS - 1), max_size=3)
    words = draw(st.lists(st.tuples(sets, sets), max_size=6))
    return Gold(
        sure=tuple(tuple(sure) for sure, _ in words), possible=tuple(tuple(maybe - sure) for sure, maybe in words)
    )


@st.composite
def looks_at_gold(draw: st.DrawFn) -> tuple[np.ndarray, Gold]:
    """A map without ties, and gold for its rows."""
    gold = draw(golds())
    rows = [draw(st.permutations(range(SOURCE_WORDS))) for _ in gold.sure]
    return np.array(rows, dtype=float).reshape(-1, SOURCE_WORDS), gold


def as_links(columns: tuple[tuple[int, ...], ...]) -> Links:
    return {(t, s) for t, words in enumerate(columns) for s in words}


def brute_force(looks: np.ndarray, gold: Gold) -> float:
    """The error rate by its definition, on sets of links (Och and Ney 2003)."""
    sure, allowed = as_links(gold.sure), as_links(gold.sure) | as_links(gold.possible)
    asked = {t for t, _ in allowed}
    pointed = {(t, max(range(SOURCE_WORDS), key=lambda s: row[s])) for t, row in enumerate(looks) if t in asked}
    if not pointed and not sure:
        return 0.0
    return 1 - (len(pointed & sure) + len(pointed & allowed)) / (len(pointed) + len(sure))


# What is asked


def test_words_that_stand_for_something_are_asked_about_and_others_are_not() -> None:
    assert Gold(sure=((0,), (), (1, 2), ()), possible=((), (3,), (0,), ())).asked() == [0, 1, 2]
    assert Gold(sure=((), ()), possible=((), ())).asked() == []


def test_gold_whose_sides_are_of_different_lengths_is_refused() -> None:
    with pytest.raises(ValueError, match="zip"):
        Gold(sure=((0,),), possible=((), ())).asked()


# One map


@pytest.mark.parametrize(
    ("columns", "gold", "expected", "error_rate"),
    [
        ((0, 1), Gold(((0,), (1,)), ((), ())), Counts(2, 2, 2, 2), 0.0),
        ((1, 0), Gold(((0,), (1,)), ((), ())), Counts(2, 2, 0, 0), 1.0),
        ((0, 0), Gold(((0,), (1,)), ((), ())), Counts(2, 2, 1, 1), 0.5),
        ((2, 1), Gold(((), (1,)), ((2, 3), ())), Counts(2, 1, 1, 2), 0.0),  # a possible link costs nothing
        ((4, 1), Gold(((), (1,)), ((2, 3), ())), Counts(2, 1, 1, 1), 1 / 3),  # and need not be drawn, but no other
        ((3, 0), Gold(((3, 4), ()), ((), ())), Counts(1, 2, 1, 1), 1 / 3),  # one link of two that are sure
        ((2,), Gold(((1,),), ((2,),)), Counts(1, 1, 0, 1), 0.5),  # possible where another is sure
        ((0, 1), Gold(((), ()), ((), ())), Counts(), 0.0),
    ],
)
def test_hand_worked_cases(columns: tuple[int, ...], gold: Gold, expected: Counts, error_rate: float) -> None:
    counts = count(looking_at(*columns), gold)
    assert counts == expected
    assert counts.error_rate == pytest.approx(error_rate)


@given(looks_at_gold())
def test_the_error_rate_is_that_of_sets_of_links(case: tuple[np.ndarray, Gold]) -> None:
    looks, gold = case
    counts = count(looks, gold)
    assert counts.error_rate == pytest.approx(brute_force(looks, gold))
    assert 0 <= counts.error_rate <= 1
    assert counts.pointed == len(gold.asked())


@given(looks_at_gold(), st.data())
def test_words_that_are_not_asked_about_never_count(case: tuple[np.ndarray, Gold], data: st.DataObject) -> None:
    looks, gold = case
    elsewhere = looks.copy()
    for t in set(range(len(looks))) - set(gold.asked()):
        elsewhere[t] = data.draw(st.permutations(range(SOURCE_WORDS)))
    assert count(elsewhere, gold) == count(looks, gold)


@given(looks_at_gold(), st.integers(0, 3), st.integers(0, 3))
def test_rows_and_columns_of_padding_change_nothing(case: tuple[np.ndarray, Gold], rows: int, columns: int) -> None:
    looks, gold = case
    wider = np.pad(looks + 1, ((0, rows), (0, columns)))  # a mask leaves zeros where padding is
    assert count(wider, gold) == count(looks, gold)


@given(looks_at_gold(), st.floats(0.1, 10))
def test_only_the_hardest_look_counts_however_hard_it_is(case: tuple[np.ndarray, Gold], scale: float) -> None:
    looks, gold = case
    assert count(np.exp(looks * scale), gold) == count(looks, gold)


def test_a_row_that_may_look_at_nothing_draws_no_link() -> None:
    looks = looking_at(0, 1)
    looks[0] = 0
    assert count(looks, Gold(((0,), (1,)), ((), ()))) == Counts(1, 2, 1, 1)


def test_a_map_with_fewer_rows_than_words_is_refused() -> None:
    with pytest.raises(IndexError):
        count(looking_at(0), Gold(((0,), (1,)), ((), ())))


# Many sentences


@given(st.lists(looks_at_gold(), min_size=1, max_size=4))
def test_counts_of_sentences_add_up_to_those_of_all_their_words(cases: list[tuple[np.ndarray, Gold]]) -> None:
    total = sum((count(looks, gold) for looks, gold in cases), start=Counts())
    joined = Gold(
        sure=tuple(word for _, gold in cases for word in gold.sure),
        possible=tuple(word for _, gold in cases for word in gold.possible),
    )
    assert total == count(np.concatenate([looks for looks, _ in cases]), joined)


def test_the_rate_of_a_sum_is_weighted_by_links_and_is_no_mean_of_rates() -> None:
    right, wrong = Counts(9, 9, 9, 9), Counts(1, 1, 0, 0)
    assert (right.error_rate, wrong.error_rate) == (0, 1)
    assert (right + wrong) == Counts(10, 10, 9, 9)
    assert (right + wrong).error_rate == pytest.approx(0.1)
    assert Counts(1, 2, 3, 4) + Counts(10, 20, 30, 40) == Counts(11, 22, 33, 44)
