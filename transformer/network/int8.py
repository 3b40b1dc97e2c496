"""Linear layers with int8 weights: large models are faster by them, but their numbers are no longer the same.

A network with them is used as any other, with every map, probe and intervention. The decoding engine is not made of it.
"""

import os
import warnings
from typing import Literal, get_args

import torch
from torch import Tensor, nn

Precision = Literal["float32", "int8"]
ENVIRONMENT = "TRANSFORMER_PRECISION"
MAX_WEIGHT = 63  # two products of a weight and an 8-bit input fit in 16 bits, as some processors add them


class Int8Linear(nn.Module):
    """x W + b with weights from -MAX_WEIGHT to MAX_WEIGHT times a scale for each output.

    Inputs are rounded to 8 bits between the smallest and the largest of them all. Without gradients; on the CPU only.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight = linear.weight.detach()
        self._scales = weight.abs().amax(dim=1).clamp_min(torch.finfo(weight.dtype).tiny) / MAX_WEIGHT
        self._rounded = (weight / self._scales[:, None]).round().to(torch.int8)
        self._sums = self._rounded.sum(dim=1, dtype=torch.int32)
        self._nothing = torch.zeros_like(self._scales)
        self.bias = self._nothing if linear.bias is None else linear.bias.detach()
        with warnings.catch_warnings():  # PyTorch will remove these, but has nothing as fast in their place yet
            warnings.filterwarnings("ignore", "fbgemm_")
            self._packed = torch.fbgemm_pack_quantized_matrix(self._rounded)
            self(weight[:1])  # which warns once, the first time

    @property
    def weight(self) -> Tensor:
        """What the weights stand for, in float32: (out, in)."""
        return self._rounded * self._scales[:, None]

    def forward(self, x: Tensor) -> Tensor:
        y = torch.fbgemm_linear_int8_weight_fp32_activation(
            x, self._rounded, self._packed, self._sums, 1.0, 0, self._nothing
        )
        return torch.addcmul(self.bias, y, self._scales)


def pick_precision(name: str | None, from_environment: bool) -> str:
    """`name`, else perhaps $TRANSFORMER_PRECISION, else float32. Raises ValueError for one that does not exist."""
    wanted = name or (os.environ.get(ENVIRONMENT) if from_environment else None) or "float32"
    if wanted not in get_args(Precision):
        raise ValueError(f"the precision {wanted!r} is not one of {', '.join(get_args(Precision))}")
    return wanted


def to_int8(model: nn.Module) -> None:
    """Give every linear layer int8 weights. Embeddings and norms stay as they are. Raises ValueError: the model is not
    on a CPU, or the processor is not an x86."""
    if "fbgemm" not in torch.backends.quantized.supported_engines:
        raise ValueError("int8 weights need an x86 processor")
    places = [(part, *child) for part in model.modules() for child in part.named_children()]
    for part, name, child in places:
        if isinstance(child, nn.Linear):
            if child.weight.device.type != "cpu":
                raise ValueError(f"int8 weights are for a CPU, and the model is on {child.weight.device}")
            setattr(part, name, Int8Linear(child))


def is_int8(model: nn.Module) -> bool:
    return any(isinstance(part, Int8Linear) for part in model.modules())


def check_float32(model: nn.Module) -> None:
    """Raises ValueError for int8 weights, which no file here can hold and no other network can have."""
    if is_int8(model):
        raise ValueError("int8 weights are for use only: load the model in float32")
