"""Text to ids and back. Knows nothing of tensors or models."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cached_property
from typing import Any, Protocol

from ..messages import Listed, MessageError

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


def lower(text: str) -> str:
    """Lower case, with every letter as it is: "Möchte" -> "möchte", composed or not."""
    return text.lower() if text.isascii() else unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).lower())


def words(text: str) -> list[str]:
    """Split at spaces and change nothing else. A word spelled P, S or E is quoted."""
    spaced = text if text.isascii() else _UNSPACED.sub(r" \1 ", unicodedata.normalize("NFC", text))
    return [_QUOTED.get(word, word) for word in spaced.split()]


def words_and_marks(text: str) -> list[str]:
    """Words as they are; a punctuation mark at the edge of one is a token of its own: "Beer!" -> Beer, !"""
    return [piece for word in words(text) for piece in _marks_apart(word)]


def _marks_apart(word: str) -> list[str]:
    if word in _UNQUOTED:
        return [word]
    core = strip_punctuation(word)
    before, _, after = word.partition(core) if core else (word, "", "")
    return [*before, *([_QUOTED.get(core, core)] if core else []), *after]


def _spelt_out(word: str) -> str:
    """As one types German without a German keyboard: "schön" -> "schoen"."""
    return lower(word).replace("ä", "ae").replace("ö", "oe").replace("ü", "ue").replace("ß", "ss")


def _without_spelt_umlauts(folded: str) -> str:
    """A folded word that was typed without a German keyboard, as the umlauts themselves fold: "moechte" -> "mochte"."""
    return re.sub("(?<![aeouq])([aou])e", r"\1", folded)


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
    """The tokens of one side in the order of their ids; padding is id 0. Raises ValueError: `P` is not first, a
    token is repeated or not a word, or the tokens are one str."""

    tokens: tuple[str, ...]  # every word once, after `P`; a target vocabulary also has `S` and `E`
    # Whether a typed word may differ from its token in case and umlauts, and in the punctuation at its edges.
    folds: bool = False
    tokenizer: Tokenizer | None = None  # its id i is the i-th of `words`; without one spaces separate words

    def __post_init__(self) -> None:
        if not isinstance(self.folds, bool):
            raise ValueError(f"folds ({self.folds!r}) is not true or false")
        if isinstance(self.tokens, str):
            raise ValueError("tokens is a str; a vocabulary takes a tuple of words")
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
        return dict(zip(self.tokens, range(len(self.tokens)), strict=True))

    @cached_property
    def words(self) -> tuple[str, ...]:
        """All tokens but P, S and E."""
        return tuple(token for token in self.tokens if token not in SPECIAL)

    def split(self, text: str) -> list[str]:
        """The words of a sentence: their tokens, and in lower case those that are unknown. Raises ValueError: the
        tokenizer gives an id that has no word."""
        return [lower(typed) if token is None and self.folds else token or typed for typed, token in self.read(text)]

    def read(self, text: str) -> list[tuple[str, str | None]]:
        """The words of a sentence as they were typed, each with its token, None where it is unknown.

        A vocabulary that folds knows a typed word by its letters, else by its letters in another case, else without its
        umlauts: "schon" and "schoen" are *schön* where no other word could be meant. It drops a typed umlaut only where
        all its tokens are folded themselves (the toy's *mochte*), so "schön" is never *schon*. Marks at the edges of a
        word that it does not know as tokens are dropped. Raises ValueError: the tokenizer gives an id that has no word.
        """
        if self.tokenizer is not None:
            named = map(self._word, self._pieces(fold(text) if self.folds else text))
            return [(piece, piece if piece in self.ids else None) for piece in named]
        if not self.folds:
            return [(word, word if word in self.ids and word not in SPECIAL else None) for word in text.split()]
        found = []
        for word in words(text):
            pieces = [word] if self._token(word) else _marks_apart(word)
            for piece in pieces:
                token = self._token(piece)
                if token or strip_punctuation(piece):
                    found.append((_UNQUOTED.get(piece, piece), token))
        return found

    def _token(self, word: str) -> str | None:
        """The token that a typed word is read as, if there is one: "geht’s" is *geht's* where no token has a ’."""
        token = self._token_of_letters(word)
        return self._token_of_letters(word.replace("’", "'")) if token is None and "’" in word else token

    def _token_of_letters(self, word: str) -> str | None:
        if word in self.ids:
            return None if word in SPECIAL else word
        folded = fold(word)
        if self._is_folded:
            return next((each for each in (folded, _without_spelt_umlauts(folded)) if each in self.ids), None)
        alike = self._by_letters.get(folded, ())
        for letters in (lower, str.casefold):
            if same := [token for token in alike if letters(token) == letters(word)]:
                return lower(word) if lower(word) in same else same[0]
        has_umlaut = folded != word.casefold()
        meant = {lower(token) for token in alike}
        return alike[0] if len(meant) == 1 and not has_umlaut else None

    @cached_property
    def _is_folded(self) -> bool:
        return all(fold(word) == word for word in self.words)

    @cached_property
    def _by_letters(self) -> dict[str, tuple[str, ...]]:
        """Folded or spelt-out word -> the tokens that it can mean."""
        found: dict[str, tuple[str, ...]] = {}
        for word in self.words:
            for key in {fold(word), _spelt_out(word)}:
                found[key] = (*found.get(key, ()), word)
        return found

    def encode(self, text: str) -> list[int]:
        """Ids of the words of a sentence; no padding, no S, no E.

        Raises:
            SentenceError: it is empty, or has an unknown word or, without a tokenizer, an invisible character.
            ValueError: the tokenizer gives an id that has no word.
        """
        if self.tokenizer is None:
            check_visible(text)
        read = self.read(text)
        if not read:
            raise SentenceError("error.empty", known=self.some_words())
        unknown: dict[str, str] = {}
        for typed, token in read:
            if token is None:
                unknown.setdefault(lower(typed) if self.folds else typed, typed)
        if unknown:
            raise self._unknown(list(unknown.values()))
        return [self.ids[token] for _, token in read if token is not None]

    def decode(self, ids: Iterable[int]) -> str:
        """The sentence behind ids, up to E, without special tokens. Raises ValueError: an id is not in the
        vocabulary."""
        words = [self.tokens[i] for i in self._without_special(ids)]
        if self.tokenizer is None:
            return " ".join(words)
        if self._tokenizer_gives_strings:
            return self.tokenizer.decode([_UNQUOTED.get(word, word) for word in words])
        return self.tokenizer.decode([self._places[word] for word in words])

    def _without_special(self, ids: Iterable[int]) -> Iterator[int]:
        """Ids up to E, without those of special tokens. Raises ValueError: an id is not in the vocabulary."""
        for i in ids:
            if not 0 <= i < len(self):
                raise ValueError(f"id {i} is not in a vocabulary of {len(self)} tokens")
            if self.tokens[i] == END:
                return
            if self.tokens[i] not in SPECIAL:
                yield i

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
        near = dict.fromkeys(near for word in words[:3] for near in self._near(word[:40]))
        if near and most < 20:
            return SentenceError("error.unknown_near", unknown=unknown, near=Listed(tuple(near)))
        return SentenceError("error.unknown", unknown=unknown, known=self.some_words(most))

    def _near(self, word: str) -> list[str]:
        if not self.folds:
            return get_close_matches(word, self.words)
        alike = self._by_letters
        return list(dict.fromkeys(token for near in get_close_matches(fold(word), alike) for token in alike[near]))[:3]

    def some_words(self, most: int = 20) -> Listed:
        """The first known words, for a message."""
        return Listed(self.words[:most], max(0, len(self.words) - most))


def check_target(vocab: Vocabulary) -> None:
    """Raises ValueError where a target vocabulary lacks S or E."""
    if missing := {START, END}.difference(vocab.ids):
        raise ValueError(f"the target vocabulary has no {' and no '.join(sorted(missing))}")


def _quoted(words: Sequence[str]) -> Listed:
    """The first three, each cut after 30 characters."""
    shown = (f"“{word if len(word) <= 30 else word[:30] + '…'}”" for word in words[:3])
    return Listed(tuple(shown), max(0, len(words) - 3))
