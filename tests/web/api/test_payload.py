"""What the page is told of a network, and that checks hold for the networks of published translators."""

from pathlib import Path
from typing import Any

import pytest

from transformer import Translator
from transformer.analysis.self_checks import check
from transformer.web.api.payload import for_page

from ...marian import SENTENCES, marian_folder

PLAIN = {"tied_output": False, "one_vocabulary": False, "scaled": True, "sinusoid": "interleaved", "pieces": False}
MARIAN: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "shared": (
        {},
        {"tied": True, "tied_output": True, "one_vocabulary": True, "scaled": True, "start_is_padding": True},
    ),
    "separate": (
        {
            "shared": False,
            "start_is_pad": False,
            "suppresses_padding": False,
            "activation_function": "gelu",
            "scale_embedding": False,
            "encoder_layers": 1,
            "decoder_layers": 3,
        },
        {"tied": False, "tied_output": True, "one_vocabulary": False, "scaled": False, "start_is_padding": False},
    ),
}


@pytest.fixture(scope="module", params=MARIAN)
def marian(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Translator, dict[str, Any]]:
    folder: Path = tmp_path_factory.mktemp("marian") / request.param
    fields, facts = MARIAN[request.param]
    marian_folder(folder, 5, **fields)
    return Translator.load(folder), facts


def test_the_page_is_told_what_a_network_does_otherwise(marian: tuple[Translator, dict[str, Any]]) -> None:
    translator, facts = marian
    run = translator.translate(SENTENCES[0])
    told = for_page(run, None, translator.checkpoint)
    assert told["text"] == run.text
    assert {name: told["model"][name] for name in facts} == facts  # type: ignore[literal-required]
    assert told["model"]["sinusoid"] == "halves"
    assert told["model"]["pieces"]
    silent = ["P", "S", "<pad>"] if facts["tied"] else ["P", "S"]
    assert told["model"]["silent"] == silent


def test_nothing_is_otherwise_in_a_shipped_one(toy: Translator) -> None:
    told = for_page(toy.translate("ich"), None, toy.checkpoint)["model"]
    assert {name: told[name] for name in PLAIN} == PLAIN  # type: ignore[literal-required]
    assert (told["silent"], told["start_is_padding"]) == ([], False)


def test_its_numbers_pass_every_check(marian: tuple[Translator, dict[str, Any]]) -> None:
    """torch.nn.Transformer takes the activation and the depths too; padding stays that of a batch."""
    translator, _ = marian
    found = check(translator, translator.translate(SENTENCES[0]))
    assert [each.name for each in found] == ["rows", "masked", "cached", "torch"]
    assert all(each.ok for each in found)
