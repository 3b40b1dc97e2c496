"""Ablating all heads in one batch equals ablating one after another; two runs are compared side by side."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from transformer import Transformer, Translation, Translator, Vocabulary, greedy_batch
from transformer.analysis import HeadAblation, ablate_cross_attention, ablate_every_head, compare
from transformer.analysis import head_ablation as heads
from transformer.analysis.head_ablation import SLACK
from transformer.data import CORPORA
from transformer.inference.attention_maps import KINDS
from transformer.inference.interventions import AblateHead, ForceWord, Interventions, RemoveMask
from transformer.storage.checkpoint import Checkpoint

from ..networks import network

SENTENCES = {"toy": "ich mochte ein bier", "babbler": "wort3 wort1 wort4"}


def ablating(layer: int, head: int) -> Callable[[str, Tensor], Tensor]:
    """A probe that zeroes the output of one cross-attention head."""

    def probe(name: str, value: Tensor) -> Tensor:
        if name != f"decoder.{layer}.cross_attention.head_output":
            return value
        assert value.size(0) == 1
        value = value.clone()
        value[:, head] = 0
        return value

    return probe


@pytest.fixture(scope="module", params=SENTENCES)
def case(request: pytest.FixtureRequest) -> tuple[Translator, Translation, list[HeadAblation]]:
    """A translator, a run, and the ablation of each of its cross-attention heads."""
    translator = request.getfixturevalue(request.param)
    run = translator.translate(SENTENCES[request.param])
    return translator, run, ablate_cross_attention(translator, run)


Case = tuple[Translator, Translation, list[HeadAblation]]


def test_there_is_one_result_per_head(case: Case) -> None:
    translator, _, found = case
    config = translator.checkpoint.model.config
    layers, heads = range(config.num_decoder_layers), range(config.n_heads)
    assert [(each.layer, each.head) for each in found] == [(layer, head) for layer in layers for head in heads]
    assert len({round(each.probability, 9) for each in found}) == len(found)  # every head has its own effect


def test_the_text_is_that_of_a_translator_without_that_head(case: Case) -> None:
    translator, run, found = case
    other = Translator(replace(translator.checkpoint, output_limit=len(run.output) + SLACK), "longer")
    for each in found[:: len(found) // 8]:
        assert each.text == other.translate(run.sentence, probe=ablating(each.layer, each.head)).text
    if translator.name == "babbler":  # the toy keeps its text without most heads
        assert len({each.text for each in found}) > 3


def test_the_probability_is_that_of_the_baseline_output_without_that_head(case: Case) -> None:
    translator, run, found = case
    c = translator.checkpoint
    src = torch.tensor([[c.src_vocab.ids[token] for token in run.source]])
    read = torch.tensor([[c.tgt_vocab.ids[token] for token in run.decoder_input]])
    for each in found[:: len(found) // 8]:
        distributions = c.model(src, read, probe=ablating(each.layer, each.head)).logits[0].softmax(-1)
        expected = 1.0
        for row, token in zip(distributions, run.output, strict=True):
            expected *= row[c.tgt_vocab.ids[token]].item()
        assert each.probability == pytest.approx(expected, rel=1e-4)


def test_the_weight_is_the_largest_of_that_heads_map(case: Case) -> None:
    _, run, found = case
    for each in found:
        m = run.attention.cross[each.layer]
        assert each.weight == m.weights[each.head].max()
        assert m.weights[each.head, each.query, each.key] == each.weight
        assert m.allowed[each.query, each.key]


def dropping(checkpoint: Checkpoint, **fields: Any) -> Checkpoint:
    model = network(**fields)
    return replace(checkpoint, model=model)


@pytest.mark.parametrize("training", [False, True])
def test_ablation_leaves_the_model_unchanged(babbler: Translator, training: bool) -> None:
    translator = Translator(dropping(babbler.checkpoint, dropout=0.5), "babbler")
    model = translator.checkpoint.model
    run = translator.translate(SENTENCES["babbler"])
    expected = ablate_cross_attention(translator, run)
    model.train(training)
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    assert ablate_cross_attention(translator, run) == expected  # no dropout in either mode
    assert all(module.training is training for module in model.modules())
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None and parameter.requires_grad for parameter in model.parameters())


def test_padding_has_no_effect_on_an_ablation(babbler: Translator) -> None:
    bare = Translator(replace(babbler.checkpoint, pad_source=False), "bare")
    run = bare.translate(SENTENCES["babbler"])
    padded = ablate_cross_attention(babbler, babbler.translate(SENTENCES["babbler"]))
    for one, other in zip(ablate_cross_attention(bare, run), padded, strict=True):
        assert (one.text, one.query, one.key) == (other.text, other.query, other.key)
        assert one.probability == pytest.approx(other.probability, rel=1e-4)


def test_a_run_of_the_networks_maximum_length_can_be_ablated(babbler: Translator) -> None:
    checkpoint = dropping(babbler.checkpoint, max_len=8)
    translator = Translator(replace(checkpoint, output_limit=8), "short of positions")
    run = translator.translate("wort3 wort1 wort4 wort1")
    assert len(run.output) == 8
    assert len(ablate_cross_attention(translator, run)) == 8


# The sweep over every head


def sequential(translator: Translator, pairs: list[tuple[str, str]], *ablated: AblateHead) -> float:
    """The mean probability of the references, one pass per sentence and head."""
    c, total = translator.checkpoint, 0.0
    probe = translator.probe(Interventions(ablated))
    for source, target in pairs:
        ids = c.src_vocab.encode(source)
        src = torch.tensor([ids + [0] * (c.source_length - len(ids) if c.pad_source else 0)])
        output = [*c.tgt_vocab.encode(target), c.tgt_vocab.ids["E"]]
        read = torch.tensor([[c.tgt_vocab.ids["S"], *output[:-1]]])
        with torch.no_grad():
            distributions = c.model(src, read, probe=probe).logits[0].double().softmax(-1)
        total += float(distributions[torch.arange(len(output)), output].prod())
    return total / len(pairs)


PAIRS = {
    "toy": [("ich mochte ein bier", "i want a beer ."), ("ich mochte ein cola", "i want a coke .")],
    "babbler": [("wort3 wort1", "word5 word4"), ("wort2", "word9"), ("wort1 wort1 wort4", "word3 word3 word7")],
    "bare": [("wort3 wort1", "word5 word4"), ("wort2", "word9"), ("wort1 wort1 wort4", "word3 word3 word7")],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRS)
def test_a_sweep_equals_a_loop_over_heads_and_sentences(name: str, request: pytest.FixtureRequest) -> None:
    translator = request.getfixturevalue("babbler" if name == "bare" else name)
    if name == "bare":
        translator = Translator(replace(translator.checkpoint, pad_source=False), "bare")
    pairs, config = PAIRS[name], translator.checkpoint.model.config
    found = ablate_every_head(translator.checkpoint, pairs)
    assert found.sentences == len(pairs)
    assert found.baseline == pytest.approx(sequential(translator, pairs), rel=1e-4)
    for kind in KINDS:
        depth = config.num_encoder_layers if kind == "encoder" else config.num_decoder_layers
        assert found.ablated[kind].shape == (depth, config.n_heads)
        for layer, head in np.ndindex(depth, config.n_heads):
            expected = sequential(translator, pairs, AblateHead(kind, layer, head))
            assert found.ablated[kind][layer, head] == pytest.approx(expected, rel=1e-3)
            assert found.drop(kind)[layer, head] == pytest.approx(found.baseline - expected, abs=1e-4)


@pytest.mark.slow
def test_a_sweep_over_sentences_is_the_mean_of_their_sweeps(classroom: Translator) -> None:
    """The sentences need more than one batch."""
    held_out = next(iter(CORPORA["classroom"].held_out.values()))()
    pairs = [(pair.source, pair.target) for pair in held_out[:12]]
    together, alone = (
        ablate_every_head(classroom.checkpoint, pairs),
        [ablate_every_head(classroom.checkpoint, [pair]) for pair in pairs],
    )
    assert together.baseline == pytest.approx(np.mean([each.baseline for each in alone]), rel=1e-4)
    for kind in KINDS:
        mean = np.mean([each.ablated[kind] for each in alone], axis=0)
        np.testing.assert_allclose(together.ablated[kind], mean, atol=1e-5)
    assert max(together.drop(kind).max() for kind in KINDS) > 0.05  # some head matters


def test_a_sweep_needs_a_pair(toy: Translator) -> None:
    with pytest.raises(ValueError, match="no sentence pair"):
        ablate_every_head(toy.checkpoint, [])


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


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 5])
def test_several_batches_equal_one(
    rows: int, toy: Translator, babbler: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, translator in {"toy": toy, "babbler": babbler}.items():
        run, pairs = translator.translate(SENTENCES[name]), PAIRS[name]
        whole, swept = ablate_cross_attention(translator, run), ablate_every_head(translator.checkpoint, pairs)
        with monkeypatch.context() as patch:
            patch.setattr(heads, "_rows_at_once", lambda config, words: rows)
            parts, swept_parts = (
                ablate_cross_attention(translator, run),
                ablate_every_head(translator.checkpoint, pairs),
            )
        for one, other in zip(whole, parts, strict=True):
            assert replace(one, probability=0) == replace(other, probability=0)
            assert one.probability == pytest.approx(other.probability, rel=1e-4)
        assert swept.sentences == swept_parts.sentences
        assert swept.baseline == pytest.approx(swept_parts.baseline, rel=1e-4)
        for kind in KINDS:
            np.testing.assert_allclose(swept.ablated[kind], swept_parts.ablated[kind], rtol=1e-4)


def test_a_shipped_models_heads_fit_one_batch(toy: Translator, classroom: Translator) -> None:
    for translator in (toy, classroom):
        config = translator.checkpoint.model.config
        words = max(translator.checkpoint.source_length, translator.checkpoint.output_limit + SLACK)
        assert heads._rows_at_once(config, words) > config.n_heads * 3 * config.num_decoder_layers


# Comparison


def test_a_run_does_not_differ_from_itself(toy: Translator) -> None:
    run = toy.translate(SENTENCES["toy"])
    same = compare(run, run)
    assert same.same_text
    assert all(step.same_input and step.baseline == step.modified for step in same.steps)
    assert all(step.baseline and step.kept == step.baseline.probability for step in same.steps)
    assert [(m.kind, m.layer) for m in same.maps] == [(kind, layer) for kind in KINDS for layer in range(6)]
    assert not any(m.weights.any() for m in same.maps)


def test_the_difference_is_given_step_by_step(toy: Translator) -> None:
    run = toy.translate("ich mochte ein bier")
    forced = toy.translate("ich mochte ein bier", interventions=Interventions((ForceWord(3, "coke"),)))
    found = compare(run, forced)
    assert not found.same_text
    assert [step.same_input for step in found.steps] == [True] * 4 + [False] * 2
    fourth = found.steps[3]
    assert fourth.baseline
    assert fourth.modified
    assert (fourth.baseline.token, fourth.modified.token) == ("beer", "coke")
    assert fourth.kept == fourth.baseline.probability  # the distribution is the same, only the choice differs
    cross = next(m for m in found.maps if m.kind == "cross")
    assert not cross.weights[:, :4].any()


def test_runs_of_different_lengths_are_compared_on_their_common_rows(babbler: Translator) -> None:
    run = babbler.translate("wort3 wort1 wort4")
    short = babbler.translate("wort3 wort1 wort4", forced=("word5", "word3", "E"))
    for one, two in ((run, short), (short, run)):
        found = compare(one, two)
        assert len(found.steps) == len(run.steps) == 8
        assert [step.kept is None for step in found.steps] == [False] * 3 + [True] * 5
        assert {m.weights.shape for m in found.maps} == {(4, 6, 6), (4, 3, 3), (4, 3, 6)}
        for m, whole, other in zip(found.maps, every(one), every(two), strict=True):
            q, k = m.weights.shape[1:]
            assert (m.weights == other.weights[:, :q, :k] - whole.weights[:, :q, :k]).all()


def every(run: Translation) -> list[Any]:
    return [m for kind in KINDS for m in run.attention.of(kind)]


def test_a_newly_allowed_cell_is_part_of_the_difference(toy: Translator) -> None:
    run = toy.translate("ich mochte ein bier")
    found = compare(run, toy.translate("ich mochte ein bier", interventions=Interventions((RemoveMask("cross"),))))
    for m in found.maps:
        assert m.allowed[:, -1].all() == (m.kind == "cross")
        if m.kind == "cross":
            assert (m.weights[..., 4] > 0).all()
            np.testing.assert_allclose(m.weights.sum(-1), 0, atol=1e-6)


def test_networks_of_different_shapes_are_not_compared(toy: Translator, babbler: Translator) -> None:
    with pytest.raises(ValueError, match="cannot be compared"):
        compare(toy.translate("ich"), babbler.translate("wort1"))
    fewer = Translator(replace(babbler.checkpoint, model=network(n_heads=2)), "fewer heads")
    with pytest.raises(ValueError, match="4 and 2 heads"):
        compare(babbler.translate("wort1"), fewer.translate("wort1"))
