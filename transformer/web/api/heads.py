"""What the cross-attention heads of a run are worth."""

from dataclasses import asdict
from typing import cast

from ...analysis import ablate_cross_attention
from ...training.evaluation import alignment_scores
from ..answers import HeadAblation, Heads, HeldOutScores
from ..schema import RunRequest
from .endpoints import server_function
from .models import cached_per_checkpoint, readable, translator
from .runs import run


@server_function
def heads(request: RunRequest) -> Heads:
    """Each head's alignment error rate over the held-out set, if there is one, and the run without each head."""
    return {
        "held_out": _held_out(request.checkpoint),
        "silenced": _without_each(request.checkpoint, request.sentence),
    }


@cached_per_checkpoint(64, own=16)
def _held_out(checkpoint: str) -> HeldOutScores | None:
    pairs = readable(checkpoint)
    if not pairs:
        return None
    return {
        "sentences": len(pairs),
        "error_rates": alignment_scores(translator(checkpoint).checkpoint, pairs).heads,
    }


@cached_per_checkpoint(64)
def _without_each(checkpoint: str, sentence: str) -> list[HeadAblation]:
    found = ablate_cross_attention(translator(checkpoint), run(checkpoint, sentence))
    return [cast(HeadAblation, asdict(each)) for each in found]
