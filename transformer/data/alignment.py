"""Gold word alignments, and how well attention points at them. Knows nothing of tensors, models or grammars.

T target words, S source words.
"""

from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True)
class Gold:
    """For each target word the source words (from 0) that it stands for: surely, or as one may see it.

    A word without either ("." here) stands for none, and is never asked about.
    """

    sure: tuple[tuple[int, ...], ...]
    possible: tuple[tuple[int, ...], ...]

    def asked(self) -> list[int]:
        """Target words that stand for something."""
        return [t for t, (sure, possible) in enumerate(zip(self.sure, self.possible, strict=True)) if sure or possible]


@dataclass(frozen=True)
class AlignedPair:
    """A sentence, its translation, and which words stand for which.

    Attributes:
        source, target: words as a model reads and says them, separated by spaces.
        gold: for each target word, the source words that it stands for.
        spelling: the source as people write it.
        held_out: which held-out set it belongs to; "" where training may have seen it.
    """

    source: str
    target: str
    gold: Gold
    spelling: str
    held_out: str = field(default="", kw_only=True)


@dataclass(frozen=True)
class Counts:
    """What the alignment error rate is made of, of one sentence or of many added up."""

    pointed: int = 0  # A: links that attention draws, at most one a word that is asked about
    sure: int = 0  # S: gold links that must be drawn
    pointed_sure: int = 0  # A ∩ S
    pointed_allowed: int = 0  # A ∩ P, where P holds S and all possible links

    def __add__(self, other: "Counts") -> "Counts":
        return Counts(
            self.pointed + other.pointed,
            self.sure + other.sure,
            self.pointed_sure + other.pointed_sure,
            self.pointed_allowed + other.pointed_allowed,
        )

    @property
    def error_rate(self) -> float:
        """1 - (|A ∩ S| + |A ∩ P|) / (|A| + |S|): 0 draws every sure link and none that is wrong."""
        total = self.pointed + self.sure
        return 1 - (self.pointed_sure + self.pointed_allowed) / total if total else 0.0


def count(looks: np.ndarray, gold: Gold) -> Counts:
    """Each target word that is asked about draws one link, to the source word that it looks at hardest; none if it may
    look at nothing.

    Args:
        looks: (T or more, S or more), one map; row t was looking while target word t was said.
    """
    hardest = looks.argmax(axis=-1).tolist()
    pointed = sure = pointed_sure = pointed_allowed = 0
    for t in gold.asked():
        sure += len(gold.sure[t])
        if not looks[t].any():
            continue
        pointed += 1
        pointed_sure += hardest[t] in gold.sure[t]
        pointed_allowed += hardest[t] in gold.sure[t] or hardest[t] in gold.possible[t]
    return Counts(pointed, sure, pointed_sure, pointed_allowed)
