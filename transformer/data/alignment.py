"""Gold word alignments, and how well attention matches them. Knows nothing of tensors, models or grammars.

T target words, S source words.
"""

from dataclasses import dataclass, field, fields

import numpy as np


@dataclass(frozen=True)
class GoldAlignment:
    """For each target word the source words (from 0) that it translates: surely, or in one possible reading.

    A word without either ("." here) translates none and is not scored.
    """

    sure: tuple[tuple[int, ...], ...]
    possible: tuple[tuple[int, ...], ...]

    def aligned_words(self) -> list[int]:
        """Target words that translate something."""
        return [t for t, (sure, possible) in enumerate(zip(self.sure, self.possible, strict=True)) if sure or possible]


@dataclass(frozen=True)
class AlignedPair:
    """A sentence, its translation, and their word alignment."""

    source: str  # words as a model reads them, separated by spaces
    target: str  # words as a model outputs them
    gold: GoldAlignment
    spelling: str  # the source as people write it
    held_out: str = field(default="", kw_only=True)  # the set that it belongs to; "" where training may have seen it


@dataclass(frozen=True)
class AlignmentCounts:
    """The counts behind the alignment error rate (Och and Ney 2003), of one sentence or summed over several."""

    predicted: int = 0  # |A|: links that attention predicts, at most one per aligned word
    sure: int = 0  # |S|: sure gold links
    predicted_sure: int = 0  # |A ∩ S|
    predicted_possible: int = 0  # |A ∩ P|, where P holds S and all possible links

    def __add__(self, other: "AlignmentCounts") -> "AlignmentCounts":
        return AlignmentCounts(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))

    @property
    def error_rate(self) -> float:
        """1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|): 0 predicts every sure link and no wrong one."""
        total = self.predicted + self.sure
        return 1 - (self.predicted_sure + self.predicted_possible) / total if total else 0.0


def count_links(weights: np.ndarray, gold: GoldAlignment) -> AlignmentCounts:
    """Each aligned target word predicts one link, to the source word with its highest attention weight; a fully
    masked row predicts none. Row t of one map, (T or more, S or more), attends while target word t is predicted."""
    highest = weights.argmax(axis=-1).tolist()
    predicted = sure = predicted_sure = predicted_possible = 0
    for t in gold.aligned_words():
        sure += len(gold.sure[t])
        if not weights[t].any():
            continue
        predicted += 1
        predicted_sure += highest[t] in gold.sure[t]
        predicted_possible += highest[t] in gold.sure[t] or highest[t] in gold.possible[t]
    return AlignmentCounts(predicted, sure, predicted_sure, predicted_possible)
