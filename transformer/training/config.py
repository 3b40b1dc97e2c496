"""How to train: the schedule, the batch and the seed (§5)."""

import math
from dataclasses import dataclass
from typing import Literal

from ..network.config import validate_field_types

Schedule = Literal["constant", "warmup", "one-cycle"]
Precision = Literal["float32", "bfloat16"]
RISE = 0.15  # share of the steps of one cycle until the peak rate


@dataclass(frozen=True)
class TrainingConfig:
    """How to train; the optimiser is the paper's Adam (§5.3)."""

    steps: int = 120  # of the optimiser
    batch_size: int = 64  # sentence pairs per step, over all processes; a smaller corpus is one batch
    # "constant" keeps `learning_rate`; "warmup" is the paper's d_model^-0.5 · min(step^-0.5, step · warmup_steps^-1.5)
    # and ignores it; "one-cycle" rises to it and falls to 0 along a cosine.
    schedule: Schedule = "constant"
    learning_rate: float = 1e-3
    warmup_steps: int = 4000
    label_smoothing: float = 0.0  # share of the target's probability that is spread over the vocabulary (§5.4)
    clip_norm: float = 1.0  # the maximum norm of the gradients
    # Share, times the learning rate, that every matrix loses at a step (Loshchilov & Hutter 2019, arXiv 1711.05101);
    # biases and norms lose nothing. The paper has none; without it, the longer the classroom was trained, the larger
    # its attention scores grew.
    weight_decay: float = 0.0
    seed: int = 0  # of weights, batches and dropout; the same seed gives the same model on the same machine
    # "bfloat16" runs most products inside the network in 16 bits, for GPUs that are faster at it; weights, gradients,
    # Adam and the loss stay float32.
    precision: Precision = "float32"

    def __post_init__(self) -> None:
        validate_field_types(self)
        for name in ("steps", "batch_size", "warmup_steps", "learning_rate", "clip_norm"):
            if not 0 < getattr(self, name) < math.inf:
                raise ValueError(f"{name} ({getattr(self, name)}) is not above 0 and finite")
        if not 0 <= self.label_smoothing < 1:
            raise ValueError(f"label_smoothing ({self.label_smoothing}) is not at least 0 and below 1")
        if not 0 <= self.weight_decay < math.inf:
            raise ValueError(f"weight_decay ({self.weight_decay}) is not at least 0 and finite")
        if not 0 <= self.seed < 2**63:
            raise ValueError(f"seed ({self.seed}) is not at least 0 and below 2^63")

    def rate(self, step: int, d_model: int) -> float:
        """The learning rate of a step, counted from 1 (§5.3)."""
        if self.schedule == "constant":
            return self.learning_rate
        if self.schedule == "one-cycle":
            rise = RISE * self.steps
            if step < rise:
                return self.learning_rate * step / rise
            return self.learning_rate * (1 + math.cos(math.pi * (step - rise) / (self.steps - rise))) / 2
        return d_model**-0.5 * min(step**-0.5, step * self.warmup_steps**-1.5)
