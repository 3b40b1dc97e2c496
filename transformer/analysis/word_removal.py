"""What an output token loses where a source word is masked from cross-attention, in every layer: its causal effect.

The encoder still mixes the word into the others, so this is what is read of it at its own place.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch

from ..inference.decoding import evaluating
from ..inference.translator import Translation, Translator
from ..network.probe import chain
from .head_ablation import rows_at_once
from .sublayer import ids


def scores_without(
    translator: Translator,
    run: Translation,
    words: Sequence[Sequence[int]],
    step: int | None = None,
    other: str | None = None,
) -> np.ndarray:
    """The log-probability of each output token, or how far its logit is above another token's: of the run itself, then
    without each word, (1 + words, T), or (1 + words, 1) of one step. Interventions of the run are applied.

    Args:
        words: the source positions of each, from 0.
    """
    model, vocab = translator.checkpoint.model, translator.checkpoint.tgt_vocab
    (src, tgt), changed = ids(translator, run), translator.probe(run.interventions)
    steps = slice(None) if step is None else slice(step, step + 1)
    tgt = tgt[:, : steps.stop]
    output = torch.tensor([vocab.ids[token] for token in run.output[steps]], device=src.device)
    hidden = torch.zeros(1 + len(words), src.size(1), dtype=torch.bool, device=src.device)
    for row, positions in enumerate(words, 1):
        hidden[row, list(positions)] = True
    found = []
    with evaluating(model):
        encoded = model.encode(src, need_weights=False, probe=changed)
        for part in hidden.split(rows_at_once(model.config, max(src.size(1), tgt.size(1)))):

            def hide(name: str, value: torch.Tensor, part: torch.Tensor = part) -> torch.Tensor:
                if name == "decoder.output":
                    return value[:, steps]
                return value & ~part[:, None, None] if name.endswith("cross_attention.mask") else value

            memory = replace(encoded, memory=encoded.memory.expand(len(part), -1, -1))
            probe = chain(changed, hide) if changed else hide
            logits = model.decode_step(tgt.expand(len(part), -1), memory, need_weights=False, probe=probe).logits
            scores = logits.log_softmax(dim=-1) if other is None else logits - logits[..., vocab.ids[other], None]
            found.append(scores[:, range(len(output)), output])
    scores_of_all: np.ndarray = torch.cat(found).double().numpy(force=True)
    return scores_of_all
