"""Which heads and source words matter: remove each one alone, as many as fit in one batch, and measure the loss.

N sentence pairs, L layers, H heads, T target words, S source words, d one head's width, V target vocabulary.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from ..data import Batch, encode_pairs
from ..data.vocabulary import END, START
from ..inference.attention_maps import KINDS, LOCATIONS, Kind
from ..inference.decoding import evaluating, greedy_batch
from ..inference.translation import Translation
from ..inference.translator import Translator, read_only
from ..network.config import TransformerConfig
from ..network.model import Transformer
from ..network.probe import Probe, chain
from ..storage.checkpoint import Checkpoint
from .sublayer import ids


@dataclass(frozen=True)
class HeadAblation:
    """The effect of one cross-attention head on a translation."""

    layer: int  # from 0, as the head
    head: int
    weight: float  # the head's largest weight, in row `query` and column `key`
    query: int
    key: int
    probability: float  # of the original output, token by token, without this head
    text: str  # the free-running translation without this head


def ablate_cross_attention(translator: Translator, run: Translation) -> list[HeadAblation]:
    """Ablate every cross-attention head alone: its output becomes zero before W_O (§3.2.2)."""
    return [each for part in cross_attention_ablations(translator, run) for each in part]


def cross_attention_ablations(
    translator: Translator, run: Translation, most: int | None = None
) -> Iterator[list[HeadAblation]]:
    """What `ablate_cross_attention` returns, in parts of `most` heads at most, as they are computed.

    Row i of a batch is the same sentence without head i. A batch holds as many heads as `rows_at_once` allows.
    """
    model, tgt_vocab = translator.checkpoint.model, translator.checkpoint.tgt_vocab
    start, end = tgt_vocab.ids[START], tgt_vocab.ids[END]
    data, config = run_as_data(translator, run), model.config
    longest = min(data.target_length + SLACK, config.max_len)
    length = max(data.src.size(1), longest)
    for part in _parts(_every_head(config, "cross"), most, _rows_of_decoding(config, length)):
        probabilities = log_probabilities_without(model, data, part)[:, 0].sum(dim=1).exp().tolist()
        outputs = greedy_batch(model, data.src.expand(len(part), -1), start, end, longest, _one_head_per_row(part))
        found = []
        for (_, layer, head), probability, output in zip(part, probabilities, outputs, strict=True):
            weights = run.attention.cross[layer].weights[head]  # (T, S)
            query, key = divmod(int(weights.argmax()), weights.shape[1])
            weight, text = float(weights[query, key]), tgt_vocab.decode(output)
            found.append(HeadAblation(layer, head, weight, query, key, probability, text))
        yield found


Head = tuple[Kind, int, int]  # kind, layer, head
T = TypeVar("T")

ORDER: tuple[Kind, ...] = ("cross", "encoder", "decoder")  # the first is what the page shows first

SLACK = 5  # tokens that an ablated run may output beyond the original
CELLS = 8192  # rows × tokens per batch: more would leave the processor's cache
MAX_TENSOR = 2**22  # numbers, 16 MiB; a pass holds a few such tensors at a time
MAX_CACHE = 2**25  # numbers, 128 MiB, in the key/value cache


def _parts(heads: Sequence[T], most: int | None, fit: int) -> Iterator[Sequence[T]]:
    """Heads in parts of as many as fit, and as are wanted at most."""
    size = min(fit, most or fit)
    return (heads[first : first + size] for first in range(0, len(heads), size))


def _every_head(config: TransformerConfig, kind: Kind) -> list[Head]:
    return [(kind, i, head) for i in range(config.layers(LOCATIONS[kind].stack)) for head in range(config.n_heads)]


def log_probabilities_without(model: Transformer, batch: Batch, ablated: Sequence[Head | None]) -> Tensor:
    """`_log_probabilities` of a few sentences, as many heads at a time as fit."""
    rows = max(1, rows_at_once(model.config, max(batch.src.size(1), batch.target_length)) // len(batch))
    return torch.cat([_log_probabilities(model, batch, part) for part in _parts(ablated, None, rows)])


def _log_probabilities(model: Transformer, batch: Batch, ablated: Sequence[Head | None]) -> Tensor:
    """Log-probabilities of the reference tokens without each head, by teacher forcing: (heads, n, T)."""
    n, heads = len(batch), len(ablated)
    probe = _one_head_per_row([head for head in ablated for _ in range(n)])
    src, tgt, gold = (ids.repeat(heads, 1) for ids in (batch.src, batch.tgt_in, batch.tgt_out))
    with evaluating(model):
        logits = model(src, tgt, need_weights=False, probe=probe).logits  # (heads · n, T, V)
    return logits.float().log_softmax(dim=-1).gather(2, gold[..., None]).view(heads, n, -1)


def rows_at_once(config: TransformerConfig, length: int) -> int:
    """The number of rows of a batch that keeps its memory bounded, given the tokens per row; at least one."""
    return min(_rows_of_decoding(config, length), max(1, MAX_TENSOR // (length * config.tgt_vocab_size)))


def _rows_of_decoding(config: TransformerConfig, length: int) -> int:
    """`rows_at_once` where only the last token of a row has logits."""
    maps = config.n_heads * length * length
    tensor = max(maps, length * max(config.d_model, config.d_ff), config.tgt_vocab_size)
    cache = 4 * config.num_decoder_layers * length * config.d_model  # keys and values of both attention sublayers
    return max(1, min(MAX_TENSOR // tensor, MAX_CACHE // cache))


def _one_head_per_row(ablated: Sequence[Head | None]) -> Probe:
    """Ablate head `ablated[i]` in row i of the batch; None leaves the row as it is."""
    places: dict[str, tuple[list[int], list[int]]] = {}
    for row, place in enumerate(ablated):
        if place is not None:
            kind, layer, head = place
            rows, heads = places.setdefault(LOCATIONS[kind].probe_name(layer, "head_output"), ([], []))
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
    """The mean probability of whole reference translations, token by token, with and without each head."""

    sentences: int
    baseline: float  # with every head
    ablated: Mapping[Kind, np.ndarray]  # kind -> without each head alone, (L, H), read-only

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
    return sweep_heads(checkpoint, pairs_as_data(checkpoint, pairs))


def pairs_as_data(checkpoint: Checkpoint, pairs: Sequence[tuple[str, str]]) -> Batch:
    """Sentence pairs, of which `sweep_heads` measures the references; raises as `ablate_every_head`."""
    if not pairs:
        raise ValueError("there is no sentence pair")
    length = checkpoint.source_length if checkpoint.pad_source else 0
    return encode_pairs(pairs, checkpoint.src_vocab, checkpoint.tgt_vocab, length)


def sweep_heads(checkpoint: Checkpoint, data: Batch) -> AblationSweep:
    """Ablate every head of every kind alone, with teacher forcing."""
    found = {head: probability for part in ablations(checkpoint, data) for head, probability in part.items()}
    config = checkpoint.model.config
    without = {
        kind: torch.tensor([found[head] for head in _every_head(config, kind)], dtype=torch.float64) for kind in KINDS
    }
    ablated = {kind: read_only(each.view(-1, config.n_heads)) for kind, each in without.items()}
    return AblationSweep(len(data), found[None], ablated)


def run_as_data(translator: Translator, run: Translation) -> Batch:
    """A run's sentence with its own output for a reference, whose probability `ablations` then measures."""
    src, read = ids(translator, run)
    output = [translator.checkpoint.tgt_vocab.ids[token] for token in run.output]
    return Batch(src, read, torch.tensor([output], device=translator.device))


