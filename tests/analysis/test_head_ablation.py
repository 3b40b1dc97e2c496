"""Ablating all heads in one batch equals ablating one after another; two runs are compared side by side."""

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from transformer import Transformer, Translation, Translator, Vocabulary, greedy_batch
from transformer.analysis import ablate_cross_attention, ablate_every_head, compare
from transformer.analysis import head_ablation as heads
from transformer.analysis.head_ablation import SLACK
from transformer.inference.attention_maps import KINDS
from transformer.inference.interventions import AblateHead, ForceWord, Interventions, RemoveMask
from transformer.storage.checkpoint import Checkpoint

from ..networks import network

SENTENCES = {"toy": "ich mochte ein bier", "babbler": "wort3 wort1 wort4"}


def likelihood(translator: Translator, source: list[int], output: list[int], *ablated: AblateHead) -> float:
    """The probability of an output, token by token."""
    checkpoint = translator.checkpoint
    read = torch.tensor([[checkpoint.tgt_vocab.ids["S"], *output[:-1]]])
    with torch.no_grad():
        out = checkpoint.model(torch.tensor([source]), read, probe=translator.probe(Interventions(ablated)))
    return float(out.logits[0].double().softmax(-1)[torch.arange(len(output)), output].prod())


def sequential(translator: Translator, pairs: list[tuple[str, str]], *ablated: AblateHead) -> float:
    """The mean probability of the references, one pass per sentence and head."""
    c, total = translator.checkpoint, 0.0
    for source, target in pairs:
        ids = c.src_vocab.encode(source)
        ids += [0] * (c.source_length - len(ids) if c.pad_source else 0)
        total += likelihood(translator, ids, [*c.tgt_vocab.encode(target), c.tgt_vocab.ids["E"]], *ablated)
    return total / len(pairs)


