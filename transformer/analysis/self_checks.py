"""Checks of a run: four measurements, each against a limit.

S source, T target, H heads, D model width, V target vocabulary.
"""

from dataclasses import dataclass

import numpy as np
from torch import Tensor

from ..inference.attention_maps import KINDS, LOCATIONS, AttentionMap
from ..inference.decoding import evaluating
from ..inference.translation import Translation
from ..inference.translator import Translator, read_only
from ..network.int8 import is_int8
from ..network.masks import causal_mask
from .sublayer import ids, record

LIMIT = 1e-4
LARGE_SCORE = 64.0  # float32 rounds larger ones so coarsely that softmax differs by more: the limit grows with them


@dataclass(frozen=True)
class Check:
    """One measurement: its largest error and the error that is allowed."""

    name: str
    error: float
    limit: float
    ok: bool


def check(translator: Translator, run: Translation) -> list[Check]:
    """Measure a run of this translator.

    rows: how far the weights of a row are from summing to 1; fully masked rows are left out.
    masked: the largest weight in a masked cell.
    cached: how far maps and probabilities of cached decoding are from those of one full pass.
    steps: `cached` for a run that was decoded without a cache, because an intervention changed its inside.
    torch: how far the decoder output and logits of the full pass are from torch.nn.Transformer's with these weights.

    Under interventions some checks are left out: torch.nn.Transformer cannot be modified in the same way, and if a
    position may attend to later ones, the full pass reads more than the decoding steps did. With int8 weights the last
    three are: how inputs are rounded depends on the rows that are computed together.
    """
    seen = record(translator, run)
    maps = [m for kind in KINDS for m in run.attention.of(kind)]
    checks = [
        _checked("rows", [m.weights.sum(axis=-1)[:, m.allowed.any(axis=-1)] - 1 for m in maps], 1e-5),
        _checked("masked", [m.weights[:, ~m.allowed] for m in maps], 0.0),
    ]
    if is_int8(translator.checkpoint.model):
        return checks
    largest_score = max(float(value.abs().max()) for name, value in seen.items() if name.endswith(".scores"))
    limit = LIMIT * max(1.0, largest_score / LARGE_SCORE)
    changed = translator.probe(run.interventions) is not None
    if all(not np.triu(m.allowed, 1).any() for m in run.attention.decoder):
        checks.append(_checked("steps" if changed else "cached", _from_a_full_pass(translator, run, maps, seen), limit))
    if not changed:
        checks.append(_checked("torch", _from_torch(translator, run, seen), limit))
    return checks


def _checked(name: str, differences: list[np.ndarray], limit: float) -> Check:
    """The error is the largest absolute difference; NaN, which fails, if there is one."""
    error = float(np.max([np.abs(each).max(initial=0.0) for each in differences]))
    return Check(name, error, limit, error <= limit)


def _from_torch(translator: Translator, run: Translation, seen: dict[str, Tensor]) -> list[np.ndarray]:
    model = translator.checkpoint.model
    src, tgt = ids(translator, run)
    padding = src == model.config.pad_id  # PyTorch's True = may NOT attend
    with evaluating(model):
        decoded = model.to_torch()(
            seen["encoder.input"],
            seen["decoder.input"],
            tgt_mask=~causal_mask(tgt.size(1), device=tgt.device),
            src_key_padding_mask=padding,
            tgt_key_padding_mask=tgt == model.config.pad_id,
            memory_key_padding_mask=padding,
        )
        logits = model.output_projection(decoded)
    # Both logits of a suppressed token are −∞.
    from_logits = (logits - seen["logits"]).masked_fill(logits == seen["logits"], 0)
    return [read_only(decoded - seen["decoder.output"]), read_only(from_logits)]


def _from_a_full_pass(
    translator: Translator, run: Translation, maps: list[AttentionMap], seen: dict[str, Tensor]
) -> list[np.ndarray]:
    decoded = np.stack([step.candidates.distribution.numpy() for step in run.steps])  # (T, V)
    differences = [decoded - read_only(seen["logits"][0].softmax(dim=-1))]
    for m in maps:
        differences.append(m.weights - read_only(seen[LOCATIONS[m.kind].probe_name(m.layer, "weights")][0]))
    return differences
