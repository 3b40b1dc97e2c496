"""Silencing all heads at once, a row each, is silencing one head after another."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch
from torch import Tensor

from transformer import Translation, Translator
from transformer.checkpoint import Checkpoint
from transformer.experiments import SLACK, Silenced, silence_each_head

from .networks import network

SENTENCES = {"toy": "ich mochte ein bier", "babbler": "wort3 wort1 wort4"}


def silent(layer: int, head: int) -> Callable[[str, Tensor], Tensor]:
    """A probe that zeroes what one cross-attention head mixed."""

    def probe(name: str, value: Tensor) -> Tensor:
        if name != f"decoder.{layer}.cross_attention.mixed":
            return value
        assert value.size(0) == 1
        value = value.clone()
        value[:, head] = 0
        return value

    return probe


@pytest.fixture(scope="module", params=SENTENCES)
def case(request: pytest.FixtureRequest) -> tuple[Translator, Translation, list[Silenced]]:
    """A translator, a run of it, and the experiment."""
    translator = request.getfixturevalue(request.param)
    run = translator.translate(SENTENCES[request.param])
    return translator, run, silence_each_head(translator, run)


Case = tuple[Translator, Translation, list[Silenced]]


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
    assert len({each.text for each in silence_each_head(babbler, run)}) > 3


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
    found = silence_each_head(toy, run)
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
    calm = silence_each_head(translator, run)
    model.train(training)
    weights = {name: value.clone() for name, value in model.state_dict().items()}
    assert silence_each_head(translator, run) == calm  # no dropout, whatever the mode
    assert all(module.training is training for module in model.modules())
    assert all(torch.equal(value, weights[name]) for name, value in model.state_dict().items())
    assert all(parameter.grad is None and parameter.requires_grad for parameter in model.parameters())


def test_the_run_and_the_next_visitors_run_are_as_they_were(toy: Translator) -> None:
    run = toy.translate(SENTENCES["toy"])
    maps = [m.weights.copy() for m in run.attention.cross]
    silence_each_head(toy, run)
    assert all((before == m.weights).all() for before, m in zip(maps, run.attention.cross, strict=True))
    assert toy.translate(SENTENCES["toy"]).steps == run.steps


def test_a_source_without_padding_is_read_as_it_was(babbler: Translator) -> None:
    bare = Translator(replace(babbler.checkpoint, pad_source=False), "bare")
    run = bare.translate(SENTENCES["babbler"])
    padded = silence_each_head(babbler, babbler.translate(SENTENCES["babbler"]))
    for one, other in zip(silence_each_head(bare, run), padded, strict=True):
        assert (one.text, one.query, one.key) == (other.text, other.query, other.key)
        assert one.probability == pytest.approx(other.probability, rel=1e-4)


def test_a_run_as_long_as_the_network_allows_can_be_silenced(babbler: Translator) -> None:
    checkpoint = dropping(babbler.checkpoint, max_len=8)
    translator = Translator(replace(checkpoint, output_limit=8), "short of positions")
    run = translator.translate("wort3 wort1 wort4 wort1")
    assert len(run.output) == 8
    assert len(silence_each_head(translator, run)) == 8
