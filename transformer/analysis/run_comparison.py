"""Two runs side by side: the baseline and the modified one. Data only, no torch.

H heads, Q queries, K keys.
"""

from dataclasses import dataclass

import numpy as np

from ..inference.attention_maps import KINDS, AttentionMap, Kind
from ..inference.translation import Translation


@dataclass(frozen=True)
class ComparedStep:
    """One decoding step of both runs, as long as either goes on."""

    new_probability: float | None  # of the baseline's token in the modified run; None if a run had already ended
    same_input: bool  # whether both runs had output the same prefix, so that their probabilities compare


@dataclass(frozen=True, eq=False)
class Comparison:
    """The differences between two runs."""

    steps: tuple[ComparedStep, ...]
    # Of each layer the modified run's map minus the baseline's, (H, Q, K), where both have rows and columns.
    maps: dict[Kind, list[np.ndarray]]


def compare(baseline: Translation, modified: Translation) -> Comparison:
    """Compare two runs of one network; rows and columns are matched by position. Raises ValueError: the networks have
    different shapes."""
    maps: dict[Kind, list[np.ndarray]] = {}
    for kind in KINDS:
        ours, theirs = baseline.attention.of(kind), modified.attention.of(kind)
        if len(ours) != len(theirs):
            raise ValueError(f"{len(ours)} and {len(theirs)} layers of {kind} attention cannot be compared")
        maps[kind] = [_difference(one, two) for one, two in zip(ours, theirs, strict=True)]
    count = max(len(baseline.steps), len(modified.steps))
    return Comparison(tuple(_step(baseline, modified, t) for t in range(count)), maps)


def _step(baseline: Translation, modified: Translation, t: int) -> ComparedStep:
    both = t < min(len(baseline.steps), len(modified.steps))
    new_probability = modified.steps[t].candidates.probability_of(baseline.output[t]) if both else None
    return ComparedStep(new_probability, baseline.output[:t] == modified.output[:t])


def _difference(one: AttentionMap, two: AttentionMap) -> np.ndarray:
    if one.n_heads != two.n_heads:
        raise ValueError(f"{one.n_heads} and {two.n_heads} heads cannot be compared")
    q, k = np.minimum(one.allowed.shape, two.allowed.shape)
    return two.weights[:, :q, :k] - one.weights[:, :q, :k]
