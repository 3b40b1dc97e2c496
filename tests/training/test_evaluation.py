"""Scores of a batch of sentences equal those of single translations."""

import random
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from transformer import Translator
from transformer.analysis.faithfulness import word_effects
from transformer.data import CORPORA
from transformer.data.alignment import AlignedPair, AlignmentCounts, GoldAlignment, count_links
from transformer.training.evaluation import BATCH, AlignmentScores, alignment_scores, count_near, main, score

from ..marian import SENTENCES, marian_folder
from ..networks import is_clear, network

TOY = tuple(pair for source in ("ich mochte ein bier", "ich mochte ein cola") if (pair := CORPORA["toy"].find(source)))


def babble(count: int) -> list[str]:
    """Different sentences of one to six of the babbler's words, in random order of length."""
    rng = random.Random(0)
    found: dict[str, None] = {}
    while len(found) < count:
        found[" ".join(f"wort{rng.randint(1, 10)}" for _ in range(rng.randint(1, 6)))] = None
    return list(found)


def random_gold(source: str, target: str, rng: random.Random) -> GoldAlignment:
    """Random links; some words have none."""
    words = range(len(source.split()))
    sets = [
        (set(rng.sample(words, rng.randint(0, 1))), set(rng.sample(words, rng.randint(0, 1)))) for _ in target.split()
    ]
    return GoldAlignment(tuple(tuple(sure) for sure, _ in sets), tuple(tuple(maybe - sure) for sure, maybe in sets))


@pytest.fixture(scope="module")
def talker(babbler: Translator) -> Translator:
    """The babbler with an output of words and E only, so that every output can be a reference."""
    model = network()
    with torch.no_grad():
        model.output_projection.bias[:2] = -100
    return Translator(replace(babbler.checkpoint, model=model), "talker")


@pytest.fixture(scope="module")
def pairs(talker: Translator) -> list[AlignedPair]:
    """Sentences of all lengths with the talker's outputs as references, and random links. The word that a row attends
    to most leads there by more than any processor's rounding."""
    rng, found = random.Random(0), []
    for run in map(talker.translate, babble(60)):
        layers = [torch.tensor(m.weights) for m in run.attention.cross]  # (H, T, S)
        means = [layer.mean(dim=0, keepdim=True) for layer in layers]
        if is_clear(row for maps in (*layers, *means, sum(means) / len(means)) for row in maps.flatten(0, 1)):
            found.append(AlignedPair(run.sentence, run.text, random_gold(run.sentence, run.text, rng), run.sentence))
    assert len(found) > 30
    assert {len(pair.source.split()) for pair in found} == {1, 2, 3, 4, 5, 6}
    return found


def sequential(translator: Translator, pairs: Sequence[AlignedPair]) -> AlignmentScores:
    """Sentence by sentence, from the maps of `translate`."""
    config = translator.checkpoint.model.config
    layers, heads = range(config.num_decoder_layers), range(config.n_heads)
    rates = {key: AlignmentCounts() for key in [*((n, i) for n in layers for i in heads), *layers, "all"]}
    for pair in pairs:
        run = translator.translate(pair.source)
        assert run.text == pair.target
        maps = [run.attention.cross[n].weights for n in layers]
        for n in layers:
            for i in heads:
                rates[n, i] += count_links(maps[n][i], pair.gold)
            rates[n] += count_links(sum(maps[n][i] for i in heads) / len(heads), pair.gold)
        everything = sum(maps[n][i] for n in layers for i in heads) / (len(layers) * len(heads))
        rates["all"] += count_links(everything, pair.gold)
    return AlignmentScores(
        heads=[[rates[n, i].error_rate for i in heads] for n in layers],
        layers=[rates[n].error_rate for n in layers],
        all_heads=rates["all"].error_rate,
    )


def agree(one: AlignmentScores, two: AlignmentScores) -> None:
    assert np.array(one.heads) == pytest.approx(np.array(two.heads))
    assert one.layers == pytest.approx(two.layers)
    assert one.all_heads == pytest.approx(two.all_heads)


# Alignment


