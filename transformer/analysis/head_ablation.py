"""Which heads matter: ablate each one alone, as many as fit in one batch, and measure the loss.

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
class HeadAblation:
    """The effect of one cross-attention head on a translation.

    Attributes:
        layer, head: from 0.
        weight: the head's largest weight, in row `query` and column `key`.
        probability: of the original output, token by token, without this head.
        text: the free-running translation without this head.
    """

    layer: int
    head: int
    weight: float
    query: int
    key: int
    probability: float
    text: str


def ablate_cross_attention(translator: Translator, run: Translation) -> list[HeadAblation]:
    """Ablate every cross-attention head alone: its output becomes zero before W_O (§3.2.2).

    Row i of a batch is the same sentence without head i. A batch holds as many heads as `_rows_at_once` allows.
    """
    model, tgt_vocab = translator.checkpoint.model, translator.checkpoint.tgt_vocab
    src_ids = [translator.checkpoint.src_vocab.ids[token] for token in run.source]
    output = torch.tensor([tgt_vocab.ids[token] for token in run.output], device=translator.device)  # (T,)
    start, end = tgt_vocab.ids[START], tgt_vocab.ids[END]
    config = model.config
    longest = min(len(output) + SLACK, config.max_len)
    each: list[Head] = [
        ("cross", layer, head) for layer in range(config.num_decoder_layers) for head in range(config.n_heads)
    ]
    probabilities: list[float] = []
    texts: list[str] = []
    most = _rows_at_once(config, max(len(src_ids), longest))
    for first in range(0, len(each), most):
        ablated = each[first : first + most]
        rows = len(ablated)
        src = torch.tensor([src_ids] * rows, device=translator.device)  # (rows, S)
        read = torch.cat([output.new_tensor([start]), output[:-1]]).expand(rows, -1)  # (rows, T)
        probe = _one_head_per_row(ablated)
        with evaluating(model):
            logits = model(src, read, need_weights=False, probe=probe).logits  # (rows, T, V)
        chosen = logits.log_softmax(dim=-1).gather(2, output.expand(rows, -1)[..., None])[..., 0]  # (rows, T)
        probabilities += chosen.sum(dim=1).exp().tolist()
        texts += [tgt_vocab.decode(ids) for ids in greedy_batch(model, src, start, end, longest, probe)]

    found = []
    for i, (_, layer, head) in enumerate(each):
        weights = run.attention.cross[layer].weights[head]  # (T, S)
        query, key = divmod(int(weights.argmax()), weights.shape[1])
        weight = float(weights[query, key])
        found.append(HeadAblation(layer, head, weight, query, key, probabilities[i], texts[i]))
    return found


Head = tuple[Kind, int, int]  # kind, layer, head

SLACK = 5  # tokens that an ablated run may output beyond the original
CELLS = 8192  # rows × tokens per batch: more would leave the processor's cache
MAX_TENSOR = 2**22  # numbers, 16 MiB; a pass holds a few such tensors at a time
MAX_CACHE = 2**25  # numbers, 128 MiB, in the key/value cache


def _rows_at_once(config: TransformerConfig, words: int) -> int:
    """The number of rows of a batch that keeps its memory bounded, given the tokens per row; at least one."""
    maps = config.n_heads * words * words
    tensor = max(maps, words * max(config.d_model, config.d_ff, config.tgt_vocab_size))
    cache = 4 * config.num_decoder_layers * words * config.d_model  # keys and values of both attention sublayers
    return max(1, min(MAX_TENSOR // tensor, MAX_CACHE // cache))


def _one_head_per_row(ablated: Sequence[Head | None]) -> Probe:
    """Ablate head `ablated[i]` in row i of the batch; None leaves the row as it is."""
    places: dict[str, tuple[list[int], list[int]]] = {}
    for row, place in enumerate(ablated):
        if place is not None:
            kind, layer, head = place
            rows, heads = places.setdefault(SUBLAYERS[kind].tap(layer, "head_output"), ([], []))
            rows.append(row)
            heads.append(head)

    def ablate(name: str, value: Tensor) -> Tensor:
        if name not in places:
            return value
        rows, heads = places[name]
        value = value.clone()  # (rows, H, T, d)
        value[rows, heads] = 0
        return value

    return ablate


@dataclass(frozen=True, eq=False)
class AblationSweep:
    """The mean probability of whole reference translations, token by token, with and without each head.

    Attributes:
        sentences: their number.
        baseline: with every head.
        ablated: kind -> without each head alone, (L, H), read-only.
    """

    sentences: int
    baseline: float
    ablated: Mapping[Kind, np.ndarray]

    def drop(self, kind: Kind) -> np.ndarray:
        """The loss without each head, (L, H); below 0 if the model is better without it."""
        return self.baseline - self.ablated[kind]


def ablate_every_head(checkpoint: Checkpoint, pairs: Sequence[tuple[str, str]]) -> AblationSweep:
    """Ablate every head of every kind alone, on sentence pairs, with teacher forcing.

    Args:
        pairs: (source, reference translation), N of them; for one run, its sentence and its text.

    Raises:
        SentenceError: a sentence has an unknown word.
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
    ablated = [None, *each]
    length = checkpoint.source_length if checkpoint.pad_source else 0
    data = encode_pairs(pairs, checkpoint.src_vocab, checkpoint.tgt_vocab, length).to(device)
    words = data.tgt_out != config.pad_id
    order = words.sum(dim=1).argsort()  # sentences of similar length together, to save padding
    lengths = data.src.size(1), data.target_length
    rows = max(1, min(CELLS // sum(lengths), _rows_at_once(config, max(lengths))))
    total = torch.zeros(len(ablated), dtype=torch.float64)
    with evaluating(model):
        for index in order.split(max(1, rows // len(ablated))):
            batch = data.rows(index).trimmed(config.pad_id) if not checkpoint.pad_source else data.rows(index)
            n = len(batch)
            for first in range(
                0, len(ablated), rows
            ):  # all heads of a large network may not fit, even with one sentence each
                part = ablated[first : first + rows]
                probe = _one_head_per_row([place for place in part for _ in range(n)])
                src, tgt, gold = (ids.repeat(len(part), 1) for ids in (batch.src, batch.tgt_in, batch.tgt_out))
                logits = model(src, tgt, need_weights=False, probe=probe).logits  # (heads · n, T, V)
                logs = logits.float().log_softmax(dim=-1).gather(2, gold[..., None])[..., 0]  # (heads · n, T)
                probabilities = logs.masked_fill(gold == config.pad_id, 0).double().sum(dim=1).exp()
                total[first : first + rows] += probabilities.view(len(part), n).sum(dim=1).cpu()
    baseline, *rest = (total / len(data)).tolist()
    found, start = {}, 0
    for kind in KINDS:
        count = layers[kind] * config.n_heads
        found[kind] = read_only(torch.tensor(rest[start : start + count]).view(layers[kind], config.n_heads))
        start += count
    return AblationSweep(len(data), baseline, found)
