"""Every number of a sublayer, self-checks, head ablation, and two runs side by side."""

from .head_ablation import AblationSweep, HeadAblation, ablate_cross_attention, ablate_every_head
from .run_comparison import ComparedStep, Comparison, compare
