"""The classroom: thousands of generated German sentences with gold alignments, and three sets held out from training.

`python -m transformer.data.classroom` prints 200 sentences with their alignments, for proofreading, and with
`--example-pairs` the table of EXAMPLE_PAIRS.
"""

import argparse
import itertools
import random
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache, partial
from threading import Lock

from ...files import read_table
from ..corpus import Corpus, Example, Pair
from ..vocabulary import END, PAD, START, Vocabulary, lower, strip_punctuation
from . import lexicon
from .choosing import Chooser, CoreChooser
from .grammar import MAX_SOURCE_WORDS, Sentence, generate, parse
from .idioms import IDIOMS
from .phrases import determiner_form

HELD_OUT = "held-out sentences", "unseen combinations", "unseen pairs"
HELD_OUT_SENTENCES, UNSEEN_COMBINATIONS, UNSEEN_PAIRS = HELD_OUT
TRAINING_SIZE = 150_000
HELD_OUT_SIZE = 1_000  # of each set
MAX_REPEATS = 5  # of a training sentence: short ones are drawn again and again, in place of others
MAX_PHRASES = 40  # of a phrase without a choice ("Guten Morgen"), which is not learned from five
FIXED_PHRASES = {lower(each.german) for each in IDIOMS if not each.slots}
EXAMPLES = tuple(Example(**row) for row in read_table(lexicon.TABLES / "examples.tsv"))
EXAMPLE_PAIRS = lexicon.TABLES / "example_pairs.tsv"  # what `example_pairs` finds, which takes seconds
ABOUT_HELD_OUT = f"""\
- *{HELD_OUT_SENTENCES}*: training has none of them, but many that are close.
- *{UNSEEN_COMBINATIONS}*: a noun, its adjective and its verb (*kaltes Bier trinken*) that never stand in one training
  sentence; any two of them may.
- *{UNSEEN_PAIRS}*: a noun and its adjective, or a noun and its verb, that never stand in one training sentence; each
  alone does. Adverbials (*im Hotel*) do not count."""


def split_of(sentence: Sentence) -> str | None:
    """The held-out set that a sentence belongs to, "" for training, None for neither.

    One sentence in five is held out. Reserved are one (adjective, noun) or (noun, verb) pair in 23 and one (noun,
    adjective, verb) combination in 25: a training sentence never holds their words, wherever they stand but in an
    adverbial ("im Hotel") or a greeting. A sentence of UNSEEN_PAIRS or of UNSEEN_COMBINATIONS ("kaltes Bier trinken")
    joins them; the latter holds no reserved pair. Phrases without a choice ("Guten Morgen") are all in training.
    """
    nouns, adjectives, verbs = sentence.lemmas
    if any(map(_is_reserved, sentence.pairs)):
        return UNSEEN_PAIRS
    if any(map(_is_reserved, itertools.chain(itertools.product(adjectives, nouns), itertools.product(nouns, verbs)))):
        return None
    if any(map(_is_reserved, sentence.combinations)):
        return UNSEEN_COMBINATIONS
    if any(map(_is_reserved, itertools.product(nouns, adjectives, verbs))):
        return None
    if sentence.source in FIXED_PHRASES:
        return ""
    return HELD_OUT_SENTENCES if zlib.crc32(sentence.source.encode()) % 5 == 0 else ""


def _is_reserved(words: tuple[str, ...]) -> bool:
    return zlib.crc32(" ".join(words).encode()) % (23 if len(words) == 2 else 25) == 0


def sample(split: str, count: int, seed: int = 0) -> tuple[Sentence, ...]:
    """Distinct sentences of one split (see `split_of`). The same seed gives the same; a larger count appends more."""
    found: dict[str, Sentence] = {}
    for sentence in _generated(seed):
        if split_of(sentence) == split:
            found.setdefault(sentence.source, replace(sentence, held_out=split))
            if len(found) == count:
                break
    return tuple(found.values())


def _generated(seed: int, chooser: type[Chooser] = Chooser) -> Iterator[Sentence]:
    rng = random.Random(seed)
    while True:
        yield generate(rng, chooser)


def find(source: str) -> Sentence | None:
    """The sentence of the grammar with these words, in lower case, if there is one."""
    sentence = parse(source)
    return sentence and replace(sentence, held_out=split_of(sentence) or "")


class _Drawn:
    """The sentences of seed 0, as far as they were needed: each is drawn once, for training or for a held-out set."""

    def __init__(self, chooser: type[Chooser]) -> None:
        self.training: list[Pair] = []
        self.held_out: dict[str, dict[str, Sentence]] = {split: {} for split in HELD_OUT}
        self._sentences, self._lock = _generated(0, chooser), Lock()
        self._repeats: Counter[str] = Counter()

    def until(self, enough: Callable[[], bool]) -> None:
        with self._lock:
            while not enough():
                sentence = next(self._sentences)
                split = split_of(sentence)
                most = MAX_PHRASES if sentence.source in FIXED_PHRASES else MAX_REPEATS
                if split == "" and self._repeats[sentence.source] < most:
                    self._repeats[sentence.source] += 1
                    self.training.append((sentence.source, sentence.target))
                elif split and len(self.held_out[split]) < HELD_OUT_SIZE:
                    self.held_out[split].setdefault(sentence.source, replace(sentence, held_out=split))


