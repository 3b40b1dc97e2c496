"""Linear layers that are fast for the few rows of a decoding step. Knows nothing of attention or layers."""

import torch
import torch.nn.functional as F
from torch import Tensor, nn

FEW_ROWS, MANY_WEIGHTS = 8, 2**18


class Linear(nn.Linear):
    """x Wᵀ + b, up to rounding as PyTorch computes it.

    A decoding step multiplies one row, or a beam's few, by each matrix. On a CPU and with a large matrix, W xᵀ is then
    up to four times as fast as x Wᵀ, if x has more than one row.
    """

    def forward(self, x: Tensor) -> Tensor:
        is_large = self.weight.numel() >= MANY_WEIGHTS
        if not is_large or torch.compiler.is_compiling() or x.device.type != "cpu" or x.shape[:-1].numel() > FEW_ROWS:
            return F.linear(x, self.weight, self.bias)
        rows = x.reshape(-1, self.in_features).contiguous()
        count = len(rows)
        rows = rows if count > 1 else torch.cat([rows, rows])
        product = F.linear(self.weight, rows)[:, :count].T
        if self.bias is not None:
            product = (product + self.bias).to(product.dtype)  # mixed precision has biases in float32
        return product.view(*x.shape[:-1], self.out_features)
