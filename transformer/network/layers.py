"""Positions, and one layer of each stack (§3.1, §3.3, §3.5). Knows nothing of ids or vocabularies.

B batch, S source, T target, D model width, F feed-forward width.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .attention import KeyValueCache, MultiHeadAttention
from .config import Activation, Sinusoid, TransformerConfig
from .probe import Probe, apply_probe, scoped


def relu(x: Tensor) -> Tensor:
    """In place without gradients: theirs would copy x twice, because what nn.Linear returns is a view."""
    return torch.relu(x) if x.requires_grad else torch.relu_(x)


ACTIVATIONS: dict[Activation, Callable[[Tensor], Tensor]] = {"relu": relu, "gelu": F.gelu, "silu": F.silu}


def sinusoidal_positions(length: int, d_model: int, order: Sinusoid = "interleaved") -> Tensor:
    """PE(pos, 2i) = sin(pos / 10000^(2i / d_model)), PE(pos, 2i + 1) = cos of the same (§3.5).

    Computed in float64 on the CPU: far positions lose digits in float32, and some accelerators lack float64.

    Args:
        order: "interleaved" as above, or "halves": the same columns, all sines before all cosines.

    Returns:
        (length, d_model), float32. An odd d_model has one sine more.
    """
    position = torch.arange(length, dtype=torch.float64, device="cpu")[:, None]
    rate = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float64, device="cpu") * (-math.log(10000.0) / d_model))
    encoding = torch.empty(length, d_model, dtype=torch.float64, device="cpu")
    encoding[:, 0::2] = torch.sin(position * rate)
    encoding[:, 1::2] = torch.cos(position * rate[: d_model // 2])
    if order == "halves":
        encoding = torch.cat([encoding[:, 0::2], encoding[:, 1::2]], dim=1)
    return encoding.float()


class Layer(nn.Module):
    """The base of both kinds of layer: feed-forward network, residual connections and LayerNorm."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.norm_first = config.norm_first
        self.activation = config.activation
        self.linear1 = nn.Linear(config.d_model, config.d_ff, bias=config.bias)
        self.linear2 = nn.Linear(config.d_ff, config.d_model, bias=config.bias)
        self.dropout = nn.Dropout(config.dropout)

    def feed_forward(self, x: Tensor, probe: Probe | None) -> Tensor:
        """max(0, x W1 + b1) W2 + b2, at each position separately (§3.3); max(0, ·) may be another activation."""
        hidden = apply_probe(probe, "feed_forward.hidden", ACTIVATIONS[self.activation](self.linear1(x)))  # (B, T, F)
        return apply_probe(probe, "feed_forward.output", self.linear2(hidden))  # (B, T, D)

    def pre_norm(self, n: int, x: Tensor, probe: Probe | None) -> Tensor:
        """The input of the n-th sublayer: x, normalised first in a pre-norm network."""
        return self.normalise(n, x, probe) if self.norm_first else x

    def add_and_norm(self, n: int, x: Tensor, change: Tensor, probe: Probe | None) -> Tensor:
        """LayerNorm(x + Dropout(Sublayer(x))) (§3.1, §5.4); a pre-norm network skips the norm."""
        if self.training:  # saves calls of a module that does nothing, three per layer
            change = self.dropout(change)
        x = apply_probe(probe, f"sum{n}", apply_probe(probe, f"residual{n}", x) + change)
        return x if self.norm_first else self.normalise(n, x, probe)

    def normalise(self, n: int, x: Tensor, probe: Probe | None) -> Tensor:
        return apply_probe(probe, f"norm{n}", getattr(self, f"norm{n}")(x))


class EncoderLayer(Layer):
    """Self-attention, then feed-forward (§3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.self_attn = MultiHeadAttention(config)
        self.norm1 = nn.LayerNorm(config.d_model)
        self.norm2 = nn.LayerNorm(config.d_model)

    def forward(
        self, x: Tensor, mask: Tensor | None = None, need_weights: bool = True, probe: Probe | None = None
    ) -> tuple[Tensor, Tensor | None]:
        """(B, S, D) -> (B, S, D) and the attention weights (B, H, S, S), or None without need_weights."""
        h = self.pre_norm(1, x, probe)
        attended, weights = self.self_attn(h, h, mask, need_weights, scoped(probe, "self_attention"))
        x = self.add_and_norm(1, x, attended, probe)
        x = self.add_and_norm(2, x, self.feed_forward(self.pre_norm(2, x, probe), probe), probe)
        return x, weights


class LayerCache(NamedTuple):
    """Keys and values of one decoder layer for a growing sequence."""

    self_attention: KeyValueCache
    cross_attention: KeyValueCache


class DecoderLayer(Layer):
    """Masked self-attention, cross-attention over the encoder's output, then feed-forward (§3.1)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(config)
        self.self_attn = MultiHeadAttention(config)
        self.cross_attn = MultiHeadAttention(config)
        self.norm1 = nn.LayerNorm(config.d_model)
        self.norm2 = nn.LayerNorm(config.d_model)
        self.norm3 = nn.LayerNorm(config.d_model)

    def forward(
        self,
        x: Tensor,
        memory: Tensor,
        self_mask: Tensor | None = None,
        cross_mask: Tensor | None = None,
        need_weights: bool = True,
        probe: Probe | None = None,
        cache: LayerCache | None = None,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """(B, T, D) and memory (B, S, D) -> (B, T, D), self- (B, H, T, T) and cross-attention weights (B, H, T, S).

        With a cache, x holds only the newest T positions, and the self-attention weights are (B, H, T, past + T).
        """
        self_cache, cross_cache = cache or (None, None)
        is_cached = cross_cache is not None and cross_cache.k is not None  # memory is projected once

        h = self.pre_norm(1, x, probe)
        attended, self_weights = self.self_attn(
            h, h, self_mask, need_weights, scoped(probe, "self_attention"), self_cache
        )
        x = self.add_and_norm(1, x, attended, probe)
        h = self.pre_norm(2, x, probe)
        attended, cross_weights = self.cross_attn(
            h, None if is_cached else memory, cross_mask, need_weights, scoped(probe, "cross_attention"), cross_cache
        )
        x = self.add_and_norm(2, x, attended, probe)
        x = self.add_and_norm(3, x, self.feed_forward(self.pre_norm(3, x, probe), probe), probe)
        return x, self_weights, cross_weights
