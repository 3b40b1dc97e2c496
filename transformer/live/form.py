"""The form for training a model: every field with its bounds, and its default for each corpus."""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SkipValidation, ValidationError

from ..data import Pair
from ..messages import Listed, Message
from ..storage.portable import CORPUS_NAMES, ModelName
from ..training.config import Schedule

MAX_HELD_OUT = 0.5  # of all pairs


class _Form(BaseModel):
    """No value is taken for another type, and what the form does not name is left aside."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class NetworkForm(_Form):
    d_model: int = Field(ge=2, le=1024)
    n_heads: int = Field(ge=1, le=64)
    layers: int = Field(ge=1, le=12)
    d_ff: int = Field(ge=1, le=8192)
    dropout: float = Field(ge=0, le=0.9)
    positional_encoding: bool
    norm_first: bool
    tie_weights: bool


class LearningForm(_Form):
    """How it is trained: arguments of TrainingConfig."""

    steps: int = Field(ge=1, le=100_000)
    batch_size: int = Field(ge=1, le=1024)
    schedule: Schedule
    learning_rate: float = Field(ge=0.00001, le=1)
    warmup_steps: int = Field(ge=1, le=100_000)
    label_smoothing: float = Field(ge=0, le=0.9)
    seed: int = Field(ge=0, le=2**31 - 1)


class TrainingForm(_Form):
    """A training. `pairs` are those of the corpus "own"; `watch` is the sentence to translate during training."""

    name: Annotated[ModelName, BeforeValidator(lambda name: name.strip() if isinstance(name, str) else name)]
    corpus: Literal[CORPUS_NAMES]  # type: ignore[valid-type]
    pairs: SkipValidation[list[Pair]] = []
    watch: str
    held_out: float = Field(ge=0, le=MAX_HELD_OUT)
    model: NetworkForm
    training: LearningForm


def invalid_fields(form: dict[str, Any]) -> dict[str, Message]:
    """Why fields of a TrainingForm cannot be used, by their names."""
    try:
        TrainingForm.model_validate(form)
    except ValidationError as error:
        return {field: _message(_RULES[field]) for each in error.errors() for field in [str(each["loc"][-1])]}
    return {}


_RULES = {
    field: rule
    for form in (TrainingForm, NetworkForm, LearningForm)
    for field, rule in form.model_json_schema()["properties"].items()
}


def _message(rule: dict[str, Any]) -> Message:
    match rule:
        case {"enum": choices}:
            return Message("plan.choice", {"choices": Listed(tuple(choices))})
        case {"type": "boolean"}:
            return Message("plan.switch")
        case {"type": "integer", "minimum": least, "maximum": most}:
            return Message("plan.integer", {"least": least, "most": most})
        case {"type": "number", "minimum": least, "maximum": most}:  # as text, because the page rounds numbers to 0.001
            low, high = (np.format_float_positional(end, trim="-") for end in (least, most))
            return Message("plan.number", {"least": low, "most": high})
        case {"maxLength": most}:
            return Message("plan.name", {"most": most})
    return Message("plan.text")


_NETWORK = {"dropout": 0.1, "positional_encoding": True, "norm_first": False, "tie_weights": False}
_LEARNING = {"batch_size": 64, "warmup_steps": 4000, "label_smoothing": 0.0, "seed": 0}
_CYCLE = _LEARNING | {"schedule": "one-cycle"}
_SMALL = _NETWORK | {"d_model": 64, "n_heads": 4, "layers": 2, "d_ff": 256, "dropout": 0.0}
DEFAULTS: dict[str, dict[str, Any]] = {
    "toy": {
        "model": _NETWORK | {"d_model": 64, "n_heads": 8, "layers": 6, "d_ff": 256},
        "training": _LEARNING | {"steps": 120, "schedule": "constant", "learning_rate": 1e-3},
        "held_out": 0.0,
    },
    "classroom": {
        "model": _SMALL,
        "training": _CYCLE | {"steps": 800, "learning_rate": 3e-3, "label_smoothing": 0.1},
        "held_out": 0.0,
    },
    "own": {"model": _SMALL, "training": _CYCLE | {"steps": 300, "learning_rate": 2e-3}, "held_out": 0.0},
}
PAPER = _NETWORK | {"d_model": 512, "n_heads": 8, "layers": 6, "d_ff": 2048}  # the base model of §3 and §5