def ablations(checkpoint: Checkpoint, data: Batch, most: int | None = None) -> Iterator[dict[Head | None, float]]:
    """The mean probability of whole references: with every head (None) first, then without each head alone.

    Yields parts of `most` heads at most, as they are computed.
    """
    model = checkpoint.model
    config = model.config
    data = data.to(model.positions.device)
    order = (data.tgt_out != config.pad_id).sum(dim=1).argsort()  # similar lengths together, to save padding
    lengths = data.src.size(1), data.target_length
    rows = max(1, min(CELLS // sum(lengths), rows_at_once(config, max(lengths))))
    every: list[Head | None] = [None, *(head for kind in ORDER for head in _every_head(config, kind))]
    for part in _parts(every, most, rows):  # all heads of a large network may not fit, even of one sentence
        total = torch.zeros(len(part), dtype=torch.float64)
        for index in order.split(max(1, rows // len(part))):
            batch = data.rows(index) if checkpoint.pad_source else data.rows(index).trimmed(config.pad_id)
            logs = _log_probabilities(model, batch, part).masked_fill(batch.tgt_out == config.pad_id, 0)
            total += logs.double().sum(dim=2).exp().sum(dim=1).cpu()
        yield dict(zip(part, (total / len(data)).tolist(), strict=True))


def scores_without(
    translator: Translator,
    run: Translation,
    words: Sequence[Sequence[int]],
    step: int | None = None,
    other: str | None = None,
) -> np.ndarray:
    """The log-probability of each output token, or how far its logit is above another token's: of the run itself, then
    without each word, (1 + words, T), or (1 + words, 1) of one step: a word, its source positions from 0, is masked
    from cross-attention in every layer. The encoder still mixes it into the others, so this is what is read of it at
    its own place. Interventions of the run are applied."""
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

            def hide(name: str, value: Tensor, part: Tensor = part) -> Tensor:
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
