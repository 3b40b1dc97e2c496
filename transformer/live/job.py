"""One training, as a process is told to do it. Every value can be written as JSON."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Self

from ..data import Pair


@dataclass(frozen=True)
class Job:
    """A training that was checked and may be run.

    Attributes:
        name: that the visitor gave the model.
        corpus: "toy", "classroom" or "own".
        pairs, held_out: to learn from, and kept from training; words separated by spaces.
        source_words, target_words: both vocabularies, by id.
        source_length: words of the longest source.
        pad_source: whether every source is padded to it.
        watch: the sentence whose translation and maps are shown while the model learns.
        reference: its right translation, as words separated by spaces; None where nobody knows it.
        model: arguments of TransformerConfig.
        training: arguments of TrainingConfig.
        seconds: after which training ends.
        threads: of the processor, to train with.
    """

    name: str
    corpus: str
    pairs: tuple[Pair, ...]
    held_out: tuple[Pair, ...]
    source_words: tuple[str, ...]
    target_words: tuple[str, ...]
    source_length: int
    pad_source: bool
    watch: str
    reference: str | None
    model: dict[str, Any]
    training: dict[str, Any]
    seconds: float
    threads: int = 1

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        values = json.loads(text)
        for name in ("pairs", "held_out"):
            values[name] = tuple((source, target) for source, target in values[name])
        for name in ("source_words", "target_words"):
            values[name] = tuple(values[name])
        return cls(**values)
