"""Mistakes that spoil a run of a trained model.

B batch, S source, T target, H heads, Q queries, K keys, D model width, V target vocabulary.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from ..analysis.sublayer import ids
from ..data.vocabulary import END, PAD, START
from ..inference.attention_maps import KINDS, AttentionMap
from ..inference.decoding import decode, evaluating, until_end
from ..inference.interventions import Interventions, RemoveMask, Temperature
from ..inference.translation import Translation
from ..inference.translator import Translator
from ..network.model import Transformer
from ..network.probe import Probe, Recorder
from ..network.rng import untouched_rng
from .mistake import DecodingMistake, Side, Symptom

MAX_PADDING = 11  # positions that a batch of similar lengths fills up
MAX_MORE = 20  # tokens than without the mistake
MAX_RUNS = 30  # of a sentence, until one has other words
RUNS_AT_ONCE = 10  # rows of a batch, each of which draws its own dropout


def _most(score: np.ndarray) -> tuple[int, int]:
    """The layer and the head of the highest score; (L, H)."""
    layer, head = np.unravel_index(int(score.argmax()), score.shape)
    return int(layer), int(head)


def _row_sum_error(maps: Sequence[AttentionMap]) -> float:
    return max(float(np.abs(m.weights.sum(axis=-1) - 1).max()) for m in maps)


def _written(
    translator: Translator, src: Tensor, probe: Probe | None, run: Translation, use_cache: bool = False
) -> str:
    """The output for ids (1, S), which may not be much longer than a run's: what a mistake writes need not end.

    Keys and values of earlier steps would not see a mistake that mixes positions: it is shown by full passes.
    """
    checkpoint = translator.checkpoint
    start, end = (checkpoint.tgt_vocab.ids[token] for token in (START, END))
    limit = min(checkpoint.output_limit, len(run.output) + MAX_MORE)
    steps = decode(checkpoint.model, src, start, end, limit, probe, use_cache=use_cache)
    return checkpoint.tgt_vocab.decode(step.token for step in steps)


def _cross_weights(model: Transformer, src: Tensor, tgt: Tensor, probe: Probe | None) -> np.ndarray:
    """The cross-attention of a full pass over one sentence, (L, H, T, S)."""
    with evaluating(model):
        maps = model(src, tgt, probe=probe).attention
    assert maps is not None
    return torch.cat(maps.cross).cpu().numpy()


@DecodingMistake.shown_by(
    right="mask = (tgt != PAD)[:, None, None, :] & causal  # key columns",
    wrong="mask = (tgt != PAD)[:, None, :, None] & causal  # query rows",
    distractors=("causal_mask", "cross_padding", "softmax_dim"),
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


def _padded(translator: Translator, sentence: str) -> Translator:
    """One whose source is padded: where a model's sentences are not, as in a batch of longer ones."""
    checkpoint = translator.checkpoint
    count = len(checkpoint.src_vocab.split(sentence))
    if not checkpoint.pad_source or count == checkpoint.source_length:
        longer = max(count + 1, min(checkpoint.source_length, count + MAX_PADDING))
        checkpoint = replace(checkpoint, pad_source=True, source_length=longer)
    return Translator(checkpoint, translator.name)


def _one_padding_column(drawn: AttentionMap) -> AttentionMap:
    """With the weights on padding summed in one last column."""
    words = sum(token != PAD for token in drawn.key_tokens)
    weights = np.concatenate([drawn.weights[..., :words], drawn.weights[..., words:].sum(-1, keepdims=True)], axis=-1)
    keys = (*drawn.key_tokens[:words], f"{PAD} × {len(drawn.key_tokens) - words}")
    return replace(drawn, key_tokens=keys, weights=weights, allowed=drawn.allowed[:, : words + 1])


