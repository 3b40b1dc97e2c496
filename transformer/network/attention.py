"""Scaled dot-product and multi-head attention (§3.2). Knows nothing of layers, positions or words.

B batch, Q queries, K keys, H heads, D model width, d one head's width (d_k).
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from .config import TransformerConfig
from .probe import Probe, apply_probe


def scaled_dot_product_attention(
    q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None, dropout: float = 0.0, probe: Probe | None = None
) -> tuple[Tensor, Tensor]:
    """softmax(q kᵀ / sqrt(d)) v (§3.2.1), which also returns the weights.

    Args:
        q: (B, H, Q, d).
        k, v: (B, H, K, d).
        mask: bool, True = may attend, broadcastable to (B, H, Q, K).
        dropout: probability of dropping an attention weight.

    Returns:
        Every head's output (B, H, Q, d), and its weights (B, H, Q, K) after softmax, before dropout. A fully masked
        query has weights and an output of zero.
    """
    scores = apply_probe(probe, "scores", q @ k.transpose(-2, -1) / math.sqrt(q.size(-1)))  # (B, H, Q, K)
    if mask is not None:
        if probe is not None:
            mask = probe("mask", mask.expand_as(scores))  # a view, so that a probe can change single cells
        scores = scores.where(mask, -math.inf)  # §3.2.3
    weights = scores.softmax(dim=-1)
    if mask is not None:
        weights = weights.where(mask, 0.0)  # softmax of a fully masked row is 0/0
    weights = apply_probe(probe, "weights", weights)
    head_output = (F.dropout(weights, dropout) if dropout else weights) @ v  # (B, H, Q, d)
    return apply_probe(probe, "head_output", head_output), weights


@dataclass
class KeyValueCache:
    """Keys and values that one attention sublayer has computed, each (B, H, K, d). Owned by the caller."""

    k: Tensor | None = None
    v: Tensor | None = None

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Add new keys and values along K; returns all of them."""
        if self.k is not None and self.v is not None:
            k, v = torch.cat([self.k, k], dim=2), torch.cat([self.v, v], dim=2)
        self.k, self.v = k, v
        return k, v

    def select(self, rows: Tensor) -> None:
        """Keep these rows of the batch, (N,), in this order; a row may occur more than once."""
        if self.k is not None and self.v is not None:
            self.k, self.v = self.k[rows], self.v[rows]


class MultiHeadAttention(nn.Module):
    """H attention heads in parallel, each of d_model / H dimensions (§3.2.2)."""

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.n_heads = config.n_heads
        self.dropout = config.dropout if config.attention_dropout else 0.0
        self.q_proj = nn.Linear(config.d_model, config.d_model, bias=config.qkv_bias)
        self.k_proj = nn.Linear(config.d_model, config.d_model, bias=config.qkv_bias)
        self.v_proj = nn.Linear(config.d_model, config.d_model, bias=config.qkv_bias)
        self.out_proj = nn.Linear(config.d_model, config.d_model, bias=config.bias)

    def split_heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)  # (B, Q, D) -> (B, H, Q, d)

    def forward(
        self,
        x: Tensor,
        memory: Tensor | None,
        mask: Tensor | None = None,
        need_weights: bool = True,
        probe: Probe | None = None,
        cache: KeyValueCache | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """Each row of `x` attends to the rows of `memory`.

        Args:
            x: source of the queries, (B, Q, D).
            memory: source of the keys and values, (B, K, D); `x` itself in self-attention. None: the cache has them.
            mask: bool, True = may attend, broadcastable to (B, H, Q, K).
            need_weights: False returns None for the weights, and uses PyTorch's fused kernel unless there is a probe.
            cache: keys and values of earlier calls, which are attended to as well; this call's are appended.

        Returns:
            (B, Q, D), and the weights (B, H, Q, K) after softmax, before dropout.
        """
        q = apply_probe(probe, "q", self.split_heads(self.q_proj(x)))
        if memory is not None:
            k = apply_probe(probe, "k", self.split_heads(self.k_proj(memory)))
            v = apply_probe(probe, "v", self.split_heads(self.v_proj(memory)))
            k, v = cache.append(k, v) if cache else (k, v)
        else:
            assert cache
            assert cache.k is not None
            assert cache.v is not None
            k, v = cache.k, cache.v

        dropout = self.dropout if self.training else 0.0
        if need_weights or probe is not None:
            head_output, weights = scaled_dot_product_attention(q, k, v, mask, dropout, probe)
        else:
            head_output, weights = F.scaled_dot_product_attention(q, k, v, mask, dropout), None
        out = self.out_proj(head_output.transpose(1, 2).flatten(2))  # concatenated heads, (B, Q, D)
        return apply_probe(probe, "output", out), weights if need_weights else None