@pytest.mark.parametrize(("name", "rows"), [("toy", None), ("babbler", None), ("babbler", 5)])
def test_a_head_is_ablated_as_by_an_intervention(
    name: str, rows: int | None, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All heads in one batch, and five at a time."""
    translator: Translator = request.getfixturevalue(name)
    if rows:
        monkeypatch.setattr(heads, "_rows_at_once", lambda config, words: rows)
    run, config = translator.translate(SENTENCES[name]), translator.checkpoint.model.config
    found = ablate_cross_attention(translator, run)
    source = [translator.checkpoint.src_vocab.ids[token] for token in run.source]
    output = [translator.checkpoint.tgt_vocab.ids[token] for token in run.output]
    places = itertools.product(range(config.num_decoder_layers), range(config.n_heads))
    assert [(each.layer, each.head) for each in found] == list(places)
    probabilities = [each.probability for each in found]
    assert np.ptp(probabilities) > 1e-4 * max(probabilities)  # more than what the heads are compared within
    longer = Translator(replace(translator.checkpoint, output_limit=len(run.output) + SLACK), "longer")
    for each in found[:: len(found) // 8]:
        without = AblateHead("cross", each.layer, each.head)
        assert each.probability == pytest.approx(likelihood(translator, source, output, without), rel=3e-5)
        assert each.text == longer.translate(run.sentence, interventions=Interventions((without,))).text
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


@pytest.mark.parametrize(("pad_source", "rows"), [(True, 500), (False, 500), (False, 5)])
def test_a_sweep_equals_a_loop_over_heads_and_sentences(
    pad_source: bool, rows: int, babbler: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(heads, "_rows_at_once", lambda config, words: rows)
    translator = Translator(replace(babbler.checkpoint, pad_source=pad_source), "babbler")
    config, found = translator.checkpoint.model.config, ablate_every_head(translator.checkpoint, BABBLE)
    assert found.sentences == len(BABBLE)
    assert found.baseline == pytest.approx(sequential(translator, BABBLE), rel=1e-4)
    for kind in KINDS:
        for layer, head in np.ndindex(2, config.n_heads):
            expected = sequential(translator, BABBLE, AblateHead(kind, layer, head))
            assert found.ablated[kind][layer, head] == pytest.approx(expected, rel=1e-3)
            assert found.drop(kind)[layer, head] == pytest.approx(found.baseline - expected, abs=1e-4)


def test_some_head_of_the_classroom_matters(classroom: Translator) -> None:
    run = classroom.translate("Heute habe ich ein kaltes Bier getrunken")
    found = ablate_every_head(classroom.checkpoint, [(run.sentence, run.text)])
    assert max(found.drop(kind).max() for kind in KINDS) > 0.05
    with pytest.raises(ValueError, match="no sentence pair"):
        ablate_every_head(classroom.checkpoint, [])


# Memory


class Largest(TorchDispatchMode):
    """Records the size of the largest tensor that is created."""

    numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        sizes = [each.numel() for each in tree_leaves(made) if isinstance(each, Tensor)]
        self.numbers = max([self.numbers, *sizes])
        return made


def verbose(**fields: Any) -> Translator:
    """A translator of sentences with up to 30 words."""
    words = {"src_vocab_size": 40, "tgt_vocab_size": 40} | fields
    source, target = (tuple(f"w{i}" for i in range(3, words[f"{side}_vocab_size"])) for side in ("src", "tgt"))
    vocabularies = Vocabulary(("P", "w1", "w2", *source)), Vocabulary(("P", "S", "E", *target))
    return Translator(Checkpoint(network(**words), *vocabularies, 30, 30, pad_source=False), "verbose")


LONG = " ".join(f"w{i}" for i in range(3, 33))
LARGE: dict[str, dict[str, Any]] = {
    "heads": {"n_heads": 16},
    "hidden": {"d_ff": 5000},
    "words": {"tgt_vocab_size": 3000},
}


@pytest.mark.slow
@pytest.mark.parametrize("fields", LARGE.values(), ids=LARGE)
def test_no_tensor_exceeds_the_limit(fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    translator = verbose(**fields)
    run = translator.translate(LONG)
    assert len(run.output) == 30
    several = [(LONG, run.text), ("w5 w6", "w7")] * 3
    monkeypatch.setattr(heads, "MAX_TENSOR", 2**19)
    for ablate in (
        lambda: ablate_cross_attention(translator, run),
        lambda: ablate_every_head(translator.checkpoint, [(LONG, run.text)]),
        lambda: ablate_every_head(translator.checkpoint, several),
    ):
        with Largest() as seen:
            ablate()
        assert 2**18 < seen.numbers <= 2**19


def test_the_cache_is_limited_too(monkeypatch: pytest.MonkeyPatch) -> None:
    translator = verbose()
    run = translator.translate(LONG)
    sizes: list[int] = []

    def decode(model: Transformer, src: Tensor, *more: Any) -> list[list[int]]:
        sizes.append(len(src))
        return greedy_batch(model, src, *more)

    monkeypatch.setattr(heads, "greedy_batch", decode)
    for rows in (8, 3):  # of the 8 heads
        monkeypatch.setattr(heads, "MAX_CACHE", rows * 4 * 2 * 35 * 16)  # layers, words, numbers of each
        ablate_cross_attention(translator, run)
    assert sizes == [8, 3, 3, 2]


# Comparison


def test_the_difference_is_given_step_by_step(toy: Translator) -> None:
    run = toy.translate("ich mochte ein bier")
    same = compare(run, run)
    assert same.same_text
    assert all(step.same_input and step.baseline == step.modified for step in same.steps)
    assert not any(m.weights.any() for m in same.maps)
    forced = toy.translate("ich mochte ein bier", interventions=Interventions((ForceWord(3, "coke"),)))
    found = compare(run, forced)
    assert not found.same_text
    assert [step.same_input for step in found.steps] == [True] * 4 + [False] * 2
    fourth = found.steps[3]
    assert fourth.baseline
    assert fourth.modified
    assert (fourth.baseline.token, fourth.modified.token) == ("beer", "coke")
    assert fourth.new_probability == pytest.approx(
        fourth.baseline.probability, abs=1e-5
    )  # the distribution is the same, only the choice differs
    cross = next(m for m in found.maps if m.kind == "cross")
    np.testing.assert_allclose(cross.weights[:, :4], 0, atol=1e-5)


def test_runs_of_different_lengths_are_compared_on_their_common_rows(babbler: Translator) -> None:
    run = babbler.translate("wort3 wort1 wort4")
    short = babbler.translate("wort3 wort1 wort4", forced=("word5", "word3", "E"))
    for one, two in ((run, short), (short, run)):
        found = compare(one, two)
        assert len(found.steps) == len(run.steps) == 8
        assert [step.new_probability is None for step in found.steps] == [False] * 3 + [True] * 5
        assert {m.weights.shape for m in found.maps} == {(4, 6, 6), (4, 3, 3), (4, 3, 6)}
        for m, whole, other in zip(found.maps, every(one), every(two), strict=True):
            q, k = m.weights.shape[1:]
            np.testing.assert_allclose(m.weights, other.weights[:, :q, :k] - whole.weights[:, :q, :k], atol=1e-5)


def every(run: Translation) -> list[Any]:
    return [m for kind in KINDS for m in run.attention.of(kind)]


def test_a_newly_allowed_cell_is_part_of_the_difference(toy: Translator) -> None:
    run = toy.translate("ich mochte ein bier")
    found = compare(run, toy.translate("ich mochte ein bier", interventions=Interventions((RemoveMask("cross"),))))
    for m in found.maps:
        assert m.allowed[:, -1].all() == (m.kind == "cross")
        if m.kind == "cross":
            assert (m.weights[..., 4] > 0).all()
            np.testing.assert_allclose(m.weights.sum(-1), 0, atol=1e-5)


def test_networks_of_different_shapes_are_not_compared(toy: Translator, babbler: Translator) -> None:
    with pytest.raises(ValueError, match="cannot be compared"):
        compare(toy.translate("ich"), babbler.translate("wort1"))
    fewer = Translator(replace(babbler.checkpoint, model=network(n_heads=2)), "fewer heads")
    with pytest.raises(ValueError, match="4 and 2 heads"):
        compare(babbler.translate("wort1"), fewer.translate("wort1"))
