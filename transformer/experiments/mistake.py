"""What a mistake is, and what is seen of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from ..translator import Translator


@dataclass(frozen=True)
class Side:
    """What was measured on one side of a mistake.

    Attributes:
        numbers: what was measured -> how much. Both sides have the same ones, and the first tells most.
        text: a translation that this side says.
        losses: of its training, nats a token, step by step; none where nothing was trained.
    """

    numbers: Mapping[str, float]
    text: str
    losses: tuple[float, ...] = ()


@dataclass(frozen=True)
class Symptom:
    """The same thing done right and wrong."""

    right: Side
    wrong: Side


@dataclass(frozen=True)
class Mistake:
    """One that circulates in tutorials.

    Attributes:
        name: stable, for links and catalogues.
        kind: whether it spoils what is learned, and small models are trained to show it, or a run of a trained one.
        right, wrong: the lines of code that differ, in PyTorch as a tutorial has them.
        run: shows it on a translator and a sentence that it knows; one of training uses neither.
    """

    name: str
    kind: Literal["training", "decoding"]
    right: str
    wrong: str
    run: Callable[[Translator, str], Symptom]
