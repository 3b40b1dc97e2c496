"""Mistakes that spoil a run of a trained model.

B batch, S source, T target, H heads, Q queries, K keys, D model width, V target vocabulary.
"""

import copy
import math
from dataclasses import replace

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..corpus import classroom, encode_pairs
from ..decoding import decode, evaluating, greedy_batch
from ..inside import ids
from ..interventions import Interventions, RemoveMask, Temperature
from ..maps import KINDS
from ..model import Transformer
from ..probe import Probe, Recorder
from ..training import measure
from ..translator import Translation, Translator
from ..vocabulary import END, PAD, START
from .mistake import Mistake, Side, Symptom
from .of_training import held_out, trained


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

    def numbers(probe: Probe) -> tuple[float, float]:
        """The share of the output that is no number, and the most that a last layer's word gives one after it."""
        with evaluating(model):
            logits = model(src, tgt, probe=probe).logits
        return float(logits.isnan().float().mean()), float(seen["weights"].triu(1).amax())

    nan, _ = numbers(wrong(-math.inf))
    _, future = numbers(wrong(-1e9))
    recorder = Recorder(lambda name: name.endswith("self_attention.weights") and name.startswith("decoder"))
    with evaluating(model):
        logits = model(src, tgt, probe=recorder).logits
    right = {"nan_share": float(logits.isnan().float().mean())}
    right["weight_on_future"] = max(float(weights[0].triu(1).amax()) for weights in recorder.values.values())
    # The likeliest word of a row of NaN is id 0, which is P: it says nothing at all.
    return Symptom(Side(right, run.text), Side({"nan_share": nan, "weight_on_future": future}, ""))


def cross_padding(translator: Translator, sentence: str) -> Symptom:
    """The decoder looks at P. Where a model's sentences are not padded, one word of padding is put there."""
    checkpoint = translator.checkpoint
    count = len(checkpoint.src_vocab.split(sentence))
    if not checkpoint.pad_source or count == checkpoint.source_length:
        checkpoint = replace(checkpoint, pad_source=True, source_length=max(checkpoint.source_length, count + 1))
    padded = Translator(checkpoint, translator.name)

    def side(run: Translation) -> Side:
        on_padding = [m.weights[:, :, [token == PAD for token in run.source]].sum(axis=-1) for m in run.attention.cross]
        numbers = {"weight_on_padding": float(np.mean(on_padding)), "most_on_padding": float(np.max(on_padding))}
        return Side(numbers, run.text)

    forgotten = padded.translate(sentence, interventions=Interventions((RemoveMask("cross"),)))
    return Symptom(side(padded.translate(sentence)), side(forgotten))


def no_eval(translator: Translator, sentence: str) -> Symptom:
    """The paper's dropout of 0.1 goes on in the translation: two runs of one sentence differ."""
    checkpoint, run = translator.checkpoint, translator.translate(sentence)
    src, _ = ids(translator, run)

    def runs(model: Transformer) -> Side:
        found, texts = [], []
        for seed in range(2):
            torch.manual_seed(seed)
            said, distributions = _tutorial_loop(model, translator, src)
            found.append(distributions)
            texts.append(checkpoint.tgt_vocab.decode(said))
        common = min(map(len, found))
        return Side({"difference": float((found[0][:common] - found[1][:common]).abs().max())}, " | ".join(texts))

    with torch.random.fork_rng(devices=[]), torch.no_grad():  # whoever trains beside this draws what they would
        model = Transformer(replace(checkpoint.model.config, dropout=0.1)).to(translator.device)
        model.load_state_dict(checkpoint.model.state_dict())
        return Symptom(right=runs(model.eval()), wrong=runs(model.train()))


def _tutorial_loop(model: Transformer, translator: Translator, src: Tensor) -> tuple[list[int], Tensor]:
    """Greedy as tutorials write it: in whatever mode the model is, everything read again at each step. Ids that were
    said, and the distributions (T, V)."""
    start, end = (translator.checkpoint.tgt_vocab.ids[token] for token in (START, END))
    read, rows = [start], []
    while len(read) <= translator.checkpoint.output_limit and read[1:][-1:] != [end]:
        rows.append(model(src, src.new_tensor([read]), need_weights=False).logits[0, -1].softmax(dim=-1))
        read.append(int(rows[-1].argmax()))
    return read[1:], torch.stack(rows)


def never_stops(translator: Translator, sentence: str) -> Symptom:
    """As many words as fit, whatever is said."""
    checkpoint, vocab = translator.checkpoint, translator.checkpoint.tgt_vocab
    src, _ = ids(translator, translator.translate(sentence))

    def side(end: int) -> Side:
        steps = list(decode(checkpoint.model, src, vocab.ids[START], end, checkpoint.output_limit))
        said = [vocab.tokens[step.token] for step in steps]
        after = len(said) - said.index(END) - 1 if END in said else 0
        return Side({"words_after_end": after, "steps": len(said)}, " ".join(said))

    return Symptom(side(vocab.ids[END]), side(-1))


