"""The nearest sentence shares words with what was typed, rare ones first, and is one that the corpus has."""

import os
import subprocess
import sys

import pytest

from transformer.data import CORPORA, TOY, nearest_pairs, uploaded_corpus


def test_the_nearest_pair_shares_the_words_that_few_pairs_have() -> None:
    assert [pair.spelling for pair in nearest_pairs("Ich trinke ein Cola!", TOY, 1)] == ["Ich möchte ein Cola"]
    assert nearest_pairs("wasser", TOY, 3) == []
    own = uploaded_corpus([("Ein Hund bellt.", "A dog barks."), ("Ein Kind und ein Ball", "A child and a ball")])
    targets = [pair.target for pair in nearest_pairs("Wo ist ein Hund?", own, 5)]
    assert targets == ["A dog barks .", "A child and a ball"]


@pytest.mark.slow
def test_of_equally_near_sentences_it_is_the_same_in_every_process() -> None:
    code = "from transformer.data import TOY, nearest_pairs; print(nearest_pairs('Cola Bier ein', TOY, 1)[0].source)"
    found = set()
    for seed in ("0", "4"):
        run = subprocess.run(
            [sys.executable, "-c", code], env=os.environ | {"PYTHONHASHSEED": seed}, capture_output=True, check=True
        )
        found.add(run.stdout)
    assert len(found) == 1


@pytest.mark.slow
def test_a_pair_of_the_classroom_is_a_whole_sentence_of_its_grammar() -> None:
    classroom = CORPORA["classroom"]
    found = nearest_pairs("Fährst du mit dem Zug nach Prag?", classroom, 5)
    assert len(found) == 5
    assert found[0].spelling.startswith("Fährst du mit dem Zug ")
    assert any(" nach " in pair.spelling for pair in found)
    assert all(classroom.find(pair.source) for pair in found)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("Ich möchte Gurken essen, bitte!", "Ich möchte "),
        ("Das Wetter ist heute furchtbar.", "Wie ist das Wetter heute"),
        ("Können Sie mir bitte zuhören?", "Können Sie mir "),
        ("Wie steht's?", "Wie geht's"),
    ],
)
def test_several_shared_words_count_more_than_a_rare_one(sentence: str, expected: str) -> None:
    (found,) = nearest_pairs(sentence, CORPORA["classroom"], 1)
    assert found.spelling.startswith(expected)
