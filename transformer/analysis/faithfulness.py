"""Whether the measures of `contribution` say what matters: against gold alignments, and against removing something.

A measure of heads is compared with ablating each head of the last decoder layer, a measure of source words with masking
each word from cross-attention in every layer; what counts is the drop of the output token's log-probability. Spearman's
rank correlation is taken over the heads, or words, of one step, and its mean over steps is reported: 1 ranks them as
their removal does, 0 by chance. (Jain and Wallace 2019, "Attention is not Explanation", arXiv 1902.10186, §4, compare
attention with leaving inputs out in the same way.)

S source, T target, H heads.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch

from ..data.alignment import AlignedPair, AlignmentCounts, count_links
from ..data.vocabulary import END, PAD
from ..inference.attention_maps import AttentionMap, AttentionMaps
from ..inference.decoding import evaluating
from ..inference.translator import Translation, Translator
from ..network.masks import padding_mask
from .contribution import (
    attention_rollout,
    direct_effects,
    gradient_times_input,
    integrated_gradients,
    logit_lens,
    value_weighted,
)
from .head_ablation import Head, log_probabilities_without, rows_at_once, run_as_data

Measure = Callable[[Translator, Translation], np.ndarray]


def _maps(run: Translation) -> dict[str, AttentionMaps]:
    assert run.value_weighted
    weighted = run.value_weighted
    return {"attention": run.attention, "value-weighted": weighted.maps, "after the norm": weighted.after_norm}


def _mean(name: str) -> Measure:
    return lambda translator, run: np.mean([m.weights.mean(axis=0) for m in _maps(run)[name].cross], axis=0)


def _of_steps(measure: Callable) -> Measure:
    return lambda translator, run: np.stack([measure(translator, run, t).source for t in range(len(run.output))])


# Of every source word at every step, (T, S).
WORD_MEASURES: Mapping[str, Measure] = {
    "attention": _mean("attention"),
    "value-weighted": _mean("value-weighted"),
    "after the norm": _mean("after the norm"),
    "attention rollout": lambda translator, run: attention_rollout(run).source,
    "gradient × input": _of_steps(gradient_times_input),
    "integrated gradients": _of_steps(integrated_gradients),
}


def head_measures(translator: Translator, run: Translation) -> dict[str, np.ndarray]:
    """Of every head of the last decoder layer at every step, (T, 2 H): self-attention, then cross-attention. A head's
    weights sum to 1, so of attention it is the largest; of norms it is the sum."""
    last = {name: (maps.decoder[-1], maps.cross[-1]) for name, maps in _maps(run).items()}
    effects = direct_effects(translator, run)
    return {
        "attention": _joined(m.weights.max(axis=2) for m in last["attention"]),
        "value-weighted": _joined(m.weights.sum(axis=2) for m in last["value-weighted"]),
        "after the norm": _joined(m.weights.sum(axis=2) for m in last["after the norm"]),
        "direct effect": np.concatenate([effects.self_attention, effects.cross_attention], axis=1),
    }


def _joined(heads: Iterable[np.ndarray]) -> np.ndarray:
    return np.concatenate([*heads]).T


def head_effects(translator: Translator, run: Translation) -> np.ndarray:
    """How much the log-probability of every output token drops without each of those heads, (T, 2 H)."""
    config = translator.checkpoint.model.config
    last = config.num_decoder_layers - 1
    heads: list[Head | None] = [("decoder", last, head) for head in range(config.n_heads)]
    heads += [("cross", last, head) for head in range(config.n_heads)]
    logs = log_probabilities_without(translator.checkpoint.model, run_as_data(translator, run), [None, *heads])[:, 0]
    return (logs[0] - logs[1:]).T.cpu().numpy()


def word_effects(translator: Translator, run: Translation) -> np.ndarray:
    """How much the log-probability of every output token drops where no step may attend to a source word, (T, S)."""
    model, data = translator.checkpoint.model, run_as_data(translator, run)
    length = data.src.size(1)
    masks = torch.cat([torch.ones(1, length), 1 - torch.eye(length)]).bool().to(data.src.device)  # the first allows all
    masks = masks[:, None, None, :] & padding_mask(data.src, model.config.pad_id)
    logs = []
    for part in masks.split(rows_at_once(model.config, max(length, data.target_length))):
        src, tgt = (ids.expand(len(part), -1) for ids in (data.src, data.tgt_in))
        with evaluating(model):
            logits = model(src, tgt, memory_mask=part, need_weights=False).logits
        gold = data.tgt_out.expand(len(part), -1)[..., None]
        logs.append(logits.float().log_softmax(dim=-1).gather(2, gold)[..., 0])
    found = torch.cat(logs)  # (S + 1, T)
    return (found[0] - found[1:]).T.cpu().numpy()


def spearman(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The rank correlation of each row of two (T, N); equal values share their mean rank. NaN where all are equal."""

    def ranks(values: np.ndarray) -> np.ndarray:
        smaller = values[:, :, None] > values[:, None, :]
        found = smaller.sum(axis=2) - smaller.sum(axis=1)  # those below minus those above
        return found - found.mean(axis=1, keepdims=True)

    a, b = ranks(one), ranks(other)
    lengths = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return np.where(lengths > 0, (a * b).sum(axis=1) / np.where(lengths > 0, lengths, 1), np.nan)


