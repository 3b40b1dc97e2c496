"""What a corpus is: sentence pairs, their vocabularies, and the ids that a model reads."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from ..vocabulary import END, START, Vocabulary, check_target


@dataclass(frozen=True, eq=False)
class Batch:
    """Padded ids. The decoder's input is its target shifted right: row t of the input predicts id t of the target."""

    src: Tensor  # (B, S)
    tgt_in: Tensor  # (B, T), begins with S
    tgt_out: Tensor  # (B, T), ends on E

    def __len__(self) -> int:
        return self.src.size(0)

    def to(self, device: torch.device) -> "Batch":
        return Batch(self.src.to(device), self.tgt_in.to(device), self.tgt_out.to(device))

    def rows(self, index: Tensor) -> "Batch":
        return Batch(self.src[index], self.tgt_in[index], self.tgt_out[index])


@dataclass(frozen=True)
class Corpus:
    """Sentence pairs with the vocabularies that cover them.

    Args:
        name: what commands and cards call it.
        pairs: (source, target), words separated by spaces.
        source_length: sources are padded to it, and none is longer.
        telling_words: target word -> the source word that decides it, where one does.

    Raises:
        SentenceError: a sentence has a word that its vocabulary has not.
        ValueError: there is no pair, a source is too long, or the target vocabulary has no S or E.
    """

    name: str
    pairs: tuple[tuple[str, str], ...]
    src_vocab: Vocabulary
    tgt_vocab: Vocabulary
    source_length: int
    telling_words: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_target(self.tgt_vocab)
        self.batch()

    def batch(self, pairs: Sequence[tuple[str, str]] | None = None) -> Batch:
        """All pairs as ids, or any others in the same words; errors as for the corpus itself."""
        pairs = self.pairs if pairs is None else pairs
        if not pairs:
            raise ValueError("there is no sentence pair")
        start, end = self.tgt_vocab.ids[START], self.tgt_vocab.ids[END]
        sources = [self.src_vocab.encode(source) for source, _ in pairs]
        targets = [self.tgt_vocab.encode(target) for _, target in pairs]
        if (longest := max(map(len, sources))) > self.source_length:
            raise ValueError(f"a source of {longest} words is longer than source_length ({self.source_length})")
        return Batch(
            src=_padded(sources, self.source_length),
            tgt_in=_padded([[start, *ids] for ids in targets]),
            tgt_out=_padded([[*ids, end] for ids in targets]),
        )


def _padded(rows: Sequence[Sequence[int]], length: int = 0) -> Tensor:
    length = max(length, *(len(row) for row in rows))
    return torch.tensor([[*row, *[0] * (length - len(row))] for row in rows])
