"""The classroom: thousands of generated German sentences with gold alignments, and two sets kept from training.

`python -m transformer.data.classroom` prints 200 sentences with their alignments, to be read through.
"""

import argparse
import itertools
import random
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache

from ..corpus import Corpus, Example, Material
from ..vocabulary import END, PAD, START, Vocabulary
from . import lexicon
from .grammar import LONGEST, Sentence, listen, speak

SENTENCES, COMBINATIONS = "held-out sentences", "unseen combinations"
PAIRS = 30_000  # in training
HELD_OUT = 1_000  # in each of the two sets


def part(sentence: Sentence) -> str | None:
    """The held-out set that a sentence belongs to, "" for training, None for neither.

    One sentence in five is held out. One (noun, adjective, verb) in 25 is kept together from training altogether: a
    training sentence holds no such three words anywhere; a sentence of COMBINATIONS joins them ("kaltes Bier trinken").
    """
    if any(map(_kept, sentence.joined)):
        return COMBINATIONS
    if any(map(_kept, itertools.product(*sentence.lemmas))):
        return None
    return SENTENCES if zlib.crc32(sentence.source.encode()) % 5 == 0 else ""


def _kept(combination: tuple[str, ...]) -> bool:
    return zlib.crc32(" ".join(combination).encode()) % 25 == 0


def draw(which: str, count: int, seed: int = 0) -> tuple[Sentence, ...]:
    """Different sentences of one part (see `part`): the same for the same seed, and the first of a larger count."""
    found: dict[str, Sentence] = {}
    for sentence in _spoken(seed):
        if part(sentence) == which:
            found.setdefault(sentence.source, replace(sentence, held_out=which))
            if len(found) == count:
                return tuple(found.values())
    raise AssertionError("the grammar never stops speaking")


def _spoken(seed: int) -> Iterator[Sentence]:
    rng = random.Random(seed)
    while True:
        yield speak(rng)


def read(source: str) -> Sentence | None:
    """The sentence of the grammar with these folded words, if there is one."""
    sentence = listen(source)
    return sentence and replace(sentence, held_out=part(sentence) or "")


@cache
def held_out(which: str) -> tuple[Sentence, ...]:
    """The set that the card's figures are about."""
    return draw(which, HELD_OUT)


def _set(which: str) -> Callable[[], tuple[Sentence, ...]]:
    return lambda: held_out(which)


@cache
def classroom_corpus(size: int = PAIRS) -> Corpus:
    """The corpus to train on, or its first pairs. The first call takes seconds for all."""
    pairs = draw("", size)
    german = sorted({word for pair in pairs for word in pair.source.split()})
    english = sorted({word for pair in pairs for word in pair.target.split()})
    return Corpus(
        name="classroom",
        pairs=tuple((pair.source, pair.target) for pair in pairs),
        src_vocab=Vocabulary((PAD, *german)),
        tgt_vocab=Vocabulary((PAD, START, END, *english)),
        source_length=LONGEST,
        pad_source=False,
        material=replace(MATERIAL, size=size),
    )


EXAMPLES = (
    Example("perfect", "Heute habe ich ein kaltes Bier getrunken", "getrunken"),
    Example("modal", "Die Kinder wollen morgen im Park spielen", "spielen"),
    Example("inversion", "Am Abend liest der alte Mann die Zeitung", "mann"),
    Example("weil", "Ich schlafe, weil ich gestern gearbeitet habe", "gearbeitet"),
    Example("dass", "Die Frau weiß, dass der Hund die Suppe essen will", "will"),
    Example("case", "Den Hund sieht der Lehrer", "den"),
    Example("dative", "Ich habe dem Kind einen roten Ball gegeben", "dem"),
    Example("endings", "Ein kleiner Hund hat das kleine Kind gesehen", "kleiner"),
    Example("plural", "Die Lehrer machen die Fenster auf", "lehrer"),
    Example("separable", "Mein Freund ruft mich oft an", "an"),
    Example("kein", "Wir kaufen kein altes Auto", "kein"),
    Example("nicht", "Sie können das Fenster nicht aufmachen", "nicht"),
    Example("gestern", "Gestern hat sie drei Bücher gelesen", "gelesen"),
    Example("sie", "Sie geben ihm die frischen Eier", "sie"),
    Example("one_to_many", "Ich möchte ein Bier", "möchte"),
)


def _word_list() -> dict[str, tuple[tuple[str, str], ...]]:
    """German with what it means, by kind of word."""
    der = lexicon.THE["nom"]
    adverbs = [value for value in vars(lexicon).values() if isinstance(value, lexicon.Adverb)]
    return {
        "nouns": tuple((f"{der[n.gender]} {n.singular}, {n.plural}", n.english) for n in lexicon.NOUNS),
        "verbs": tuple((f"{v.infinitive}, {v.participle}", v.base) for v in sorted(lexicon.VERBS, key=str))
        + tuple((v.infinitive, v.base) for v in lexicon.THINKING),
        "modals": tuple((m.spellings()[0], m.english.split("/")[0]) for m in lexicon.MODALS),
        "adjectives": tuple((a.base, a.english) for a in lexicon.ADJECTIVES),
        "adverbs": tuple((a.german, a.english) for a in (*adverbs, *lexicon.PLACES)),
        "others": (
            *((german, english) for german, english, _ in lexicon.SUBJECTS),
            *((german, english) for case in ("acc", "dat") for german, english, _ in lexicon.OBJECTS[case]),
            ("der, die, das", "the"),
            ("ein, eine", "a"),
            ("mein, meine", "my"),
            ("kein, keine", "not a, not any"),
            ("nicht", "not"),
            *lexicon.NUMBERS.items(),
        ),
    }


MATERIAL = Material(
    size=PAIRS,
    examples=EXAMPLES,
    words=_word_list(),
    read=read,
    held_out={SENTENCES: _set(SENTENCES), COMBINATIONS: _set(COMBINATIONS)},
)


def main(arguments: list[str]) -> None:
    """Print a sample, an alignment under each pair: every English word with the German that it stands for."""
    parser = argparse.ArgumentParser(prog="python -m transformer.data.classroom", description=main.__doc__)
    parser.add_argument("--count", type=int, default=200, help="how many sentences")
    parser.add_argument("--seed", type=int, default=0, help="the same seed prints the same sentences")
    args = parser.parse_args(arguments)
    for sentence in itertools.islice(_spoken(args.seed), args.count):
        german = sentence.source.split()
        gold = sentence.gold
        links = (
            word + "".join(f"={german[i]}" for i in gold.sure[t]) + "".join(f"~{german[i]}" for i in gold.possible[t])
            for t, word in enumerate(sentence.target.split())
        )
        print(f"{sentence.spelling}\n{sentence.target}\n    {' '.join(links)}\n")
