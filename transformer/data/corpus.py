"""What a corpus is: sentence pairs, their vocabularies, the ids that a model reads, and what a page can show of it."""

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
    """Padded ids. The decoder's input is its target shifted right: row t of the input predicts id t of the target."""

    src: Tensor  # (B, S)
    tgt_in: Tensor  # (B, T), begins with S
    tgt_out: Tensor  # (B, T), ends on E

    def __len__(self) -> int:
        return self.src.size(0)

    @property
    def target_length(self) -> int:
        """Words of the longest target, its E included."""
        return self.tgt_out.size(1)

    def to(self, device: torch.device) -> "Batch":
        return Batch(self.src.to(device), self.tgt_in.to(device), self.tgt_out.to(device))

    def rows(self, index: Tensor) -> "Batch":
        return Batch(self.src[index], self.tgt_in[index], self.tgt_out[index])

    def trimmed(self, pad_id: int = 0) -> "Batch":
        """Without the columns that hold nothing but padding."""
        source, target = ((ids != pad_id).any(dim=0).sum() for ids in (self.src, self.tgt_out))
        return Batch(self.src[:, :source], self.tgt_in[:, :target], self.tgt_out[:, :target])


@dataclass(frozen=True)
class Example:
    """A sentence worth a click, and the German word to watch.

    Attributes:
        name: of what it shows, as the page's catalogues have it; "" where the sentence speaks for itself.
    """

    name: str
    sentence: str
    watch: str


@dataclass(frozen=True)
class Material:
    """What there is of a corpus besides its training pairs.

    Attributes:
        size: how many training pairs.
        examples: one a phenomenon.
        words: by kind of word, German and what it means.
        read: folded source words -> the pair with its gold alignment, None if the corpus has no such sentence.
        held_out: sets that training never sees; each is made when it is first asked for.
    """

    size: int
    examples: tuple[Example, ...]
    words: Mapping[str, tuple[tuple[str, str], ...]]
    read: Callable[[str], AlignedPair | None]
    held_out: Mapping[str, Callable[[], tuple[AlignedPair, ...]]]


@dataclass(frozen=True)
class Corpus:
    """Sentence pairs with the vocabularies that cover them.

    Args:
        name: what commands and cards call it.
        pairs: (source, target), words separated by spaces.
        source_length: words in the longest source.
        pad_source: whether every source is padded to it, so that padding is there to be seen.
        material: held-out sets, gold alignments, examples.
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
    material: Material
    pad_source: bool = True
    telling_words: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        check_target(self.tgt_vocab)
        self.batch()

    def batch(self, pairs: Sequence[tuple[str, str]] | None = None) -> Batch:
        """All pairs as ids, or any others in the same words; errors as for the corpus itself."""
        return self._own if pairs is None else self._encoded(pairs)

    @cached_property
    def _own(self) -> Batch:
        return self._encoded(self.pairs)

    def _encoded(self, pairs: Sequence[tuple[str, str]]) -> Batch:
        if not pairs:
            raise ValueError("there is no sentence pair")
        if (longest := max(len(self.src_vocab.split(source)) for source, _ in pairs)) > self.source_length:
            raise ValueError(f"a source of {longest} words is longer than source_length ({self.source_length})")
        return encode_pairs(pairs, self.src_vocab, self.tgt_vocab, self.source_length if self.pad_source else 0)


def encode_pairs(
    pairs: Sequence[tuple[str, str]], src_vocab: Vocabulary, tgt_vocab: Vocabulary, source_length: int = 0
) -> Batch:
    """Sentence pairs as ids, sources padded to the longest, and to `source_length` at least.

    Raises:
        SentenceError: a sentence has a word that its vocabulary has not.
    """
    start, end = tgt_vocab.ids[START], tgt_vocab.ids[END]
    targets = [tgt_vocab.encode(target) for _, target in pairs]
    return Batch(
        src=padded([src_vocab.encode(source) for source, _ in pairs], source_length),
        tgt_in=padded([[start, *ids] for ids in targets]),
        tgt_out=padded([[*ids, end] for ids in targets]),
    )


def padded(rows: Sequence[Sequence[int]], length: int = 0) -> Tensor:
    """Rows of ids as one tensor (B, longest), `length` wide at least."""
    length = max(length, *(len(row) for row in rows))
    return torch.tensor([[*row, *[0] * (length - len(row))] for row in rows])


def shuffled_batches(words: Tensor, batch_size: int, generator: torch.Generator) -> Iterator[Tensor]:
    """One pass over sentence pairs of so many `words` (pairs,), as row numbers (B,) a batch: shuffled, and pairs of
    like length together, which halves the padding and so the time."""
    shuffled = torch.randperm(len(words), generator=generator)
    batches = shuffled[words[shuffled].argsort(stable=True)].split(batch_size)
    for i in torch.randperm(len(batches), generator=generator).tolist():
        yield batches[i]
