"""A model of the Hub is laid out once: the file that is written then gives the same weights, and may always go."""

import os
import resource
from pathlib import Path

import pytest
import torch
from huggingface_hub import constants

from transformer import Transformer, Translator
from transformer.network.config import TransformerConfig
from transformer.network.engine import DecodingEngine
from transformer.storage import prepared as module
from transformer.storage.marian import load_marian
from transformer.storage.prepared import prepared

from ..marian import SENTENCES, marian_folder
from ..networks import SIZES, network

CONFIG = TransformerConfig(**SIZES, tie_output=True)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    return tmp_path / "attention-bitte"


def original() -> Transformer:
    return network(3, tie_output=True).requires_grad_(False)


def unreadable() -> Transformer:
    raise AssertionError("the model's own files are read again")


def expect_original(model: Transformer) -> None:
    for (name, weight), (other, expected) in zip(model.named_parameters(), original().named_parameters(), strict=True):
        assert name == other
        torch.testing.assert_close(weight, expected, rtol=0, atol=0)
    assert model.output_projection.weight is model.tgt_embedding.weight


def test_the_second_load_reads_the_prepared_file_alone(folder: Path) -> None:
    expect_original(prepared(CONFIG, "a", original))
    again = prepared(CONFIG, "a", unreadable)
    expect_original(again)
    places = {name: weight.data_ptr() for name, weight in again.named_parameters() if weight.dim() == 2}
    assert DecodingEngine(again).is_of(again)
    assert places == {name: weight.data_ptr() for name, weight in again.named_parameters() if weight.dim() == 2}
    assert len(list(folder.iterdir())) == 1
    with pytest.raises(AssertionError, match="read again"):
        prepared(CONFIG, "b", unreadable)  # other weights
    with pytest.raises(AssertionError, match="read again"):
        prepared(TransformerConfig(**SIZES | {"max_len": 9}), "a", unreadable)


def test_a_damaged_file_is_written_again(folder: Path) -> None:
    prepared(CONFIG, "a", original)
    (file,) = folder.iterdir()
    whole = file.read_bytes()
    for content in (b"", b"\x08" + bytes(7) + b"{}      ", whole[:-64], whole.replace(b": [10, [", b": [99, [")):
        file.write_bytes(content)
        expect_original(prepared(CONFIG, "a", original))
        expect_original(prepared(CONFIG, "a", unreadable))


def test_the_latest_are_kept(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_FILES", 2)
    for second, name in enumerate("abac"):  # in the order of their use
        prepared(CONFIG, name, original)
        newest = max(folder.iterdir(), key=lambda file: file.stat().st_mtime)
        os.utime(newest, (second, second))
    assert len(list(folder.iterdir())) == 2
    for name in "ac":
        prepared(CONFIG, name, unreadable)


def test_what_a_killed_process_left_goes_when_the_next_file_is_written(folder: Path) -> None:
    long_ago, now = folder / "part-a", folder / "part-b"
    for each in (long_ago, now):
        each.mkdir(parents=True)
        (each / "engine-half.safetensors").touch()
    os.utime(long_ago, (0, 0))
    prepared(CONFIG, "a", original)
    assert [file for file in folder.iterdir() if file.is_dir()] == [now]


def test_where_nothing_can_be_written_the_model_is_read_each_time(folder: Path) -> None:
    folder.write_text("not a folder")
    for _ in range(2):
        expect_original(prepared(CONFIG, "a", original))


def test_on_a_full_disk_the_model_is_read_and_nothing_is_left(folder: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, limits[1]))
    try:
        expect_original(prepared(CONFIG, "a", original))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not [*folder.iterdir()]


def test_a_marian_model_of_the_cache_translates_alike_from_both_files(tmp_path: Path, folder: Path) -> None:
    marian_folder(tmp_path / "model", seed=2)
    weights = tmp_path / "model" / "model.safetensors"
    weights.symlink_to(weights.rename(tmp_path / ("c" * 64)))
    first, again = (Translator(load_marian(tmp_path / "model", "cpu", mapped=True), "m") for _ in range(2))
    assert len(list(folder.iterdir())) == 1
    for each in (first, again):  # without gradients, so that nothing is kept twice
        assert DecodingEngine(each.checkpoint.model).is_of(each.checkpoint.model)
    for sentence in SENTENCES:
        run, expected = again.translate(sentence), first.translate(sentence)
        assert run.output == expected.output
        assert run.log_probability == pytest.approx(expected.log_probability, abs=1e-4)
