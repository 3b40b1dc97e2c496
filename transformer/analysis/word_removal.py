"""What one step's output loses where a source word is masked from cross-attention, in every layer: its causal effect.

The encoder still mixes the word into the others, so this is what is read of it at its own place.
"""

from collections.abc import Sequence

import numpy as np
import torch

from ..inference.decoding import evaluating
from ..inference.translator import Translation, Translator
from ..network.probe import Probe, chain
from .sublayer import ids

AT_ONCE = 16  # words masked in one batch


def scores_without(
    translator: Translator, run: Translation, step: int, words: Sequence[Sequence[int]], other: str | None = None
) -> np.ndarray:
    """The probability of a step's output token, or how far its logit is above another token's: of the run itself, then
    without each word, (1 + words,). Interventions of the run are applied.

    Args:
        words: the source positions of each, from 0.
    """
    model, vocab = translator.checkpoint.model, translator.checkpoint.tgt_vocab
    src, tgt = ids(translator, run)
    changed = translator.probe(run.interventions)
    hidden = torch.zeros(1 + len(words), src.size(1), dtype=torch.bool, device=src.device)
    for row, positions in enumerate(words, 1):
        hidden[row, list(positions)] = True
    found = []
    for part in hidden.split(AT_ONCE):
        hide = _hiding(part)
        with evaluating(model):
            batch = src.expand(len(part), -1), tgt[:, : step + 1].expand(len(part), -1)
            logits = model(*batch, need_weights=False, probe=chain(changed, hide) if changed else hide).logits[:, 0]
        scores = logits.softmax(dim=-1) if other is None else logits - logits[:, vocab.ids[other], None]
        found.append(scores[:, vocab.ids[run.output[step]]])
    scores_of_all: np.ndarray = torch.cat(found).double().numpy(force=True)
    return scores_of_all


def _hiding(words: torch.Tensor) -> Probe:
    """Mask these words of each row of a batch, (B, S); only the last step's logits are computed."""

    def probe(name: str, value: torch.Tensor) -> torch.Tensor:
        if name == "decoder.output":
            return value[:, -1:]
        return value & ~words[:, None, None] if name.endswith("cross_attention.mask") else value

    return probe
