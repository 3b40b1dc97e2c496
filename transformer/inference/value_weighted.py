"""Value-weighted attention: how long the vectors are that a sublayer adds up, beside how they are weighted.

Kobayashi et al. 2020, "Attention is Not Only a Weight" (arXiv 2004.10102), §3; after the residual connection and the
norm: Kobayashi et al. 2021, "Incorporating Residual and Normalization Layers …" (arXiv 2109.07152), §3.

L layers, B batch, H heads, Q queries, K keys, D model width, d one head's width.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from weakref import WeakKeyDictionary

import numpy as np
import torch
from torch import Tensor, nn
from torch.linalg import qr, vector_norm

from ..network.engine import DecodingEngine, EngineDecoding
from ..network.model import Transformer
from .attention_maps import KINDS, LOCATIONS, AttentionMap, AttentionMaps, Kind


@dataclass(frozen=True, eq=False)
class ValueWeighted:
    """What each key adds to each query, and the residual connection beside it, as norms of vectors of width D."""

    maps: AttentionMaps  # ‖α · v W_O‖ of every head, (H, Q, K), for the weights α; no key has the biases b_O and β
    # The same after the sublayer's LayerNorm, linear with this run's σ: ‖γ ⊙ (c - mean(c)) / σ‖, where c is α · v W_O.
    # A pre-norm network has no norm there: they equal `maps`.
    after_norm: AttentionMaps
    residual: Mapping[Kind, np.ndarray]  # (L, Q), the norm of what the residual connection adds, scaled as `after_norm`


READ = (".weights", ".v", ".head_output", "residual1", "residual2", "sum1", "sum2")  # how probe names end
Norms = dict[Kind, tuple[Tensor, ...]]  # the numbers: twice (L, B, H, Q, K), and (L, B, Q)
Lengths = tuple[Tensor, Tensor, Tensor]
# The weights that the numbers are of, and copies.
_LENGTHS: WeakKeyDictionary[DecodingEngine, tuple[list[Tensor], list[Tensor], dict[Kind, Lengths]]]
_LENGTHS = WeakKeyDictionary()


def head_factors(w_o: Tensor, n_heads: int) -> Tensor:
    """The factor R of each head's part of W_O, d × d instead of d × D: (..., H, d, d) of (..., D, H d)."""
    precise = w_o.to(torch.promote_types(w_o.dtype, torch.float32))  # half precisions have no factorisation
    return qr(precise.unflatten(-1, (n_heads, -1)).transpose(-3, -2), mode="r").R.mT.to(w_o.dtype)


def value_lengths(v: Tensor, factors: Tensor) -> Tensor:
    """‖v W_O‖ = ‖v R‖: (..., H, K) of values (..., H, K, d) and the factors of their heads."""
    return vector_norm(v @ factors, dim=-1)


def _sublayers(model: Transformer, kind: Kind) -> Iterator[tuple[Tensor, nn.LayerNorm]]:
    """W_O (D, H d) and the norm of each layer."""
    for layer in getattr(model, LOCATIONS[kind].stack).layers:
        attention = layer.cross_attn if kind == "cross" else layer.self_attn
        yield attention.out_proj.weight.detach(), getattr(layer, f"norm{LOCATIONS[kind].number}")


def _lengths(model: Transformer, kind: Kind) -> Lengths:
    """The factors of W_O, (2, L, H, d, d); and of the norms γ, (L, 1, 1, D), and ε, (L, 1, 1).

    The second factor is that of W_O after centring and γ, what is linear of a LayerNorm.
    """
    factors, gammas, epsilons = [], [], []
    for w_o, norm in _sublayers(model, kind):
        gamma = norm.weight.detach()
        normed = w_o if model.config.norm_first else (w_o - w_o.mean(dim=0)) * gamma[:, None]
        factors.append(head_factors(torch.stack([w_o, normed]), model.config.n_heads))
        gammas.append(gamma)
        epsilons.append(gamma.new_tensor(norm.eps))
    return torch.stack(factors, dim=1), torch.stack(gammas)[:, None, None], torch.stack(epsilons)[:, None, None]


