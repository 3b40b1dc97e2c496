"""German that a grammar makes, with its English translation and the gold alignment of its words."""

from .corpus import HELD_OUT, MATERIAL, PAIRS, classroom_corpus, draw, held_out, read

__all__ = ["HELD_OUT", "MATERIAL", "PAIRS", "classroom_corpus", "draw", "held_out", "read"]
