"""Sentence pairs to learn from. Knows nothing of models."""

from .base import Batch, Corpus
from .toy import TOY

CORPORA = {TOY.name: TOY}

__all__ = ["CORPORA", "TOY", "Batch", "Corpus"]
