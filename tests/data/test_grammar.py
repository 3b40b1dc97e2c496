"""The grammar generates German as in grammar books, parses what it generates, and aligns every English word.

Expectations are written out: phenomena.txt, wrong_german.txt and a table of endings.
"""

import random
import re
from functools import cache
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from transformer.data.classroom import lexicon
from transformer.data.classroom.grammar import MAX_SOURCE_WORDS, Sentence, generate, parse, parses
from transformer.data.vocabulary import lower

FOLDER = Path(__file__).parent


@cache
def generated(count: int) -> tuple[Sentence, ...]:
    rng = random.Random(0)
    return tuple(generate(rng) for _ in range(count))


def parsed(source: str) -> Sentence:
    sentence = parse(source)
    assert sentence is not None, source
    return sentence


# Generated sentences


@pytest.mark.slow
def test_every_generated_sentence_parses_to_itself_in_one_meaning() -> None:
    for sentence in generated(300)[:60]:
        found = list(parses(sentence.source))
        assert found[0] == sentence
        meanings = {(each.target, each.gold, each.spelling) for each in found}
        assert meanings == {(sentence.target, sentence.gold, sentence.spelling)}


def test_every_word_but_the_marks_is_aligned() -> None:
    for sentence in generated(300):
        german, english, gold = sentence.source.split(), sentence.target.split(), sentence.gold
        for word, sure, possible in zip(english, gold.sure, gold.possible, strict=True):
            both = (*sure, *possible)
            assert len(set(both)) == len(both)
            helps = english[-1] == "?" and word in ("do", "does", "did")  # a question's "do" translates nothing
            assert helps or bool(both) is (word not in ".,?!")
        assert english[-1] in ".?!"
        aligned = {i for words in (*gold.sure, *gold.possible) for i in words}
        assert {word for i, word in enumerate(german) if i not in aligned} <= {"es"}, sentence.spelling


def test_a_spelling_is_the_source_with_capitals_and_marks() -> None:
    for sentence in generated(300):
        assert lower(sentence.spelling.translate(str.maketrans("", "", ",?!"))) == sentence.source
        assert sentence.spelling[0].isupper()
        assert sentence.spelling.count(",") >= len(re.findall(r"\b(?:weil|dass)\b", sentence.source))
        assert (sentence.spelling[-1] == "?") is (sentence.target[-1] == "?")
    assert max(len(sentence.source.split()) for sentence in generated(300)) == MAX_SOURCE_WORDS
    assert parsed("gestern hat die ärztin die türen zugemacht").spelling == "Gestern hat die Ärztin die Türen zugemacht"


def test_lemmas_are_combined_where_one_describes_or_has_the_other() -> None:
    sentence = parsed("ich kaufe ein billiges auto weil der mann hungrig ist")
    assert [set(lemmas) for lemmas in sentence.lemmas] == [{"Auto", "Mann"}, {"billig", "hungrig"}, {"kaufen", "sein"}]
    assert set(sentence.combinations) == {("Auto", "billig", "kaufen"), ("Mann", "hungrig", "sein")}


MASS = "|".join(noun.english for noun in lexicon.NOUNS if "mass" in noun.traits)
WRONG_ENGLISH = [
    rf"not (?:(?!because|that|but|and).)*\ban? (?:\w+ )?(?:{MASS}) ",  # not a juice
    r"\bdoes? not (?:be|can|will|am|is)\b",
    r"\bwho (?:do|does|did)\b(?! not|.* (?:belong to|with)\b)",
    r"\ban (?!hour)[^aeiou]",
    r"\ba [aeiou]",
]


@pytest.mark.parametrize("wrong", WRONG_ENGLISH)
def test_english_that_a_teacher_would_not_accept_is_not_generated(wrong: str) -> None:
    assert not [each.target for each in generated(2000) if re.search(wrong, each.target)]


# Phenomena of phenomena.txt: a name, the German sentence, and its English with "=sure" and "~possible" links

PHENOMENA = (FOLDER / "phenomena.txt").read_text("utf-8")


