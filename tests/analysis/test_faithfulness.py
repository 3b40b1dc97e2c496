"""Measures are compared with removal as interventions remove, and with gold links as attention is."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from transformer import Translation, Translator
from transformer.analysis.contribution import integrated_gradients
from transformer.analysis.faithfulness import (
    WORD_MEASURES,
    head_effects,
    measures_table,
    rank_correlations,
    score_measures,
    spearman,
    word_effects,
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


def test_every_measure_is_scored_on_the_references(toy: Translator) -> None:
    pairs = [pair for source in ("ich mochte ein bier", "ich mochte ein cola") if (pair := CORPORA["toy"].find(source))]
    swapped = [replace(pairs[0], target=pairs[1].target), pairs[1]]  # the model outputs another word than the first
    found = score_measures(toy, swapped)
    runs = [toy.translate(pair.source, forced=[*pair.target.split(), "E"]) for pair in swapped]
    assert [run.text for run in runs] == [pair.target for pair in swapped]
    mean = [np.mean([m.weights.mean(axis=0) for m in run.attention.cross], axis=0) for run in runs]
    counts = [count_links(weights, pair.gold) for weights, pair in zip(mean, swapped, strict=True)]
    assert found.sentences == 2
    assert found.error_rates["attention"] == pytest.approx((counts[0] + counts[1]).error_rate)
    gradients = [np.stack([integrated_gradients(toy, run, t).source for t in range(6)]) for run in runs]
    counts = [count_links(weights, pair.gold) for weights, pair in zip(gradients, swapped, strict=True)]
    assert found.error_rates["integrated gradients"] == pytest.approx((counts[0] + counts[1]).error_rate)
    heads = [count_links(runs[0].attention.cross[i].weights[h], pairs[0].gold) for i, h in np.ndindex(6, 8)]
    others = [count_links(runs[1].attention.cross[i].weights[h], pairs[1].gold) for i, h in np.ndindex(6, 8)]
    best = min((a + b).error_rate for a, b in zip(heads, others, strict=True))
    assert found.error_rates["attention, best head"] == pytest.approx(best)
    assert list(found.error_rates)[:6] == list(found.correlations.words) == list(WORD_MEASURES)
    assert list(found.correlations.heads) == ["attention", "value-weighted", "after the norm", "direct effect"]
    assert all(-1 <= value <= 1 for side in found.correlations for value in side.values())
    assert found.agreement[-1] == pytest.approx(11 / 12)
    assert found.correlations == rank_correlations(toy, runs)
    figure = f"{found.error_rates['attention']:.3f}"
    assert f"| AER, attention | {figure} | {figure} |" in measures_table({"one": found, "other": found})


def test_a_published_model_is_compared_with_removal_only(marian: Path, babbler: Translator) -> None:
    translator = Translator.load(marian, device="cpu")
    cheap = {name: measure for name, measure in WORD_MEASURES.items() if name != "integrated gradients"}
    found = rank_correlations(translator, translator.translate_many(SENTENCES[:2], value_weighted=True), cheap)
    assert list(found.words) == list(cheap)
    assert all(-1 <= value <= 1 for side in found for value in side.values())
    changed = babbler.translate(SENTENCE, interventions=Interventions((AblateHead("cross", 0, 0),)))
    with pytest.raises(ValueError, match="unmodified run"):
        rank_correlations(babbler, [changed])
