"""What the classroom keeps from training is nowhere in training, and what it shows is in its grammar."""

import itertools
import random
import re
import zlib
from functools import cache

import pytest

from transformer import Translator
from transformer.data import CORPORA, MATERIALS, Example
from transformer.data.classroom import lexicon
from transformer.data.classroom.corpus import COMBINATIONS, EXAMPLES, MATERIAL, SENTENCES, draw, main, part, read
from transformer.data.classroom.grammar import Sentence
from transformer.data.classroom.lexicon import Verb
from transformer.data.vocabulary import fold

TRAINING, HELD_OUT = 2000, 200
PARTS = {"": TRAINING, SENTENCES: HELD_OUT, COMBINATIONS: HELD_OUT}


@cache
def drawn(which: str) -> tuple[Sentence, ...]:
    return draw(which, PARTS[which])


@cache
def many_trained() -> tuple[Sentence, ...]:
    """Enough of training for every word to have come up."""
    return draw("", 4 * TRAINING)


def reserved(noun: str, adjective: str, verb: str) -> bool:
    """One combination in 25, by a checksum that is the same on every machine."""
    return zlib.crc32(f"{noun} {adjective} {verb}".encode()) % 25 == 0


def says(verb: Verb, words: list[str]) -> bool:
    """Whether a clause has this verb in any form, found by the lexicon's forms alone."""
    finite = {fold(verb.present(person)) for person in range(3)}
    whole = {fold(verb.particle + form) for form in finite} | {fold(verb.infinitive), fold(verb.participle)}
    apart = words[-1] == verb.particle and bool(finite & {*words})
    return bool(whole & {*words}) or (apart if verb.particle else bool(finite & {*words}))


def combinations(sentence: Sentence) -> set[tuple[str, str, str]]:
    """Every (noun, adjective, verb) whose words are anywhere in a sentence; copula and modals are no such verbs."""
    words = frozenset(sentence.source.split())
    clauses = [clause.split() for clause in re.split(" (?:weil|dass) ", sentence.source)]
    verbs = [v.infinitive for v in (*lexicon.VERBS, *lexicon.THINKING) if any(says(v, clause) for clause in clauses)]
    return set(
        itertools.product(
            [noun.singular for noun in lexicon.NOUNS if noun.forms & words],
            [adjective.base for adjective in lexicon.ADJECTIVES if adjective.forms & words],
            verbs,
        )
    )


# Held out


@pytest.mark.parametrize("which", PARTS)
def test_a_part_has_as_many_different_sentences_as_were_asked_for(which: str) -> None:
    sentences = drawn(which)
    assert len(sentences) == len({sentence.source for sentence in sentences}) == PARTS[which]
    assert {sentence.held_out for sentence in sentences} == {which}


def test_no_sentence_is_in_two_parts() -> None:
    for one, other in itertools.combinations(PARTS, 2):
        assert not {sentence.source for sentence in drawn(one)} & {sentence.source for sentence in drawn(other)}


def test_no_training_sentence_of_another_seed_is_held_out() -> None:
    """What is held out does not depend on what was drawn."""
    held_out = {sentence.source for which in (SENTENCES, COMBINATIONS) for sentence in drawn(which)}
    assert not held_out & {sentence.source for sentence in draw("", TRAINING, seed=1)}


def test_a_sentence_of_the_combinations_joins_a_reserved_one() -> None:
    for sentence in drawn(COMBINATIONS):
        joined = [each for each in sentence.joined if reserved(*each)]
        assert joined, sentence.spelling
        for noun, adjective, verb in joined:
            words = frozenset(sentence.source.split())
            assert words & next(each for each in lexicon.NOUNS if each.singular == noun).forms
            assert words & next(each for each in lexicon.ADJECTIVES if each.base == adjective).forms
            assert verb in sentence.lemmas[2]


@pytest.mark.parametrize("which", ["", SENTENCES])
def test_no_other_sentence_holds_a_reserved_combination_anywhere(which: str) -> None:
    """By its words alone, in whatever clause and said of whomever."""
    held = {sentence.spelling: {*filter(lambda c: reserved(*c), combinations(sentence))} for sentence in drawn(which)}
    assert {spelling: kept for spelling, kept in held.items() if kept} == {}


@pytest.mark.parametrize("which", ["", SENTENCES])
def test_no_other_sentence_joins_or_holds_reserved_lemmas(which: str) -> None:
    for sentence in drawn(which):
        assert not any(reserved(*each) for each in sentence.joined), sentence.spelling
        assert not any(reserved(*each) for each in itertools.product(*sentence.lemmas)), sentence.spelling


def test_what_finds_combinations_finds_those_that_are_joined() -> None:
    for sentence in drawn(COMBINATIONS):
        joined = {each for each in sentence.joined if reserved(*each) and each[2] not in ("sein", "möchten")}
        assert joined <= combinations(sentence), sentence.spelling


@pytest.mark.parametrize("which", [SENTENCES, COMBINATIONS])
def test_each_single_word_of_what_is_held_out_is_in_training(which: str) -> None:
    trained = many_trained()
    for side in ("source", "target"):
        known = {word for sentence in trained for word in getattr(sentence, side).split()}
        assert {word for sentence in drawn(which) for word in getattr(sentence, side).split()} <= known
    for kind in range(3):
        known = {lemma for sentence in trained for lemma in sentence.lemmas[kind]}
        assert {lemma for sentence in drawn(which) for lemma in sentence.lemmas[kind]} <= known


