"""German sentences, their English translations and word alignments: a grammar that can both generate and parse.

Every sentence is one sequence of choices in `_sentence`. `generate` chooses at random; `parse` backtracks through all
choices that could give a sentence's words, so every sentence of the grammar has its translation and its gold alignment,
also when a visitor typed it. Knows nothing of tensors or vocabularies.
"""

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..alignment import AlignedPair, GoldAlignment
from ..vocabulary import lower
from . import lexicon as lex
from .choosing import Chooser, EnglishWord, GermanWord, NoParseError, ParsingChooser
from .clauses import Clause, choose_clause, choose_matrix_clause, choose_order
from .idioms import GREETINGS, choose_everyday_phrase, words_of_idiom
from .lexicon import Adverb
from .phrases import words_of_adverb

MAX_SOURCE_WORDS = 12  # a longer sentence's attention map would not fit the screen
MAX_STEPS = 15_000  # of one parse, about 100 ms; of 4,000 sampled sentences none needed half of them

_GREETINGS = [(each, each.german.split()) for each in GREETINGS]


@dataclass(frozen=True)
class Sentence(AlignedPair):
    """A sentence of the grammar."""

    lemmas: tuple[frozenset[str], frozenset[str], frozenset[str]]  # its nouns, its adjectives and its verbs
    # (noun, adjective, verb) where the adjective describes the noun and the noun belongs to the verb.
    combinations: frozenset[tuple[str, str, str]]
    pairs: frozenset[tuple[str, str]]  # (adjective, noun) and (noun, verb) of the same kind


def generate(rng: random.Random, chooser: type[Chooser] = Chooser) -> Sentence:
    """A random sentence of the grammar."""
    while True:
        sentence = _sentence(chooser(rng))
        words = sentence.source.split()
        if len(words) <= MAX_SOURCE_WORDS and words.count("und") < 2:
            return sentence


def parse(source: str) -> Sentence | None:
    """The sentence of these words; None where the grammar has none or needs more than MAX_STEPS to find it."""
    return next(parses(source), None)


def parses(source: str) -> Iterator[Sentence]:
    """Every sequence of choices that gives these words; all of them give the same English."""
    if len(source.split()) > MAX_SOURCE_WORDS:
        return
    path: list[int] = []  # the option taken at each choice: depth-first search
    steps, known = 0, dict[Any, Any]()
    while steps < MAX_STEPS:
        chooser = ParsingChooser(source, path, known)
        try:
            sentence = _sentence(chooser)
            if sentence.source == source:
                yield sentence
        except NoParseError:
            pass
        steps += chooser.steps
        path = [*path, *[0] * len(chooser.branches)][: len(chooser.branches)]
        while path and path[-1] + 1 == chooser.branches[len(path) - 1]:
            path.pop()
        if not path:
            return
        path[-1] += 1


def _sentence(chooser: Chooser) -> Sentence:
    link: Adverb | None = chooser.choose((None, *lex.LINKS), (10, 1, 1, 0.6, 0.3))
    # "und" joins nouns too, so the parser cannot tell from the word alone; that it joins clauses is ruled out sooner.
    if not link and chooser.choose((True, False), (0.06, 0.94)):
        link = lex.AND
        chooser.split_at(link.german)
    conjunction, conjunction_en = words_of_adverb(chooser, link)
    kind = "statement" if link else chooser.one_of({"idiom": 9, "question": 4, "statement": 8, "order": 1.5})
    chooser.begin(0)
    greeting: list[GermanWord] = []
    greeting_en: list[EnglishWord] = []
    if not link:
        greets = kind != "idiom" or chooser.maybe(0.5)  # some phrases are greetings themselves
        # "Guten Abend" does not greet in "Ich schreibe am Abend meinen guten Brief".
        possible = [each for each, words in _GREETINGS if chooser.may_begin(words)]
        share = 0.12 / len(GREETINGS)
        chosen = chooser.choose((None, *possible), (0.88, *[share] * len(possible))) if greets else None
        if chosen:
            greeting, greeting_en, _ = words_of_idiom(chooser, chosen)
    if kind == "idiom":
        first = choose_everyday_phrase(chooser)
    elif kind == "order":
        first = choose_order(chooser)
    elif link is lex.THAT:
        first = choose_matrix_clause(chooser)
    else:
        first = choose_clause(chooser, link if link is lex.BECAUSE else None, is_question=kind == "question")
    chooser.end([*greeting, *first.de])
    clauses, de, en = [first], first.de, first.en
    if link:
        chooser.begin(1)
        if link in (lex.BECAUSE, lex.THAT):
            second = choose_clause(chooser, link, first)
        else:
            subject = first.phrases[0]
            can_share = link is lex.AND and subject.means_people and chooser.maybe(0.6)
            second = choose_clause(chooser, shared=subject if can_share else None)
        chooser.end(second.de)
        clauses, de, en = [first, second], [*de, *conjunction, *second.de], [*en, *conjunction_en, *second.en]
    if kind in ("question", "statement"):
        en = [*en, EnglishWord("?" if kind == "question" else ".")]
    if greeting:
        de, en = [*greeting, *de], [*greeting_en, EnglishWord(","), *en]
    return _with_gold(clauses, de, en, len(greeting))


def _with_gold(clauses: list[Clause], de: list[GermanWord], en: list[EnglishWord], greeting: int) -> Sentence:
    """The sentence of these words, of which the first ones greet."""
    place = {id(word): i for i, word in enumerate(de)}
    gold = GoldAlignment(
        sure=tuple(tuple(place[id(word)] for word in each.sure) for each in en),
        possible=tuple(tuple(place[id(word)] for word in each.possible) for each in en),
    )
    spelling = " ".join(word.spelling for word in de)
    described = [(noun, adjective, clause.verb) for clause in clauses for noun, adjective in clause.described]
    return Sentence(
        source=lower(spelling),
        target=" ".join(word.text for word in en),
        gold=gold,
        spelling=_with_marks(spelling, greeting, en[-1].text),
        lemmas=(
            frozenset(noun for noun, _, _ in described if noun),
            frozenset(adjective for _, adjective, _ in described if adjective),
            frozenset(clause.verb for clause in clauses),
        ),
        combinations=frozenset((noun, adjective, verb) for noun, adjective, verb in described if noun and adjective),
        pairs=frozenset(
            [(adjective, noun) for noun, adjective, _ in described if noun and adjective]
            + [(noun, verb) for noun, _, verb in described if noun]
        ),
    )


def _with_marks(spelling: str, greeting: int, mark: str) -> str:
    """As one types it: a capital, commas, and a question's or an exclamation's mark."""
    words = spelling.split()
    if greeting:
        words[greeting - 1] += ","
    text = re.sub(rf" ({'|'.join(each.german for each in lex.LINKS)}) ", r", \1 ", " ".join(words))
    text = re.sub("(?<!,)(?<!Wie) bitte$", ", bitte", text)
    return text[0].upper() + text[1:] + ("" if mark == "." else mark)
