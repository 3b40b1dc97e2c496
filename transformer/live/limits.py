"""What one training on this server may cost. Set by the environment; the defaults suit two shared cores."""

import os
from dataclasses import dataclass, fields
from typing import Self

PREFIX = "TRANSFORMER_TRAIN_"


@dataclass(frozen=True)
class Limits:
    """Each is read from $TRANSFORMER_TRAIN_ and its name in capitals, e.g. $TRANSFORMER_TRAIN_SECONDS.

    Attributes:
        seconds: of training; what was learned until then is kept.
        parameters: weights of a network; the paper's base model on the toy pairs has 44 million.
        memory: MB that a training may take, beside PyTorch itself.
        pairs: of a visitor's own.
        tokens: words of all pairs, both sides together.
        at_once: trainings at a time; who comes later waits.
        waiting: visitors who may wait.
        models: that one visit may keep; the one that it used least lately makes place for a new one.
        megabytes: of all visits' models together.
        minutes: that a model is kept after it was used last.

    Raises:
        ValueError: a variable is set to what is not a whole number above 0.
    """

    seconds: int = 120
    parameters: int = 50_000_000
    memory: int = 1_500
    pairs: int = 2_000
    tokens: int = 60_000
    at_once: int = 2
    waiting: int = 30
    models: int = 4
    megabytes: int = 1_000
    minutes: int = 60

    def __post_init__(self) -> None:
        for field in fields(self):
            if getattr(self, field.name) < 1:
                raise ValueError(f"{variable(field.name)} ({getattr(self, field.name)}) is below 1")

    @classmethod
    def from_environment(cls) -> Self:
        names = [field.name for field in fields(cls) if variable(field.name) in os.environ]
        asked = {name: os.environ[variable(name)] for name in names}
        try:
            return cls(**{name: int(value) for name, value in asked.items()})
        except ValueError as error:
            named = ", ".join(f"{variable(name)}={value!r}" for name, value in asked.items())
            raise ValueError(f"a limit of training is not a whole number above 0: {named}") from error


def variable(name: str) -> str:
    """Of the environment, for a limit."""
    return PREFIX + name.upper()
