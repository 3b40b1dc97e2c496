"""Measures are compared with removal as interventions remove, and with gold links as attention is."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from transformer import Translation, Translator
from transformer.analysis.contribution import integrated_gradients
from transformer.analysis.faithfulness import (
    head_effects,
    measures_table,
    rank_correlations,
    score_measures,
    spearman,
    word_effects,
    word_measures,
)
from transformer.analysis.sublayer import record
from transformer.data import CORPORA
from transformer.data.alignment import count_links
from transformer.inference.interventions import AblateHead, Change, EditMask, Interventions

from ..marian import SENTENCES

SENTENCE = "wort3 wort1 wort4"


def log_probabilities(translator: Translator, run: Translation, *changes: Change) -> np.ndarray:
    logits = record(translator, replace(run, interventions=Interventions(changes)))["logits"][0]
    output = [translator.checkpoint.tgt_vocab.ids[token] for token in run.output]
    return logits.log_softmax(dim=-1)[range(len(output)), output].numpy()


def test_heads_and_words_are_removed_as_by_interventions(babbler: Translator) -> None:
    run = babbler.translate(SENTENCE)
    baseline, heads, words = log_probabilities(babbler, run), head_effects(babbler, run), word_effects(babbler, run)
    assert (heads.shape, words.shape) == ((8, 8), (8, len(run.source)))
    for i in range(8):
        change = AblateHead("decoder" if i < 4 else "cross", 1, i % 4)
        np.testing.assert_allclose(heads[:, i], baseline - log_probabilities(babbler, run, change), atol=1e-5)
    for key in range(len(run.source)):
        changes = [EditMask("cross", query, key, False) for query in range(len(run.output))]
        np.testing.assert_allclose(words[:, key], baseline - log_probabilities(babbler, run, *changes), atol=1e-5)
    assert not words[:, 3:].any()  # padding
    assert np.ptp(words) > 1e-3


def test_a_rank_correlation_is_spearmans() -> None:
    rng = np.random.default_rng(0)
    one, other = rng.integers(0, 4, (20, 6)).astype(float), rng.normal(size=(20, 6))  # with ties
    one[3] = 1.0
    for found, a, b in zip(spearman(one, other), one, other, strict=True):
        expected = pd.DataFrame([a, b]).T.rank().corr().iloc[0, 1]
        assert found == pytest.approx(expected, nan_ok=True)
    assert spearman(other, np.exp(other)) == pytest.approx(np.ones(20))


@pytest.mark.slow
def test_every_measure_is_scored_on_the_references(toy: Translator) -> None:
    pairs = [pair for source in ("ich mochte ein bier", "ich mochte ein cola") if (pair := CORPORA["toy"].find(source))]
    pairs[0] = replace(pairs[0], target=pairs[1].target)  # the model outputs another word
    found = score_measures(toy, pairs)
    runs = [toy.translate(pair.source, forced=[*pair.target.split(), "E"]) for pair in pairs]
    words = [word_measures(toy, run) for run in runs]
    heads = [np.concatenate([m.weights for m in run.attention.cross]) for run in runs]  # (48, T, S) each

    def error_rate(*maps: np.ndarray) -> float:
        one, other = (count_links(weights, pair.gold) for weights, pair in zip(maps, pairs, strict=True))
        return (one + other).error_rate

    for name in words[0]:
        assert found[f"AER, {name}"] == pytest.approx(error_rate(*(each[name] for each in words)))
    best = min(error_rate(*each) for each in zip(*heads, strict=True))
    assert found["AER, attention, best head"] == pytest.approx(best)
    gradients = [integrated_gradients(toy, runs[0], t).source for t in range(6)]
    np.testing.assert_array_equal(words[0]["integrated gradients"], gradients)
    correlations = rank_correlations(toy, runs, words)
    assert len(correlations) == 6 + 4
    assert correlations.items() <= found.items()
    assert all(-1 <= value <= 1 for value in correlations.values())
    assert found["logit lens, layer 6, agreement with the output"] == pytest.approx(11 / 12)
    figure = f"{found['AER, attention']:.3f}"
    assert f"| AER, attention | {figure} | {figure} |" in measures_table({"one": found, "other": found})


def test_a_measure_that_is_the_effect_correlates_fully(marian: Path) -> None:
    """With a model of the Hub, whose runs were made without value-weighted maps."""
    translator = Translator.load(marian, device="cpu")
    runs = translator.translate_many(SENTENCES[:2])
    words = [word_measures(translator, run, ["gradient × input"]) for run in runs]
    assert "integrated gradients" not in words[0]
    found = rank_correlations(translator, runs, [{"effect": word_effects(translator, run)} for run in runs])
    assert found["rank correlation, source words, effect"] == pytest.approx(1)
    assert abs(found["rank correlation, heads, direct effect"]) < 1
