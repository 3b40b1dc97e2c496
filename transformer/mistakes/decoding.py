"""Mistakes that spoil a run of a trained model.

B batch, S source, T target, H heads, Q queries, K keys, D model width, V target vocabulary.
"""

import copy
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..analysis.sublayer import ids
from ..data.vocabulary import END, PAD, START
from ..inference.attention_maps import KINDS, AttentionMap
from ..inference.decoding import decode, evaluating
from ..inference.interventions import Interventions, RemoveMask, Temperature
from ..inference.translator import Translation, Translator
from ..network.model import Transformer
from ..network.probe import Probe, Recorder
from ..network.rng import rng_lock
from .mistake import DecodingMistake, Side, Symptom

MAX_PADDING = 11  # positions that a batch of similar lengths fills up
MAX_AFTER_END = 40  # tokens
MAX_RUNS = 30  # of a sentence, until one has other words
RUNS_AT_ONCE = 10  # rows of a batch, each of which draws its own dropout


@contextmanager
def _chance() -> Iterator[None]:
    """PyTorch draws dropout from one generator for all threads: hold the lock while drawing, and restore the
    generator's state afterwards."""
    with rng_lock, torch.random.fork_rng(devices=[]):
        yield


def _most(score: np.ndarray) -> tuple[int, int]:
    """The layer and the head of the highest score; (L, H)."""
    layer, head = np.unravel_index(int(score.argmax()), score.shape)
    return int(layer), int(head)


@DecodingMistake.shown_by(
    right="mask = (tgt != PAD)[:, None, None, :] & causal  # key columns",
    wrong="mask = (tgt != PAD)[:, None, :, None] & causal  # query rows",
    distractors=("causal_mask", "cross_padding", "norm_in_forward"),
)
def padding_rows(translator: Translator, sentence: str) -> Symptom:
    """Two sentences of one batch, the second two words shorter: its padding is where the mask goes wrong."""
    model, run = translator.checkpoint.model, translator.translate(sentence)
    src, tgt = (row.expand(2, -1) for row in ids(translator, run))
    tgt = F.pad(tgt, (0, 2))
    tgt[0, -2:] = tgt[0, 1]  # the first goes on with any word
    causal = torch.ones(tgt.size(1), tgt.size(1), dtype=torch.bool, device=tgt.device).tril()
    mask = (tgt != model.config.pad_id)[:, None, :, None] & causal
    seen: dict[str, Tensor] = {}

    def wrong(closed: float) -> Probe:
        """Attention as it is written everywhere, with `closed` as the score of a masked cell."""

        def probe(name: str, value: Tensor) -> Tensor:
            if name.startswith("decoder") and name.endswith("self_attention.scores"):
                seen["scores"] = value
            if name.startswith("decoder") and name.endswith("self_attention.weights"):
                value = seen["weights"] = seen["scores"].masked_fill(~mask, closed).softmax(dim=-1)
            return value

        return probe

    def nan_share(probe: Probe) -> float:
        with evaluating(model):
            return float(model(src, tgt, probe=probe).logits.isnan().float().mean())

    def drawn(weights: Tensor, mask: Tensor) -> AttentionMap:
        """The last layer's map of the padded sentence; a fully masked row attends uniformly."""
        allowed = (mask | ~mask.any(dim=-1, keepdim=True)).cpu().numpy()
        tokens = (*run.decoder_input, PAD, PAD)
        layer = model.config.num_decoder_layers - 1
        return AttentionMap("decoder", layer, tokens, tokens, weights[1].cpu().numpy(), allowed)

    numbers = {"nan_share": nan_share(wrong(-math.inf))}
    nan_share(wrong(-1e9))
    numbers["weight_on_future"] = float(seen["weights"].triu(1).amax())
    recorder = Recorder(lambda name: name.endswith("self_attention.weights") and name.startswith("decoder"))
    right = {"nan_share": nan_share(recorder)}
    right["weight_on_future"] = max(float(weights[0].triu(1).amax()) for weights in recorder.values.values())
    *_, last = recorder.values.values()
    columns = (tgt != model.config.pad_id)[1] & causal
    # The likeliest word of a row of NaN is id 0, which is P: the output is empty.
    return Symptom(
        Side(right, run.text, attention=drawn(last[0], columns)),
        Side(numbers, "", attention=drawn(seen["weights"], mask[1, 0])),
        sentence,
    )


