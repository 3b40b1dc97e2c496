"""Sentence pairs to learn from. Knows nothing of models."""

from .alignment import AlignedPair
from .classroom.corpus import classroom_corpus
from .corpus import Batch, Corpus, Example, Pair, encode_pairs, padded, shuffled_batches
from .nearest import nearest_pairs
from .pair_file import PairFile, PairFileError
from .toy import TOY
from .uploaded_pairs import BadRow, Table, TableError, check_rows, hold_out, read_table, uploaded_corpus

CORPORA = {corpus.name: corpus for corpus in (TOY, classroom_corpus())}

__all__ = [
    "CORPORA",
    "TOY",
    "AlignedPair",
    "BadRow",
    "Batch",
    "Corpus",
    "Example",
    "Pair",
    "PairFile",
    "PairFileError",
    "Table",
    "TableError",
    "check_rows",
    "classroom_corpus",
    "encode_pairs",
    "hold_out",
    "nearest_pairs",
    "padded",
    "read_table",
    "shuffled_batches",
    "uploaded_corpus",
]
