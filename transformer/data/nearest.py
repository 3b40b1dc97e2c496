"""The sentence of a corpus that is nearest to one that a model cannot read."""

from collections import Counter
from functools import lru_cache
from heapq import nlargest

from .alignment import AlignedPair
from .corpus import Corpus
from .vocabulary import fold, lower, strip_punctuation


def nearest_pairs(sentence: str, corpus: Corpus, most: int) -> list[AlignedPair]:
    """Whole pairs of a corpus that share words with a sentence, the nearest first.

    A word counts the more the fewer pairs have it, so that names and nouns count more than articles.
    """
    candidates, frequency = _candidates(corpus)
    wanted = _words(sentence)

    def score(candidate: tuple[AlignedPair, set[str]]) -> float:
        words = candidate[1]
        shared = sum(1 / frequency[word] ** 0.5 for word in wanted & words)
        return shared / (len(wanted | words) ** 0.5)

    sharing = (candidate for candidate in candidates if wanted & candidate[1])
    return [pair for pair, _ in nlargest(most, sharing, key=score)]


@lru_cache(maxsize=8)
def _candidates(corpus: Corpus) -> tuple[list[tuple[AlignedPair, set[str]]], Counter[str]]:
    """Examples and held-out pairs or, where a corpus has none, all of its own, each with its words; and in how many of
    them each word is."""
    held_out = next(iter(corpus.held_out.values()), tuple)()  # of the first set, which is made in a moment
    examples = (filter(None, map(strip_punctuation, lower(each.sentence).split())) for each in corpus.examples)
    sources = list(map(" ".join, examples)) if held_out else [source for source, _ in corpus.pairs]
    pairs = {pair.source: pair for pair in (*filter(None, map(corpus.find, sources)), *held_out)}
    candidates = [(pair, _words(pair.spelling)) for pair in pairs.values()]
    return candidates, Counter(word for _, words in candidates for word in words)


def _words(sentence: str) -> set[str]:
    return set(filter(None, map(strip_punctuation, fold(sentence).split())))