def _one_padding_column(drawn: AttentionMap) -> AttentionMap:
    """With the weights on padding summed in one last column."""
    words = sum(token != PAD for token in drawn.key_tokens)
    weights = np.concatenate([drawn.weights[..., :words], drawn.weights[..., words:].sum(-1, keepdims=True)], axis=-1)
    keys = (*drawn.key_tokens[:words], f"{PAD} × {len(drawn.key_tokens) - words}")
    return replace(drawn, key_tokens=keys, weights=weights, allowed=drawn.allowed[:, : words + 1])


@DecodingMistake.shown_by(
    right="x, weights = self.cross_attn(x, memory, memory, mask=src_padding_mask)",
    wrong="x, weights = self.cross_attn(x, memory, memory)",
    distractors=("rank_collapse", "padding_rows", "axes_swapped"),
)
def cross_padding(translator: Translator, sentence: str) -> Symptom:
    """The decoder attends to P. Where a model's sentences are not padded, they are padded as in a batch of longer ones.

    Maps show all of the padding as one column: its weights are summed.
    """
    checkpoint = translator.checkpoint
    count = len(checkpoint.src_vocab.split(sentence))
    if not checkpoint.pad_source or count == checkpoint.source_length:
        longer = max(count + 1, min(checkpoint.source_length, count + MAX_PADDING))
        checkpoint = replace(checkpoint, pad_source=True, source_length=longer)
    padded = Translator(checkpoint, translator.name)

    def on_padding(run: Translation) -> np.ndarray:
        """(L, H, T)"""
        padding = [token == PAD for token in run.source]
        return np.stack([m.weights[:, :, padding].sum(axis=-1) for m in run.attention.cross])

    forgotten = padded.translate(sentence, interventions=Interventions((RemoveMask("cross"),)))
    layer, head = _most(on_padding(forgotten).max(axis=-1))

    def side(run: Translation) -> Side:
        there = on_padding(run)
        numbers = {
            "most_on_padding": float(there.max()),
            "weight_on_padding": float(there.mean()),
            "padding": run.source.count(PAD),
        }
        return Side(numbers, run.text, attention=_one_padding_column(run.attention.cross[layer]))

    return Symptom(side(padded.translate(sentence)), side(forgotten), sentence, head=head)


@DecodingMistake.shown_by(
    right="model.eval()\nwith torch.no_grad():\n    print(translate(model, sentence))",
    wrong="with torch.no_grad():\n    print(translate(model, sentence))",
    distractors=("causal_mask", "never_stops", "positions_from_ids"),
    shown_on="classroom",
)
def no_eval(translator: Translator, sentence: str) -> Symptom:
    """The paper's dropout of 0.1 goes on in the translation, so that runs of one sentence differ: the first run is
    shown beside the next one whose words are not the same."""
    checkpoint, run = translator.checkpoint, translator.translate(sentence)
    src, _ = ids(translator, run)

    def runs(model: Transformer, most: int) -> Side:
        texts: list[str] = []
        distributions: list[Tensor] = []
        while len(texts) < most and texts[-1:] == texts[:1]:
            torch.manual_seed(len(texts))
            for output_ids, rows in _tutorial_loop(model, translator, src.expand(min(most, RUNS_AT_ONCE), -1)):
                texts.append(checkpoint.tgt_vocab.decode(output_ids))
                distributions.append(rows)
                if texts[-1] != texts[0]:
                    break
        first, last = distributions[0], distributions[-1]
        common = min(len(first), len(last))
        difference = float((first[:common] - last[:common]).abs().max())
        return Side({"difference": difference, "runs": len(texts)}, f"{texts[0]} | {texts[-1]}")

    with _chance(), torch.no_grad():
        model = Transformer(replace(checkpoint.model.config, dropout=0.1)).to(translator.device)
        model.load_state_dict(checkpoint.model.state_dict())
        wrong = runs(model.train(), MAX_RUNS)
        return Symptom(runs(model.eval(), 2), wrong, sentence)


