"""Text to ids and back. Knows nothing of tensors or models."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Protocol

from ..messages import MessageError, Words

PAD, START, END = "P", "S", "E"
SPECIAL = frozenset({PAD, START, END})
_QUOTED = {token: f"“{token}”" for token in SPECIAL}  # a tokenizer's pieces of the same names
_UNQUOTED = {quoted: token for token, quoted in _QUOTED.items()}

_PUNCTUATION = ".,;:!?…¿¡\"'„“”‚‘’«»‹›()–—-。，、！？；：「」『』《》（）؟،؛"
_UNSPACED = re.compile(r"\s*([\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])\s*")  # Han, kana
# Fillers and variation selectors, which Unicode counts as printable although they are invisible.
_BLANK = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u3164\uffa0") | frozenset(map(chr, range(0xFE00, 0xFE10)))


class SentenceError(MessageError):
    """A sentence that a model cannot translate. The message tells a visitor how to change it."""


def fold(text: str) -> str:
    """Lower case, umlauts without their dots, ß as ss: "Ich möchte" -> "ich mochte". Idempotent.

    Chinese and Japanese have no spaces between words: each of their characters becomes a word.
    """
    if text.isascii():  # only case to fold; corpora have thousands of sentences
        return text.lower()
    decomposed = unicodedata.normalize("NFD", unicodedata.normalize("NFD", text).casefold())
    folded = unicodedata.normalize("NFC", re.sub("([aou])\N{COMBINING DIAERESIS}", r"\1", decomposed))
    return _UNSPACED.sub(r" \1 ", folded).strip()


def check_visible(text: str) -> None:
    """Raises SentenceError where a text has invisible characters."""
    for char in () if text.isascii() and text.isprintable() else text:
        if char in _BLANK or not (char.isprintable() or char in "\t\n\r" or unicodedata.category(char)[0] == "Z"):
            raise SentenceError("error.invisible", code=f"U+{ord(char):04X}")


def strip_punctuation(word: str) -> str:
    """A folded word without the punctuation at its edges; "" where it is nothing else."""
    return word.strip(_PUNCTUATION)


def has_word(text: str) -> bool:
    """Whether a text has anything but space and punctuation."""
    return any(map(strip_punctuation, fold(text).split()))


class Tokenizer(Protocol):
    """Cuts a text into pieces, as their ids or as strings, and joins them: sentencepiece, tiktoken, tokenizers, …

    It adds no special tokens. `encode` returns a sequence, or an object that has it as `ids`.
    """

    def encode(self, text: str, /) -> Any: ...

    def decode(self, pieces: list[Any], /) -> str: ...


@dataclass(frozen=True)
class Vocabulary:
    """The tokens of one side in the order of their ids; padding is id 0.

    Args:
        tokens: every word once, after `P`; a target vocabulary also has `S` and `E`.
        folds: whether a sentence is folded (see `fold`), and its unknown words lose the punctuation at their edges.
        tokenizer: cuts a sentence into words; its id i is the i-th of `words`. Without one spaces separate words.

    Raises:
        ValueError: `P` is not first, or a token is repeated or not a word.
    """

    tokens: tuple[str, ...]
    folds: bool = False
    tokenizer: Tokenizer | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.folds, bool):
            raise ValueError(f"folds ({self.folds!r}) is not true or false")
        if not self.tokens or self.tokens[0] != PAD:
            raise ValueError(f"a vocabulary starts with {PAD!r} (padding, id 0), not {self.tokens[:1]}")
        for token in self.tokens:
            if not isinstance(token, str) or not token or (self.tokenizer is None and token.split() != [token]):
                raise ValueError(f"{token!r} is not a word")
        if len(self.ids) != len(self.tokens):
            raise ValueError(f"a vocabulary of {len(self.tokens)} tokens has only {len(self.ids)} distinct ones")

    @classmethod
    def of_pieces(cls, pieces: Iterable[str], tokenizer: Tokenizer) -> "Vocabulary":
        """P, S, E, and then a tokenizer's pieces in the order of its ids, for either side.

        A piece that is called P, S or E stands in quotes.
        """
        return cls((PAD, START, END, *(_QUOTED.get(piece, piece) for piece in pieces)), tokenizer=tokenizer)

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def ids(self) -> dict[str, int]:
        """Token -> id."""
        return {token: i for i, token in enumerate(self.tokens)}

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All tokens but P, S and E."""
        return tuple(token for token in self.tokens if token not in SPECIAL)

    def split(self, text: str) -> list[str]:
        """The words of a sentence, known or not.

        Raises:
            ValueError: the tokenizer gives an id that has no word.
        """
        text = fold(text) if self.folds else text
        if self.tokenizer is not None:
            return [self._word(piece) for piece in self._pieces(text)]
        words = text.split()
        if self.folds:
            words = [word if word in self.ids else strip_punctuation(word) for word in words]
        return [word for word in words if word]

    def encode(self, text: str) -> list[int]:
        """Ids of the words of a sentence; no padding, no S, no E.

        Raises:
            SentenceError: it is empty, or has an unknown word or, without a tokenizer, an invisible character.
            ValueError: the tokenizer gives an id that has no word.
        """
        if self.tokenizer is None:
            check_visible(text)
        words = self.split(text)
        if not words:
            raise SentenceError("error.empty", known=self.some_words())
        unknown = list(dict.fromkeys(word for word in words if word not in self.ids or word in SPECIAL))
        if unknown:
            raise self._unknown(unknown)
        return [self.ids[word] for word in words]

    def decode(self, ids: Iterable[int]) -> str:
        """The sentence behind ids, up to E, without special tokens.

        Raises:
            ValueError: an id is not in the vocabulary.
        """
        words: list[str] = []
        for i in ids:
            if not 0 <= i < len(self):
                raise ValueError(f"id {i} is not in a vocabulary of {len(self)} tokens")
            if self.tokens[i] == END:
                break
            if self.tokens[i] not in SPECIAL:
                words.append(self.tokens[i])
        if self.tokenizer is None:
            return " ".join(words)
        if self._tokenizer_gives_strings:
            return self.tokenizer.decode([_UNQUOTED.get(word, word) for word in words])
        return self.tokenizer.decode([self._places[word] for word in words])

    def _pieces(self, text: str) -> Sequence[Any]:
        assert self.tokenizer is not None
        encoded = self.tokenizer.encode(text)
        return getattr(encoded, "ids", encoded)

    def _word(self, piece: Any) -> str:
        if isinstance(piece, str):
            return _QUOTED.get(piece, piece)
        if not 0 <= piece < len(self.words):
            raise ValueError(f"the tokenizer gives id {piece}, but the vocabulary has {len(self.words)} words")
        return self.words[piece]

    @cached_property
    def _places(self) -> dict[str, int]:
        """Word -> the tokenizer's id."""
        return {word: i for i, word in enumerate(self.words)}

    @cached_property
    def _tokenizer_gives_strings(self) -> bool:
        for word in self.words:
            try:
                pieces = self._pieces(_UNQUOTED.get(word, word))
            except Exception:  # a tokenizer may refuse a lone piece in any way
                continue
            if len(pieces):
                return isinstance(pieces[0], str)
        return False

    def _unknown(self, words: Sequence[str]) -> SentenceError:
        """The error suggests known words: all where they are few, else those nearest to the unknown ones."""
        unknown, most = _quoted(words), 20 if len(self.words) <= 20 else 10
        near = dict.fromkeys(word for each in words[:3] for word in get_close_matches(each[:40], self.words))
        if near and most < 20:
            return SentenceError("error.unknown_near", unknown=unknown, near=Words(tuple(near)))
        return SentenceError("error.unknown", unknown=unknown, known=self.some_words(most))

    def some_words(self, most: int = 20) -> Words:
        """The first known words, for a message."""
        return Words(self.words[:most], max(0, len(self.words) - most))


def check_target(vocab: Vocabulary) -> None:
    """Raises ValueError where a target vocabulary lacks S or E."""
    if missing := {START, END} - vocab.ids.keys():
        raise ValueError(f"the target vocabulary has no {' and no '.join(sorted(missing))}")


def _quoted(words: Sequence[str], most: int = 3, max_length: int = 30) -> Words:
    shown = (f"“{word if len(word) <= max_length else word[:max_length] + '…'}”" for word in words[:most])
    return Words(tuple(shown), max(0, len(words) - most))
