"""Linear layers with int8 weights: smaller and faster on a CPU, but no longer the same numbers.

A network with them is used as any other, with every map, probe and intervention. The decoding engine is not made of it.
"""

import warnings
from typing import Literal

import torch
from torch import Tensor, nn

Precision = Literal["float32", "int8"]
PRECISION = "TRANSFORMER_PRECISION"  # the environment variable


class Int8Linear(nn.Module):
    """x W + b with weights from -127 to 127 times a scale for each output.

    Inputs are rounded to 7 bits between their smallest and their largest. Without gradients; on the CPU only.
    """

    def __init__(self, linear: nn.Linear) -> None:
        super().__init__()
        weight = linear.weight.detach()
        scales = weight.abs().amax(dim=1).clamp_min(torch.finfo(weight.dtype).tiny).double() / 127
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "torch.quantize_per_tensor")  # there is nothing as fast in its place yet
            rounded = torch.quantize_per_channel(weight, scales, torch.zeros_like(scales).long(), 0, torch.qint8)
            self._packed = torch.ops.quantized.linear_prepack(rounded, linear.bias)

    @property
    def weight(self) -> Tensor:
        """What the weights stand for, in float32: (out, in)."""
        return torch.ops.quantized.linear_unpack(self._packed)[0].dequantize()

    @property
    def bias(self) -> Tensor | None:
        return torch.ops.quantized.linear_unpack(self._packed)[1]

    def forward(self, x: Tensor) -> Tensor:
        return torch.ops.quantized.linear_dynamic(x, self._packed, True)


def to_int8(model: nn.Module) -> None:
    """Give every linear layer int8 weights. Embeddings and norms stay as they are.

    Raises:
        ValueError: the model is not on a CPU.
    """
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
