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
