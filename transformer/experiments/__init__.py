"""Take a part away, and see what changes."""

from .compare import Comparison, MapDifference, StepPair, compare
from .heads import Silenced, Sweep, silence_each_head, sweep
from .mistake import DecodingMistake, Learned, Learning, Mistake, Side, Symptom, TrainingMistake
from .of_decoding import OF_DECODING
from .of_training import OF_TRAINING

MISTAKES: dict[str, TrainingMistake | DecodingMistake] = {
    mistake.name: mistake for mistake in (*OF_TRAINING, *OF_DECODING)
}

__all__ = [
    "MISTAKES",
    "Comparison",
    "DecodingMistake",
    "Learned",
    "Learning",
    "MapDifference",
    "Mistake",
    "Side",
    "Silenced",
    "StepPair",
    "Sweep",
    "Symptom",
    "TrainingMistake",
    "compare",
    "silence_each_head",
    "sweep",
]