def _tutorial_loop(model: Transformer, translator: Translator, src: Tensor) -> Iterator[tuple[list[int], Tensor]]:
    """Greedy as tutorials write it: in whatever mode the model is, everything read again at each step. The output's
    ids, and the distributions (T, V), of each row of `src`."""
    start, end = (translator.checkpoint.tgt_vocab.ids[token] for token in (START, END))
    read, rows = src.new_full((len(src), 1), start), []
    while read.size(1) <= translator.checkpoint.output_limit and not (read[:, 1:] == end).any(dim=1).all():
        rows.append(model(src, read, need_weights=False).logits[:, -1].softmax(dim=-1))
        read = torch.cat([read, rows[-1].argmax(dim=-1, keepdim=True)], dim=1)
    for output_ids, distributions in zip(read[:, 1:].tolist(), torch.stack(rows, dim=1), strict=True):
        length = output_ids.index(end) + 1 if end in output_ids else len(output_ids)
        yield output_ids[:length], distributions[:length]


@DecodingMistake.shown_by(
    right="for _ in range(max_len):\n    ...\n    if next_word == END:\n        break",
    wrong="for _ in range(max_len):\n    ...",
    distractors=("causal_mask", "padding_rows", "no_eval"),
)
def never_stops(translator: Translator, sentence: str) -> Symptom:
    """As many words as fit, whatever the output is; of a model with long outputs, some after the end."""
    checkpoint, vocab = translator.checkpoint, translator.checkpoint.tgt_vocab
    src, _ = ids(translator, translator.translate(sentence))

    def side(end: int, limit: int) -> Side:
        steps = list(decode(checkpoint.model, src, vocab.ids[START], end, limit))
        output = [vocab.tokens[step.token] for step in steps]
        after = len(output) - output.index(END) - 1 if END in output else 0
        return Side({"words_after_end": after, "steps": len(output)}, " ".join(output))

    right = side(vocab.ids[END], checkpoint.output_limit)
    limit = min(checkpoint.output_limit, int(right.numbers["steps"]) + MAX_AFTER_END)
    return Symptom(right, side(-1, limit), sentence)


@DecodingMistake.shown_by(
    right="scores = q @ k.transpose(-2, -1) / math.sqrt(d_k)",
    wrong="scores = q @ k.transpose(-2, -1)",
    distractors=("rank_collapse", "after_dropout", "one_head"),
)
def unscaled(translator: Translator, sentence: str) -> Symptom:
    """Scores are sqrt(d_k) times too large, and the softmax sees little but its largest one (§3.2.1, footnote 4)."""
    undone = Interventions((Temperature(temperature=1 / math.sqrt(translator.checkpoint.model.config.head_dim)),))
    plain, changed = translator.translate(sentence), translator.translate(sentence, interventions=undone)
    spread = [np.stack([m.entropy().mean(axis=-1) for m in run.attention.encoder]) for run in (plain, changed)]
    layer, head = _most(spread[0] - spread[1])  # of the encoder, which reads the same words in both

    def side(run: Translation) -> Side:
        maps = [m for kind in KINDS for m in run.attention.of(kind)]
        numbers = {
            "entropy": float(np.mean([m.entropy().mean() for m in maps])),
            "largest_weight": float(np.mean([m.weights.max(axis=-1).mean() for m in maps])),
        }
        return Side(numbers, run.text, attention=run.attention.encoder[layer])

    return Symptom(side(plain), side(changed), sentence, head=head)


