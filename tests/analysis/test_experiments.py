"""Silencing all heads at once, a row each, is silencing one head after another; two runs side by side."""

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
from transformer.analysis import AblationSweep, HeadAblation, ablate_cross_attention, ablate_every_head, compare
from transformer.analysis import head_ablation as heads
from transformer.analysis.head_ablation import SLACK
from transformer.data import CORPORA
from transformer.inference.attention_maps import KINDS
from transformer.inference.interventions import ForceWord, Interventions, RemoveMask, Silence, SwapWord
from transformer.storage.checkpoint import Checkpoint

from ..networks import network

SENTENCES = {"toy": "ich mochte ein bier", "babbler": "wort3 wort1 wort4"}


def silent(layer: int, head: int) -> Callable[[str, Tensor], Tensor]:
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
    """A translator, a run of it, and the experiment."""
    translator = request.getfixturevalue(request.param)
    run = translator.translate(SENTENCES[request.param])
    return translator, run, ablate_cross_attention(translator, run)


Case = tuple[Translator, Translation, list[HeadAblation]]


def test_there_is_one_result_a_head_layer_by_layer(case: Case) -> None:
    translator, _, found = case
    config = translator.checkpoint.model.config
    layers, heads = range(config.num_decoder_layers), range(config.n_heads)
    assert [(each.layer, each.head) for each in found] == [(layer, head) for layer in layers for head in heads]


def test_its_text_is_what_a_translator_says_without_that_head(case: Case) -> None:
    translator, run, found = case
    patient = Translator(replace(translator.checkpoint, output_limit=len(run.output) + SLACK), "patient")
    for each in found:
        assert each.text == patient.translate(run.sentence, probe=silent(each.layer, each.head)).text


def test_silence_can_change_what_is_said(babbler: Translator) -> None:
    """Without that, the comparison of texts above would compare nothing."""
    run = babbler.translate(SENTENCES["babbler"])
    assert len({each.text for each in ablate_cross_attention(babbler, run)}) > 3


def test_its_probability_is_that_of_the_whole_run_read_again_without_that_head(case: Case) -> None:
    translator, run, found = case
    c = translator.checkpoint
    src = torch.tensor([[c.src_vocab.ids[token] for token in run.source]])
    read = torch.tensor([[c.tgt_vocab.ids[token] for token in run.decoder_input]])
    for each in found:
        distributions = c.model(src, read, probe=silent(each.layer, each.head)).logits[0].softmax(-1)
        expected = 1.0
        for row, token in zip(distributions, run.output, strict=True):
            expected *= row[c.tgt_vocab.ids[token]].item()
        assert each.probability == pytest.approx(expected, rel=1e-4)


def test_its_look_is_the_strongest_of_that_heads_map(case: Case) -> None:
    _, run, found = case
    for each in found:
        m = run.attention.cross[each.layer]
        assert each.weight == m.weights[each.head].max()
        assert m.weights[each.head, each.query, each.key] == each.weight
        assert m.allowed[each.query, each.key]


def test_heads_are_worth_different_things(case: Case) -> None:
    """Were one head silenced in every row, or none, these would be the same."""
    _, run, found = case
    assert len({round(each.probability, 9) for each in found}) == len(found)
    unbroken = 1.0
    for step in run.steps:
        unbroken *= step.probability
    assert all(each.probability != pytest.approx(unbroken, rel=1e-7) for each in found)


def test_the_toy_says_the_same_without_most_heads(toy: Translator) -> None:
    run = toy.translate("ich mochte ein cola")
    found = ablate_cross_attention(toy, run)
    assert all(0 <= each.probability <= 1 for each in found)
    assert max(each.probability for each in found) > 0.9
    assert sum(each.text == run.text for each in found) > len(found) / 2


def dropping(checkpoint: Checkpoint, **fields: Any) -> Checkpoint:
    model = network(**fields)
    return replace(checkpoint, model=model)


