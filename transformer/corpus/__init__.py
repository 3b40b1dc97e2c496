"""Sentence pairs to learn from. Knows nothing of models."""

from collections.abc import Callable

from ..alignment import AlignedPair
from .base import Batch, Corpus, Example, Material, encode_pairs, padded, shuffled_batches
from .classroom import MATERIAL, classroom
from .pairs import PairFile, PairsError
from .toy import TOY

CORPORA: dict[str, Callable[[], Corpus]] = {TOY.name: lambda: TOY, "classroom": classroom}  # made when asked for
MATERIALS = {TOY.name: TOY.material, "classroom": MATERIAL}

__all__ = [
    "CORPORA",
    "MATERIALS",
    "TOY",
    "AlignedPair",
    "Batch",
    "Corpus",
    "Example",
    "Material",
    "PairFile",
    "PairsError",
    "classroom",
    "encode_pairs",
    "padded",
    "shuffled_batches",
]
