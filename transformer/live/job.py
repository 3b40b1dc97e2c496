"""The job of a worker process: one training. Every value can be written as JSON."""

import json
from dataclasses import asdict, dataclass
from typing import Any, Self

from pydantic import TypeAdapter

from ..data import Pair


@dataclass(frozen=True)
class Job:
    """A validated training."""

    name: str  # the model's, chosen by the visitor
    corpus: str  # "toy", "classroom" or "own"
    pairs: tuple[Pair, ...]  # to train on; words separated by spaces
    held_out: tuple[Pair, ...]
    source_words: tuple[str, ...]  # both vocabularies, by id
    target_words: tuple[str, ...]
    source_length: int  # of the longest source, in words
    pad_source: bool  # whether every source is padded to that length
    watch: str  # the sentence whose translation and maps are shown during training
    reference: str | None  # its reference translation, words separated by spaces; None if it is unknown
    model: dict[str, Any]  # arguments of TransformerConfig
    training: dict[str, Any]  # arguments of TrainingConfig
    seconds: float  # the time limit of training
    threads: int = 1  # of the processor
    estimate: float = 0  # the seconds that it takes on these threads of an idle machine
    hub_token: str = ""  # names the visitor to the Hugging Face hub, which counts the GPU time of each

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        return TypeAdapter(cls).validate_python(json.loads(text))
