"""A corpus: sentence pairs, their vocabularies, the ids that a model reads, and what a page can show of it."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import torch
from torch import Tensor

from .alignment import AlignedPair
from .vocabulary import END, START, Vocabulary, check_target

Pair = tuple[str, str]  # source and target


@dataclass(frozen=True, eq=False)
class Batch:
    """Padded ids. The decoder input is the target shifted right: row t of the input predicts id t of the target."""

    src: Tensor  # (B, S)
    tgt_in: Tensor  # (B, T), begins with S
    tgt_out: Tensor  # (B, T), ends with E

    def __len__(self) -> int:
        return self.src.size(0)

    @property
    def target_length(self) -> int:
        """Tokens of the longest target, E included."""
        return self.tgt_out.size(1)

    def to(self, device: torch.device) -> "Batch":
        return Batch(self.src.to(device), self.tgt_in.to(device), self.tgt_out.to(device))

    def rows(self, index: Tensor) -> "Batch":
        return Batch(self.src[index], self.tgt_in[index], self.tgt_out[index])

    def trimmed(self, pad_id: int = 0) -> "Batch":
        """Without the columns that hold only padding."""
        source, target = ((ids != pad_id).any(dim=0).sum() for ids in (self.src, self.tgt_out))
        return Batch(self.src[:, :source], self.tgt_in[:, :target], self.tgt_out[:, :target])


@dataclass(frozen=True)
class Example:
    """A sentence to try, and the German word whose attention to watch."""

    name: str  # the phenomenon that it shows, as the page's catalogues name it; "" for a plain sentence
    sentence: str
    watch: str


@dataclass(frozen=True, eq=False)
class Corpus:
    """Sentence pairs, the vocabularies that cover them, and what a page can show of them."""

    name: str  # as commands and cards call it
    size: int  # number of training pairs
    source_length: int  # words in the longest source
    # Makes the training pairs (words separated by spaces) and the source and target vocabulary. Called once, when they
    # are first needed: a generated corpus takes seconds.
    load: Callable[[], tuple[tuple[Pair, ...], Vocabulary, Vocabulary]]
    pad_source: bool = True  # whether every source is padded to source_length, so that attention maps show padding
    examples: tuple[Example, ...] = ()  # sentences to try, one per phenomenon
    phrases: tuple[str, ...] = ()  # sources of everyday phrases, which training has
    words: Mapping[str, tuple[tuple[str, str], ...]] = field(default_factory=dict)  # by kind of word, (German, English)
    # Source tokens, joined by spaces -> the pair with its gold alignment, or None where the corpus lacks the sentence.
    find: Callable[[str], AlignedPair | None] = lambda source: None
    # Name -> the pairs of a set that training never sees, made when first called.
    held_out: Mapping[str, Callable[[], tuple[AlignedPair, ...]]] = field(default_factory=dict)
    about_held_out: str = ""  # how those sets differ from training, as Markdown for the card
    deciding_words: Mapping[str, str] = field(default_factory=dict)  # target word -> the source word that decides it

    @cached_property
    def _loaded(self) -> tuple[tuple[Pair, ...], Vocabulary, Vocabulary]:
        return self.load()

    @property
    def pairs(self) -> tuple[Pair, ...]:
        """(source, target) of all training pairs."""
        return self._loaded[0]

    @property
    def src_vocab(self) -> Vocabulary:
        return self._loaded[1]

    @property
    def tgt_vocab(self) -> Vocabulary:
        return self._loaded[2]

    def batch(self, pairs: Sequence[Pair] | None = None) -> Batch:
        """All training pairs as ids, or other pairs of the same words.

        Raises:
            SentenceError: a sentence has a word that its vocabulary lacks.
            ValueError: there is no pair, a source is too long, or the target vocabulary has no S or E.
        """
        return self._batch if pairs is None else self._encode(pairs)

    @cached_property
    def _batch(self) -> Batch:
        return self._encode(self.pairs)

    def _encode(self, pairs: Sequence[Pair]) -> Batch:
        if not pairs:
            raise ValueError("there is no sentence pair")
        if (longest := max(len(self.src_vocab.split(source)) for source, _ in pairs)) > self.source_length:
            raise ValueError(f"a source of {longest} words is longer than source_length ({self.source_length})")
        check_target(self.tgt_vocab)
        return encode_pairs(pairs, self.src_vocab, self.tgt_vocab, self.source_length if self.pad_source else 0)


def encode_pairs(pairs: Sequence[Pair], src_vocab: Vocabulary, tgt_vocab: Vocabulary, source_length: int = 0) -> Batch:
    """Sentence pairs as ids, sources padded to the longest and at least to `source_length`. Raises SentenceError: a
    sentence has a word that its vocabulary lacks."""
    start, end = tgt_vocab.ids[START], tgt_vocab.ids[END]
    targets = [tgt_vocab.encode(target) for _, target in pairs]
    return Batch(
        src=padded([src_vocab.encode(source) for source, _ in pairs], source_length),
        tgt_in=padded([[start, *ids] for ids in targets]),
        tgt_out=padded([[*ids, end] for ids in targets]),
    )


def padded(rows: Sequence[Sequence[int]], length: int = 0) -> Tensor:
    """Rows of ids as one tensor (B, longest), at least `length` wide."""
    length = max(length, *(len(row) for row in rows))
    return torch.tensor([[*row, *[0] * (length - len(row))] for row in rows])


def batches_by_length(lengths: Sequence[int], batch_size: int) -> Iterator[list[int]]:
    """The indices of all, those of similar lengths in one batch."""
    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    return (order[first : first + batch_size] for first in range(0, len(order), batch_size))


def shuffled_batches(lengths: Tensor, batch_size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """Shuffle sentence pairs for one pass, pairs of similar length in one batch, which halves padding and time.

    From the number of words of every pair, (pairs,), to the indices of the pairs of each batch, (B,).
    """
    shuffled = torch.randperm(len(lengths), generator=generator)
    batches = shuffled[lengths[shuffled].argsort(stable=True)].split(batch_size)
    for i in torch.randperm(len(batches), generator=generator).tolist():
        yield batches[i]