def aligned(sentence: Sentence) -> str:
    """Every English word with the German words that it translates: "beer=bier"."""
    german, gold = sentence.source.split(), sentence.gold

    def links(mark: str, words: tuple[int, ...]) -> str:
        return mark + "+".join(german[i] for i in words) if words else ""

    triples = zip(sentence.target.split(), gold.sure, gold.possible, strict=True)
    return " ".join(word + links("=", sure) + links("~", possible) for word, sure, possible in triples)


@pytest.mark.parametrize("phenomenon", PHENOMENA.split("# ")[1:], ids=lambda text: text.split("\n")[0])
def test_a_phenomenon_has_its_english_and_its_links(phenomenon: str) -> None:
    _, german, english, _ = phenomenon.split("\n")
    assert aligned(parsed(german)) == english


# Endings, as grammar books print them: the singular of masculine, feminine, neuter, and the plural

DECLENSION = {
    "nom": (
        "der kleine hund", "die kleine katze", "das kleine kind", "die kleinen hunde",
        "ein kleiner hund", "eine kleine katze", "ein kleines kind",
        "mein kleiner hund", "meine kleine katze", "mein kleines kind", "meine kleinen hunde",
    ),
    "acc": (
        "den kleinen hund", "die kleine katze", "das kleine kind", "die kleinen hunde",
        "einen kleinen hund", "eine kleine katze", "ein kleines kind",
        "meinen kleinen hund", "meine kleine katze", "mein kleines kind", "meine kleinen hunde",
        "keinen kleinen hund", "keine kleine katze", "kein kleines kind", "keine kleinen hunde",
        "zwei kleine hunde", "drei kleine hunde",
    ),
    "dat": (
        "dem kleinen hund", "der kleinen katze", "dem kleinen kind",
        "einem kleinen hund", "einer kleinen katze", "einem kleinen kind",
        "meinem kleinen hund", "meiner kleinen katze", "meinem kleinen kind",
    ),
}  # fmt: skip
FRAMES = {"nom": "{} schläft", "acc": "ich sehe {}", "dat": "ich helfe {}"}


@pytest.mark.slow
@pytest.mark.parametrize("case", DECLENSION)
def test_endings_are_those_of_a_grammar_book_and_no_others(case: str) -> None:
    def frame(phrase: str) -> str:
        return FRAMES[case].replace("schläft", "schlafen" if "hunde" in phrase else "schläft").format(phrase)

    pairs = {(words[0], words[-1]) for phrases in DECLENSION.values() for words in map(str.split, phrases)}
    endings = ("", "e", "en", "er", "es")
    phrases = {f"{determiner} klein{ending} {noun}" for determiner, noun in pairs for ending in endings}
    assert {phrase for phrase in phrases if parse(frame(phrase))} == set(DECLENSION[case])
    for phrase in DECLENSION[case]:
        determiner, _, noun = phrase.split()
        english = {"hund": "dog", "katze": "cat", "kind": "child", "hunde": "dogs"}[noun]
        assert english in parsed(frame(f"{determiner} {noun}")).target.split()


# What does not parse

WRONG = [line for line in (FOLDER / "wrong_german.txt").read_text("utf-8").splitlines() if not line.startswith("#")]


@pytest.mark.parametrize("wrong", [*WRONG, " ich schlafe", "ich  schlafe"])
def test_wrong_german_does_not_parse(wrong: str) -> None:
    assert parse(wrong) is None


WORDS = sorted({word for sentence in generated(300) for word in sentence.source.split()})
ANY_ORDER = st.lists(st.sampled_from([*WORDS, "weil", "dass", ".", "wein", "ö"]), max_size=MAX_SOURCE_WORDS + 2)


@given(st.text(st.characters(exclude_categories=())) | ANY_ORDER.map(" ".join))
@example("dass weil ")
@example("weil dass weil dass")
@example("ich schlafe weil " * 4)
@example("weil " * 12)
@example("der die das den dem ein kein mein " * 60)
@example("weil.x dass")
@example("[a-z]* .* \\b(?:weil)")
@example("ich\u00a0möchte\u2003ein bier")
@example("i" * 100_000)
def test_any_text_is_a_sentence_or_none(text: str) -> None:
    """Within MAX_STEPS, or this would take very long."""
    sentence = parse(text)
    assert sentence is None or sentence.source == text
