"""A folder of the Hub's Marian format gives the numbers that `transformers` gives, or one line that says why not."""

import itertools
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load_file, save_file

from transformer import SentenceError, Translation, Translator
from transformer.analysis.self_checks import check
from transformer.storage import pickled
from transformer.storage.checkpoint import CheckpointError

from ..marian import HOSTILE, SENTENCES, edited, marian_folder, tokenizer

pytestmark = pytest.mark.slow
KINDS: dict[str, dict[str, Any]] = {
    "relu, half precision": {"activation_function": "relu", "suppresses_padding": False, "dtype": torch.float16},
    "silu, output of its own": {"activation_function": "silu", "tied": False},
    "gelu, depths": {"activation_function": "gelu", "encoder_layers": 1, "decoder_layers": 3, "scale_embedding": False},
    "two vocabularies": {"shared": False},
    "two vocabularies, output of its own": {"shared": False, "tied": False, "start_is_pad": False},
}


@pytest.fixture(scope="module", params=KINDS)
def both(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any, Translator]:
    folder = tmp_path_factory.mktemp("marian")
    model = marian_folder(folder, seed=list(KINDS).index(request.param), **KINDS[request.param])
    return model, tokenizer(folder), Translator.load(folder, device="cpu")


@pytest.fixture
def folder(marian: Path, tmp_path: Path) -> Path:
    """A model that a test changes."""
    return shutil.copytree(marian, tmp_path / "model")


def test_pieces_and_their_text_are_those_of_transformers(both: tuple[Any, Any, Translator]) -> None:
    _, theirs, ours = both
    source, target = ours.checkpoint.src_vocab, ours.checkpoint.tgt_vocab
    for sentence in (*SENTENCES, *HOSTILE):
        ids = theirs(sentence)["input_ids"]
        assert [i - 2 for i in source.encode(sentence)] == ids
        assert [typed for typed, _ in source.read(sentence)] == theirs.tokenize(sentence)
    random = torch.Generator().manual_seed(1)
    for _ in range(100):
        ids = torch.randint(len(target) - 2, (12,), generator=random).tolist()
        before_end = ids[: ids.index(theirs.eos_token_id)] if theirs.eos_token_id in ids else ids
        assert target.decode([i + 2 for i in ids]) == theirs.decode(before_end, skip_special_tokens=True)


def assert_same_numbers(
    run: Translation, model: Any, ids: list[int], inputs: list[int], tokens: tuple[str, ...]
) -> None:
    """Probabilities and maps of a run against one pass of MarianMTModel."""
    src, tgt = torch.tensor([ids]), torch.tensor([inputs])
    with torch.no_grad():
        out = model(input_ids=src, decoder_input_ids=tgt, output_attentions=True)
    logits = out.logits[0]
    for word in model.generation_config.bad_words_ids or []:
        logits[:, word] = -torch.inf
    for step, expected in zip(run.steps, logits.softmax(dim=-1), strict=True):
        padding, start, *own = map(step.candidates.probability_of, tokens)
        assert padding == start == 0
        np.testing.assert_allclose(own, expected.tolist(), atol=1e-5)
    theirs = {"encoder": out.encoder_attentions, "decoder": out.decoder_attentions, "cross": out.cross_attentions}
    for kind, layers in theirs.items():
        for ours, expected in zip(getattr(run.attention, kind), layers, strict=True):
            np.testing.assert_allclose(ours.weights, expected[0].numpy(), atol=1e-5)


def test_greedy_text_probabilities_and_every_map(both: tuple[Any, Any, Translator]) -> None:
    model, theirs, ours = both
    runs = ours.translate_many(SENTENCES)
    for sentence, batched in zip(SENTENCES, runs, strict=True):
        run, ids = ours.translate(sentence), theirs(sentence)["input_ids"]
        found = model.generate(torch.tensor([ids]), num_beams=1, do_sample=False)[0]
        assert run.text == batched.text == theirs.decode(found[1:], skip_special_tokens=True)
        assert len(run.source) == len(ids)
        assert run.source[-1] == "E"
        own = [ours.checkpoint.tgt_vocab.ids[token] - 2 for token in run.output]
        assert own == found[1 : len(own) + 1].tolist()
        for each in (run, batched):
            inputs = [model.config.decoder_start_token_id, *own[:-1]]
            assert_same_numbers(each, model, ids, inputs, ours.checkpoint.tgt_vocab.tokens)
        assert all(each.ok for each in check(ours, run))


def test_beam_search_as_transformers_does_it(both: tuple[Any, Any, Translator]) -> None:
    model, theirs, ours = both
    for sentence, alpha in itertools.product(SENTENCES[:2], (0.0, 1.0)):
        found = model.generate(
            torch.tensor([theirs(sentence)["input_ids"]]),
            num_beams=3,
            length_penalty=alpha,
            renormalize_logits=True,  # as the published models have it
            output_scores=True,
            return_dict_in_generate=True,
        )
        tree = ours.beam(sentence, width=3, alpha=alpha, penalty="length")
        assert tree.text == theirs.decode(found.sequences[0, 1:], skip_special_tokens=True)
        assert tree.branches[tree.best].score == pytest.approx(float(found.sequences_scores[0]), abs=1e-4)


