"""The job of a worker process: one training. Every value can be written as JSON."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Self

from pydantic import TypeAdapter

from ..data import Pair


@dataclass(frozen=True)
class Job:
    """A validated training.

    Attributes:
        name: the model's name, chosen by the visitor.
        corpus: "toy", "classroom" or "own".
        pairs, held_out: the training and the held-out pairs; words separated by spaces.
        source_words, target_words: both vocabularies, by id.
        source_length: of the longest source, in words.
        pad_source: whether every source is padded to that length.
        watch: the sentence whose translation and maps are shown during training.
        reference: its reference translation, words separated by spaces; None if it is unknown.
        model: arguments of TransformerConfig.
        training: arguments of TrainingConfig.
        seconds: the time limit of training.
        threads: CPU threads.
        estimate: the seconds that it takes on these threads of an idle machine.
        hub_token: names the visitor to the Hugging Face hub, which counts the GPU time of each.
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
    estimate: float = 0
    hub_token: str = ""

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        return TypeAdapter(cls).validate_python(json.loads(text))
