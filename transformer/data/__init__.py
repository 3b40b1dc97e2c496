"""Sentence pairs to learn from. Knows nothing of models."""

from collections.abc import Callable

from .alignment import AlignedPair
from .classroom.corpus import MATERIAL, classroom_corpus
from .corpus import Batch, Corpus, Example, Material, Pair, encode_pairs, padded, shuffled_batches
from .pair_file import PairFile, PairsError
from .toy import TOY
from .uploaded_pairs import BadRow, Table, TableError, check_rows, hold_out, read_table, uploaded_corpus

CORPORA: dict[str, Callable[[], Corpus]] = {TOY.name: lambda: TOY, "classroom": classroom_corpus}  # made when asked for
MATERIALS = {TOY.name: TOY.material, "classroom": MATERIAL}

__all__ = [
    "CORPORA",
    "MATERIALS",
    "TOY",
    "AlignedPair",
    "BadRow",
    "Batch",
    "Corpus",
    "Example",
    "Material",
    "Pair",
    "PairFile",
    "PairsError",
    "Table",
    "TableError",
    "check_rows",
    "classroom_corpus",
    "encode_pairs",
    "hold_out",
    "padded",
    "read_table",
    "shuffled_batches",
    "uploaded_corpus",
]
