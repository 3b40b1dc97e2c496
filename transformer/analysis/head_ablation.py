"""Which heads matter: silence each alone, as many as fit in one batch, and see what that costs.

N sentence pairs, L layers, H heads, T target words, S source words, d one head's width, V target vocabulary.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..data import encode_pairs
from ..data.vocabulary import END, START
from ..inference.attention_maps import KINDS, SUBLAYERS, Kind
from ..inference.decoding import evaluating, greedy_batch
from ..inference.translator import Translation, Translator, read_only
from ..network.config import TransformerConfig
from ..network.probe import Probe
from ..storage.checkpoint import Checkpoint


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
    """Silence every cross-attention head alone: its output becomes zero before W_O (§3.2.2).

    Row i of a batch is the same sentence with head i silent. All heads of a small network are one batch; of a large
    one as many as `_rows_at_once` allows.
    """
    model, tgt_vocab = translator.checkpoint.model, translator.checkpoint.tgt_vocab
    src_ids = [translator.checkpoint.src_vocab.ids[token] for token in run.source]
    said = torch.tensor([tgt_vocab.ids[token] for token in run.output], device=translator.device)  # (T,)
    start, end = tgt_vocab.ids[START], tgt_vocab.ids[END]
    config = model.config
    longest = min(len(said) + SLACK, config.max_len)
    each: list[Head] = [
        ("cross", layer, head) for layer in range(config.num_decoder_layers) for head in range(config.n_heads)
    ]
    probabilities: list[float] = []
    texts: list[str] = []
    most = _rows_at_once(config, max(len(src_ids), longest))
    for first in range(0, len(each), most):
        silent = each[first : first + most]
        rows = len(silent)
        src = torch.tensor([src_ids] * rows, device=translator.device)  # (rows, S)
        read = torch.cat([said.new_tensor([start]), said[:-1]]).expand(rows, -1)  # (rows, T)
        probe = _one_head_a_row(silent)
        with evaluating(model):
            logits = model(src, read, need_weights=False, probe=probe).logits  # (rows, T, V)
        chosen = logits.log_softmax(dim=-1).gather(2, said.expand(rows, -1)[..., None])[..., 0]  # (rows, T)
        probabilities += chosen.sum(dim=1).exp().tolist()
        texts += [tgt_vocab.decode(ids) for ids in greedy_batch(model, src, start, end, longest, probe)]

    found = []
    for i, (_, layer, head) in enumerate(each):
        weights = run.attention.cross[layer].weights[head]  # (T, S)
        query, key = divmod(int(weights.argmax()), weights.shape[1])
        weight = float(weights[query, key])
        found.append(Silenced(layer, head, weight, query, key, probabilities[i], texts[i]))
    return found


Head = tuple[Kind, int, int]  # kind, layer, head

SLACK = 5  # words that a broken run may say more than the unbroken one did
CELLS = 8192  # rows × words that a sweep reads at once: more would only leave the processor's cache
MAX_OF_A_TENSOR = 2**22  # numbers, 16 MiB, of which a pass holds a few at a time
MAX_KEPT = 2**25  # numbers, 128 MiB, that decoding keeps of the words so far


def _rows_at_once(config: TransformerConfig, words: int) -> int:
    """How many rows of so many words a batch may have, so that its memory is bounded; at least one."""
    maps = config.n_heads * words * words
    tensor = max(maps, words * max(config.d_model, config.d_ff, config.tgt_vocab_size))
    kept = 4 * config.num_decoder_layers * words * config.d_model  # keys and values, of both attentions
    return max(1, min(MAX_OF_A_TENSOR // tensor, MAX_KEPT // kept))


def _one_head_a_row(silent: Sequence[Head | None]) -> Probe:
    """Row i of the batch is without head `silent[i]`, or whole where that is None."""
    places: dict[str, tuple[list[int], list[int]]] = {}
    for row, place in enumerate(silent):
        if place is not None:
            kind, layer, head = place
            rows, heads = places.setdefault(SUBLAYERS[kind].tap(layer, "head_output"), ([], []))
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
    lengths = data.src.size(1), data.target_length
    rows = max(1, min(CELLS // sum(lengths), _rows_at_once(config, max(lengths))))
    total = torch.zeros(len(silent), dtype=torch.float64)
    with evaluating(model):
        for index in order.split(max(1, rows // len(silent))):
            batch = data.rows(index).trimmed(config.pad_id) if not checkpoint.pad_source else data.rows(index)
            n = len(batch)
            for first in range(0, len(silent), rows):  # of a large network not all heads fit, with one sentence each
                part = silent[first : first + rows]
                probe = _one_head_a_row([place for place in part for _ in range(n)])
                src, tgt, gold = (ids.repeat(len(part), 1) for ids in (batch.src, batch.tgt_in, batch.tgt_out))
                logits = model(src, tgt, need_weights=False, probe=probe).logits  # (heads · n, T, V)
                logs = logits.float().log_softmax(dim=-1).gather(2, gold[..., None])[..., 0]  # (heads · n, T)
                said = logs.masked_fill(gold == config.pad_id, 0).double().sum(dim=1).exp()
                total[first : first + rows] += said.view(len(part), n).sum(dim=1).cpu()
    unbroken, *rest = (total / len(data)).tolist()
    found, start = {}, 0
    for kind in KINDS:
        count = layers[kind] * config.n_heads
        found[kind] = read_only(torch.tensor(rest[start : start + count]).view(layers[kind], config.n_heads))
        start += count
    return Sweep(len(data), unbroken, found)