@DecodingMistake.shown_by(
    right="x, weights = self.cross_attn(x, memory, memory, mask=src_padding_mask)",
    wrong="x, weights = self.cross_attn(x, memory, memory)",
    distractors=("rank_collapse", "padding_rows", "inverted_mask"),
)
def cross_padding(translator: Translator, sentence: str) -> Symptom:
    """The decoder attends to P. Maps show all of the padding as one column: its weights are summed."""
    padded = _padded(translator, sentence)

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
    right="padding = src == PAD  # PyTorch's True: must not attend\n"
    "memory = self.encoder(x, src_key_padding_mask=padding)\n"
    "y = self.decoder(y, memory, memory_key_padding_mask=padding)",
    wrong="padding = src != PAD\n"
    "memory = self.encoder(x, src_key_padding_mask=padding)\n"
    "y = self.decoder(y, memory, memory_key_padding_mask=padding)",
    distractors=("cross_padding", "positions_from_ids", "heads_by_view"),
)
def inverted_mask(translator: Translator, sentence: str) -> Symptom:
    """Only the source's P are attended to: other words, each the next one of the vocabulary, give the same output."""
    padded = _padded(translator, sentence)
    model, run = padded.checkpoint.model, padded.translate(sentence)
    src, tgt = ids(padded, run)
    is_padding, size = src == model.config.pad_id, model.config.src_vocab_size
    following = (src + 1) % size
    following = following.where(following != model.config.pad_id, (following + 1) % size)
    others = src.where(is_padding, following)

    def inverted(name: str, value: Tensor) -> Tensor:
        is_of_source = name.startswith("encoder") or "cross" in name
        return ~value if is_of_source and name.endswith(".mask") else value

    def side(probe: Probe | None) -> Side:
        with evaluating(model):
            one, two = (model(each, tgt, probe=probe).logits.softmax(dim=-1) for each in (src, others))
        weights = _cross_weights(model, src, tgt, probe)
        numbers = {
            "difference": float((one - two).abs().max()),
            "weight_on_padding": float(weights[..., is_padding[0].cpu().numpy()].sum(axis=-1).mean()),
        }
        last = run.attention.cross[-1]
        allowed = last.allowed if probe is None else ~last.allowed
        drawn = _one_padding_column(replace(last, weights=weights[last.layer], allowed=allowed))
        texts = [_written(padded, each, probe, run, use_cache=True) for each in (src, others)]
        return Side(numbers, " | ".join(texts), attention=drawn)

    return Symptom(side(None), side(inverted), sentence)


