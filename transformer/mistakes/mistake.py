"""The types of a mistake and its symptom."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

from ..inference.attention_maps import AttentionMap
from ..inference.translator import Translator


@dataclass(frozen=True)
class Side:
    """The measurements of one side of a mistake.

    Attributes:
        numbers: measurement -> value. Both sides have the same ones, the most telling first.
        text: this side's translation; of two runs, both translations around " | ".
        losses: of its training, nats per token, step by step; empty if nothing was trained.
        attention: the map that shows the mistake, if one does.
    """

    numbers: Mapping[str, float]
    text: str
    losses: tuple[float, ...] = ()
    attention: AttentionMap | None = field(default=None, compare=False)  # arrays have no one truth of equality


@dataclass(frozen=True)
class Symptom:
    """One thing done right and wrong."""

    right: Side
    wrong: Side
    sentence: str  # that both were asked to translate
    wanted: str = ""  # its translation in the corpus, where a model was trained for this
    head: int = 0  # of both sides' maps, from 0: the one that shows most


@dataclass(frozen=True)
class Learned:
    """One of the `steps` of the training of a side; `loss` in nats per token."""

    side: Literal["right", "wrong"]
    step: int
    steps: int
    loss: float


Learning = Generator[Learned, None, Symptom]


@dataclass(frozen=True)
class Mistake:
    """A mistake that circulates in tutorials."""

    name: str  # stable, for links and catalogues
    right: str  # the lines of code that differ, in PyTorch as a tutorial has them
    wrong: str
    distractors: tuple[str, str, str]  # mistakes whose causes are offered beside its own; none shows the same symptom
    run: Callable[..., Any]  # shows it

    @classmethod
    def shown_by(cls, **fields: Any) -> Callable[[Callable[..., Any]], Self]:
        """Makes a mistake of the function that shows it, under its name."""
        return lambda run: cls(name=run.__name__, run=run, **fields)


@dataclass(frozen=True)
class DecodingMistake(Mistake):
    """It spoils a run of a trained model."""

    run: Callable[[Translator, str], Symptom]  # shows it on a translator and a sentence that it knows
    shown_on: str | None = None  # the shipped checkpoint that it takes to see it; None where any will do
    kind: ClassVar[Literal["decoding"]] = "decoding"


@dataclass(frozen=True)
class TrainingMistake(Mistake):
    """It spoils what is learned, or what is measured then: small models are trained to show it."""

    run: Callable[[], Learning]  # trains them, and yields every step
    kind: ClassVar[Literal["training"]] = "training"
