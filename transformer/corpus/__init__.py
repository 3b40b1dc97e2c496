"""Sentence pairs to learn from. Knows nothing of models."""

from collections.abc import Callable

from ..alignment import AlignedPair
from .base import Batch, Corpus, Example, Material, Pair, encode_pairs, padded, shuffled_batches
from .classroom import MATERIAL, classroom
from .own import BadRow, Table, TableError, check_rows, hold_out, own_corpus, read_table
from .pairs import PairFile, PairsError
from .toy import TOY

CORPORA: dict[str, Callable[[], Corpus]] = {TOY.name: lambda: TOY, "classroom": classroom}  # made when asked for
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
    "classroom",
    "encode_pairs",
    "hold_out",
    "own_corpus",
    "padded",
    "read_table",
    "shuffled_batches",
]
