"""Two runs side by side: the unbroken one and the broken one. Data only, no torch.

H heads, Q queries, K keys.
"""

from dataclasses import dataclass

import numpy as np

from ..inference.attention_maps import KINDS, AttentionMap, Kind
from ..inference.translator import Translation, TranslationStep


@dataclass(frozen=True)
class StepPair:
    """What both runs said at one step; a side is None where that run had already ended.

    Attributes:
        same_input: whether both had said the same so far, so that the probabilities answer the same question.
        kept: what the broken run gave the unbroken run's word; None where either side is.
    """

    unbroken: TranslationStep | None
    broken: TranslationStep | None
    same_input: bool
    kept: float | None


@dataclass(frozen=True, eq=False)
class MapDifference:
    """One layer's map of the broken run minus the unbroken one's, on the rows and columns that both have.

    Attributes:
        weights: (H, Q, K), from -1 to 1, read-only.
        allowed: (Q, K), bool: whether either run let the query look at the key.
        query_tokens, key_tokens: of the unbroken run.
        broken_query_tokens, broken_key_tokens: of the broken one, which may have read other words.
    """

    kind: Kind
    layer: int
    weights: np.ndarray
    allowed: np.ndarray
    query_tokens: tuple[str, ...]
    key_tokens: tuple[str, ...]
    broken_query_tokens: tuple[str, ...]
    broken_key_tokens: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Comparison:
    """What a change changed."""

    same_text: bool
    steps: tuple[StepPair, ...]
    maps: tuple[MapDifference, ...]


def compare(unbroken: Translation, broken: Translation) -> Comparison:
    """Set two runs of one network side by side; rows and columns are matched by their position.

    Raises:
        ValueError: they are of networks of two shapes.
    """
    count = max(len(unbroken.steps), len(broken.steps))
    maps = []
    for kind in KINDS:
        ours, theirs = unbroken.attention.of(kind), broken.attention.of(kind)
        if len(ours) != len(theirs):
            raise ValueError(f"{len(ours)} and {len(theirs)} layers of {kind} attention cannot be compared")
        maps += [_difference(one, two) for one, two in zip(ours, theirs, strict=True)]
    return Comparison(
        same_text=unbroken.text == broken.text,
        steps=tuple(_step(unbroken, broken, t) for t in range(count)),
        maps=tuple(maps),
    )


def _step(unbroken: Translation, broken: Translation, t: int) -> StepPair:
    one = unbroken.steps[t] if t < len(unbroken.steps) else None
    two = broken.steps[t] if t < len(broken.steps) else None
    kept = None
    if one and two:
        kept = next(candidate.probability for candidate in two.candidates if candidate.token == one.token)
    return StepPair(one, two, unbroken.output[:t] == broken.output[:t], kept)


def _difference(one: AttentionMap, two: AttentionMap) -> MapDifference:
    if one.n_heads != two.n_heads:
        raise ValueError(f"{one.n_heads} and {two.n_heads} heads cannot be compared")
    q, k = np.minimum(one.allowed.shape, two.allowed.shape)
    weights = two.weights[:, :q, :k] - one.weights[:, :q, :k]
    allowed = one.allowed[:q, :k] | two.allowed[:q, :k]
    weights.flags.writeable = allowed.flags.writeable = False
    tokens = one.query_tokens[:q], one.key_tokens[:k], two.query_tokens[:q], two.key_tokens[:k]
    return MapDifference(one.kind, one.layer, weights, allowed, *tokens)