def test_special_tokens_of_a_sentence_are_not_the_pages(marian: Path) -> None:
    model = Translator.load(marian, device="cpu")
    run = model.translate("a <pad> P 猫")
    assert {"<pad>", "<unk>"} < {*run.source} > {"E"}
    assert "P" not in run.source
    assert "猫" in run.typed
    assert run.attention.encoder[0].allowed.all()
    with pytest.raises(ValueError, match="not a word that this model can output"):  # its probability is zero
        model.translate(SENTENCES[0], forced=("<pad>",))
    with pytest.raises(ValueError, match="paper or length"):
        model.beam(SENTENCES[0], penalty="none")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("sentence", "key"),
    [
        (" \n", "error.nothing"),
        ("\ud800", "error.invisible"),
        ("a b " * 300, "error.too_many_pieces"),
        ("x" * 10_000, "error.too_long"),
    ],
)
def test_a_sentence_that_cannot_be_read_is_refused(marian: Path, sentence: str, key: str) -> None:
    with pytest.raises(SentenceError) as refused:
        Translator.load(marian, device="cpu").translate(sentence)
    assert refused.value.message.key == key


def test_a_pickle_is_converted_once(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pickled, "own_cache", lambda: tmp_path / "cache")
    expected = Translator.load(folder, device="cpu").translate(SENTENCES[0])
    plain = load_file(folder / "model.safetensors")
    weights = dict(plain)
    for name in ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight", "lm_head.weight"):
        weights[name] = weights["model.shared.weight"]  # as the published ones have it
    positions = Translator.load(folder, device="cpu").checkpoint.model.positions
    weights["model.encoder.embed_positions.weight"] = weights["model.decoder.embed_positions.weight"] = positions
    (folder / "model.safetensors").unlink()
    for zipped in (True, False):
        torch.save(weights, folder / "pytorch_model.bin", _use_new_zipfile_serialization=zipped)
        assert Translator.load(folder, device="cpu").translate(SENTENCES[0]).text == expected.text
    numbers = sum(map(torch.numel, plain.values())) + positions.numel()
    for file in (tmp_path / "cache").iterdir():  # those under several names are there once
        assert sum(map(torch.numel, load_file(file).values())) == numbers
    monkeypatch.setattr("subprocess.run", pytest.fail)
    assert Translator.load(folder, device="cpu").translate(SENTENCES[0]).text == expected.text


def test_a_folder_may_be_written_after_it_has_been_read(folder: Path) -> None:
    ours = Translator.load(folder, device="cpu")
    expected = ours.translate(SENTENCES[0])
    (folder / "model.safetensors").write_bytes(b"")
    assert ours.translate(SENTENCES[0]).text == expected.text


def refusal(folder: Path) -> str:
    with pytest.raises(CheckpointError) as error:
        Translator.load(folder, device="cpu")
    assert len(str(error.value).splitlines()) == 1
    return str(error.value)


CONFIG, GENERATION = "config.json", "generation_config.json"
EDITS: list[tuple[str, dict[str, Any], str]] = [
    (CONFIG, {"model_type": "bart"}, "model_type is 'bart'"),
    (CONFIG, {"decoder_ffn_dim": 32}, "encoder_ffn_dim (24) is not decoder_ffn_dim (32)"),
    (CONFIG, {"activation_function": "gelu_new"}, "activation_function is 'gelu_new'"),
    (CONFIG, {"decoder_layers": 3}, "model.decoder.layers.2"),
    (CONFIG, {"encoder_layers": 10**9}, "encoder_layers"),
    (CONFIG, {"pad_token_id": 10**6}, "pad_token_id"),
    (GENERATION, {"eos_token_id": [0, 1]}, "eos_token_id"),
    (GENERATION, {"bad_words_ids": [[1, 2]]}, "bad_words_ids"),
    ("vocab.json", {"<unk>": 10**6}, "vocab.json"),  # with holes
]


@pytest.mark.parametrize(("file", "fields", "why"), EDITS, ids=[str(fields)[:40] for _, fields, _ in EDITS])
def test_what_this_network_or_its_decoding_cannot_be_is_refused(
    folder: Path, file: str, fields: dict[str, Any], why: str
) -> None:
    edited(folder / file, fields)
    assert why in refusal(folder)


def test_weights_that_do_not_fit_are_refused(folder: Path) -> None:
    file = folder / "model.safetensors"
    weights = load_file(file)
    shared = weights["model.shared.weight"]
    changes: list[tuple[dict[str, Any], str]] = [
        ({"model.encoder.layernorm_embedding.weight": torch.ones(16)}, "has no place"),
        ({"model.encoder.embed_tokens.weight": shared + 1}, "ties them"),
        ({"model.encoder.embed_positions.weight": torch.ones(256, 16)}, "other positions"),
        ({"final_logits_bias": weights["final_logits_bias"] * torch.nan}, "not finite"),
        ({"final_logits_bias": torch.full_like(weights["final_logits_bias"], -torch.inf)}, "every piece is suppressed"),
        ({"model.shared.weight": shared[1:].clone()}, "expected"),
    ]
    for change, why in changes:
        save_file(weights | change, file)
        assert why in refusal(folder)
    save_file({name: value for name, value in weights.items() if name != "final_logits_bias"}, file)
    assert "final_logits_bias is missing" in refusal(folder)
