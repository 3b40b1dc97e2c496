"""Value-weighted attention: how long the vectors are that a sublayer adds up, rather than how they are weighted.

Kobayashi et al. (2020), "Attention is Not Only a Weight" (arXiv 2004.10102), §3; and after the residual connection and
the norm of the sublayer: Kobayashi et al. (2021), "Incorporating Residual and Normalization Layers into Analysis of
Masked Language Models" (arXiv 2109.07152), §3.

L layers, B batch, H heads, Q queries, K keys, D model width, d one head's width.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor

from ..network.engine import DecodingEngine, EngineDecoding
from ..network.model import Transformer
from .attention_maps import KINDS, LOCATIONS, AttentionMap, AttentionMaps, Kind

LAYER_NORM_EPS = 1e-5  # of every norm here


@dataclass(frozen=True, eq=False)
class ValueWeighted:
    """What each key adds to each query, and the residual connection beside it, as norms of vectors of width D.

    Attributes:
        maps: ‖α · v W_O‖ of every head, in place of the weights α of `Translation.attention`. The biases b_O and β
            belong to no key and are in no map.
        after_norm: the same vectors after the sublayer's LayerNorm, which is linear once its σ is this run's:
            ‖γ ⊙ (c - mean(c)) / σ‖. A pre-norm network has no norm there, so they equal `maps`.
        residual: the norm of what the residual connection adds to each query, on the scale of `after_norm`; by kind,
            (L, Q), read-only. In self-attention it is the query's own token.
    """

    maps: AttentionMaps
    after_norm: AttentionMaps
    residual: Mapping[Kind, np.ndarray]


class Sublayers(NamedTuple):
    """Every attention sublayer of one kind."""

    weights: Tensor  # (L, B, H, Q, K)
    v: Tensor  # (L, B, H, K, d)
    residual: Tensor  # (L, B, Q, D), what the sublayer's output is added to
    sum: Tensor  # (L, B, Q, D), both together


PARTS, STREAMS = ("weights", "head_output", "v"), ("residual", "sum")  # of a probe's names


def is_recorded(name: str) -> bool:
    """Whether a probe name is one of those that `recorded_norms` reads."""
    part = name.rpartition(".")[2]
    return part in PARTS or part[:-1] in STREAMS


class Lengths(NamedTuple):
    """What makes values norms, in every layer of a kind."""

    factors: Tensor  # (1 or 2, L, H, d, d): ‖v W_O‖ = ‖v R‖, and so after the norm, if one follows
    gamma: Tensor | None  # (L, 1, 1, D), of that norm


def lengths_of(model: Transformer, kind: Kind) -> Lengths:
    """R is the transposed triangular factor of W_Oᵀ, d × d instead of d × D. What is linear of a LayerNorm, centring
    and γ, may be done to the matrix."""
    place, norm_first = LOCATIONS[kind], model.config.norm_first
    layers = [*getattr(model, place.stack).layers]
    factors, gammas = [], []
    for layer in layers:
        w_o = (layer.cross_attn if kind == "cross" else layer.self_attn).out_proj.weight.detach()  # (D, H d)
        gamma = getattr(layer, f"norm{place.number}").weight.detach()
        both = [w_o] if norm_first else [w_o, (w_o - w_o.mean(dim=0)) * gamma[:, None]]
        by_head = torch.stack(both).unflatten(-1, (model.config.n_heads, -1)).transpose(1, 2)  # (1 or 2, H, D, d)
        factors.append(torch.linalg.qr(by_head, mode="r").R.mT)
        gammas.append(gamma)
    return Lengths(torch.stack(factors, dim=1), None if norm_first else torch.stack(gammas)[:, None, None])


def contribution_norms(lengths: Lengths, seen: Sublayers) -> tuple[Tensor, Tensor, Tensor]:
    """The numbers of `ValueWeighted`: maps and after_norm, (L, B, H, Q, K) each, and residual, (L, B, Q).

    The norm of α · v W_O is α times that of v W_O, so that no tensor has heads, queries, keys and the model's width.
    """
    v = seen.v.transpose(1, 2)  # (L, H, B, K, d)
    norms = torch.linalg.vector_norm(v.flatten(2, 3) @ lengths.factors, dim=-1)  # (1 or 2, L, H, B K)
    by_key = norms.unflatten(-1, v.shape[2:4]).transpose(2, 3)[..., None, :]  # (1 or 2, L, B, H, 1, K)
    maps = seen.weights * by_key[0]
    if lengths.gamma is None:
        return maps, maps, torch.linalg.vector_norm(seen.residual, dim=-1)
    sigma = (seen.sum.var(dim=-1, correction=0) + LAYER_NORM_EPS).sqrt()  # (L, B, Q)
    residual = (seen.residual - seen.residual.mean(dim=-1, keepdim=True)) * lengths.gamma
    after_norm = seen.weights * by_key[1] / sigma[:, :, None, :, None]
    return maps, after_norm, torch.linalg.vector_norm(residual, dim=-1) / sigma


Norms = dict[Kind, tuple[Tensor, Tensor, Tensor]]  # kind -> what `contribution_norms` returns
_LENGTHS: WeakKeyDictionary[DecodingEngine, dict[Kind, Lengths]] = WeakKeyDictionary()  # an engine's weights stay


def engine_norms(engine: DecodingEngine, model: Transformer, decoding: EngineDecoding) -> Norms:
    """Of a run of the engine of a model, which was told to keep its streams."""
    if engine not in _LENGTHS:
        _LENGTHS[engine] = {kind: lengths_of(model, kind) for kind in KINDS}
    every = zip(_LENGTHS[engine].items(), decoding.stacked_attention(), decoding.streams(), strict=True)
    return {kind: contribution_norms(lengths, Sublayers(w, *streams)) for (kind, lengths), w, streams in every}


def recorded_norms(model: Transformer, values: Mapping[str, Tensor]) -> Norms:
    """Of a recorded run. An ablated head has no output, whatever its weights are."""
    found: Norms = {}
    for kind, place in LOCATIONS.items():
        every = {
            name: torch.stack([values[f"{place.stack}.{i}.{name}"] for i in range(model.config.layers(place.stack))])
            for name in (*(f"{place.name}.{part}" for part in PARTS), *(f"{part}{place.number}" for part in STREAMS))
        }
        weights, head_output, *rest = every.values()
        seen = Sublayers(weights * head_output.any(dim=-1, keepdim=True), *rest)
        found[kind] = contribution_norms(lengths_of(model, kind), seen)
    return found


def to_maps(norms: Mapping[Kind, Sequence[np.ndarray]], attention: AttentionMaps) -> ValueWeighted:
    """The norms of one run, maps and after_norm (L, H, Q, K) and residual (L, Q), with the tokens of its attention."""

    def maps(part: int) -> AttentionMaps:
        return AttentionMaps(*(tuple(_like(m, norms[kind][part]) for m in attention.of(kind)) for kind in KINDS))

    rows = {kind: len(attention.of(kind)[0].query_tokens) for kind in KINDS}
    return ValueWeighted(maps(0), maps(1), {kind: norms[kind][2][:, : rows[kind]] for kind in KINDS})


def _like(m: AttentionMap, norms: np.ndarray) -> AttentionMap:
    """A map with its layer of these, (L, H, Q, K), for weights: without the padding of a shorter sentence."""
    cut = norms[m.layer, :, : len(m.query_tokens), : len(m.key_tokens)]
    return AttentionMap(m.kind, m.layer, m.query_tokens, m.key_tokens, cut, m.allowed)
