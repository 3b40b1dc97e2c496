"""Ablating all heads in one batch equals ablating one after another; two runs are compared side by side."""

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from transformer import Translation, Translator, Vocabulary
from transformer.analysis import ablate_cross_attention, ablate_every_head, compare
from transformer.analysis import head_ablation as heads
from transformer.analysis.head_ablation import SLACK, ablations, cross_attention_ablations, pairs_as_data
from transformer.analysis.sublayer import record
from transformer.inference.attention_maps import KINDS
from transformer.inference.interventions import AblateHead, Interventions, RemoveMask
from transformer.storage.checkpoint import Checkpoint

from ..networks import Created, is_clear, network

SENTENCES = {"toy": "ich mochte ein bier", "babbler": "wort3 wort1 wort4"}


@pytest.mark.parametrize(("name", "most"), [("toy", None), ("babbler", None), ("babbler", 5)])
def test_a_head_is_ablated_as_by_an_intervention(name: str, most: int | None, request: pytest.FixtureRequest) -> None:
    """All heads in one batch, and five at a time."""
    translator: Translator = request.getfixturevalue(name)
    run, config = translator.translate(SENTENCES[name]), translator.checkpoint.model.config
    found = [each for part in cross_attention_ablations(translator, run, most) for each in part]
    places = itertools.product(range(config.num_decoder_layers), range(config.n_heads))
    assert [(each.layer, each.head) for each in found] == list(places)
    probabilities = [each.probability for each in found]
    assert np.ptp(probabilities) > 1e-4 * max(probabilities)  # more than what the heads are compared within
    output = [translator.checkpoint.tgt_vocab.ids[token] for token in run.output]
    longer = Translator(replace(translator.checkpoint, output_limit=len(run.output) + SLACK), "longer")
    for each in found[:: len(found) // 8]:
        without = Interventions((AblateHead("cross", each.layer, each.head),))
        logits = record(translator, replace(run, interventions=without))["logits"][0]
        expected = logits.double().softmax(-1)[range(len(output)), output].prod()
        assert each.probability == pytest.approx(float(expected), rel=3e-5)
        alone = longer.translate(run.sentence, interventions=without)
        assert each.text == alone.text or not is_clear(step.candidates.distribution for step in alone.steps)
        m = run.attention.cross[each.layer]
        assert each.weight == m.weights[each.head].max() == m.weights[each.head, each.query, each.key]


@pytest.mark.parametrize("training", [False, True])
def test_ablation_leaves_the_model_unchanged(babbler: Translator, training: bool) -> None:
    """Its output is as long as its positions allow."""
    checkpoint = replace(babbler.checkpoint, model=network(dropout=0.5, max_len=8), output_limit=8)
    translator = Translator(checkpoint, "short of positions")
    model = translator.checkpoint.model
    run = translator.translate("wort3 wort1 wort4 wort1")
    assert len(run.output) == 8
    expected = ablate_cross_attention(translator, run)
    model.train(training)
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    assert ablate_cross_attention(translator, run) == expected  # no dropout in either mode
    assert all(module.training is training for module in model.modules())
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())


# The sweep over every head


BABBLE = [("wort3 wort1", "word5 word4"), ("wort2", "word9"), ("wort1 wort1 wort4", "word3 word3 word7")]


@pytest.mark.parametrize("pad_source", [True, False])
def test_a_sweep_equals_a_loop_over_heads_and_sentences(pad_source: bool, babbler: Translator) -> None:
    """All heads in one batch, and five at a time."""
    translator = Translator(replace(babbler.checkpoint, pad_source=pad_source), "babbler")

    def looped(*ablated: AblateHead) -> float:
        how = Interventions(ablated)
        runs = [translator.translate(src, forced=[*tgt.split(), "E"], interventions=how) for src, tgt in BABBLE]
        return sum(math.exp(run.log_probability) for run in runs) / len(runs)

    found = ablate_every_head(translator.checkpoint, BABBLE)
    assert found.sentences == len(BABBLE)
    parts = ablations(translator.checkpoint, pairs_as_data(translator.checkpoint, BABBLE), most=5)
    in_parts = {head: mean for part in parts for head, mean in part.items()}
    assert found.baseline == pytest.approx(looped(), rel=1e-4) == pytest.approx(in_parts[None], rel=1e-4)
    for kind in KINDS:
        np.testing.assert_allclose(found.drop(kind), found.baseline - found.ablated[kind], atol=1e-5)
        for layer, head in np.ndindex(2, translator.checkpoint.model.config.n_heads):
            expected = pytest.approx(looped(AblateHead(kind, layer, head)), rel=1e-3)
            assert found.ablated[kind][layer, head] == expected
            assert in_parts[kind, layer, head] == expected
    with pytest.raises(ValueError, match="no sentence pair"):
        ablate_every_head(translator.checkpoint, [])


# Memory


@pytest.mark.slow
@pytest.mark.parametrize("fields", [{"n_heads": 16}, {"d_ff": 5000}, {"tgt_vocab_size": 3000}])
def test_no_tensor_exceeds_the_limit(fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    model = network(**{"src_vocab_size": 40, "tgt_vocab_size": 40} | fields)
    source, target = ("P", *(f"w{i}" for i in range(39))), (f"w{i}" for i in range(model.config.tgt_vocab_size - 3))
    vocabularies = Vocabulary(source), Vocabulary(("P", "S", "E", *target))
    translator = Translator(Checkpoint(model, *vocabularies, 30, 30, pad_source=False), "verbose")
    run = translator.translate(" ".join(source[1:31]))
    assert len(run.output) == 30
    monkeypatch.setattr(heads, "MAX_TENSOR", 2**19)
    for ablate in (
        lambda: ablate_cross_attention(translator, run),
        lambda: ablate_every_head(translator.checkpoint, [(run.sentence, run.text), ("w5 w6", "w7")] * 3),
    ):
        with Created() as created:
            ablate()
        assert 2**18 < max(numbers for numbers, _ in created.seen) <= 2**19


# Comparison


def test_runs_of_different_lengths_and_masks_are_compared_on_their_common_rows(babbler: Translator) -> None:
    run = babbler.translate("wort3 wort1 wort4")
    open_, cut = Interventions((RemoveMask("cross"),)), ("word5", "word3", "E")
    short = babbler.translate("wort3 wort1 wort4", forced=cut, interventions=open_)
    for one, two in ((run, short), (short, run)):
        found = compare(one, two)
        assert len(found.steps) == len(run.steps) == 8
        assert [step.new_probability is None for step in found.steps] == [False] * 3 + [True] * 5
        maps = [layer for layers in found.maps.values() for layer in layers]
        assert {layer.shape for layer in maps} == {(4, 6, 6), (4, 3, 3), (4, 3, 6)}
        for layer, whole, other in zip(maps, every(one), every(two), strict=True):
            q, k = layer.shape[1:]
            np.testing.assert_allclose(layer, other.weights[:, :q, :k] - whole.weights[:, :q, :k], atol=1e-5)


def every(run: Translation) -> list[Any]:
    return [m for kind in KINDS for m in run.attention.of(kind)]


def test_networks_of_different_shapes_are_not_compared(toy: Translator, babbler: Translator) -> None:
    with pytest.raises(ValueError, match="cannot be compared"):
        compare(toy.translate("ich"), babbler.translate("wort1"))
    fewer = Translator(replace(babbler.checkpoint, model=network(n_heads=2)), "fewer heads")
    with pytest.raises(ValueError, match="4 and 2 heads"):
        compare(babbler.translate("wort1"), fewer.translate("wort1"))