def unscaled(translator: Translator, sentence: str) -> Symptom:
    """Scores are sqrt(d_k) times too large, and the softmax sees little but its largest one (§3.2.1, footnote 4)."""

    def side(run: Translation) -> Side:
        maps = [m for kind in KINDS for m in run.attention.of(kind)]
        numbers = {
            "entropy": float(np.mean([m.entropy().mean() for m in maps])),
            "largest_weight": float(np.mean([m.weights.max(axis=-1).mean() for m in maps])),
        }
        return Side(numbers, run.text)

    undone = Temperature(1 / math.sqrt(translator.checkpoint.model.config.head_dim))
    changed = translator.translate(sentence, interventions=Interventions((undone,)))
    return Symptom(side(translator.translate(sentence)), side(changed))


def axes_swapped(translator: Translator, sentence: str) -> Symptom:
    """Columns drawn as rows: what sums to 1 runs down the picture, and a word seems to look at its own queries."""
    run = translator.translate(sentence)

    def side(weights: list[np.ndarray]) -> Side:
        off = max(float(np.abs(w.sum(axis=-1) - 1).max()) for w in weights)
        return Side({"row_sum_error": off, "rows": weights[0].shape[-2], "columns": weights[0].shape[-1]}, run.text)

    maps = [m.weights for m in run.attention.cross]
    return Symptom(side(maps), side([w.swapaxes(-1, -2) for w in maps]))


def after_dropout(translator: Translator, sentence: str) -> Symptom:
    """Weights kept where dropout has been over them: some are 0, the others too large by 1 / 0.9."""
    run = translator.translate(sentence)
    maps = [m for kind in KINDS for m in run.attention.of(kind)]

    def side(weights: list[np.ndarray]) -> Side:
        off = max(float(np.abs(w.sum(axis=-1) - 1).max()) for w in weights)
        gone = np.concatenate([(w == 0)[:, m.allowed].ravel() for w, m in zip(weights, maps, strict=True)])
        return Side({"row_sum_error": off, "lost_share": float(gone.mean())}, run.text)

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        dropped = [F.dropout(torch.tensor(np.array(m.weights)), 0.1).numpy() for m in maps]
    return Symptom(side([m.weights for m in maps]), side(dropped))


def one_head(translator: Translator, sentence: str) -> Symptom:
    """Head 0 of the last layer shown as "the attention": of all heads, how many look where it looks?"""
    run = translator.translate(sentence)
    looks = np.stack([m.weights.argmax(axis=-1) for m in run.attention.cross])  # (L, H, T)
    shown = looks[-1, 0]
    others = np.delete(looks.reshape(-1, len(shown)), (len(looks) - 1) * looks.shape[1], axis=0)
    agree = float((others == shown).mean()) if len(others) else 1.0
    right = {"agreement": 1.0, "heads": looks.shape[0] * looks.shape[1]}
    return Symptom(Side(right, run.text), Side({"agreement": agree, "heads": 1}, run.text))


def positions_from_ids(translator: Translator, sentence: str) -> Symptom:
    """A word's position is looked up by its id, so it is the same wherever it stands: their order tells nothing."""
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
        text = translator.checkpoint.tgt_vocab.decode(one.argmax(dim=-1).tolist())
        return Side({"difference": float((one.softmax(-1) - two.softmax(-1)).abs().max())}, text)

    return Symptom(side(False), side(True))


class _FreshNorm(nn.Module):
    """The mistake itself: a LayerNorm of every call, which nothing saves and nothing trains."""

    def forward(self, x: Tensor) -> Tensor:
        return nn.LayerNorm(x.size(-1), device=x.device, dtype=x.dtype)(x)


def norm_in_forward(translator: Translator, sentence: str) -> Symptom:
    """What training taught the norms is lost, and `state_dict` has no place for it."""
    run, checkpoint = translator.translate(sentence), translator.checkpoint
    src, tgt = ids(translator, run)
    said = [checkpoint.tgt_vocab.ids[token] for token in run.output]
    broken = copy.deepcopy(checkpoint.model)
    for module in list(broken.modules()):
        for name, child in list(module.named_children()):
            if isinstance(child, nn.LayerNorm):
                setattr(module, name, _FreshNorm())

    def side(model: Transformer) -> Side:
        kept = sum(value.numel() for name, value in model.state_dict().items() if "norm" in name)
        with evaluating(model):
            logs = model(src, tgt, need_weights=False).logits[0].log_softmax(dim=-1)  # (T, V)
        probability = math.exp(float(logs[range(len(said)), said].sum()))
        text = Translator(replace(checkpoint, model=model), translator.name).translate(sentence).text
        return Side({"saved_norm_values": kept, "probability": probability}, text)

    return Symptom(side(checkpoint.model), side(broken))


