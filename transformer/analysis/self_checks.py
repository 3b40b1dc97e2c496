"""Checks of a run: four measurements, each against a limit.

S source, T target, H heads, D model width, V target vocabulary.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from ..inference.attention_maps import KINDS, SUBLAYERS, AttentionMap
from ..inference.decoding import evaluating
from ..inference.translator import Translation, Translator, read_only
from ..network.masks import causal_mask
from ..network.model import Transformer
from .sublayer import ids, record


@dataclass(frozen=True)
class Check:
    """One measurement: its largest error and the error that is allowed."""

    name: str
    error: float
    limit: float

    @property
    def ok(self) -> bool:
        return self.error <= self.limit  # NaN fails


def check(translator: Translator, run: Translation) -> list[Check]:
    """Measure a run of this translator.

    rows: how far the weights of a row are from summing to 1; fully masked rows are left out.
    masked: the largest weight in a masked cell.
    cached: how far maps and probabilities of cached decoding are from those of one full pass.
    steps: the same for a run that was decoded without a cache, because an intervention changed its inside.
    torch: how far the decoder output and logits of the full pass are from torch.nn.Transformer's with these weights.

    Under interventions some checks are left out: torch.nn.Transformer cannot be modified in the same way, and if a
    position may attend to later ones, the full pass reads more than the decoding steps did.
    """
    seen = record(translator, run)
    maps = [m for kind in KINDS for m in run.attention.of(kind)]
    checks = [
        Check("rows", _largest([m.weights.sum(axis=-1)[:, m.allowed.any(axis=-1)] - 1 for m in maps]), 1e-5),
        Check("masked", _largest([m.weights[:, ~m.allowed] for m in maps]), 0.0),
    ]
    changed = translator.probe(run.interventions) is not None
    if all(not np.triu(m.allowed, 1).any() for m in run.attention.decoder):
        checks.append(Check("steps" if changed else "cached", _from_a_full_pass(translator, run, maps, seen), 1e-4))
    if not changed:
        checks.append(Check("torch", _from_torch(translator, run, seen), 1e-4))
    return checks


def to_torch_transformer(ours: Transformer) -> nn.Transformer:
    """torch.nn.Transformer with our weights; all but the stacked projections share memory.

    It has no dropout and stays in training mode: in evaluation mode it takes a fast path that treats padding
    differently.
    """
    c = ours.config
    shape: dict[str, Any] = {"dim_feedforward": c.d_ff, "dropout": 0.0, "norm_first": c.norm_first, "batch_first": True}
    with torch.device("meta"):  # no memory is allocated or initialised
        theirs = nn.Transformer(
            c.d_model,
            c.n_heads,
            custom_encoder=nn.TransformerEncoder(
                nn.TransformerEncoderLayer(c.d_model, c.n_heads, **shape),
                c.num_encoder_layers,
                nn.LayerNorm(c.d_model) if c.final_norm != "none" else None,
                enable_nested_tensor=False,
            ),
            custom_decoder=nn.TransformerDecoder(
                nn.TransformerDecoderLayer(c.d_model, c.n_heads, **shape),
                c.num_decoder_layers,
                nn.LayerNorm(c.d_model) if c.final_norm == "both" else None,
            ),
            batch_first=True,
        )
    weights = ours.state_dict()
    theirs.load_state_dict({name: _ours(name, weights, c.d_model) for name in theirs.state_dict()}, assign=True)
    return theirs


def _ours(name: str, weights: dict[str, Tensor], width: int) -> Tensor:
    """Our weights under PyTorch's name; a bias that we do not have becomes zeros."""
    name = name.replace("multihead_attn", "cross_attn")
    if "in_proj_" in name:  # queries, keys and values stacked in one matrix
        parts = ("q_proj.", "k_proj.", "v_proj.")
        return torch.cat([_ours(name.replace("in_proj_", part), weights, width) for part in parts])
    if name not in weights and name.endswith(".bias"):
        weight = weights[name.removesuffix("bias") + "weight"]
        return weight.new_zeros(weight.size(0))
    return weights[name]


def _from_torch(translator: Translator, run: Translation, seen: dict[str, Tensor]) -> float:
    model = translator.checkpoint.model
    src, tgt = ids(translator, run)
    padding = src == model.config.pad_id  # PyTorch's True = may NOT attend
    with evaluating(model):
        decoded = to_torch_transformer(model)(
            seen["encoder.input"],
            seen["decoder.input"],
            tgt_mask=~causal_mask(tgt.size(1), device=tgt.device),
            src_key_padding_mask=padding,
            tgt_key_padding_mask=tgt == model.config.pad_id,
            memory_key_padding_mask=padding,
        )
        logits = model.output_projection(decoded)
    return _largest([read_only(decoded - seen["decoder.output"]), read_only(logits - seen["logits"])])


def _from_a_full_pass(
    translator: Translator, run: Translation, maps: list[AttentionMap], seen: dict[str, Tensor]
) -> float:
    vocab = translator.checkpoint.tgt_vocab.ids
    decoded = np.zeros((len(run.steps), len(vocab)))  # (T, V)
    for row, step in zip(decoded, run.steps, strict=True):
        for candidate in step.candidates:
            row[vocab[candidate.token]] = candidate.probability
    differences = [decoded - read_only(seen["logits"][0].softmax(dim=-1))]
    for m in maps:
        differences.append(m.weights - read_only(seen[SUBLAYERS[m.kind].tap(m.layer, "weights")][0]))
    return _largest(differences)


def _largest(differences: list[np.ndarray]) -> float:
    """The largest absolute difference; NaN if there is one."""
    return float(np.max([np.abs(each).max(initial=0.0) for each in differences]))
