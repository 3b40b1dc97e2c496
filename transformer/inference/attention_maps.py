"""Attention weights with the tokens of their axes, as plain data that other libraries can draw.

L layers, H heads, Q queries, K keys.
"""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import torch
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

if TYPE_CHECKING:
    import xarray as xr

Kind = Literal["encoder", "decoder", "cross"]
KINDS: tuple[Kind, ...] = ("encoder", "decoder", "cross")


class Location(NamedTuple):
    """Where a kind of attention sits in the network (§3.1)."""

    stack: Literal["encoder", "decoder"]  # with the name it is the beginning of its probe names
    name: str
    number: int  # which sublayer of its layer it is, from 1, as the norms are numbered
    feed_forward: int  # the number of the feed-forward sublayer of the same layer

    def probe_name(self, layer: int, part: str) -> str:
        """The probe name of one of its intermediates: `decoder.2.cross_attention.weights`."""
        return f"{self.stack}.{layer}.{self.name}.{part}"


LOCATIONS: dict[Kind, Location] = {
    "encoder": Location("encoder", "self_attention", 1, 2),
    "decoder": Location("decoder", "self_attention", 1, 3),
    "cross": Location("decoder", "cross_attention", 2, 3),
}


def check_kind(kind: object) -> None:
    """Raises ValueError where there is no such kind of attention."""
    if kind not in KINDS:
        raise ValueError(f"the kind {kind!r} is not one of {', '.join(KINDS)}")


@dataclass(frozen=True, eq=False)  # comparing arrays gives no single bool
class AttentionMap:
    """All heads of one layer. Rows are queries, columns are keys.

    Rows of a decoder or cross-attention map are decoder *inputs*: row t attends while output t is predicted. Both
    arrays are made read-only. Raises ValueError: they do not fit the tokens.
    """

    kind: Kind
    layer: int  # from 0
    query_tokens: tuple[str, ...]  # of the rows
    key_tokens: tuple[str, ...]  # of the columns
    weights: np.ndarray = field(repr=False)  # (H, Q, K), after softmax, before dropout
    allowed: np.ndarray = field(repr=False)  # (Q, K), bool; False where the cell is masked

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
        """The entropy of each row, (H, Q), nats: 0 attends to one key, ln n to n keys equally."""
        weights = self.weights.astype(np.float64)
        return -(weights * np.log(np.where(weights > 0, weights, 1.0))).sum(axis=-1)

    def distance(self) -> np.ndarray:
        """The mean attention distance of each row, (H, Q), in positions: |query - key| weighted by attention."""
        queries, keys = np.indices(self.allowed.shape)
        return (self.weights.astype(np.float64) * np.abs(queries - keys)).sum(axis=-1)

    def from_uniform(self) -> np.ndarray:
        """Largest difference of each head, (H,), from uniform attention over the allowed keys."""
        uniform = self.allowed / np.maximum(self.allowed.sum(axis=-1, keepdims=True), 1)
        return np.abs(self.weights - uniform).max(axis=(-2, -1))


class StackedMaps(TypedDict):
    """All maps of one kind as JSON: L layers of H heads, from Q queries to K keys."""

    layers: int
    heads: int
    queries: tuple[str, ...]
    keys: tuple[str, ...]
    allowed: list[list[bool]]  # [query][key]
    weights: str  # (L, H, Q, K), base64 of what the encoding makes of each number


def stacked(layers: Sequence[AttentionMap], encode: Callable[[np.ndarray], np.ndarray]) -> StackedMaps:
    """All layers of one kind in one array; `encode` turns the weights, (L, H, Q, K), into the type that travels."""
    first = layers[0]
    return {
        "layers": len(layers),
        "heads": first.n_heads,
        "queries": first.query_tokens,
        "keys": first.key_tokens,
        "allowed": first.allowed.tolist(),
        "weights": base64.b64encode(encode(np.stack([layer.weights for layer in layers])).tobytes()).decode(),
    }


@dataclass(frozen=True)
class AttentionMaps:
    """Every map of one run: per kind, one map per layer."""

    encoder: tuple[AttentionMap, ...]
    decoder: tuple[AttentionMap, ...]
    cross: tuple[AttentionMap, ...]

    def of(self, kind: Kind) -> tuple[AttentionMap, ...]:
        """The layers of one kind.

        Raises:
            ValueError: there is no such kind.
        """
        check_kind(kind)
        return {"encoder": self.encoder, "decoder": self.decoder, "cross": self.cross}[kind]

    def heads(self) -> list[dict[str, Any]]:
        """One row per head: kind, layer, head (from 0), mean entropy (nats) and mean attention distance (positions)."""
        return [
            {"kind": kind, "layer": m.layer, "head": head, "entropy": entropy, "distance": distance}
            for kind in KINDS
            for m in self.of(kind)
            for head, (entropy, distance) in enumerate(
                zip(m.entropy().mean(axis=-1).tolist(), m.distance().mean(axis=-1).tolist(), strict=True)
            )
        ]

    def to_bertviz(self) -> dict[str, Any]:
        """The arguments of BertViz's `head_view` and `model_view`: weights as L tensors (1, H, Q, K), and tokens."""
        weights = {f"{kind}_attention": tuple(torch.tensor(m.weights)[None] for m in self.of(kind)) for kind in KINDS}
        source, target = self.encoder[0].key_tokens, self.decoder[0].key_tokens
        return weights | {"encoder_tokens": list(source), "decoder_tokens": list(target)}

    def to_xarray(self, kind: Kind) -> "xr.DataArray":
        """The weights of one kind, (L, H, Q, K), as an array with the dimensions layer, head, query and key.

        All count from 0. The coordinates `query_token` and `key_token` have the tokens, which may occur more than once.
        Raises ImportError: xarray is not installed; ValueError: there is no such kind.
        """
        import xarray as xr  # not a requirement: only this needs it

        weights, first = np.stack([m.weights for m in self.of(kind)]), self.of(kind)[0]
        dims = ("layer", "head", "query", "key")
        coords: dict[str, Any] = {dim: np.arange(size) for dim, size in zip(dims, weights.shape, strict=True)}
        coords["query_token"] = "query", list(first.query_tokens)
        coords["key_token"] = "key", list(first.key_tokens)
        return xr.DataArray(weights, coords, dims, name=kind)
