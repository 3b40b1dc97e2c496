"""Sentence pairs in a file that need not fit memory: one pass finds the vocabularies, then training streams batches.

Every line has a source, a tab and a target, in UTF-8; spaces separate words.
"""

import hashlib
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from .corpus import Batch, Corpus, Pair, encode_pairs, shuffled_batches
from .vocabulary import END, PAD, START, SentenceError, Vocabulary, check_visible, words

BUFFER = 256  # batches in memory at a time, which are shuffled together
CARD_PAIRS = 20  # that represent the whole file on a model card
MAX_WORDS = 250  # per sentence: attention grows with their square
MAX_BYTES = 2**20  # per line


class PairFileError(ValueError):
    """A file that cannot be trained on; the message is one line and names the file and the line in it."""


@dataclass(frozen=True, eq=False)
class PairFile:
    """A file of sentence pairs, and what one pass over it found."""

    path: Path
    size: int  # number of pairs
    src_vocab: Vocabulary  # every word, in the order of first appearance
    tgt_vocab: Vocabulary
    source_length: int  # words in the longest source
    target_length: int  # tokens in the longest target with its E
    digest: str  # of the whole file

    @classmethod
    def scan(cls, path: Path) -> "PairFile":
        """Read a file once; only its distinct words stay in memory. Raises PairFileError: it cannot be read, is empty,
        or has a line that is not a pair of sentences."""
        digest, sides, longest, size = hashlib.sha256(), ({PAD: 0}, {PAD: 0, START: 0, END: 0}), [0, 0], 0
        for size, (line, pair) in enumerate(_lines(path), 1):
            digest.update(line)
            for side, text in enumerate(pair):
                try:
                    check_visible(text)
                except SentenceError as error:
                    raise PairFileError(f"{path}: line {size}: {error}") from error
                found = words(text)
                if not 1 <= len(found) <= MAX_WORDS:
                    name = ("source", "target")[side]
                    raise PairFileError(f"{path}: line {size}: the {name} has {len(found)} words, not 1 to {MAX_WORDS}")
                sides[side].update(dict.fromkeys(found, 0))  # a dictionary is an ordered set
                longest[side] = max(longest[side], len(found))
        if not size:
            raise PairFileError(f"{path}: there is no sentence pair in it")
        src_vocab, tgt_vocab = (Vocabulary(tuple(side), folds=True) for side in sides)
        return cls(path, size, src_vocab, tgt_vocab, longest[0], longest[1] + 1, digest.hexdigest())

    def batches(self, batch_size: int, generator: torch.Generator) -> Iterator[list[Pair]]:
        """Endless batches of pairs: pass after pass over the file, shuffled within BUFFER batches. Raises
        PairFileError: as in `scan`."""
        while True:
            pairs = (pair for _, pair in _lines(self.path))
            while buffer := list(itertools.islice(pairs, BUFFER * batch_size)):
                lengths = torch.tensor([sum(len(text.split()) for text in pair) for pair in buffer])
                for index in shuffled_batches(lengths, batch_size, generator):
                    yield [buffer[i] for i in index.tolist()]

    def encode(self, pairs: Sequence[Pair]) -> Batch:
        """Pairs of the file as ids."""
        return encode_pairs(pairs, self.src_vocab, self.tgt_vocab)

    def corpus(self) -> Corpus:
        """The file's first pairs as a corpus with all its words, for the model card."""
        pairs = tuple(pair for _, pair in itertools.islice(_lines(self.path), CARD_PAIRS))
        return Corpus(
            name=self.path.stem,
            size=self.size,
            source_length=self.source_length,
            load=lambda: (pairs, self.src_vocab, self.tgt_vocab),
            pad_source=False,
        )


def _lines(path: Path) -> Iterator[tuple[bytes, Pair]]:
    """Every line as it is stored, and its two columns."""
    try:
        with path.open("rb") as file:
            for number in itertools.count(1):
                if not (line := file.readline(MAX_BYTES)):
                    return
                if len(line) == MAX_BYTES:  # a file of one endless line must not fill memory
                    raise PairFileError(f"{path}: line {number} is longer than {MAX_BYTES:,} bytes")
                try:
                    columns = line.decode().rstrip("\r\n").split("\t")
                except UnicodeDecodeError as error:
                    raise PairFileError(f"{path}: line {number} is not UTF-8") from error
                if len(columns) != 2:
                    tabs = len(columns) - 1
                    raise PairFileError(f"{path}: line {number} has {tabs} tabs, not one between source and target")
                yield line, (columns[0], columns[1])
    except OSError as error:
        raise PairFileError(f"{path} cannot be read: {error.strerror}") from error