@pytest.mark.parametrize("training", [False, True])
def test_the_model_is_as_it_was_afterwards(babbler: Translator, training: bool) -> None:
    translator = Translator(dropping(babbler.checkpoint, dropout=0.5), "babbler")
    model = translator.checkpoint.model
    run = translator.translate(SENTENCES["babbler"])
    calm = ablate_cross_attention(translator, run)
    model.train(training)
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    assert ablate_cross_attention(translator, run) == calm  # no dropout, whatever the mode
    assert all(module.training is training for module in model.modules())
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None and parameter.requires_grad for parameter in model.parameters())


def test_the_run_and_the_next_visitors_run_are_as_they_were(toy: Translator) -> None:
    run = toy.translate(SENTENCES["toy"])
    maps = [m.weights.copy() for m in run.attention.cross]
    ablate_cross_attention(toy, run)
    assert all((before == m.weights).all() for before, m in zip(maps, run.attention.cross, strict=True))
    assert toy.translate(SENTENCES["toy"]).steps == run.steps


def test_a_source_without_padding_is_read_as_it_was(babbler: Translator) -> None:
    bare = Translator(replace(babbler.checkpoint, pad_source=False), "bare")
    run = bare.translate(SENTENCES["babbler"])
    padded = ablate_cross_attention(babbler, babbler.translate(SENTENCES["babbler"]))
    for one, other in zip(ablate_cross_attention(bare, run), padded, strict=True):
        assert (one.text, one.query, one.key) == (other.text, other.query, other.key)
        assert one.probability == pytest.approx(other.probability, rel=1e-4)


def test_a_run_as_long_as_the_network_allows_can_be_silenced(babbler: Translator) -> None:
    checkpoint = dropping(babbler.checkpoint, max_len=8)
    translator = Translator(replace(checkpoint, output_limit=8), "short of positions")
    run = translator.translate("wort3 wort1 wort4 wort1")
    assert len(run.output) == 8
    assert len(ablate_cross_attention(translator, run)) == 8


# Every head of every kind


def slowly(translator: Translator, pairs: list[tuple[str, str]], *silenced: Silence) -> float:
    """The mean probability of the references, one pass a sentence and a head, without padding of ours."""
    c, total = translator.checkpoint, 0.0
    probe = translator.probe(Interventions(silenced))
    for source, target in pairs:
        ids = c.src_vocab.encode(source)
        src = torch.tensor([ids + [0] * (c.source_length - len(ids) if c.pad_source else 0)])
        said = [*c.tgt_vocab.encode(target), c.tgt_vocab.ids["E"]]
        read = torch.tensor([[c.tgt_vocab.ids["S"], *said[:-1]]])
        with torch.no_grad():
            distributions = c.model(src, read, probe=probe).logits[0].double().softmax(-1)
        total += float(distributions[torch.arange(len(said)), said].prod())
    return total / len(pairs)


