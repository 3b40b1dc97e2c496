"""What a model says and looks at while it learns: frames of one sentence, from the first step to the last."""

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from ..data.vocabulary import END
from ..inference.attention_maps import KINDS
from ..inference.decoding import evaluating
from ..inference.translator import Translation, Translator
from ..storage.checkpoint import Checkpoint

FRAMES = 32  # that are planned; what is shown while it learns comes on top
MAX_WEIGHTS = 1_500_000  # of attention, in all frames together: 3 MB at 2 bytes
NEGATIVES = 256 * 2**20  # bytes of copied models that wait to be developed


@dataclass(frozen=True, eq=False)
class Frame:
    """One moment of a training.

    Attributes:
        step: after which it was taken; 0 is the untrained model.
        free: what the model says by itself.
        forced: what it makes of the right translation, word by word (teacher forcing), so that rows stay the same from
            frame to frame; None where nobody knows it.
    """

    step: int
    free: Translation
    forced: Translation | None


class Camera:
    """Takes frames of a model while it is trained.

    A frame that training has no time for is developed afterwards, from a copy of the weights of its step.

    Args:
        watch: the sentence.
        reference: its right translation, words separated by spaces, or None.
        steps: of the whole training.

    Raises:
        SentenceError: the model cannot take the sentence.
    """

    def __init__(self, checkpoint: Checkpoint, watch: str, reference: str | None, steps: int) -> None:
        self._translator = Translator(checkpoint, "")
        self._watch, self._right = watch, None if reference is None else [*reference.split(), END]
        self.first = self.frame(0)
        ways = [way for way in (self.first.free, self.first.forced) if way]
        weights = sum(layer.weights.size for way in ways for kind in KINDS for layer in way.attention.of(kind))
        count = max(2, min(FRAMES, steps + 1, MAX_WEIGHTS // weights)) - 1
        # Most happens early: frames stand close there, and apart later.
        self.due = {max(i, round(steps * (i / count) ** 2)) for i in range(1, count)}
        weights = sum(values.numel() for values in self._model.parameters())
        # Memory is taken now, because taking it costs more than filling it.
        self._copies = torch.zeros(
            min(len(self.due), NEGATIVES // (4 * weights)), weights, device=self._translator.device
        )
        self._steps: list[int] = []  # of the copies

    def frame(self, step: int) -> Frame:
        """The model as it is now."""
        with evaluating(self._model):  # once, not at every word
            forced = self._translator.translate(self._watch, forced=self._right) if self._right else None
            return Frame(step, self.says(), forced)

    def says(self) -> Translation:
        """The sentence's translation, as the model is now."""
        with evaluating(self._model):
            return self._translator.translate(self._watch)

    @property
    def room(self) -> bool:
        """Whether another copy has a place."""
        return len(self._steps) < len(self._copies)

    def keep(self, step: int) -> None:
        """Copy the model, to develop its frame later, if there is room."""
        if self.room:
            parameters = [values.detach().flatten() for values in self._model.parameters()]
            torch.cat(parameters, out=self._copies[len(self._steps)])
            self._steps.append(step)

    def develop(self) -> Iterator[Frame]:
        """The frames that were kept for later. Changes the model's weights to those of each, for good."""
        for step, weights in zip(self._steps, self._copies, strict=False):
            parameters = list(self._model.parameters())
            with torch.no_grad():
                for values, copy in zip(parameters, weights.split([each.numel() for each in parameters]), strict=True):
                    values.copy_(copy.view_as(values))  # not a view of it: sums over odd addresses round otherwise
            yield self.frame(step)

    @property
    def _model(self) -> torch.nn.Module:
        return self._translator.checkpoint.model
