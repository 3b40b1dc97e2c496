"""Pieces of words, as Marian models cut sentences: by sentencepiece, with the ids of a vocabulary of their own."""

import re
from collections.abc import Iterable, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from .vocabulary import END, PAD, SPECIAL, START, SentenceError, Vocabulary

FIRST = 2  # id of the first piece, after P and S


@dataclass(frozen=True, eq=False)
class PieceVocabulary(Vocabulary):
    """P, S, and then a model's own pieces in the order of its ids; the one that ends a sentence is called E.

    P pads batches, and S stands for the decoder's first input, which in Marian usually is its `<pad>`. Neither is ever
    output. A piece that is called P, S or E stands in quotes. `of_model` names the tokens, and the tokenizer is a
    sentencepiece processor.
    """

    pieces: tuple[str, ...] = ()  # the model's own names of all tokens after P and S
    # Its names of the end, of unknown pieces and of padding, which sentences may contain as they are.
    specials: tuple[str, str, str] = ("</s>", "<unk>", "<pad>")
    joiner: Any = None  # the sentencepiece processor that joins pieces
    ends: bool = False  # whether `encode` adds E, as it does for a source

    @classmethod
    def of_model(
        cls, pieces: Sequence[str], end_id: int, specials: tuple[str, str, str], **fields: Any
    ) -> "PieceVocabulary":
        """The vocabulary of one side of a model.

        Args:
            pieces: by the model's own id.
            end_id: the model's own id of the piece that ends a sentence.
            fields: tokenizer, joiner, ends.

        Raises:
            ValueError: a piece is not text, or the end or the unknown piece is missing.
        """
        if specials[1] not in pieces:
            raise ValueError(f"{specials[1]} is missing")
        if not 0 <= end_id < len(pieces):
            raise ValueError(f"the end of a sentence has id {end_id}, but there are {len(pieces)} pieces")
        tokens, taken = [PAD, START, *pieces], set(pieces)
        for special in SPECIAL & taken:
            token = special
            while token in taken:
                token = f"“{token}”"
            tokens[FIRST + pieces.index(special)] = token
        tokens[FIRST + end_id] = END
        return cls(tuple(tokens), pieces=tuple(pieces), specials=specials, **fields)

    def of_output(self, tokenizer: Any, joiner: Any) -> "PieceVocabulary":
        """A vocabulary of these tokens for the other side of a model; its sentences do not end on their own."""
        other = copy(self)  # with the tables that were made of the tokens
        vars(other).update(tokenizer=tokenizer, joiner=joiner, ends=False)
        return other

    @cached_property
    def _renamed(self) -> dict[str, str]:
        """The model's name of a piece -> its token, where they differ."""
        named = zip(self.pieces, self.tokens[FIRST:], strict=True)
        return {piece: token for piece, token in named if piece != token}

    def _token_of(self, piece: str) -> str | None:
        """None where the model does not know the piece."""
        i = self.ids.get(piece, 0)
        is_its_own = i >= FIRST and self.pieces[i - FIRST] == piece
        return piece if is_its_own else self._renamed.get(piece)

    @cached_property
    def _special_pieces(self) -> re.Pattern[str]:
        return re.compile("(" + "|".join(map(re.escape, self.specials)) + ")")

    def read(self, text: str) -> list[tuple[str, str | None]]:
        """Every piece as it was cut, and its token: that of `<unk>` where the model does not know the piece.

        `</s>`, `<unk>` and `<pad>` are read as such, and `>>xx<<` at the beginning of a part as one language token.
        Raises SentenceError: the text holds half a character (a lone surrogate), which has no UTF-8.
        """
        if half := next((char for char in text if "\ud800" <= char <= "\udfff"), None):
            raise SentenceError("error.invisible", code=f"U+{ord(half):04X}")
        assert self.tokenizer is not None
        cut: list[str] = []
        for part in filter(None, self._special_pieces.split(text)):
            if part in self.specials:
                cut.append(part)
                continue
            language = part.find("<<") + 2 if part.startswith(">>") and "<<" in part else 0
            cut += [part[:language]] if language else []
            cut += self.tokenizer.encode(part[language:], out_type=str)  # type: ignore[call-arg]
        unknown = self._token_of(self.specials[1])
        return [(piece, self._token_of(piece) or unknown) for piece in cut]

    def encode(self, text: str) -> list[int]:
        """Ids of the pieces of a sentence, and E where this vocabulary ends its sentences. Raises SentenceError: there
        is no piece, or half a character."""
        read = self.read(text)
        if not read:
            raise SentenceError("error.nothing")
        return [self.ids[token] for _, token in read if token is not None] + [self.ids[END]] * self.ends

    def decode(self, ids: Iterable[int]) -> str:
        """The text behind ids, up to E, without special and unknown pieces. Raises ValueError: an id is not in the
        vocabulary."""
        spoken = (self.pieces[i - FIRST] for i in self._without_special(ids))
        pieces = [piece for piece in spoken if piece not in self.specials]
        return self.joiner.decode_pieces(pieces).replace("\u2581", " ").strip()


def read_pieces(file: Path) -> Any:
    """The sentencepiece processor of a model file. Raises RuntimeError, OSError: it is not such a file."""
    import sentencepiece  # only models of pieces need it

    processor = sentencepiece.SentencePieceProcessor()
    processor.load_from_serialized_proto(file.read_bytes())  # the constructor takes an empty file for none
    return processor