@DecodingMistake.shown_by(
    right="model.eval()\nwith torch.no_grad():\n    print(translate(model, sentence))",
    wrong="with torch.no_grad():\n    print(translate(model, sentence))",
    distractors=("causal_mask", "loss_over_padding", "positions_from_ids"),
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

    with untouched_rng(), torch.no_grad():
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
    for row, distributions in zip(read[:, 1:].tolist(), torch.stack(rows, dim=1), strict=True):
        output_ids = until_end(row, end)
        yield output_ids, distributions[: len(output_ids)]


@DecodingMistake.shown_by(
    right="scores = q @ k.transpose(-2, -1) / math.sqrt(d_k)",
    wrong="scores = q @ k.transpose(-2, -1)",
    distractors=("rank_collapse", "after_dropout", "embeddings_unscaled"),
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
            "mean_largest": float(np.mean([m.weights.max(axis=-1).mean() for m in maps])),
        }
        return Side(numbers, run.text, attention=run.attention.encoder[layer])

    return Symptom(side(plain), side(changed), sentence, head=head)


def softmax_over_queries() -> Probe:
    """In every sublayer."""
    seen: dict[str, Tensor] = {}

    def probe(name: str, value: Tensor) -> Tensor:
        part = name.rpartition(".")[2]
        seen[part] = value
        return value if part != "weights" else seen["scores"].masked_fill(~seen["mask"], -1e9).softmax(dim=-2)

    return probe


@DecodingMistake.shown_by(
    right="scores = scores.masked_fill(~mask, -1e9)  # (B, heads, queries, keys)\nweights = scores.softmax(dim=-1)",
    wrong="scores = scores.masked_fill(~mask, -1e9)  # (B, heads, queries, keys)\nweights = scores.softmax(dim=-2)",
    distractors=("after_dropout", "unscaled", "heads_by_view"),
)
def softmax_dim(translator: Translator, sentence: str) -> Symptom:
    """The keys' columns sum to 1, those of P too: where all scores are -1e9, all weights are equal."""
    run = translator.translate(sentence)
    src, tgt = ids(translator, run)
    over_queries = softmax_over_queries()
    right = run.attention.cross
    weights = _cross_weights(translator.checkpoint.model, src, tgt, over_queries)
    wrong = [replace(m, weights=w, allowed=np.ones_like(m.allowed)) for m, w in zip(right, weights, strict=True)]
    layer, head = _most(np.abs(weights.sum(axis=-1) - 1).mean(axis=-1))

    def side(maps: Sequence[AttentionMap], text: str) -> Side:
        columns = max(float(np.abs(m.weights.sum(axis=-2) - 1).max()) for m in maps)
        numbers = {"row_sum_error": _row_sum_error(maps), "column_sum_error": columns}
        return Side(numbers, text, attention=maps[layer])

    text = _written(translator, src, over_queries, run)
    return Symptom(side(right, run.text), side(wrong, text), sentence, head=head)


def by_view(name: str, value: Tensor) -> Tensor:
    """Queries, keys and values of every sublayer, put together again and then cut without transpose."""
    return value.transpose(1, 2).flatten(2).view(value.shape) if name.endswith((".q", ".k", ".v")) else value


@DecodingMistake.shown_by(
    right="q = self.q(x).view(B, T, heads, d_k).transpose(1, 2)  # k and v alike",
    wrong="q = self.q(x).view(B, heads, T, d_k)  # k and v alike",
    distractors=("causal_mask", "padding_rows", "unscaled"),
    shown_on="classroom",
)
def heads_by_view(translator: Translator, sentence: str) -> Symptom:
    """The shape is right, but a head has slices of some words in place of a slice of every word: what is read later
    moves them all. Each prediction is made twice, with the words so far and within one pass over all of them."""
    model, run = translator.checkpoint.model, translator.translate(sentence)
    src, tgt = ids(translator, run)

    def passes(probe: Probe | None) -> tuple[np.ndarray, float]:
        """The maps of decoder self-attention, (L, H, T, T), and the largest difference between both predictions."""
        with evaluating(model):
            whole = model(src, tgt, probe=probe)
            so_far = [model(src, tgt[:, : t + 1], probe=probe).logits[0, -1] for t in range(tgt.size(1))]
        assert whole.attention is not None
        difference = (whole.logits[0].softmax(dim=-1) - torch.stack(so_far).softmax(dim=-1)).abs().max()
        return torch.cat(whole.attention.decoder).cpu().numpy(), float(difference)

    found = [passes(None), passes(by_view)]
    layer, head = _most(np.abs(found[0][0] - found[1][0]).max(axis=(-1, -2)))

    def side(probe: Probe | None, weights: np.ndarray, difference: float) -> Side:
        numbers = {"difference": difference, "weight_on_future": float(np.triu(weights, 1).max())}
        drawn = replace(run.attention.decoder[layer], weights=weights[layer])
        return Side(numbers, _written(translator, src, probe, run), attention=drawn)

    return Symptom(side(None, *found[0]), side(by_view, *found[1]), sentence, head=head)


@DecodingMistake.shown_by(
    right="weights = scores.softmax(dim=-1)\nself.weights = weights\nreturn self.dropout(weights) @ v",
    wrong="weights = self.dropout(scores.softmax(dim=-1))\nself.weights = weights\nreturn weights @ v",
    distractors=("cross_padding", "unscaled", "softmax_dim"),
)
def after_dropout(translator: Translator, sentence: str) -> Symptom:
    """Weights kept where dropout has been over them: some are 0, the others too large by 1 / 0.9."""
    run = translator.translate(sentence)
    right = [m for kind in KINDS for m in run.attention.of(kind)]
    with untouched_rng():
        torch.manual_seed(0)
        wrong = [replace(m, weights=F.dropout(torch.tensor(np.array(m.weights)), 0.1).numpy()) for m in right]
    layers = len(run.attention.cross)
    layer, head = _most(np.stack([np.abs(m.weights.sum(axis=-1) - 1).mean(axis=-1) for m in wrong[-layers:]]))

    def side(maps: Sequence[AttentionMap]) -> Side:
        gone = np.concatenate([(m.weights == 0)[:, m.allowed].ravel() for m in maps])
        numbers = {"row_sum_error": _row_sum_error(maps), "lost_share": float(gone.mean())}
        return Side(numbers, run.text, attention=maps[layer - layers])  # the last ones are of cross-attention

    return Symptom(side(right), side(wrong), sentence, head=head)


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


DECODING_MISTAKES = (
    padding_rows,
    cross_padding,
    inverted_mask,
    no_eval,
    softmax_dim,
    unscaled,
    heads_by_view,
    after_dropout,
    positions_from_ids,
)
