"""A correct run passes every check, and each check finds the error that it tests for."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch

from transformer import Transformer, Translation, Translator
from transformer.analysis.self_checks import check
from transformer.inference.attention_maps import KINDS, Kind
from transformer.inference.translation import Candidates

from .test_sublayer import CASES, babbler_of

NAMES = ["rows", "masked", "cached", "torch"]
MORE: dict[str, dict[str, Any]] = {
    "pre, encoder norm": {"norm_first": True, "final_norm": "encoder"},
    "post, both norms": {"final_norm": "both", "bias": False, "qkv_bias": False},
    "no positions": {"positional_encoding": False},
    "tied": {"tgt_vocab_size": 11, "tie_weights": True},
}


def failed(translator: Translator, run: Translation) -> list[str]:
    return [each.name for each in check(translator, run) if not each.ok]


Change = Callable[[np.ndarray, np.ndarray], None]


@pytest.mark.parametrize(
    ("name", "sentence"), [("toy", "cola"), ("classroom", "Heute habe ich ein kaltes Bier getrunken")]
)
def test_a_run_of_a_shipped_model_passes(name: str, sentence: str, request: pytest.FixtureRequest) -> None:
    translator: Translator = request.getfixturevalue(name)
    found = check(translator, translator.translate(sentence))
    assert [each.name for each in found] == NAMES
    assert all(0 <= each.error < 1e-5 and each.ok for each in found)  # far below every tolerance


@pytest.mark.parametrize("special", [*CASES, *MORE])
@pytest.mark.filterwarnings("error", "ignore::pytest.PytestUnraisableExceptionWarning")  # from other tests
def test_a_run_of_every_configuration_passes(special: str) -> None:
    translator = babbler_of(**(CASES | MORE)[special])
    run = translator.translate("wort3 wort1 wort4 wort1")
    assert failed(translator, run) == []


def scale(weights: np.ndarray, allowed: np.ndarray) -> None:
    weights[3, 2] *= 2


def peek(weights: np.ndarray, allowed: np.ndarray) -> None:
    weights[0][~allowed] = 1e-9  # too small for the other checks


def swap(weights: np.ndarray, allowed: np.ndarray) -> None:
    weights[[0, 1]] = weights[[1, 0]]  # rows still sum to 1, and masked cells are 0


def spoil(weights: np.ndarray, allowed: np.ndarray) -> None:
    weights[0, 0] = np.nan


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("change", "names"),
    [(scale, ["rows", "cached"]), (peek, ["masked"]), (swap, ["cached"]), (spoil, ["rows", "masked", "cached"])],
)
def test_other_weights_are_found(
    toy: Translator, beer: Translation, kind: Kind, change: Change, names: list[str]
) -> None:
    """In the last layer of one kind."""
    *maps, m = beer.attention.of(kind)
    weights = m.weights.copy()
    change(weights, m.allowed)
    maps.append(replace(m, weights=weights))
    assert failed(toy, replace(beer, attention=replace(beer.attention, **{kind: tuple(maps)}))) == names


def test_a_probability_that_differs_from_the_full_pass_is_found(toy: Translator, beer: Translation) -> None:
    first, *others = beer.steps
    distribution = first.candidates.distribution.clone()
    distribution[distribution.argmax()] -= 0.001
    step = replace(first, candidates=Candidates(toy.checkpoint.tgt_vocab.tokens, distribution))
    assert failed(toy, replace(beer, steps=(step, *others))) == ["cached"]
    cola = toy.translate("Ich möchte ein Cola")
    assert failed(toy, replace(beer, attention=cola.attention)) == ["cached"]


@pytest.mark.parametrize("mask", ["src_key_padding_mask", "memory_key_padding_mask", "tgt_mask"])
def test_a_mask_that_pytorch_lacks_is_found(
    mask: str, toy: Translator, beer: Translation, monkeypatch: pytest.MonkeyPatch
) -> None:
    peer = toy.checkpoint.model.to_torch()
    monkeypatch.setattr(Transformer, "to_torch", lambda model: lambda *x, **masks: peer(*x, **(masks | {mask: None})))
    assert failed(toy, beer) == ["torch"]


def test_checks_change_neither_weights_nor_mode() -> None:
    translator = babbler_of(dropout=0.5)
    run, model = translator.translate("wort3 wort1"), translator.checkpoint.model.train()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    assert failed(translator, run) == []
    assert model.training
    assert all(parameter.requires_grad for parameter in model.parameters())
    assert all(torch.equal(value, before[name]) for name, value in model.state_dict().items())