def test_alignment_scores_equal_a_loop_over_translations(talker: Translator, pairs: list[AlignedPair]) -> None:
    scores, model = alignment_scores(talker.checkpoint, pairs), talker.checkpoint.model
    agree(scores, sequential(talker, pairs))
    model.train()
    agree(alignment_scores(talker.checkpoint, pairs * (BATCH // len(pairs) + 1)), scores)  # several batches
    assert all(module.training for module in model.modules())
    model.eval()
    assert np.ptp(scores.heads) > 0.05


def test_alignment_is_scored_on_the_reference(talker: Translator, pairs: list[AlignedPair]) -> None:
    """The first row is the same for every reference, so its rate depends only on the linked source word."""
    source = next(pair.source for pair in pairs if len(pair.source.split()) == 3)
    run = talker.translate(source)
    other = next(word for word in talker.checkpoint.tgt_vocab.words if word != run.output[0])
    for linked in range(3):
        pair = AlignedPair(source, other, GoldAlignment(((linked,),), ((),)), source)
        expected = [[float(head[0].argmax() != linked) for head in m.weights] for m in run.attention.cross]
        assert alignment_scores(talker.checkpoint, [pair]).heads == expected


# Scores


def test_correct_translations_score_100(toy: Translator) -> None:
    scores = score(toy.checkpoint, TOY)
    assert (scores.sentences, scores.exact_match) == (2, 1)
    assert scores.bleu == pytest.approx(100)
    assert scores.seconds > 0
    assert scores.alignment == alignment_scores(toy.checkpoint, TOY)


def test_wrong_translations_score_less(toy: Translator) -> None:
    """The reference has coke where the model outputs beer."""
    beer, coke = TOY
    wrong = score(toy.checkpoint, [replace(beer, target=coke.target)])
    assert wrong.exact_match == 0
    # 4 of 5 unigrams match, 2 of 4 bigrams, 1 of 3 trigrams, 0 of 2 4-grams: a half (sacrebleu's "exp" smoothing)
    assert wrong.bleu == pytest.approx(100 * (4 / 5 * 2 / 4 * 1 / 3 * 0.5 / 2) ** (1 / 4))
    half = score(toy.checkpoint, [replace(beer, target=coke.target), coke])
    assert half.exact_match == 0.5
    assert wrong.bleu < half.bleu < 100


# The nearest training sentence


def test_near_is_one_word_replaced() -> None:
    training = ["der hund schlaft", "die katze schlaft im park", "ich warte"]
    assert count_near(["der hund wartet", "die kuh schlaft im park"], training) == 2
    assert count_near(["hund der schlaft", "der hund", "der hund schlaft heute", "ich"], training) == 0
    assert count_near(["der hund wartet"], []) == 0


def test_the_command_correlates_any_models_measures_with_removal(tmp_path: Path, capsys: Any) -> None:
    marian_folder(tmp_path / "model")
    main([str(tmp_path / "model"), *SENTENCES[:2]])
    found = dict(re.findall(r"^\| rank correlation, (.*) \| (-?\d\.\d{3}) \|$", capsys.readouterr().out, re.MULTILINE))
    translator = Translator.load(tmp_path / "model")
    steps = []
    for run in map(translator.translate, SENTENCES[:2]):
        weights = np.mean([m.weights.mean(axis=0) for m in run.attention.cross], axis=0)
        effects = word_effects(translator, run)
        steps += [pd.Series(w).rank().corr(pd.Series(e).rank()) for w, e in zip(weights, effects, strict=True)]
    assert float(found["source words, attention"]) == pytest.approx(np.mean(steps), abs=2e-3)
    assert {"heads, attention", "heads, direct effect", "source words, gradient × input"} <= found.keys()


@pytest.mark.parametrize(("arguments", "why"), [(["toy"], "name sentences"), (["nowhere", "Ein Bier"], "no such")])
def test_the_command_says_what_it_cannot_score(arguments: list[str], why: str, capsys: Any) -> None:
    with pytest.raises(SystemExit) as error:
        main(arguments)
    assert why in f"{error.value} {capsys.readouterr().err}"
