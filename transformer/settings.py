"""Dataclasses that are filled from environment variables; every variable is declared once."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Variable:
    """An environment variable, and its default, which has its type."""

    name: str
    default: int | bool | str

    def read(self, environment: Mapping[str, str]) -> int | bool | str:
        """The setting: text; a whole number from 1, or from 0 if that is the default; a switch, off if empty or 0.
        Raises ValueError: a number is not one."""
        value = environment.get(self.name)
        if value is None:
            return self.default
        if isinstance(self.default, bool):
            return value not in ("", "0")
        if isinstance(self.default, str):
            return value
        least = min(1, self.default)
        if value.strip().isdecimal() and int(value) >= least:
            return int(value)
        raise ValueError(f"{self.name}={value!r} is not a whole number from {least}")


def setting(name: str, default: Any) -> Any:
    """A dataclass field that an environment variable sets."""
    return field(default=default, metadata={"variable": Variable(name, default)})


def variables(cls: type) -> dict[str, Variable]:
    """The variables of a dataclass by its fields' names."""
    return {each.name: each.metadata["variable"] for each in fields(cls) if each.metadata}


def from_environment(cls: type[T], environment: Mapping[str, str] = os.environ) -> T:
    """A dataclass with the settings of the environment. Raises ValueError as `Variable.read`."""
    return cls(**{name: variable.read(environment) for name, variable in variables(cls).items()})
