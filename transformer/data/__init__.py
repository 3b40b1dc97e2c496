"""Sentence pairs to learn from. Knows nothing of models."""

from .alignment import AlignedPair
from .classroom.corpus import classroom_corpus
from .corpus import Batch, Corpus, Example, Pair, encode_pairs, padded, shuffled_batches
from .nearest import nearest_pairs
from .pair_file import PairFile, PairFileError
from .toy import TOY
from .uploaded_pairs import BadRow, Table, TableError, check_rows, hold_out, read_table, uploaded_corpus

CORPORA = {corpus.name: corpus for corpus in (TOY, classroom_corpus())}
