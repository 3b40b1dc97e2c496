"""Named interventions: take a part away, and see what changes.

L layers, H heads, T target words, S source words, d one head's width.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from .decoding import evaluating, greedy_batch
from .probe import Probe
from .translator import Translation, Translator
from .vocabulary import END, START


@dataclass(frozen=True)
class Silenced:
    """What one cross-attention head is worth to a translation.

    Attributes:
        layer, head: from 0.
        weight: the largest that it puts on a source word, at the decoder's step `query`, on the word `key`.
        probability: of the whole translation, word by word, with this head silent.
        text: what the model says with this head silent, decoding freely.
    """

    layer: int
    head: int
    weight: float
    query: int
    key: int
    probability: float
    text: str


def silence_each_head(translator: Translator, run: Translation) -> list[Silenced]:
    """Silence every cross-attention head alone: what it mixed from its values becomes zero before W_O (§3.2.2).

    All heads in one batch: row i of it is the same sentence with head i silent.
    """
    model, tgt_vocab = translator.checkpoint.model, translator.checkpoint.tgt_vocab
    src_ids = [translator.checkpoint.src_vocab.ids[token] for token in run.source]
    said = torch.tensor([tgt_vocab.ids[token] for token in run.output], device=translator.device)  # (T,)
    start, end = tgt_vocab.ids[START], tgt_vocab.ids[END]
    layers, heads = model.config.num_decoder_layers, model.config.n_heads
    rows = layers * heads
    src = torch.tensor([src_ids] * rows, device=translator.device)  # (L·H, S)
    read = torch.cat([said.new_tensor([start]), said[:-1]]).expand(rows, -1)  # (L·H, T)
    probe = _one_head_a_row(heads)
    with evaluating(model):
        logits = model(src, read, need_weights=False, probe=probe).logits  # (L·H, T, V)
    chosen = logits.log_softmax(dim=-1).gather(2, said.expand(rows, -1)[..., None])[..., 0]  # (L·H, T)
    probabilities = chosen.sum(dim=1).exp().tolist()
    longest = min(len(said) + SLACK, model.config.max_len)
    texts = [tgt_vocab.decode(ids) for ids in greedy_batch(model, src, start, end, longest, probe)]

    found = []
    for i in range(rows):
        layer, head = divmod(i, heads)
        weights = run.attention.cross[layer].weights[head]  # (T, S)
        query, key = divmod(int(weights.argmax()), weights.shape[1])
        weight = float(weights[query, key])
        found.append(Silenced(layer, head, weight, query, key, probabilities[i], texts[i]))
    return found


SLACK = 5  # words that a broken run may say more than the unbroken one did


def _one_head_a_row(heads: int) -> Probe:
    def silence(name: str, value: Tensor) -> Tensor:
        if not name.endswith("cross_attention.mixed"):
            return value
        layer = int(name.split(".")[1])
        value = value.clone()  # (L·H, H, T, d)
        for head in range(heads):
            value[layer * heads + head, head] = 0
        return value

    return silence
