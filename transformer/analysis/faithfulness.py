"""Whether measures of contribution say what matters: against gold alignments, and against removing something.

Removed is each head of the last decoder layer (ablated), or each source word (masked from cross-attention in all
layers); its effect is the drop of the output token's log-probability. Spearman's rank correlation is taken over the
heads, or words, of a step; 1 ranks them as their removal does, 0 is chance. (Jain and Wallace 2019, "Attention is not
Explanation", arXiv 1902.10186, §4, compare attention with leaving words out.)

S source, T target, H heads.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from ..data.alignment import AlignedPair, AlignmentCounts, count_links
from ..data.vocabulary import END, PAD
from ..inference.attention_maps import AttentionMaps
from ..inference.translation import Translation
from ..inference.translator import Translator
from .contribution import (
    attention_rollout,
    direct_effects,
    gradient_times_input,
    integrated_gradients,
    logit_lenses,
    value_weighted,
)
from .head_ablation import Head, log_probabilities_without, run_as_data, scores_without

Measures = dict[str, np.ndarray]
GRADIENTS = {"gradient × input": gradient_times_input, "integrated gradients": integrated_gradients}


def _maps(translator: Translator, run: Translation) -> dict[str, AttentionMaps]:
    weighted = run.value_weighted or value_weighted(translator, run)
    return {"attention": run.attention, "value-weighted": weighted.maps, "after the norm": weighted.after_norm}


def word_measures(translator: Translator, run: Translation, gradients: Sequence[str] = tuple(GRADIENTS)) -> Measures:
    """Every source word's measures at every step, (T, S); those of maps are means of all cross-attention heads.
    Integrated `gradients` take 50 passes a step, which is long for a large model."""
    maps = _maps(translator, run).items()
    found = {name: np.mean([m.weights.mean(axis=0) for m in each.cross], axis=0) for name, each in maps}
    found["attention rollout"] = attention_rollout(run).source
    for name in gradients:
        found[name] = np.stack([GRADIENTS[name](translator, run, t).source for t in range(len(run.output))])
    return found


def head_measures(translator: Translator, run: Translation) -> Measures:
    """The measures of every head of the last decoder layer at every step, (T, 2 H), self-attention first: the largest
    weight, the sum of the norms, and the direct effect."""
    found = {}
    for name, maps in _maps(translator, run).items():
        reduce = np.max if name == "attention" else np.sum
        found[name] = np.concatenate([reduce(m.weights, axis=2) for m in (maps.decoder[-1], maps.cross[-1])]).T
    effects = direct_effects(translator, run)
    return found | {"direct effect": np.concatenate([effects.self_attention, effects.cross_attention], axis=1)}


def head_effects(translator: Translator, run: Translation) -> np.ndarray:
    """The effect of ablating each of those heads, (T, 2 H)."""
    model = translator.checkpoint.model
    last, heads = model.config.num_decoder_layers - 1, range(model.config.n_heads)
    removed: list[Head | None] = [None, *(("decoder", last, i) for i in heads), *(("cross", last, i) for i in heads)]
    logs = log_probabilities_without(model, run_as_data(translator, run), removed)[:, 0]
    return (logs[0] - logs[1:]).T.cpu().numpy()


def word_effects(translator: Translator, run: Translation) -> np.ndarray:
    """The effect of masking each source word from cross-attention, (T, S)."""
    logs = scores_without(translator, run, [[i] for i in range(len(run.source))])
    return (logs[0] - logs[1:]).T


def spearman(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """The rank correlation of each row of two (T, N); equal values share their mean rank. NaN where all are equal."""
    # The values below minus those above: twice the rank, with a mean of 0.
    a, b = (np.sign(each[:, :, None] - each[:, None, :]).sum(axis=2) for each in (one, other))
    lengths = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    return np.where(lengths > 0, (a * b).sum(axis=1) / np.where(lengths > 0, lengths, 1), np.nan)


def rank_correlations(
    translator: Translator, runs: Sequence[Translation], words: Sequence[Measures]
) -> dict[str, float]:
    """How well measures of heads and of source words agree with removing them: the mean over all steps.

    Args:
        runs: without interventions, of any model.
        words: what `word_measures` finds for each.
    """
    steps: dict[str, list[np.ndarray]] = {}
    for run, measures in zip(runs, words, strict=True):
        real = [i for i, token in enumerate(run.source) if token != PAD]
        of_heads, of_words = head_effects(translator, run), word_effects(translator, run)[:, real]
        found = {f"source words, {name}": spearman(each[:, real], of_words) for name, each in measures.items()}
        for name, each in head_measures(translator, run).items():
            found[f"heads, {name}"] = spearman(each, of_heads)
        for name, each in found.items():
            steps.setdefault(f"rank correlation, {name}", []).append(each)
    return {name: float(np.nanmean(np.concatenate(each))) for name, each in steps.items()}


def score_measures(translator: Translator, pairs: Sequence[AlignedPair]) -> dict[str, float]:
    """Alignment error rates, rank correlations, and how often the logit lens finds the output, under teacher forcing.
    Raises SentenceError: a sentence has an unknown word."""
    runs = translator.translate_many([pair.source for pair in pairs], value_weighted=True)
    for i, (run, pair) in enumerate(zip(runs, pairs, strict=True)):
        if run.text != pair.target:
            forced = [*pair.target.split(), END]
            runs[i] = translator.translate(pair.source, forced=forced, value_weighted=True)
    words = [word_measures(translator, run) for run in runs]
    counts: dict[tuple[str, int], AlignmentCounts] = {}  # by measure and head, of which -1 are all
    for run, pair, measures in zip(runs, pairs, words, strict=True):
        maps = {(name, -1): each for name, each in measures.items()}
        for name, each in _maps(translator, run).items():
            maps |= {(name, i): head for i, head in enumerate(np.concatenate([m.weights for m in each.cross]))}
        for key, weights in maps.items():
            counts[key] = counts.get(key, AlignmentCounts()) + count_links(weights, pair.gold)
    scores = {f"AER, {name}": found.error_rate for (name, head), found in counts.items() if head < 0}
    for (name, head), found in counts.items():
        if head >= 0:
            best = f"AER, {name}, best head"
            scores[best] = min(scores.get(best, 1.0), found.error_rate)
    scores |= rank_correlations(translator, runs, words)
    lenses = logit_lenses(translator, runs)
    right = sum(lens.agreement * len(run.output) for lens, run in zip(lenses, runs, strict=True))
    for layer, share in enumerate(np.atleast_1d(right / sum(len(run.output) for run in runs))):
        scores[f"logit lens, layer {layer + 1}, agreement with the output"] = float(share)
    return scores


def measures_table(scores: Mapping[str, Mapping[str, float]]) -> str:
    """A Markdown table, one column per set."""
    rows = [["measure", *scores], ["---"] * (1 + len(scores))]
    rows += [[name, *(f"{each[name]:.3f}" for each in scores.values())] for name in next(iter(scores.values()))]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)
