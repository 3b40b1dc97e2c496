"""A run as JSON carries what was computed, for the page and for programs, and what kind of network computed it."""

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from transformer import Translator
from transformer.analysis.notebook import notebook
from transformer.analysis.self_checks import check
from transformer.data.alignment import AlignedPair, GoldAlignment
from transformer.inference.attention_maps import KINDS, AttentionMap, AttentionMaps, Kind
from transformer.web.api.payload import TICKS, for_page, packed, page_maps
from transformer.web.api.runs import attention, contributions, translate
from transformer.web.server.page_routes import LEVEL

from ...marian import SENTENCES
from .endpoints import BEER, called

# ---- weights and numbers: that the page gets each of them is tested in tests/js/engine.test.ts ----


def test_packed_weights_print_as_the_runs_own(monkeypatch: pytest.MonkeyPatch, toy: Translator) -> None:
    rng = np.random.default_rng(0)
    special = [0, 1, 0.5, 0.25, 1e-9, 1e-5, 0.000005, 0.9999999]
    weights = np.array([*special, *rng.random(500), *rng.random(500) ** 12], "<f4")
    low, middle, high = packed(weights).reshape(3, -1).astype(int)
    sent = (low + 256 * middle + 65536 * high) / (2 * TICKS)
    for digits in range(6):
        assert [f"{each:.{digits}f}" for each in sent] == [f"{each:.{digits}f}" for each in weights]
    assert ((sent > 0) == (weights > 0)).all()
    assert (sent[:4] == weights[:4]).all()
    run = toy.translate(BEER)
    assert "packed" not in for_page(run, None, toy.checkpoint)["attention"]["cross"]
    monkeypatch.setattr("transformer.web.api.payload.MAX_EXACT", 100)
    cross = for_page(run, None, toy.checkpoint)["attention"]["cross"]
    assert cross["packed"]
    assert base64.b64decode(cross["weights"]) == packed(np.stack([m.weights for m in run.attention.cross])).tobytes()


@pytest.mark.parametrize("sharpness", [0.3, 1, 3])
def test_a_run_of_64_tokens_with_144_heads_takes_at_most_1_2_mb(sharpness: float) -> None:
    rng = np.random.default_rng(0)
    tokens = tuple(f"▁token{i}" for i in range(64))

    def maps(kind: Kind) -> tuple[AttentionMap, ...]:
        allowed = np.tril(np.ones((64, 64), bool)) if kind == "decoder" else np.ones((64, 64), bool)
        powers = np.exp(rng.normal(size=(6, 8, 64, 64)) * sharpness) * allowed
        weights = (powers / powers.sum(axis=-1, keepdims=True)).astype(np.float32)
        return tuple(AttentionMap(kind, i, tokens, tokens, layer, allowed) for i, layer in enumerate(weights))

    sent = json.dumps(page_maps(AttentionMaps(*map(maps, KINDS)))).encode()
    candidates = 64 * 10 * 60  # bytes of the rest, about, before it is compressed
    assert len(gzip.compress(sent, LEVEL)) + candidates < 1.2e6


def test_a_run_for_programs_has_the_promised_shape(toy: Translator) -> None:
    run = toy.translate(BEER)
    answer = called(translate, sentence=BEER)
    assert answer.keys() == {"text", "source", "decoder_input", "output", "steps", "attention", "device"}
    assert answer["text"] == "i want a beer ."
    assert answer["source"] == ["ich", "mochte", "ein", "bier", "P"]
    assert answer["decoder_input"] == ["S", *answer["output"][:-1]]
    assert answer["output"] == ["i", "want", "a", "beer", ".", "E"]
    for kind, shape in zip(KINDS, ((6, 8, 5, 5), (6, 8, 6, 6), (6, 8, 6, 5)), strict=True):
        assert np.array(answer["attention"][kind]).shape == shape
        np.testing.assert_allclose(answer["attention"][kind][2][3], run.attention.of(kind)[2].weights[3], atol=1e-6)
    for step, said in zip(answer["steps"], run.steps, strict=True):
        assert (step["token"], step["probability"]) == (said.token, pytest.approx(said.probability))
        assert step["candidates"][0] == {"token": said.token, "probability": step["probability"]}
        assert sum(candidate["probability"] for candidate in step["candidates"]) == pytest.approx(1)  # all 9 words


def test_contributions_for_programs_are_the_librarys(toy: Translator) -> None:
    answer = called(contributions, sentence=BEER, kind="decoder", layer=2, head=3)
    table = toy.translate(BEER, value_weighted=True).contributions("decoder").query("layer == 2 and head == 3")
    for name, column in (("weights", "weight"), ("value_weighted", "value_weighted"), ("after_norm", "after_norm")):
        np.testing.assert_allclose(np.ravel(answer[name]), table[column], atol=1e-4)
    assert answer.keys() - {"value_weighted", "after_norm"} == called(attention, sentence=BEER).keys()


def test_gold_belongs_to_a_run_that_says_the_reference(toy: Translator) -> None:
    run = toy.translate(BEER)
    other = AlignedPair("ich mochte ein bier", "i want beer .", GoldAlignment(((0,), (1,), (3,), ()), ((),) * 4), BEER)
    shown = for_page(run, other, toy.checkpoint)["reference"]
    assert shown == {"text": "i want beer .", "same": False, "aligned": True, "held_out": "", "gold": None}


# ---- the kind of network ----


@pytest.fixture(scope="module")
def pieces(marian: Path) -> Translator:
    return Translator.load(marian, device="cpu")


def test_the_page_is_told_what_a_network_does_otherwise(pieces: Translator) -> None:
    run = pieces.translate(SENTENCES[0])
    told = for_page(run, None, pieces.checkpoint)
    facts = {"tied": True, "tied_output": True, "one_vocabulary": True, "scaled": True, "sinusoid": "halves"}
    facts |= {"pieces": True, "start_is_padding": True, "silent": ["P", "S", "<pad>"]}
    assert told["model"].items() >= facts.items()
    assert [each.name for each in check(pieces, run) if each.ok] == ["rows", "masked", "cached", "torch"]


def test_page_and_files_have_the_words_of_a_run_of_pieces(pieces: Translator) -> None:
    """What a word of several pieces attends to is tested in tests/inference/test_words.py."""
    run = pieces.translate(SENTENCES[0])
    words: Any = for_page(run, None, pieces.checkpoint)["words"]
    assert " ".join(words["source"].names) == "Der alte Mann trinkt ein kaltes Bier . E"
    for side, tokens in (("source", run.source), ("decoder_input", run.decoder_input), ("output", run.output)):
        assert len(words[side].of) == len(tokens)
        assert sorted(set(words[side].of)) == list(range(len(words[side].names)))
    for in_words in (False, True):
        sources = {cell["id"]: cell["source"] for cell in json.loads(notebook(run, "model", words=in_words))["cells"]}
        assert ("words=True" in sources["table"]) == in_words
        assert ("attention_of_words" in sources["head"]) == in_words
