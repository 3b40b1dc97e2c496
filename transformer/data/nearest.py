"""The sentence of a corpus that is nearest to one that a model cannot read."""

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from heapq import nlargest

from .alignment import AlignedPair
from .corpus import Corpus
from .vocabulary import fold, lower, strip_punctuation


def nearest_pairs(sentence: str, corpus: Corpus, most: int) -> list[AlignedPair]:
    """Whole pairs of a corpus that share words with a sentence, the nearest first.

    A word counts the more the fewer pairs have it, so that names and nouns count more than articles.
    """
    pairs, frequency = _candidates(corpus)
    wanted = set(_words(sentence))

    def score(pair: AlignedPair) -> float:
        words = set(_words(pair.spelling))
        shared = sum(1 / frequency[word] ** 0.5 for word in wanted & words)
        return shared / (len(wanted | words) ** 0.5)

    return [pair for pair in nlargest(most, pairs, key=score) if score(pair) > 0]


@lru_cache(maxsize=8)
def _candidates(corpus: Corpus) -> tuple[tuple[AlignedPair, ...], Counter[str]]:
    """Examples and held-out pairs or, where a corpus has none, all of its own; and in how many of them each word is."""
    held_out = next(iter(corpus.held_out.values()), tuple)()  # of the first set, which is made in a moment
    examples = (filter(None, map(strip_punctuation, lower(each.sentence).split())) for each in corpus.examples)
    sources = list(map(" ".join, examples)) if held_out else [source for source, _ in corpus.pairs]
    pairs = {pair.source: pair for pair in (*filter(None, map(corpus.find, sources)), *held_out)}
    return tuple(pairs.values()), Counter(word for pair in pairs.values() for word in set(_words(pair.spelling)))


def _words(sentence: str) -> Iterable[str]:
    return filter(None, map(strip_punctuation, fold(sentence).split()))
