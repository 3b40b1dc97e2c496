"""Take a part away, and see what changes."""

from .compare import Comparison, MapDifference, StepPair, compare
from .heads import Silenced, Sweep, silence_each_head, sweep
from .mistake import Mistake, Side, Symptom
from .of_decoding import OF_DECODING
from .of_training import OF_TRAINING

MISTAKES = {mistake.name: mistake for mistake in (*OF_TRAINING, *OF_DECODING)}

__all__ = [
    "MISTAKES",
    "Comparison",
    "MapDifference",
    "Mistake",
    "Side",
    "Silenced",
    "StepPair",
    "Sweep",
    "Symptom",
    "compare",
    "silence_each_head",
    "sweep",
]
