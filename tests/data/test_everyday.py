"""The classroom says everyday sentences right, which were written down before its grammar knew them."""

import pytest

from transformer import Translator

from .everyday import everyday, outcome


@pytest.mark.slow
def test_most_everyday_sentences_are_translated_right(classroom: Translator) -> None:
    outcomes = [outcome(classroom, *each) for each in everyday()]
    assert len(outcomes) == 50
    assert sum(each.is_right for each in outcomes) >= 45
    assert all(each.is_read or "Nearest: " in each.said for each in outcomes)


def test_an_unreadable_sentence_is_told_the_nearest_one(toy: Translator) -> None:
    told = outcome(toy, "Ich trinke ein Cola!", ["i drink a coke"])
    assert (told.is_read, told.is_right) == (False, False)
    assert told.said.endswith("Nearest: Ich möchte ein Cola")
    assert outcome(toy, "Ich möchte ein Cola!", ["a", "I want a coke!"]).is_right
