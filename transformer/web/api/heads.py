"""The cross-attention heads of a run: how well each aligns words, and the run without it."""

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...analysis import ablate_cross_attention
from ...analysis.head_ablation import HeadAblation
from ...training.evaluation import alignment_scores
from ..schema import RunRequest
from ..sessions.models import cached_per_checkpoint, readable, translator
from .runs import run


class HeldOutScores(TypedDict):
    """The alignment error rate of each cross-attention head, [layer][head], over the held-out sentences."""

    sentences: int
    error_rates: list[list[float]]


class Heads(TypedDict):
    """How well each cross-attention head aligns words, and the run without it."""

    held_out: HeldOutScores | None
    ablations: list[HeadAblation]


@cached_per_checkpoint(16)
def heads(request: RunRequest) -> Heads:
    """Each head's alignment error rate over the held-out set, if there is one, and the run without each head."""
    return {
        "held_out": _held_out(request.checkpoint),
        "ablations": ablate_cross_attention(translator(request.checkpoint), run(request.checkpoint, request.sentence)),
    }


@cached_per_checkpoint(16, own=16)
def _held_out(checkpoint: str) -> HeldOutScores | None:
    pairs = readable(checkpoint)
    if not pairs:
        return None
    return {"sentences": len(pairs), "error_rates": alignment_scores(translator(checkpoint).checkpoint, pairs).heads}
