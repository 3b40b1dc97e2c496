"""Probes, which watch or replace named intermediates. Knows nothing of the stages that call them.

A probe is any callable `(name, tensor) -> tensor`. Every stage of the network passes its intermediates to the probe
and continues with what it returns, so observing, explaining and modifying a model are one mechanism. The probe belongs
to the caller: two runs that share a model never see each other's tensors.
"""

from collections.abc import Callable

from torch import Tensor

Probe = Callable[[str, Tensor], Tensor]


def apply_probe(probe: Probe | None, name: str, value: Tensor) -> Tensor:
    """The value to continue with: what the probe returns, or `value` itself where there is no probe. Raises TypeError:
    the probe returned no tensor."""
    if probe is None:
        return value
    given = probe(name, value)
    if not isinstance(given, Tensor):
        raise TypeError(f"{name}: a probe returned a {type(given).__name__}; it returns the tensor to continue with")
    return given


def scoped(probe: Probe | None, prefix: str) -> Probe | None:
    """A probe for a part of the network, whose names become `prefix.name`."""
    return None if probe is None else lambda name, value: apply_probe(probe, f"{prefix}.{name}", value)


def chain(first: Probe, second: Probe) -> Probe:
    """A probe that passes what `first` returns to `second`."""
    return lambda name, value: second(name, first(name, value))


class Recorder:
    """A probe that records every value whose name passes `wanted`, and changes none."""

    def __init__(self, wanted: Callable[[str], bool] = lambda name: True) -> None:
        self.wanted = wanted
        # Name -> its tensors in order. A full pass gives one; cached decoding gives one per step.
        self.values: dict[str, list[Tensor]] = {}

    def __call__(self, name: str, value: Tensor) -> Tensor:
        if self.wanted(name):
            self.values.setdefault(name, []).append(value)
        return value
