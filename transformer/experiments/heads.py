"""Which heads matter: silence each alone, all of them in one batch, and see what that costs.

N sentence pairs, L layers, H heads, T target words, S source words, d one head's width, V target vocabulary.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..checkpoint import Checkpoint
from ..corpus import encode_pairs
from ..decoding import evaluating, greedy_batch
from ..interventions import PLACES
from ..maps import KINDS, Kind
from ..probe import Probe
from ..translator import Translation, Translator, read_only
from ..vocabulary import END, START


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
    probe = _one_head_a_row([("cross", layer, head) for layer in range(layers) for head in range(heads)])
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


Head = tuple[Kind, int, int]  # kind, layer, head
CELLS = 8192  # rows × words that a sweep reads at once: more would only leave the processor's cache


def _one_head_a_row(silent: Sequence[Head | None]) -> Probe:
    """Row i of the batch is without head `silent[i]`, or whole where that is None."""
    places: dict[str, tuple[list[int], list[int]]] = {}
    for row, place in enumerate(silent):
        if place is not None:
            kind, layer, head = place
            stack, name = PLACES[kind]
            rows, heads = places.setdefault(f"{stack}.{layer}.{name}.mixed", ([], []))
            rows.append(row)
            heads.append(head)

    def silence(name: str, value: Tensor) -> Tensor:
        if name not in places:
            return value
        rows, heads = places[name]
        value = value.clone()  # (rows, H, T, d)
        value[rows, heads] = 0
        return value

    return silence


@dataclass(frozen=True, eq=False)
class Sweep:
    """What each head is worth to reference translations: the probability of a whole one, word by word, mean of all.

    Attributes:
        sentences: how many there were.
        unbroken: with every head.
        silenced: kind -> without each head alone, (L, H), read-only.
    """

    sentences: int
    unbroken: float
    silenced: Mapping[Kind, np.ndarray]

    def drop(self, kind: Kind) -> np.ndarray:
        """What is lost without each head, (L, H); below 0 where it is better without."""
        return self.unbroken - self.silenced[kind]


def sweep(checkpoint: Checkpoint, pairs: Sequence[tuple[str, str]]) -> Sweep:
    """Silence every head of every kind alone, on sentence pairs; the references are read, not decoded.

    Args:
        pairs: (source, reference translation), N of them; for one run, its sentence and its text.

    Raises:
        SentenceError: a sentence has a word that the checkpoint has not.
        ValueError: there is no pair.
    """
    if not pairs:
        raise ValueError("there is no sentence pair")
    model = checkpoint.model
    config, device = model.config, model.positions.device
    layers = {kind: config.num_encoder_layers if kind == "encoder" else config.num_decoder_layers for kind in KINDS}
    each: list[Head | None] = [
        (kind, i, h) for kind in KINDS for i in range(layers[kind]) for h in range(config.n_heads)
    ]
    silent = [None, *each]
    length = checkpoint.source_length if checkpoint.pad_source else 0
    data = encode_pairs(pairs, checkpoint.src_vocab, checkpoint.tgt_vocab, length).to(device)
    words = data.tgt_out != config.pad_id
    order = words.sum(dim=1).argsort()  # sentences of like length together, which spares padding
    most = max(1, CELLS // len(silent) // (data.src.size(1) + data.target_length))  # sentences at once
    total = torch.zeros(len(silent), dtype=torch.float64)
    with evaluating(model):
        for index in order.split(most):
            batch = data.rows(index).trimmed(config.pad_id) if not checkpoint.pad_source else data.rows(index)
            n = len(batch)
            probe = _one_head_a_row([place for place in silent for _ in range(n)])
            src, tgt = (ids.repeat(len(silent), 1) for ids in (batch.src, batch.tgt_in))  # (heads + 1) · n rows
            logits = model(src, tgt, need_weights=False, probe=probe).logits  # (.., T, V)
            gold = batch.tgt_out.repeat(len(silent), 1)[..., None]
            logs = (
                logits.float().log_softmax(dim=-1).gather(2, gold)[..., 0].masked_fill(gold[..., 0] == config.pad_id, 0)
            )
            total += logs.double().sum(dim=1).exp().view(len(silent), n).sum(dim=1).cpu()
    unbroken, *rest = (total / len(data)).tolist()
    found, start = {}, 0
    for kind in KINDS:
        count = layers[kind] * config.n_heads
        found[kind] = read_only(torch.tensor(rest[start : start + count]).view(layers[kind], config.n_heads))
        start += count
    return Sweep(len(data), unbroken, found)
