"""Take a part away, and see what changes."""

from .compare import Comparison, MapDifference, StepPair, compare
from .heads import Silenced, Sweep, silence_each_head, sweep

__all__ = [
    "Comparison",
    "MapDifference",
    "Silenced",
    "StepPair",
    "Sweep",
    "compare",
    "silence_each_head",
    "sweep",
]