@DecodingMistake.shown_by(
    right='ax.imshow(weights)  # (queries, keys)\nax.set_ylabel("query")\nax.set_xlabel("key")',
    wrong='ax.imshow(weights.T)\nax.set_ylabel("query")\nax.set_xlabel("key")',
    distractors=("padding_rows", "after_dropout", "one_head"),
)
def axes_swapped(translator: Translator, sentence: str) -> Symptom:
    """Columns drawn as rows: what sums to 1 runs down the picture, and a word seems to look at its own queries."""
    run = translator.translate(sentence)
    right = run.attention.cross
    wrong = [
        AttentionMap(m.kind, m.layer, m.key_tokens, m.query_tokens, m.weights.swapaxes(-1, -2), m.allowed.T)
        for m in right
    ]
    layer, head = _most(np.stack([m.weights.max(axis=(-1, -2)) for m in right]))

    def side(maps: Sequence[AttentionMap]) -> Side:
        off = max(float(np.abs(m.weights.sum(axis=-1) - 1).max()) for m in maps)
        numbers = {"row_sum_error": off, "rows": len(maps[0].query_tokens), "columns": len(maps[0].key_tokens)}
        return Side(numbers, run.text, attention=maps[layer])

    return Symptom(side(right), side(wrong), sentence, head=head)


@DecodingMistake.shown_by(
    right="weights = scores.softmax(dim=-1)\nself.weights = weights\nreturn self.dropout(weights) @ v",
    wrong="weights = self.dropout(scores.softmax(dim=-1))\nself.weights = weights\nreturn weights @ v",
    distractors=("cross_padding", "unscaled", "axes_swapped"),
)
def after_dropout(translator: Translator, sentence: str) -> Symptom:
    """Weights kept where dropout has been over them: some are 0, the others too large by 1 / 0.9."""
    run = translator.translate(sentence)
    right = [m for kind in KINDS for m in run.attention.of(kind)]
    with _chance():
        torch.manual_seed(0)
        wrong = [replace(m, weights=F.dropout(torch.tensor(np.array(m.weights)), 0.1).numpy()) for m in right]
    layers = len(run.attention.cross)
    layer, head = _most(np.stack([np.abs(m.weights.sum(axis=-1) - 1).mean(axis=-1) for m in wrong[-layers:]]))

    def side(maps: Sequence[AttentionMap]) -> Side:
        off = max(float(np.abs(m.weights.sum(axis=-1) - 1).max()) for m in maps)
        gone = np.concatenate([(m.weights == 0)[:, m.allowed].ravel() for m in maps])
        numbers = {"row_sum_error": off, "lost_share": float(gone.mean())}
        return Side(numbers, run.text, attention=maps[layer - layers])  # the last ones are of cross-attention

    return Symptom(side(right), side(wrong), sentence, head=head)


@DecodingMistake.shown_by(
    right="for layer, weights in enumerate(cross_attention):  # (heads, queries, keys)\n    show(layer, weights)",
    wrong='show("the attention", cross_attention[layer][0])',
    distractors=("rank_collapse", "axes_swapped", "after_dropout"),
)
def one_head(translator: Translator, sentence: str) -> Symptom:
    """Head 0 of a layer shown as "the attention", beside the head that agrees least with it, which could have been
    shown as well; of the layer where they agree least. Where all agree, there is nothing to see."""
    run = translator.translate(sentence)
    strongest = np.stack([m.weights.argmax(axis=-1) for m in run.attention.cross])  # (L, H, T)
    layer, other = _most(-(strongest == strongest[:, :1]).mean(axis=-1))
    drawn, strongest = run.attention.cross[layer], strongest[layer]
    pair = (0, other) if other else (0, min(1, drawn.n_heads - 1))

    def side(heads: Sequence[int]) -> Side:
        agree = (strongest[list(heads)] == strongest[0]).all(axis=0).mean()
        shown = replace(drawn, weights=drawn.weights[list(heads)])
        return Side({"agreement": float(agree), "heads": len(heads)}, run.text, attention=shown)

    return Symptom(side(range(drawn.n_heads)), side(pair), sentence)


