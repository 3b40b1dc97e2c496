"""Every number of a sublayer, self-checks, head ablation, and two runs side by side."""

from .head_ablation import Silenced, Sweep, silence_each_head, sweep
from .run_comparison import Comparison, MapDifference, StepPair, compare

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
