"""The types of a mistake and its symptom."""

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Self

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ..inference.attention_maps import AttentionMap, Kind
from ..inference.translator import Translator


class SymptomMap(TypedDict):
    """A map of one side of a mistake; `weights` of its heads one after the other, row by row."""

    kind: Kind
    layer: int
    heads: int
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    allowed: list[list[bool]]
    weights: list[float]


class SymptomSide(TypedDict):
    """The measurements of one side of a mistake."""

    numbers: Mapping[str, float]  # by measurement; both sides have the same ones, the most telling first
    text: str  # this side's translation; of two runs, both translations around " | "
    attention: SymptomMap | None  # that shows the mistake, if a map does


class Symptom(TypedDict):
    """One thing done right and wrong."""

    sentence: str  # that both were asked to translate
    wanted: str  # its translation in the corpus, where a model was trained for this, else ""
    head: int  # of both sides' maps, from 0: the one that shows most
    right: SymptomSide
    wrong: SymptomSide


def measured(numbers: Mapping[str, float], text: str, attention: AttentionMap | None = None) -> SymptomSide:
    return {"numbers": numbers, "text": text, "attention": _map(attention) if attention else None}


def _map(attention: AttentionMap) -> SymptomMap:
    return {
        "kind": attention.kind,
        "layer": attention.layer,
        "heads": attention.n_heads,
        "queries": attention.query_tokens,
        "keys": attention.key_tokens,
        "allowed": attention.allowed.tolist(),
        "weights": attention.weights.ravel().tolist(),
    }


def compared(right: SymptomSide, wrong: SymptomSide, sentence: str, wanted: str = "", head: int = 0) -> Symptom:
    return {"sentence": sentence, "wanted": wanted, "head": head, "right": right, "wrong": wrong}


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
