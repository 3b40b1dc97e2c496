"""The sentence of a corpus that is nearest to one that a model cannot read."""

import re
from collections import Counter
from functools import lru_cache
from heapq import nlargest
from itertools import pairwise
from math import fsum, log

from .alignment import AlignedPair
from .corpus import Corpus
from .vocabulary import fold, lower, strip_punctuation


def nearest_pairs(sentence: str, corpus: Corpus, most: int) -> list[AlignedPair]:
    """Whole pairs of a corpus that share words with a sentence, the nearest first.

    Pairs are ranked by what they share of all words and neighbouring words of both sentences. Rarer words weigh
    more, and a word that no pair has weighs as much as one that a single pair has; two neighbours weigh as much as
    one of them.
    """
    candidates, frequency = _candidates(corpus)
    wanted = _parts(sentence)

    def weight(part: tuple[str, ...]) -> float:
        return sum(log(1 + len(candidates) / max(1, frequency[word])) for word in part) / len(part)

    def score(candidate: tuple[AlignedPair, set[tuple[str, ...]]]) -> float:
        parts = candidate[1]
        # Exactly, because the order of a set, and with it the rounding of a sum, is another in another process.
        return fsum(map(weight, wanted & parts)) / fsum(map(weight, wanted | parts))

    sharing = (candidate for candidate in candidates if wanted & candidate[1])
    return [pair for pair, _ in nlargest(most, sharing, key=score)]


@lru_cache(maxsize=8)
def _candidates(corpus: Corpus) -> tuple[list[tuple[AlignedPair, set[tuple[str, ...]]]], Counter[str]]:
    """The known pairs of a corpus, each with its words and neighbouring words; and in how many of them each word is."""
    candidates = [(pair, _parts(pair.spelling)) for pair in known_pairs(corpus)]
    return candidates, Counter(part[0] for _, parts in candidates for part in parts if len(part) == 1)


def known_pairs(corpus: Corpus) -> tuple[AlignedPair, ...]:
    """Examples, phrases and held-out pairs or, where a corpus has no held-out ones, all of its own."""
    held_out = next(iter(corpus.held_out.values()), tuple)()  # of the first set, which is made in a moment
    examples = (filter(None, map(strip_punctuation, lower(each.sentence).split())) for each in corpus.examples)
    sources = [*map(" ".join, examples), *corpus.phrases] if held_out else [source for source, _ in corpus.pairs]
    pairs = {pair.source: pair for pair in (*filter(None, map(corpus.find, sources)), *held_out)}
    return tuple(pairs.values())


def _parts(sentence: str) -> set[tuple[str, ...]]:
    """The words of a sentence, and each two neighbours."""
    words = list(filter(None, map(strip_punctuation, re.split(r"[\s'’]+", fold(sentence)))))  # "geht's" shares "geht"
    return {*((word,) for word in words), *pairwise(words)}
