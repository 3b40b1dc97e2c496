"""What may watch or replace a named intermediate. Knows nothing of the stages that call it.

A probe is any callable `(name, tensor) -> tensor`. Every stage of the network hands its intermediates to the probe it
was given and goes on with what comes back, so watching, explaining and breaking a model are one idea. The probe
belongs to the caller: two runs that share a model never see each other's tensors.
"""

from collections.abc import Callable

from torch import Tensor

Probe = Callable[[str, Tensor], Tensor]


def tap(probe: Probe | None, name: str, value: Tensor) -> Tensor:
    """What to go on with: `value` itself, or what the probe makes of it."""
    return value if probe is None else probe(name, value)


def scoped(probe: Probe | None, prefix: str) -> Probe | None:
    """The same probe for a part of the network: names become `prefix.name`."""
    return None if probe is None else lambda name, value: probe(f"{prefix}.{name}", value)


def chain(first: Probe, second: Probe) -> Probe:
    """A probe that hands what the first makes of a value to the second."""
    return lambda name, value: second(name, first(name, value))


class Recorder:
    """A probe that keeps every value it sees whose name passes `wanted`, and changes none.

    Attributes:
        values: name -> the tensors seen under it, in order. A full pass gives one; cached decoding gives one a step.
    """

    def __init__(self, wanted: Callable[[str], bool] = lambda name: True) -> None:
        self.wanted = wanted
        self.values: dict[str, list[Tensor]] = {}

    def __call__(self, name: str, value: Tensor) -> Tensor:
        if self.wanted(name):
            self.values.setdefault(name, []).append(value)
        return value