PAIRS = {
    "toy": [("ich mochte ein bier", "i want a beer ."), ("ich mochte ein cola", "i want a coke .")],
    "babbler": [("wort3 wort1", "word5 word4"), ("wort2", "word9"), ("wort1 wort1 wort4", "word3 word3 word7")],
    "bare": [("wort3 wort1", "word5 word4"), ("wort2", "word9"), ("wort1 wort1 wort4", "word3 word3 word7")],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", PAIRS)
def test_a_sweep_is_a_slow_loop_over_heads_and_sentences(name: str, request: pytest.FixtureRequest) -> None:
    translator = request.getfixturevalue("babbler" if name == "bare" else name)
    if name == "bare":
        translator = Translator(replace(translator.checkpoint, pad_source=False), "bare")
    pairs, config = PAIRS[name], translator.checkpoint.model.config
    found = ablate_every_head(translator.checkpoint, pairs)
    assert found.sentences == len(pairs)
    assert found.baseline == pytest.approx(slowly(translator, pairs), rel=1e-4)
    for kind in KINDS:
        depth = config.num_encoder_layers if kind == "encoder" else config.num_decoder_layers
        assert found.ablated[kind].shape == (depth, config.n_heads)
        for layer, head in np.ndindex(depth, config.n_heads):
            expected = slowly(translator, pairs, Silence(kind, layer, head))
            assert found.ablated[kind][layer, head] == pytest.approx(expected, rel=1e-3)
            assert found.drop(kind)[layer, head] == pytest.approx(found.baseline - expected, abs=1e-4)


def test_a_sweep_of_many_sentences_is_the_mean_of_sweeps_of_each(classroom: Translator) -> None:
    """Enough of them that they do not fit one batch."""
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
    assert max(together.drop(kind).max() for kind in KINDS) > 0.05  # some head is needed


def test_a_sweep_of_a_run_agrees_with_its_silenced_heads(toy: Translator) -> None:
    run = toy.translate(SENTENCES["toy"])
    found: AblationSweep = ablate_every_head(toy.checkpoint, [(run.sentence, run.text)])
    for each in ablate_cross_attention(toy, run):
        assert found.ablated["cross"][each.layer, each.head] == pytest.approx(each.probability, rel=1e-3)


def test_a_sweep_needs_a_pair(toy: Translator) -> None:
    with pytest.raises(ValueError, match="no sentence pair"):
        ablate_every_head(toy.checkpoint, [])


# As many rows at once as memory has room for


class Largest(TorchDispatchMode):
    """How many numbers the largest tensor has that is made inside."""

    numbers = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        sizes = [each.numel() for each in tree_leaves(made) if isinstance(each, Tensor)]
        self.numbers = max([self.numbers, *sizes])
        return made


def long_winded(**fields: Any) -> Translator:
    """Reads and says up to 30 words."""
    words = {"src_vocab_size": 40, "tgt_vocab_size": 40} | fields
    source, target = (tuple(f"w{i}" for i in range(3, words[f"{side}_vocab_size"])) for side in ("src", "tgt"))
    vocabularies = Vocabulary(("P", "w1", "w2", *source)), Vocabulary(("P", "S", "E", *target))
    return Translator(Checkpoint(network(**words), *vocabularies, 30, 30, pad_source=False), "long-winded")


LONG = " ".join(f"w{i}" for i in range(3, 33))
LARGE: dict[str, dict[str, Any]] = {
    "heads": {"n_heads": 16},
    "hidden": {"d_ff": 5000},
    "words": {"tgt_vocab_size": 3000},
}


@pytest.mark.slow
@pytest.mark.parametrize("fields", LARGE.values(), ids=LARGE)
def test_no_tensor_of_a_sweep_is_larger_than_is_allowed(
    fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    translator = long_winded(**fields)
    run = translator.translate(LONG)
    assert len(run.output) == 30
    several = [(LONG, run.text), ("w5 w6", "w7")] * 3
    monkeypatch.setattr(heads, "MAX_TENSOR", 2**19)
    for ask in (
        lambda: ablate_cross_attention(translator, run),
        lambda: ablate_every_head(translator.checkpoint, [(LONG, run.text)]),
        lambda: ablate_every_head(translator.checkpoint, several),
    ):
        with Largest() as seen:
            ask()
        assert 2**18 < seen.numbers <= 2**19


def test_what_decoding_keeps_is_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    translator = long_winded()
    run = translator.translate(LONG)
    asked: list[int] = []

    def decode(model: Transformer, src: Tensor, *more: Any) -> list[list[int]]:
        asked.append(len(src))
        return greedy_batch(model, src, *more)

    monkeypatch.setattr(heads, "greedy_batch", decode)
    for rows in (8, 3):  # of the 8 heads
        monkeypatch.setattr(heads, "MAX_CACHE", rows * 4 * 2 * 35 * 16)  # layers, words, numbers of each
        ablate_cross_attention(translator, run)
    assert asked == [8, 3, 3, 2]


@pytest.mark.slow
@pytest.mark.parametrize("rows", [1, 3, 5])
def test_heads_in_several_batches_are_worth_what_they_are_in_one(
    rows: int, toy: Translator, babbler: Translator, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, translator in {"toy": toy, "babbler": babbler}.items():
        run, pairs = translator.translate(SENTENCES[name]), PAIRS[name]
        whole, swept = ablate_cross_attention(translator, run), ablate_every_head(translator.checkpoint, pairs)
        with monkeypatch.context() as small:
            small.setattr(heads, "_rows_at_once", lambda config, words: rows)
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


def test_all_heads_of_a_shipped_model_are_one_batch(toy: Translator, classroom: Translator) -> None:
    for translator in (toy, classroom):
        config = translator.checkpoint.model.config
        words = max(translator.checkpoint.source_length, translator.checkpoint.output_limit + SLACK)
        assert heads._rows_at_once(config, words) > config.n_heads * 3 * config.num_decoder_layers


# Side by side


def test_a_run_beside_itself_differs_nowhere(toy: Translator) -> None:
    run = toy.translate(SENTENCES["toy"])
    same = compare(run, run)
    assert same.same_text
    assert all(step.same_input and step.baseline == step.modified for step in same.steps)
    assert all(step.baseline and step.kept == step.baseline.probability for step in same.steps)
    assert [(m.kind, m.layer) for m in same.maps] == [(kind, layer) for kind in KINDS for layer in range(6)]
    assert not any(m.weights.any() for m in same.maps)


def test_what_differs_is_told_step_by_step(toy: Translator) -> None:
    run = toy.translate("ich mochte ein bier")
    forced = toy.translate("ich mochte ein bier", interventions=Interventions((ForceWord(3, "coke"),)))
    found = compare(run, forced)
    assert not found.same_text
    assert [step.same_input for step in found.steps] == [True] * 4 + [False] * 2
    fourth = found.steps[3]
    assert fourth.baseline
    assert fourth.modified
    assert (fourth.baseline.token, fourth.modified.token) == ("beer", "coke")
    assert fourth.kept == fourth.baseline.probability  # the same network on the same words: only the choice differs
    cross = next(m for m in found.maps if m.kind == "cross")
    assert not cross.weights[:, :4].any()
    assert (cross.query_tokens[4], cross.modified_query_tokens[4]) == ("beer", "coke")


def test_runs_of_two_lengths_share_their_first_rows(babbler: Translator) -> None:
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
            assert m.query_tokens == whole.query_tokens[:q]
            assert m.modified_key_tokens == other.key_tokens[:k]


def every(run: Translation) -> list[Any]:
    return [m for kind in KINDS for m in run.attention.of(kind)]


def test_a_cell_that_was_opened_is_in_the_difference(toy: Translator) -> None:
    run = toy.translate("ich mochte ein bier")
    found = compare(run, toy.translate("ich mochte ein bier", interventions=Interventions((RemoveMask("cross"),))))
    for m in found.maps:
        assert m.allowed[:, -1].all() == (m.kind == "cross")
        if m.kind == "cross":
            assert (m.weights[..., 4] > 0).all()
            np.testing.assert_allclose(m.weights.sum(-1), 0, atol=1e-6)


def test_a_swapped_word_shows_on_both_axes(toy: Translator) -> None:
    run = toy.translate("ich mochte ein bier")
    found = compare(run, toy.translate("ich mochte ein bier", interventions=Interventions((SwapWord(3, "cola"),))))
    assert found.maps[0].key_tokens[3] == "bier"
    assert found.maps[0].modified_key_tokens[3] == "cola"


def test_networks_of_two_shapes_are_not_compared(toy: Translator, babbler: Translator) -> None:
    with pytest.raises(ValueError, match="cannot be compared"):
        compare(toy.translate("ich"), babbler.translate("wort1"))
    fewer = Translator(replace(babbler.checkpoint, model=network(n_heads=2)), "fewer heads")
    with pytest.raises(ValueError, match="4 and 2 heads"):
        compare(babbler.translate("wort1"), fewer.translate("wort1"))
