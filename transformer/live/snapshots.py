"""Snapshots of one sentence's translation and attention maps during training, from the first step to the last."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from ..data.vocabulary import END
from ..inference.attention_maps import KINDS
from ..inference.decoding import evaluating
from ..inference.translation import Translation
from ..inference.translator import Translator
from ..network.model import Transformer
from ..storage.checkpoint import Checkpoint

MAX_SNAPSHOTS = 32  # planned ones; snapshots shown during training come on top
MAX_WEIGHTS = 1_500_000  # attention weights of all snapshots together: 3 MB at 2 bytes
MAX_COPY_BYTES = 256 * 2**20  # of model copies for deferred snapshots


@dataclass(frozen=True, eq=False)
class Snapshot:
    """The model after one training step."""

    step: int  # 0 is the untrained model
    free: Translation  # free-running
    forced: Translation | None  # with teacher forcing, where there is a reference: its rows stay in all snapshots


class SnapshotRecorder:
    """Takes snapshots of a model while it is trained for `steps` steps.

    They are of its translation of `watch` (SentenceError if it cannot translate that), and if the reference translation
    is known, of a run with teacher forcing on its words. A snapshot that training has no time for is taken afterwards,
    from a copy of the weights of its step.
    """

    def __init__(self, checkpoint: Checkpoint, watch: str, reference: str | None, steps: int) -> None:
        self._translator = Translator(checkpoint, "")
        self._watch, self._reference = watch, None if reference is None else [*reference.split(), END]
        self.first = self.take(0)
        runs = [run for run in (self.first.free, self.first.forced) if run]
        weights = sum(layer.weights.size for run in runs for kind in KINDS for layer in run.attention.of(kind))
        count = max(2, min(MAX_SNAPSHOTS, steps + 1, MAX_WEIGHTS // weights)) - 1
        # Most changes happen early: snapshots are dense there and sparse later.
        self.due = {max(i, round(steps * (i / count) ** 2)) for i in range(1, count)}
        weights = sum(values.numel() for values in self.model.parameters())
        # Allocated now, because allocating costs more than filling.
        self._copies = torch.zeros(
            min(len(self.due), MAX_COPY_BYTES // (4 * weights)), weights, device=self._translator.device
        )
        self._steps: list[int] = []  # the step of each copy

    def take(self, step: int) -> Snapshot:
        """A snapshot of the model as it is now."""
        with evaluating(self.model):  # once, not at every token
            forced = self._translator.translate(self._watch, forced=self._reference) if self._reference else None
            return Snapshot(step, self.translate(), forced)

    def translate(self) -> Translation:
        """The sentence's translation by the model as it is now."""
        with evaluating(self.model):
            return self._translator.translate(self._watch)

    @property
    def has_space(self) -> bool:
        """Whether another copy fits."""
        return len(self._steps) < len(self._copies)

    def defer(self, step: int) -> None:
        """Copy the weights for a later snapshot, if there is space."""
        if self.has_space:
            parameters = [values.detach().flatten() for values in self.model.parameters()]
            torch.cat(parameters, out=self._copies[len(self._steps)])
            self._steps.append(step)

    def deferred(self) -> Iterator[Snapshot]:
        """Take the deferred snapshots. Leaves the model with the weights of the last one."""
        for step, weights in zip(self._steps, self._copies, strict=False):
            parameters = list(self.model.parameters())
            with torch.no_grad():
                for values, copy in zip(parameters, weights.split([each.numel() for each in parameters]), strict=True):
                    # Not a view of it: sums over unaligned addresses round differently.
                    values.copy_(copy.view_as(values))
            yield self.take(step)

    @property
    def model(self) -> Transformer:
        return self._translator.checkpoint.model