def _norms(
    norm_first: bool, lengths: Lengths, weights: Tensor, v: Tensor, residual: Tensor, total: Tensor
) -> tuple[Tensor, ...]:
    """The norms for weights (L, B, H, Q, K), values (L, B, H, K, d), and the stream (L, B, Q, D) before and after the
    addition.

    ‖α · v W_O‖ is α ‖v W_O‖, so that no tensor has heads, queries, keys and the model's width.
    """
    (factors, gamma, epsilon), v = lengths, v.transpose(1, 2)  # (L, H, B, K, d)
    of_keys = value_lengths(v.flatten(2, 3), factors).unflatten(-1, v.shape[2:4])  # (2, L, H, B, K)
    maps, normed = weights * of_keys.transpose(2, 3)[..., None, :]
    if norm_first:
        return maps, maps, vector_norm(residual, dim=-1)
    sigma = (total.var(dim=-1, correction=0) + epsilon).sqrt()  # (L, B, Q)
    centred = (residual - residual.mean(dim=-1, keepdim=True)) * gamma
    return maps, normed / sigma[:, :, None, :, None], vector_norm(centred, dim=-1) / sigma


def engine_norms(engine: DecodingEngine, model: Transformer, decoding: EngineDecoding) -> Norms:
    """The norms of a run of a model's engine, which was told to keep its streams."""
    every = zip(_kept_lengths(engine, model).items(), decoding.attention(), decoding.streams(), strict=True)
    return {kind: _norms(model.config.norm_first, of_kind, w, *streams) for (kind, of_kind), w, streams in every}


def _kept_lengths(engine: DecodingEngine, model: Transformer) -> dict[Kind, Lengths]:
    """They take long to make, and are kept until somebody edits the weights that they are of."""
    known = _LENGTHS.get(engine)  # of another engine, where a weight lies elsewhere
    if not known or not all(map(torch.equal, *known[:2])):
        read = (each for kind in KINDS for each in _sublayers(model, kind))
        weights = [each for w_o, norm in read for each in (w_o, norm.weight.detach())]
        known = weights, [each.clone() for each in weights], {kind: _lengths(model, kind) for kind in KINDS}
        _LENGTHS[engine] = known
    return known[2]


def recorded_norms(model: Transformer, values: Mapping[str, Tensor]) -> Norms:
    """The norms of a run whose READ values are recorded. An ablated head has no output, whatever its weights are."""
    found: Norms = {}
    for kind, (stack, name, number, _) in LOCATIONS.items():
        parts = (f"{name}.weights", f"{name}.v", f"residual{number}", f"sum{number}", f"{name}.head_output")
        layers = range(model.config.layers(stack))
        weights, *streams, output = (torch.stack([values[f"{stack}.{i}.{part}"] for i in layers]) for part in parts)
        weights = weights * output.any(dim=-1, keepdim=True)
        found[kind] = _norms(model.config.norm_first, _lengths(model, kind), weights, *streams)
    return found


def to_maps(norms: Mapping[Kind, Sequence[np.ndarray]], attention: AttentionMaps) -> ValueWeighted:
    """The norms of one run, without their dimension B, on the axes of its attention: without a batch's padding."""

    def maps(part: int) -> AttentionMaps:
        def like(m: AttentionMap) -> AttentionMap:
            queries, keys = m.allowed.shape
            return replace(m, weights=norms[m.kind][part][m.layer, :, :queries, :keys])

        return AttentionMaps(*(tuple(map(like, attention.of(kind))) for kind in KINDS))

    queries = {kind: len(attention.of(kind)[0].query_tokens) for kind in KINDS}
    return ValueWeighted(maps(0), maps(1), {kind: norms[kind][2][:, : queries[kind]] for kind in KINDS})
