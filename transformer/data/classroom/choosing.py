"""How the grammar's choices are made: at random, or so that they give the words of a sentence.

Knows nothing of phrases or clauses.
"""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from ..vocabulary import lower
from .lexicon import LINKS, Lexeme, Pronoun


@dataclass(eq=False)
class GermanWord:
    """A German word, whose place in the sentence is decided later."""

    spelling: str


@dataclass(eq=False)
class EnglishWord:
    """An English word, and the German words that it translates: surely, or in one possible reading."""

    text: str
    sure: Sequence[GermanWord] = ()
    possible: Sequence[GermanWord] = ()


_LINK = re.compile(rf"\b(?:{'|'.join(each.german for each in LINKS)})\b")


class NoParseError(Exception):
    """These choices cannot give the words of the sentence."""


class Chooser:
    """Makes every choice of the grammar at random."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng

    def choose(self, options: Sequence[Any], weights: Sequence[float] | None = None) -> Any:
        return self.rng.choice(options) if weights is None else self.rng.choices(options, weights)[0]

    def word(self, spelling: str) -> GermanWord:
        return GermanWord(spelling)

    def split_at(self, word: str) -> None:
        """Clauses end at this word too."""

    def begin(self, clause: int) -> None:
        """The words that follow are of this clause (from 0)."""

    def may_begin(self, words: Sequence[str]) -> bool:
        """Whether the clause may begin with these words."""
        return True

    def needs(self, words: Sequence[frozenset[str]]) -> None:
        """The clause will have a word of each of these sets."""

    def together(self, de: Sequence[GermanWord]) -> None:
        """These words stand side by side, wherever they come."""

    def end(self, de: Sequence[GermanWord]) -> None:
        """These are all words of the clause, in order."""

    def maybe(self, probability: float) -> bool:
        return self.choose((False, True), (1 - probability, probability))

    def one_of(self, weights: Mapping[str, float]) -> str:
        return self.choose(tuple(weights), tuple(weights.values()))

    def determiner(self, weights: Mapping[str, float]) -> str:
        return self.one_of(weights)

    def pronoun(self, pronouns: Sequence[Pronoun], weights: Sequence[float]) -> Pronoun:
        return self.choose(pronouns, weights)


class CoreChooser(Chooser):
    """It knows the first words alone of a long list, which are the most common, and no rare way to say them."""

    def choose(self, options: Sequence[Any], weights: Sequence[float] | None = None) -> Any:
        if isinstance(options[-1], Lexeme):
            known = min(max(8, int(0.25 * len(options))), 120)
            options, weights = options[:known], weights and weights[:known]
        elif weights:
            common = [i for i, weight in enumerate(weights) if weight > 0.35 * max(weights)]
            options, weights = [options[i] for i in common], [weights[i] for i in common]
        return super().choose(options, weights)

    def one_of(self, weights: Mapping[str, float]) -> str:
        """Fewer everyday phrases: each teaches hardly more than itself."""
        return super().one_of({**weights, "idiom": 3} if "idiom" in weights else weights)


class ParsingChooser(Chooser):
    """Follows a path, then takes the first option of every choice; fails at a word that the clause has no more of.

    `known` is what each attempt at the same sentence leaves for the next: empty before the first.
    """

    def __init__(self, source: str, path: Sequence[int], known: dict[Any, Any]) -> None:
        self.clauses = [clause.split() for clause in _LINK.split(source)]
        self.source, self.path, self._known = source, path, known
        self.branches: list[int] = []  # the number of options at each choice so far
        self.steps = 0  # the number of choices and words so far
        self.clause = source.split()
        self.left = [*self.clause]  # of the clause, once one has begun

    def split_at(self, word: str) -> None:
        self.clauses = [part.split() for part in f" {self.source} ".split(f" {word} ")]
        if len(self.clauses) != 2:
            raise NoParseError

    def begin(self, clause: int) -> None:
        self.clause = self.clauses[clause]
        self.left = [*self.clause]

    def may_begin(self, words: Sequence[str]) -> bool:
        return self.clause[: len(words)] == [lowered(word) for word in words]

    def needs(self, words: Sequence[frozenset[str]]) -> None:
        if any(each.isdisjoint(self.left) for each in words):
            raise NoParseError

    def together(self, de: Sequence[GermanWord]) -> None:
        words = " ".join(lowered(word.spelling) for word in de)
        if f" {words} " not in f" {' '.join(self.clause)} ":
            raise NoParseError

    def end(self, de: Sequence[GermanWord]) -> None:
        if [lowered(word.spelling) for word in de] != self.clause:
            raise NoParseError

    def choose(self, options: Sequence[Any], weights: Sequence[float] | None = None) -> Any:
        self.steps += 1
        if weights and 0 in weights:  # never generated, so never parsed
            options = [each for each, weight in zip(options, weights, strict=True) if weight]
        possible = options
        if options and isinstance(options[-1], Lexeme):  # all are lexemes, apart from None for "left out"
            possible = self._possible(options)
        if not possible and None in options:  # an optional word is left out only where the sentence lacks it
            possible = [None]
        if not possible:
            raise NoParseError
        depth = len(self.branches)
        self.branches.append(len(possible))
        return possible[self.path[depth] if depth < len(self.path) else 0]

    def determiner(self, weights: Mapping[str, float]) -> str:
        """One that a word begins with: tried with every noun, the others would take most of the steps."""
        begins = tuple({word[:i] for word in self.left for i in range(7)})
        stems = {"der": "d", "euer": "eu"}
        return self.one_of({each: weight for each, weight in weights.items() if stems.get(each, each) in begins})

    def pronoun(self, pronouns: Sequence[Pronoun], weights: Sequence[float]) -> Pronoun:
        """One that is left: tried with every verb, the others would take most of the steps."""
        return self.choose([each for each in pronouns if lowered(each[0]) in self.left])

    def _possible(self, options: Sequence[Any]) -> list[Any]:
        """Those that the words left may hold. The known ones keep their options, so that no others have their id."""
        left = frozenset(self.left)
        key = (id(options), left)
        if key not in self._known:
            found = [each for each in options if each is not None and each.may_occur_in(left)]
            self._known[key] = (options, found)
        return self._known[key][1]

    def word(self, spelling: str) -> GermanWord:
        self.steps += 1
        try:
            self.left.remove(lowered(spelling))
        except ValueError:
            raise NoParseError from None
        return GermanWord(spelling)


lowered = cache(lower)  # of the grammar's own words
