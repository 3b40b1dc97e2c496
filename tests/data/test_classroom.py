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
    FIXED_PHRASES,
    HELD_OUT_SENTENCES,
    UNSEEN_COMBINATIONS,
    UNSEEN_PAIRS,
    classroom_corpus,
    example_pairs,
    find,
    main,
    sample,
    split_of,
)
from transformer.data.classroom.grammar import Sentence, generate, parse
from transformer.data.classroom.idioms import GREETINGS
from transformer.data.vocabulary import lower

CLASSROOM = CORPORA["classroom"]
SPLITS = {"": 500, HELD_OUT_SENTENCES: 60, UNSEEN_COMBINATIONS: 30, UNSEEN_PAIRS: 30}


@cache
def sampled(split: str) -> tuple[Sentence, ...]:
    return sample(split, SPLITS[split])


def is_reserved(*words: str) -> bool:
    """One combination of three in 25 and one pair in 23, by a checksum that is the same on every machine."""
    return zlib.crc32(" ".join(words).encode()) % {2: 23, 3: 25}[len(words)] == 0


VERBS = {verb.infinitive for verb in (*lexicon.VERBS, *lexicon.CLAUSE_VERBS, lexicon.WISH_VERB, lexicon.COPULA)}
DISHES = ("cooked", "baked")  # "eine Suppe", which is an object as well
GREETED = [
    *(each.german for each in lexicon.ADVERBIALS if each.group not in DISHES),
    *(each.german for each in GREETINGS),
]
ASIDE = sorted((lower(phrase) for phrase in GREETED if " " in phrase), key=len)  # phrases whose words do not count

HOMOGRAPHS = {"weiß", "jung", *(each.german for each in lexicon.MANNERS)}  # "ich weiß", "der Junge", "er singt gut"


def combinations(sentence: Sentence) -> set[tuple[str, ...]]:
    """Every noun, adjective and verb, adjective and noun, and noun and verb of a sentence, wherever they stand."""
    if not sentence.lemmas[2] <= VERBS:  # an everyday phrase: of its words only those of noun phrases count
        return {*sentence.combinations, *sentence.pairs}
    source = f" {sentence.source} "
    for phrase in reversed(ASIDE):
        source = source.replace(f" {phrase} ", "  ")
    words = frozenset(source.split())
    nouns = [noun.singular for noun in lexicon.NOUNS if noun.forms & words]
    adjectives = [adjective.base for adjective in lexicon.ADJECTIVES if adjective.forms & words]
    adjectives = [each for each in adjectives if each not in HOMOGRAPHS or each in sentence.lemmas[1]]
    words_of = (nouns, adjectives, sentence.lemmas[2]), (adjectives, nouns), (nouns, sentence.lemmas[2])
    return {each for kinds in words_of for each in itertools.product(*kinds)}


# Held out


@pytest.mark.slow
@pytest.mark.parametrize("split", SPLITS)
def test_a_split_has_distinct_sentences_of_its_own_the_same_for_the_same_seed(split: str) -> None:
    sentences = sampled(split)
    assert len({sentence.source for sentence in sentences}) == SPLITS[split]
    assert {sentence.held_out for sentence in sentences} == {split}
    assert sample(split, 9) == sentences[:9]
    assert sample(split, 9, seed=1) != sentences[:9]
    for sentence in sentences[:30]:
        assert find(sentence.source) == sentence


@pytest.mark.parametrize("split", [UNSEEN_COMBINATIONS, UNSEEN_PAIRS])
def test_what_was_never_seen_together_is_reserved(split: str) -> None:
    """By the words alone, in whatever clause they stand."""
    for sentence in sampled(split):
        joined = {UNSEEN_COMBINATIONS: sentence.combinations, UNSEEN_PAIRS: sentence.pairs}[split]
        reserved = {each for each in joined if is_reserved(*each)}
        assert reserved, sentence.spelling
        assert {each for each in reserved if not {*each} & {"sein", "möchten"}} <= combinations(sentence)