def teacher_forced_test(translator: Translator, sentence: str) -> Symptom:
    """Of a small model that is not done learning: how good does it look when it is shown the answer so far?"""
    model, corpus = trained(causal=True).model, classroom()
    data = encode_pairs(held_out(), corpus.src_vocab, corpus.tgt_vocab)
    start, end = corpus.tgt_vocab.ids[START], corpus.tgt_vocab.ids[END]
    said = greedy_batch(model, data.src, start, end, data.target_length)
    hits = words = 0
    for ours, gold in zip(said, data.tgt_out.tolist(), strict=True):
        gold = [i for i in gold if i != model.config.pad_id]
        words += len(gold)
        hits += sum(a == b for a, b in zip(ours, gold, strict=False))
    with evaluating(model):
        shown = model(data.src[:1], data.tgt_in[:1], need_weights=False).logits[0].argmax(dim=-1).tolist()
    _, accuracy = measure(model, data)
    decoded = corpus.tgt_vocab.decode
    return Symptom(
        Side({"words_right": hits / words}, decoded(said[0])), Side({"words_right": accuracy}, decoded(shown))
    )


OF_DECODING = (
    Mistake(
        "padding_rows",
        "decoding",
        right="mask = (tgt != PAD)[:, None, None, :] & causal  # key columns",
        wrong="mask = (tgt != PAD)[:, None, :, None] & causal  # query rows",
        run=padding_rows,
    ),
    Mistake(
        "cross_padding",
        "decoding",
        right="x, weights = self.cross_attn(x, memory, memory, mask=src_padding_mask)",
        wrong="x, weights = self.cross_attn(x, memory, memory)",
        run=cross_padding,
    ),
    Mistake(
        "no_eval",
        "decoding",
        right="model.eval()\nwith torch.no_grad():\n    print(translate(model, sentence))",
        wrong="with torch.no_grad():\n    print(translate(model, sentence))",
        run=no_eval,
    ),
    Mistake(
        "never_stops",
        "decoding",
        right="for _ in range(max_len):\n    ...\n    if next_word == END:\n        break",
        wrong="for _ in range(max_len):\n    ...",
        run=never_stops,
    ),
    Mistake(
        "unscaled",
        "decoding",
        right="scores = q @ k.transpose(-2, -1) / math.sqrt(d_k)",
        wrong="scores = q @ k.transpose(-2, -1)",
        run=unscaled,
    ),
    Mistake(
        "axes_swapped",
        "decoding",
        right='ax.imshow(weights)  # (queries, keys)\nax.set_ylabel("query")\nax.set_xlabel("key")',
        wrong='ax.imshow(weights.T)\nax.set_ylabel("query")\nax.set_xlabel("key")',
        run=axes_swapped,
    ),
    Mistake(
        "after_dropout",
        "decoding",
        right="weights = scores.softmax(dim=-1)\nself.weights = weights\nreturn self.dropout(weights) @ v",
        wrong="weights = self.dropout(scores.softmax(dim=-1))\nself.weights = weights\nreturn weights @ v",
        run=after_dropout,
    ),
    Mistake(
        "one_head",
        "decoding",
        right="for layer, weights in enumerate(cross_attention):  # (heads, queries, keys)\n    show(layer, weights)",
        wrong='show("the attention", cross_attention[-1][0])',
        run=one_head,
    ),
    Mistake(
        "positions_from_ids",
        "decoding",
        right="x = self.embedding(ids) + self.positions[: ids.size(1)]",
        wrong="x = self.embedding(ids) + self.positions[ids]",
        run=positions_from_ids,
    ),
    Mistake(
        "norm_in_forward",
        "decoding",
        right="def __init__(self, d_model):\n    self.norm = nn.LayerNorm(d_model)\n\n"
        "def forward(self, x):\n    return self.norm(x)",
        wrong="def forward(self, x):\n    return nn.LayerNorm(x.size(-1))(x)",
        run=norm_in_forward,
    ),
    Mistake(
        "teacher_forced_test",
        "decoding",
        right="ids = [START]\nwhile ids[-1] != END:\n    ids.append(model(src, ids)[-1].argmax())",
        wrong="ids = model(src, gold).argmax(dim=-1)  # it reads the answer that it is asked for",
        run=teacher_forced_test,
    ),
)
