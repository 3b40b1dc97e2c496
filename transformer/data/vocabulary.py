"""Text to ids and back. Knows nothing of tensors or models."""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property

from ..messages import MessageError, Words

PAD, START, END = "P", "S", "E"  # upper case: folded text never collides with them
SPECIAL = frozenset({PAD, START, END})

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


@dataclass(frozen=True)
class Vocabulary:
    """The tokens of one side in the order of their ids; padding is id 0.

    Args:
        tokens: every word once, after `P`; a target vocabulary also has `S` and `E`.

    Raises:
        ValueError: `P` is not first, or a token is repeated or not a word.
    """

    tokens: tuple[str, ...]

    def __post_init__(self) -> None:
        if not self.tokens or self.tokens[0] != PAD:
            raise ValueError(f"a vocabulary starts with {PAD!r} (padding, id 0), not {self.tokens[:1]}")
        for token in self.tokens:
            if not isinstance(token, str) or not token or token.split() != [token]:
                raise ValueError(f"{token!r} is not a word")
        if len(self.ids) != len(self.tokens):
            raise ValueError(f"a vocabulary of {len(self.tokens)} tokens has only {len(self.ids)} distinct ones")

    def __len__(self) -> int:
        return len(self.tokens)

    @cached_property
    def ids(self) -> dict[str, int]:
        """Token -> id."""
        return {token: i for i, token in enumerate(self.tokens)}

    @property
    def words(self) -> tuple[str, ...]:
        """All tokens but P, S and E."""
        return tuple(token for token in self.tokens if token not in SPECIAL)

    def split(self, text: str) -> list[str]:
        """Folded words; an unknown word loses the punctuation at its edges."""
        words = []
        for word in fold(text).split():
            if word in self.ids or (word := strip_punctuation(word)):
                words.append(word)
        return words

    def encode(self, text: str) -> list[int]:
        """Ids of the words of a sentence; no padding, no S, no E.

        Raises:
            SentenceError: it is empty, or has an invisible character or an unknown word.
        """
        check_visible(text)
        words = self.split(text)
        if not words:
            raise SentenceError("error.empty", known=self.some_words())
        unknown = list(dict.fromkeys(word for word in words if word not in self.ids))
        if unknown:
            raise self._unknown(unknown)
        return [self.ids[word] for word in words]

    def decode(self, ids: Iterable[int]) -> str:
        """The sentence behind ids, up to E, without special tokens."""
        words: list[str] = []
        for i in ids:
            if self.tokens[i] == END:
                break
            if self.tokens[i] not in SPECIAL:
                words.append(self.tokens[i])
        return " ".join(words)

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