@pytest.mark.parametrize("split", ["", HELD_OUT_SENTENCES, UNSEEN_COMBINATIONS])
def test_what_is_reserved_occurs_in_no_other_split(split: str) -> None:
    for sentence in sampled(split):
        nouns, adjectives, verbs = sentence.lemmas
        pairs = {*sentence.pairs, *itertools.product(adjectives, nouns), *itertools.product(nouns, verbs)}
        found = {*pairs, *sentence.combinations, *itertools.product(*sentence.lemmas), *combinations(sentence)}
        of_three = split == UNSEEN_COMBINATIONS  # reserved in this split
        assert not [each for each in found if is_reserved(*each) and (len(each) == 2 or not of_three)]


def test_about_a_fifth_of_the_sentences_is_held_out() -> None:
    rng = random.Random(0)
    sentences = [generate(rng) for _ in range(1500)]
    splits = [split_of(sentence) for sentence in sentences if sentence.source not in FIXED_PHRASES]
    held_out = splits.count(HELD_OUT_SENTENCES)
    assert held_out / (splits.count("") + held_out) == pytest.approx(0.2, abs=0.04)
    assert 0 < splits.count(UNSEEN_COMBINATIONS) < splits.count(UNSEEN_PAIRS) < 0.1 * len(splits)


# What a page shows of it


def test_an_example_is_a_sentence_and_its_word_to_watch_is_aligned() -> None:
    splits = set()
    for example in CLASSROOM.examples:
        sentence = find(lower(example.sentence.translate(str.maketrans("", "", ",?!"))))
        assert sentence is not None, example
        assert sentence.spelling == example.sentence
        aligned = {i for word in (*sentence.gold.sure, *sentence.gold.possible) for i in word}
        assert sentence.source.split().index(lower(example.watch)) in aligned
        splits.add(sentence.held_out)
    assert splits == SPLITS.keys() - {UNSEEN_PAIRS}
    names, sentences = ({getattr(example, field) for example in CLASSROOM.examples} for field in ("name", "sentence"))
    assert len(names) == len(sentences) == 15


@pytest.mark.slow
def test_a_small_corpus_has_fewer_words_of_the_same_grammar_among_them_those_of_the_examples(
    classroom: Translator,
) -> None:
    """A visitor trains on 5,000 pairs and watches an example: of the whole grammar they would teach too little."""
    small = classroom_corpus(4000)
    watched = {lower(word) for each in CLASSROOM.examples for word in re.findall(r"\w+", each.sentence)}
    assert watched <= {*small.src_vocab.words}
    assert len(small.src_vocab) < 0.85 * len(classroom.checkpoint.src_vocab)  # all pairs would take 20 s to draw
    assert len(small.pairs) == 4000
    examples = example_pairs()
    assert small.pairs[: len(examples)] == examples  # else: python -m transformer.data.classroom --example-pairs
    for source, target in small.pairs[:50]:
        found = find(source)
        assert found is not None, source
        assert (found.target, found.held_out) == (target, "")


def word_list(side: int) -> set[str]:
    entries = (entry[side] for words in CLASSROOM.words.values() for entry in words)
    return {lower(word) for entry in entries for word in re.findall(r"[\w'-]+", entry)}


def test_the_word_list_is_the_lexicon_and_the_shipped_checkpoint_knows_it(classroom: Translator) -> None:
    checkpoint = classroom.checkpoint
    for side, vocab in enumerate((checkpoint.src_vocab, checkpoint.tgt_vocab)):
        assert word_list(side) - set(vocab.words) == set()
    lemmas = [form for noun in lexicon.NOUNS for form in noun.spellings()]
    lemmas += [adjective.base for adjective in lexicon.ADJECTIVES]
    lemmas += [verb.infinitive for verb in (*lexicon.VERBS, *lexicon.CLAUSE_VERBS)]
    lemmas += [modal.finite.split()[0] for modal in lexicon.MODALS]
    lemmas += [word for place in lexicon.PLACES for word in place.german.split()]
    assert set(map(lower, lemmas)) <= word_list(0)


# The command


def test_the_command_prints_sentences_with_their_alignments(capsys: pytest.CaptureFixture[str]) -> None:
    outputs = []
    for seed in ("0", "0", "1"):
        main(["--count", "3", "--seed", seed])
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1] != outputs[2]
    blocks = [block.split("\n") for block in outputs[0].strip().split("\n\n")]
    assert len(blocks) == 3
    for spelling, english, links in blocks:
        sentence = parse(lower(spelling.translate(str.maketrans("", "", ",?!"))))
        assert sentence is not None
        assert sentence.target == english == re.sub(r"[=~]\w+", "", links).strip()
