"""What the classroom holds out never occurs in training, and what it shows is in its grammar."""

import itertools
import random
import re
import zlib
from functools import cache

import pytest

from transformer import Translator
from transformer.data import CORPORA
from transformer.data.classroom import lexicon
from transformer.data.classroom.corpus import (
    HELD_OUT_SENTENCES,
    UNSEEN_COMBINATIONS,
    find,
    main,
    sample,
    split_of,
)
from transformer.data.classroom.grammar import Sentence, generate, parse
from transformer.data.classroom.lexicon import Verb
from transformer.data.vocabulary import fold

CLASSROOM = CORPORA["classroom"]
SPLITS = {"": 500, HELD_OUT_SENTENCES: 60, UNSEEN_COMBINATIONS: 30}


@cache
def sampled(split: str) -> tuple[Sentence, ...]:
    return sample(split, SPLITS[split])


def is_reserved(noun: str, adjective: str, verb: str) -> bool:
    """One combination in 25, by a checksum that is the same on every machine."""
    return zlib.crc32(f"{noun} {adjective} {verb}".encode()) % 25 == 0


def has_verb(verb: Verb, words: list[str]) -> bool:
    """Whether a clause has this verb in any form, by the lexicon's forms alone."""
    finite = {fold(verb.present(person)) for person in range(3)}
    joined = {fold(verb.particle + form) for form in finite} | {fold(verb.infinitive), fold(verb.participle)}
    separate = words[-1] == verb.particle and bool(finite & {*words})
    return bool(joined & {*words}) or (separate if verb.particle else bool(finite & {*words}))


def combinations(sentence: Sentence) -> set[tuple[str, str, str]]:
    """Every (noun, adjective, verb) whose words occur anywhere in a sentence, copula and modals excepted."""
    words = frozenset(sentence.source.split())
    clauses = [clause.split() for clause in re.split(" (?:weil|dass) ", sentence.source)]
    verbs = [
        verb.infinitive
        for verb in (*lexicon.VERBS, *lexicon.CLAUSE_VERBS)
        if any(has_verb(verb, clause) for clause in clauses)
    ]
    nouns = [noun.singular for noun in lexicon.NOUNS if noun.forms & words]
    adjectives = [adjective.base for adjective in lexicon.ADJECTIVES if adjective.forms & words]
    return set(itertools.product(nouns, adjectives, verbs))


# Held out


@pytest.mark.parametrize("split", SPLITS)
def test_a_split_has_distinct_sentences_of_its_own_the_same_for_the_same_seed(split: str) -> None:
    sentences = sampled(split)
    assert len({sentence.source for sentence in sentences}) == SPLITS[split]
    assert {sentence.held_out for sentence in sentences} == {split}
    assert sample(split, 9) == sentences[:9]
    assert sample(split, 9, seed=1) != sentences[:9]
    for sentence in sentences[:30]:
        assert find(sentence.source) == sentence


def test_no_sentence_is_in_two_splits_whatever_the_seed() -> None:
    held_out = {sentence.source for split in (HELD_OUT_SENTENCES, UNSEEN_COMBINATIONS) for sentence in sampled(split)}
    assert len(held_out) == 90
    for seed in (0, 1):
        assert not held_out & {sentence.source for sentence in sample("", 500, seed)}


def test_every_unseen_combination_is_reserved_and_none_occurs_in_another_split() -> None:
    """By the words alone, in whatever clause they stand."""
    for sentence in sampled(UNSEEN_COMBINATIONS):
        reserved = {each for each in sentence.combinations if is_reserved(*each)}
        assert reserved, sentence.spelling
        assert {each for each in reserved if each[2] not in ("sein", "möchten")} <= combinations(sentence)
    for sentence in (*sampled(""), *sampled(HELD_OUT_SENTENCES)):
        found = {*sentence.combinations, *itertools.product(*sentence.lemmas), *combinations(sentence)}
        assert not [each for each in found if is_reserved(*each)], sentence.spelling


def test_about_a_fifth_of_the_sentences_is_held_out() -> None:
    rng = random.Random(0)
    splits = [split_of(generate(rng)) for _ in range(1500)]
    held_out = splits.count(HELD_OUT_SENTENCES)
    assert held_out / (splits.count("") + held_out) == pytest.approx(0.2, abs=0.04)
    assert 0 < splits.count(UNSEEN_COMBINATIONS) < 0.1 * len(splits)


# What a page shows of it


def test_an_example_is_a_sentence_and_its_word_to_watch_is_aligned() -> None:
    splits = set()
    for example in CLASSROOM.examples:
        sentence = find(fold(example.sentence.replace(",", "")))
        assert sentence is not None, example
        assert sentence.spelling == example.sentence
        aligned = {i for word in (*sentence.gold.sure, *sentence.gold.possible) for i in word}
        assert sentence.source.split().index(fold(example.watch)) in aligned
        splits.add(sentence.held_out)
    assert splits == SPLITS.keys()
    names, sentences = ({getattr(example, field) for example in CLASSROOM.examples} for field in ("name", "sentence"))
    assert len(names) == len(sentences) == 15


def word_list(side: int) -> set[str]:
    entries = (entry[side] for words in CLASSROOM.words.values() for entry in words)
    return {fold(word) for entry in entries for word in re.findall(r"\w+", entry)}


def test_the_word_list_is_the_lexicon_and_the_shipped_checkpoint_knows_it() -> None:
    checkpoint = Translator.load("classroom", device="cpu").checkpoint
    for side, vocab in enumerate((checkpoint.src_vocab, checkpoint.tgt_vocab)):
        assert word_list(side) - set(vocab.words) == set()
    lemmas = [form for noun in lexicon.NOUNS for form in (noun.singular, noun.plural)]
    lemmas += [adjective.base for adjective in lexicon.ADJECTIVES]
    lemmas += [verb.infinitive for verb in (*lexicon.VERBS, *lexicon.CLAUSE_VERBS)]
    lemmas += [modal.finite.split()[0] for modal in lexicon.MODALS]
    lemmas += [word for place in lexicon.PLACES for word in place.german.split()]
    assert set(map(fold, lemmas)) <= word_list(0)


def test_the_shipped_checkpoint_knows_every_held_out_word_and_example() -> None:
    checkpoint = Translator.load("classroom", device="cpu").checkpoint
    for sentence in (*sampled(HELD_OUT_SENTENCES), *sampled(UNSEEN_COMBINATIONS)):
        checkpoint.src_vocab.encode(sentence.source)
        checkpoint.tgt_vocab.encode(sentence.target)
    for example in CLASSROOM.examples:
        checkpoint.src_vocab.encode(example.sentence)


# The command


def test_the_command_prints_sentences_with_their_alignments(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for seed in ("0", "0", "1"):
        main(["--count", "3", "--seed", seed])
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] != outputs[2]
    blocks = outputs[0].strip().split("\n\n")
    assert len(blocks) == 3
    for block in blocks:
        spelling, english, links = block.split("\n")
        sentence = parse(fold(spelling.replace(",", "")))
        assert sentence is not None
        assert (sentence.spelling, sentence.target) == (spelling, english)
        german, gold = sentence.source.split(), sentence.gold
        for word, sure, possible, link in zip(english.split(), gold.sure, gold.possible, links.split(), strict=True):
            assert link == word + "".join(f"={german[i]}" for i in sure) + "".join(f"~{german[i]}" for i in possible)