class Correlations(NamedTuple):
    """Mean rank correlations with removal, by measure."""

    heads: dict[str, float]
    words: dict[str, float]


def rank_correlations(
    translator: Translator, runs: Sequence[Translation], measures: Mapping[str, Measure] = WORD_MEASURES
) -> Correlations:
    """How measures of heads and of source words agree with removing them, over all steps of some runs; of any model.

    Args:
        runs: of this translator, without interventions.
        measures: of source words. Integrated gradients cost 50 passes a step, which is long for a large model.

    Raises:
        ValueError: a run has interventions.
    """
    each = [_correlations(translator, _weighted(translator, run), measures)[0] for run in runs]
    return _mean_correlations(each)


def _weighted(translator: Translator, run: Translation) -> Translation:
    if run.interventions.changes:
        raise ValueError("Removal is compared with the measures of an unmodified run.")
    return run if run.value_weighted else replace(run, value_weighted=value_weighted(translator, run))


Steps = tuple[dict[str, np.ndarray], dict[str, np.ndarray]]  # of heads and words: measure -> (T,)


def _correlations(
    translator: Translator, run: Translation, measures: Mapping[str, Measure]
) -> tuple[Steps, dict[str, np.ndarray]]:
    """Of one run, and what its measures of source words are."""
    effects, words = head_effects(translator, run), word_effects(translator, run)
    read = [i for i, token in enumerate(run.source) if token != PAD]
    found = {name: measure(translator, run) for name, measure in measures.items()}
    of_heads = {name: spearman(each, effects) for name, each in head_measures(translator, run).items()}
    return (of_heads, {name: spearman(each[:, read], words[:, read]) for name, each in found.items()}), found


def _mean_correlations(each: Sequence[Steps]) -> Correlations:
    sides = ({name: np.concatenate([run[i][name] for run in each]) for name in each[0][i]} for i in (0, 1))
    return Correlations(*({name: float(np.nanmean(steps)) for name, steps in side.items()} for side in sides))


@dataclass(frozen=True)
class MeasureScores:
    """How good the measures are on one set of sentences, under teacher forcing."""

    sentences: int
    error_rates: dict[str, float]  # alignment error rates of the measures of source words
    correlations: Correlations
    agreement: list[float]  # of the logit lens with the output, by decoder layer


def score_measures(translator: Translator, pairs: Sequence[AlignedPair]) -> MeasureScores:
    """Score every measure; each pair's translation is its reference, which the gold links belong to.

    Raises:
        SentenceError: a sentence has an unknown word.
    """
    runs = translator.translate_many([pair.source for pair in pairs], value_weighted=True)
    counts: dict[tuple[str, ...], AlignmentCounts] = {}
    steps, lenses = [], []
    for run, pair in zip(runs, pairs, strict=True):
        if run.text != pair.target:
            run = translator.translate(pair.source, forced=[*pair.target.split(), END], value_weighted=True)
        correlations, measured = _correlations(translator, run, WORD_MEASURES)
        steps.append(correlations)
        lenses.append(logit_lens(translator, run).agreement * len(run.output))
        maps: dict[tuple[str, ...], np.ndarray] = {(name,): each for name, each in measured.items()}
        maps |= {(name, place): head for name, every in _maps(run).items() for place, head in _heads(every.cross)}
        for key, weights in maps.items():
            counts[key] = counts.get(key, AlignmentCounts()) + count_links(weights, pair.gold)
    rates = {name: found.error_rate for (name, *place), found in counts.items() if not place}
    for best in _maps(run):
        of_heads = [found.error_rate for (name, *place), found in counts.items() if place and name == best]
        rates[f"{best}, best head"] = min(of_heads)
    tokens = sum(len(pair.target.split()) + 1 for pair in pairs)
    agreement = np.sum(lenses, axis=0) / tokens
    return MeasureScores(len(pairs), rates, _mean_correlations(steps), agreement.tolist())


def _heads(layers: Sequence[AttentionMap]) -> Iterable[tuple[str, np.ndarray]]:
    return ((f"{m.layer}.{head}", weights) for m in layers for head, weights in enumerate(m.weights))


def measures_table(scores: Mapping[str, MeasureScores]) -> str:
    """A Markdown table, one column per set."""
    each = [*scores.values()]
    first = each[0]
    rows = [["measures of contribution", *scores], ["---"] * (1 + len(each))]
    rows.append(["sentences", *(f"{s.sentences:,}" for s in each)])
    for name in first.error_rates:
        rows.append([f"AER, {name}", *(f"{s.error_rates[name]:.3f}" for s in each)])
    for what, of in (("source words", "words"), ("heads", "heads")):
        for name in getattr(first.correlations, of):
            values = [getattr(s.correlations, of)[name] for s in each]
            rows.append([f"rank correlation, {what}, {name}", *(f"{value:.2f}" for value in values)])
    for layer in range(len(first.agreement)):
        rows.append([f"logit lens, layer {layer + 1}, outputs the same", *(f"{s.agreement[layer]:.1%}" for s in each)])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