@cache
def held_out(split: str, drawn: _Drawn | None = None) -> tuple[Sentence, ...]:
    """The held-out set that the model card reports on, or that of a small corpus."""
    drawn = drawn or _drawn
    found = drawn.held_out[split]
    drawn.until(lambda: len(found) == HELD_OUT_SIZE)
    return tuple(found.values())


@cache
def classroom_corpus(size: int = TRAINING_SIZE) -> Corpus:
    """The corpus to train on, or a small one of the grammar's most common words, which few pairs can teach.

    All pairs take 20 seconds to generate, when first needed.
    """
    drawn = _drawn if size >= TRAINING_SIZE else _core
    return Corpus(
        name="classroom",
        size=size,
        source_length=MAX_SOURCE_WORDS,
        load=partial(_load, drawn, size),
        pad_source=False,
        examples=EXAMPLES,
        phrases=tuple(phrase for phrase in sorted(FIXED_PHRASES) if " " in phrase),
        words=_word_list(),
        find=find,
        held_out={split: partial(held_out, split, drawn) for split in HELD_OUT},
        about_held_out=ABOUT_HELD_OUT,
    )


_drawn, _core = _Drawn(Chooser), _Drawn(CoreChooser)


def _load(drawn: _Drawn, size: int) -> tuple[tuple[Pair, ...], Vocabulary, Vocabulary]:
    drawn.until(lambda: len(drawn.training) >= size)
    examples = [(row["source"], row["target"]) for row in read_table(EXAMPLE_PAIRS)] if drawn is _core else []
    pairs = (*examples, *drawn.training)[:size]
    german = sorted({word for source, _ in pairs for word in source.split()})
    english = sorted({word for _, target in pairs for word in target.split()})
    return pairs, Vocabulary((PAD, *german), folds=True), Vocabulary((PAD, START, END, *english), folds=True)


def example_pairs() -> tuple[Pair, ...]:
    """Training pairs with every word of the examples: the examples themselves, and others for those that are held out.

    A visitor watches an example while a small model learns.
    """
    sources = [" ".join(map(strip_punctuation, lower(each.sentence).split())) for each in EXAMPLES]
    wanted, found = {word for source in sources for word in source.split()}, []
    for sentence in itertools.chain(filter(None, map(find, sources)), _generated(0)):
        words = {*sentence.source.split()}
        if wanted & words and split_of(sentence) == "":
            found.append((sentence.source, sentence.target))
            wanted -= words
        if not wanted:
            break
    return tuple(found)


def _word_list() -> dict[str, tuple[tuple[str, str], ...]]:
    """(German, English) by kind of word."""
    der = lexicon.THE["nom"]
    verbs = sorted(lexicon.VERBS, key=lambda verb: (verb.written, verb.objects))
    return {
        "nouns": tuple((f"{der[n.gender]} {', '.join(n.spellings())}", n.english) for n in lexicon.NOUNS),
        "verbs": tuple(
            (v.infinitive if "only-present" in v.traits else f"{v.infinitive}, {v.participle}", v.base) for v in verbs
        )
        + tuple((v.infinitive, v.base) for v in lexicon.CLAUSE_VERBS),
        "modals": tuple((m.spellings()[0], m.english.split("/")[0]) for m in lexicon.MODALS),
        "adjectives": tuple((a.base, a.english) for a in lexicon.ADJECTIVES),
        "adverbs": tuple(
            dict.fromkeys((each.german, each.english) for each in lexicon.ADVERBIALS if each not in lexicon.LIKING)
        ),
        "others": (
            *((german, english) for german, english, _ in (*lexicon.SUBJECTS, *lexicon.IT)),
            *((german, english) for case in ("acc", "dat") for german, english, _ in lexicon.OBJECTS[case]),
            ("der, die, das", "the"),
            ("ein, eine", "a"),
            ("dieser, diese, dieses", "this, these"),
            *((f"{own}, {determiner_form(own, 'nom', 'f')}", english) for own, english in lexicon.POSSESSIVES.items()),
            ("kein, keine", "not a, not any"),
            ("nicht", "not"),
            ("gern", "like to"),
            *lexicon.NUMBERS.items(),
        ),
    }


def main(arguments: list[str]) -> None:
    """Print a sample with alignments: every English word with the German words that it translates."""
    parser = argparse.ArgumentParser(prog="python -m transformer.data.classroom", description=main.__doc__)
    parser.add_argument("--count", type=int, default=200, help="how many sentences")
    parser.add_argument("--seed", type=int, default=0, help="the same seed prints the same sentences")
    parser.add_argument("--example-pairs", action="store_true", help="print the table of them instead")
    args = parser.parse_args(arguments)
    if args.example_pairs:
        print("source\ttarget", *map("\t".join, example_pairs()), sep="\n")
        return
    for sentence in itertools.islice(_generated(args.seed), args.count):
        german, gold = sentence.source.split(), sentence.gold
        links = (
            word + "".join(f"={german[i]}" for i in gold.sure[t]) + "".join(f"~{german[i]}" for i in gold.possible[t])
            for t, word in enumerate(sentence.target.split())
        )
        print(f"{sentence.spelling}\n{sentence.target}\n    {' '.join(links)}\n")
