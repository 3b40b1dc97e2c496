"""Attention weights that know their own axes, as data: no torch, no gradio.

L layers, H heads, Q queries, K keys.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

Kind = Literal["encoder", "decoder", "cross"]
KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")


@dataclass(frozen=True, eq=False)  # arrays have no one truth of equality
class AttentionMap:
    """All heads of one layer: who looked at whom. Rows are queries, columns are keys.

    Rows of a decoder or cross-attention map are decoder *inputs*: row t was looking while output t was produced.

    Args:
        kind: encoder, decoder (both self-attention) or cross.
        layer: from 0.
        query_tokens, key_tokens: what the rows and the columns stand for.
        weights: (H, Q, K), after softmax, before dropout; made read-only.
        allowed: (Q, K), bool; False where a mask forbids to look. Made read-only.

    Raises:
        ValueError: the arrays and the tokens disagree.
    """

    kind: Kind
    layer: int
    query_tokens: tuple[str, ...]
    key_tokens: tuple[str, ...]
    weights: np.ndarray
    allowed: np.ndarray

    def __post_init__(self) -> None:
        axes = (len(self.query_tokens), len(self.key_tokens))
        if self.weights.ndim != 3 or self.weights.shape[1:] != axes:
            raise ValueError(f"weights {self.weights.shape} do not fit {axes[0]} queries × {axes[1]} keys a head")
        if self.allowed.shape != axes:
            raise ValueError(f"allowed {self.allowed.shape} does not fit {axes[0]} queries × {axes[1]} keys")
        self.weights.flags.writeable = False
        self.allowed.flags.writeable = False

    @property
    def n_heads(self) -> int:
        return int(self.weights.shape[0])

    def entropy(self) -> np.ndarray:
        """How spread out each row is, (H, Q), nats: 0 looks at one key, ln n looks at n keys alike."""
        weights = self.weights.astype(np.float64)
        return -(weights * np.log(np.where(weights > 0, weights, 1.0))).sum(axis=-1)

    def distance(self) -> np.ndarray:
        """How far away each row looks on average, (H, Q), in words: the weighted mean of |query - key|."""
        queries, keys = np.indices(self.allowed.shape)
        return (self.weights.astype(np.float64) * np.abs(queries - keys)).sum(axis=-1)

    def from_uniform(self) -> np.ndarray:
        """Largest distance of each head, (H,), from looking at every allowed key alike."""
        uniform = self.allowed / np.maximum(self.allowed.sum(axis=-1, keepdims=True), 1)
        return np.abs(self.weights - uniform).max(axis=(-2, -1))


def stacked(layers: Sequence[AttentionMap]) -> dict[str, Any]:
    """All layers of one kind for a browser; `weights` is (L, H, Q, K), still to be written as text."""
    first = layers[0]
    return {
        "layers": len(layers),
        "heads": first.n_heads,
        "queries": first.query_tokens,
        "keys": first.key_tokens,
        "allowed": first.allowed.tolist(),
        "weights": np.stack([layer.weights for layer in layers]),
    }


@dataclass(frozen=True)
class AttentionMaps:
    """Every map of one run, a tuple a kind, an element a layer."""

    encoder: tuple[AttentionMap, ...]
    decoder: tuple[AttentionMap, ...]
    cross: tuple[AttentionMap, ...]

    def of(self, kind: Kind) -> tuple[AttentionMap, ...]:
        """The layers of one kind."""
        return {"encoder": self.encoder, "decoder": self.decoder, "cross": self.cross}[kind]

    def heads(self) -> list[dict[str, Any]]:
        """Every head: kind, layer, head (from 0), and over its rows the mean entropy (nats) and the mean distance
        (words) of its looks."""
        return [
            {"kind": kind, "layer": m.layer, "head": head, "entropy": entropy, "distance": distance}
            for kind in KINDS
            for m in self.of(kind)
            for head, (entropy, distance) in enumerate(
                zip(m.entropy().mean(axis=-1).tolist(), m.distance().mean(axis=-1).tolist(), strict=True)
            )
        ]