def test_about_a_fifth_of_what_may_be_trained_on_is_held_out() -> None:
    """Neither so little that it says nothing, nor so much that there is little to learn from."""
    rng = random.Random(0)
    parts = [part(generate(rng)) for _ in range(2000)]
    assert parts.count(SENTENCES) / (parts.count("") + parts.count(SENTENCES)) == pytest.approx(0.2, abs=0.04)
    assert 0 < parts.count(COMBINATIONS) < 0.1 * len(parts)


# Drawing and reading


@pytest.mark.parametrize("which", PARTS)
def test_the_same_seed_draws_the_same_and_the_beginning_of_more(which: str) -> None:
    assert draw(which, 30) == draw(which, 30) == drawn(which)[:30]
    assert draw(which, 30, seed=1) != draw(which, 30)


@pytest.mark.parametrize("which", PARTS)
def test_reading_a_sentence_says_which_part_it_belongs_to(which: str) -> None:
    for sentence in drawn(which)[:60]:
        assert read(sentence.source) == sentence


def test_what_is_no_sentence_is_not_read() -> None:
    assert read("") is None
    assert read("heute ich habe getrunken") is None
    assert read("Ich möchte ein Bier") is None  # it reads folded words
    assert MATERIAL.read("ich mochte ein bier") == read("ich mochte ein bier")


# What a page shows of it


@pytest.mark.parametrize("example", EXAMPLES, ids=[example.name for example in EXAMPLES])
def test_an_example_is_a_sentence_and_its_word_to_watch_is_linked(example: Example) -> None:
    sentence = parse(fold(example.sentence.replace(",", "")))
    assert sentence is not None
    assert sentence.spelling == example.sentence
    words = sentence.source.split()
    assert words.count(fold(example.watch)) >= 1
    linked = {i for word in (*sentence.gold.sure, *sentence.gold.possible) for i in word}
    assert words.index(fold(example.watch)) in linked


def test_examples_are_different_and_show_what_is_held_out_too() -> None:
    assert len({example.name for example in EXAMPLES}) == len({example.sentence for example in EXAMPLES}) == 15
    parts = {read(fold(example.sentence.replace(",", ""))).held_out for example in EXAMPLES}
    assert parts == {"", SENTENCES, COMBINATIONS}


def word_list(side: int) -> set[str]:
    return {
        fold(word) for words in MATERIAL.words.values() for entry in words for word in re.findall(r"\w+", entry[side])
    }


@pytest.mark.parametrize(("side", "language"), enumerate(["source", "target"]))
def test_every_word_of_the_word_list_is_said_somewhere(side: int, language: str) -> None:
    said = {word for sentence in many_trained() for word in getattr(sentence, language).split()}
    assert word_list(side) - said == set()


def test_the_word_list_leaves_no_noun_adjective_verb_or_modal_out() -> None:
    listed = word_list(0)
    for noun in lexicon.NOUNS:
        assert {fold(noun.singular), fold(noun.plural)} <= listed
    assert {fold(each.base) for each in lexicon.ADJECTIVES} <= listed
    assert {fold(each.infinitive) for each in (*lexicon.VERBS, *lexicon.THINKING)} <= listed
    assert {fold(modal.finite.split()[0]) for modal in lexicon.MODALS} <= listed
    assert {fold(word) for place in lexicon.PLACES for word in place.german.split()} <= listed


@pytest.mark.parametrize(("side", "vocabulary"), enumerate(["src_vocab", "tgt_vocab"]))
def test_the_shipped_checkpoint_knows_every_word_of_the_word_list(side: int, vocabulary: str) -> None:
    known = getattr(Translator.load("classroom", device="cpu").checkpoint, vocabulary).words
    assert word_list(side) - set(known) == set()


def test_the_shipped_checkpoint_knows_every_word_that_is_held_out_and_of_the_examples() -> None:
    checkpoint = Translator.load("classroom", device="cpu").checkpoint
    for sentence in (*drawn(SENTENCES), *drawn(COMBINATIONS)):
        checkpoint.src_vocab.encode(sentence.source)
        checkpoint.tgt_vocab.encode(sentence.target)
    for example in EXAMPLES:
        checkpoint.src_vocab.encode(example.sentence)


def test_its_material_goes_by_its_name() -> None:
    assert MATERIALS["classroom"] is MATERIAL
    assert set(CORPORA) == set(MATERIALS)
    assert list(MATERIAL.held_out) == [SENTENCES, COMBINATIONS]


# The command


def test_the_command_prints_what_was_asked(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--count", "3"])
    blocks = capsys.readouterr().out.strip().split("\n\n")
    assert len(blocks) == 3
    for block in blocks:
        spelling, english, links = block.split("\n")
        sentence = parse(fold(spelling.replace(",", "")))
        assert sentence is not None
        assert (sentence.spelling, sentence.target) == (spelling, english)
        german, printed = sentence.source.split(), links.split()
        for word, sure, possible, link in zip(
            english.split(), sentence.gold.sure, sentence.gold.possible, printed, strict=True
        ):
            assert link == word + "".join(f"={german[i]}" for i in sure) + "".join(f"~{german[i]}" for i in possible)


def test_the_command_prints_the_same_for_the_same_seed(capsys: pytest.CaptureFixture[str]) -> None:
    printed = []
    for seed in ("0", "0", "1"):
        main(["--count", "5", "--seed", seed])
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1] != printed[2]