@DecodingMistake.shown_by(
    right="x = self.embedding(ids) + self.positions[: ids.size(1)]",
    wrong="x = self.embedding(ids) + self.positions[ids]",
    distractors=("causal_mask", "teacher_forced_test", "cross_padding"),
    shown_on="classroom",
)
def positions_from_ids(translator: Translator, sentence: str) -> Symptom:
    """A word's position is looked up by its id, so it is the same wherever it stands: their order tells nothing.

    Both texts are the outputs after the right words so far, of the sentence and of the same read backwards.
    """
    model, run = translator.checkpoint.model, translator.translate(sentence)
    src, tgt = ids(translator, run)
    words = int((src != model.config.pad_id).sum())
    turned = torch.cat([src[:, :words].flip(1), src[:, words:]], dim=1)

    def by_id(these: Tensor) -> Probe:
        table = {"encoder.positions": these[0], "decoder.positions": tgt[0]}
        return lambda name, value: model.positions[table[name]] if name in table else value

    def side(wrong: bool) -> Side:
        with evaluating(model):
            one, two = (model(each, tgt, probe=by_id(each) if wrong else None).logits[0] for each in (src, turned))
        decoded = translator.checkpoint.tgt_vocab.decode
        text = " | ".join(decoded(each.argmax(dim=-1).tolist()) for each in (one, two))
        return Side({"difference": float((one.softmax(-1) - two.softmax(-1)).abs().max())}, text)

    return Symptom(side(False), side(True), sentence)


class _FreshNorm(nn.Module):
    """The mistake itself: a LayerNorm of every call, which nothing saves and nothing trains."""

    def forward(self, x: Tensor) -> Tensor:
        return nn.LayerNorm(x.size(-1), device=x.device, dtype=x.dtype)(x)


def with_fresh_norms(model: Transformer) -> Transformer:
    """A copy whose LayerNorms are created at every call."""
    fresh = copy.deepcopy(model)
    for name, module in model.named_modules():
        if isinstance(module, nn.LayerNorm):
            fresh.set_submodule(name, _FreshNorm())
    return fresh


@DecodingMistake.shown_by(
    right="def __init__(self, d_model):\n    self.norm = nn.LayerNorm(d_model)\n\n"
    "def forward(self, x):\n    return self.norm(x)\n\nmodel.load_state_dict(weights)",
    wrong="def forward(self, x):\n    return nn.LayerNorm(x.size(-1))(x)\n\n"
    "model.load_state_dict(weights, strict=False)",
    distractors=("rank_collapse", "teacher_forced_test", "no_eval"),
    shown_on="classroom",
)
def norm_in_forward(translator: Translator, sentence: str) -> Symptom:
    """A sound model's weights in code that creates its norms in forward: `load_state_dict(strict=False)` leaves out
    what the norms have learned. A model that was trained in that code has learned nothing there to lose."""
    run, checkpoint = translator.translate(sentence), translator.checkpoint
    src, tgt = ids(translator, run)
    output_ids = [checkpoint.tgt_vocab.ids[token] for token in run.output]

    def side(model: Transformer) -> Side:
        kept = sum(value.numel() for name, value in model.state_dict().items() if "norm" in name)
        with evaluating(model):
            logs = model(src, tgt, need_weights=False).logits[0].log_softmax(dim=-1)  # (T, V)
        probability = math.exp(float(logs[range(len(output_ids)), output_ids].sum()))
        text = Translator(replace(checkpoint, model=model), translator.name).translate(sentence).text
        return Side({"saved_norm_values": kept, "probability": probability}, text)

    return Symptom(side(checkpoint.model), side(with_fresh_norms(checkpoint.model)), sentence)


DECODING_MISTAKES = (
    padding_rows,
    cross_padding,
    no_eval,
    never_stops,
    unscaled,
    axes_swapped,
    after_dropout,
    one_head,
    positions_from_ids,
    norm_in_forward,
)
