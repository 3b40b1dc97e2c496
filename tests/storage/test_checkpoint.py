"""A checkpoint comes back bit for bit, or is refused with one line that names the file."""

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from transformer import Vocabulary
from transformer.storage.checkpoint import (
    FOLDER,
    CheckpointError,
    available_checkpoints,
    load_checkpoint,
    save_checkpoint,
)

from ..models import small

FILES = WEIGHTS, CONFIG, VOCABULARIES, CARD = "model.safetensors", "config.json", "vocabularies.json", "card.md"
Edit = Callable[[dict[str, Any]], object]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_checkpoint(small(), tmp_path / "saved", card="# a card that says something\n")
    return tmp_path / "saved"


def refusal(folder: Path) -> str:
    with pytest.raises(CheckpointError) as error:
        load_checkpoint(folder)
    assert len(str(error.value).splitlines()) == 1
    return str(error.value)


# What comes back


@pytest.mark.parametrize("fields", [{"tie_weights": True, "tgt_vocab_size": 11}, {"final_norm": "both"}], ids=str)
def test_everything_comes_back_bit_for_bit(fields: dict[str, Any], tmp_path: Path) -> None:
    folder = tmp_path / "new" / "folder"
    before = replace(small(**fields), pad_source=fields == {"final_norm": "both"})
    save_checkpoint(before, folder, card="# a card that says something\n")
    after = load_checkpoint(folder)
    assert after.model.config == before.model.config
    for name in ("src_vocab", "tgt_vocab", "source_length", "output_limit", "pad_source"):
        assert getattr(after, name) == getattr(before, name)
    weights = after.model.state_dict()
    assert weights.keys() == before.model.state_dict().keys()
    assert all(torch.equal(value, weights[name]) for name, value in before.model.state_dict().items())
    assert not after.model.training
    assert load_file(folder / WEIGHTS).keys() == dict(before.model.named_parameters()).keys()  # tied weights once
    assert (after.model.src_embedding.weight is after.model.output_projection.weight) is before.model.config.tie_weights
    assert sorted(file.name for file in folder.iterdir()) == sorted(FILES)
    assert (folder / CARD).read_text() == "# a card that says something\n"


def test_a_vocabulary_that_does_not_fold_comes_back_and_one_with_a_tokenizer_is_refused(tmp_path: Path) -> None:
    bare = Vocabulary(small().src_vocab.tokens)
    save_checkpoint(replace(small(), src_vocab=bare), tmp_path, card="")
    assert (load_checkpoint(tmp_path).src_vocab, load_checkpoint(tmp_path).tgt_vocab.folds) == (bare, True)
    with pytest.raises(ValueError, match="the source vocabulary has a tokenizer"):
        save_checkpoint(replace(small(), src_vocab=replace(bare, tokenizer=Mock())), tmp_path, card="")


@pytest.mark.parametrize("name", available_checkpoints())
def test_a_shipped_checkpoint_is_complete_and_small(name: str) -> None:
    assert load_checkpoint(FOLDER / name).model.positions.any()
    assert all(file.stat().st_size < 8 * 2**20 for file in (FOLDER / name).iterdir())


def test_loading_leaves_the_random_generator_as_it_was(tmp_path: Path) -> None:
    state = torch.random.get_rng_state()
    load_checkpoint(FOLDER / "toy")
    assert torch.equal(torch.random.get_rng_state(), state)


def test_a_full_disk_leaves_the_old_files(saved: Path) -> None:
    before = {file.name: file.read_bytes() for file in saved.iterdir()}
    (saved / "model.safetensors.part").symlink_to("/dev/full")  # a device without space
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint(small("word"), saved, card="# another\n")
    assert {file.name: file.read_bytes() for file in saved.iterdir()} == before


# What is refused


@pytest.mark.parametrize("file", FILES)
def test_a_file_of_another_checkpoint_is_named(saved: Path, file: str, tmp_path: Path) -> None:
    save_checkpoint(small("other", norm_first=True), tmp_path / "other", card="")  # the same shapes throughout
    shutil.copy(tmp_path / "other" / file, saved / file)
    assert file in refusal(saved)


EDITS: list[tuple[str, Edit, str]] = [
    (CONFIG, lambda c: c["model"].update(n_heads=5), "n_heads (5)"),
    (CONFIG, lambda c: c["model"].update(n_heads=2), "not what"),  # valid, but changed
    (CONFIG, lambda c: c.pop("output_limit"), "output_limit"),
    (CONFIG, lambda c: c.update(source_length=33), "source_length (33)"),
    (CONFIG, lambda c: c.update(pad_source="yes"), "pad_source ('yes')"),
    (VOCABULARIES, lambda v: v["source"].reverse(), ""),
    (VOCABULARIES, lambda v: v["target"].__setitem__(slice(3, 5), v["target"][4:2:-1]), "not what"),
    (VOCABULARIES, lambda v: v.pop("target"), "target"),
    (VOCABULARIES, lambda v: v.update(folds={"source": 1, "target": True}), "folds"),
]


@pytest.mark.parametrize(("file", "edit", "named"), EDITS)
def test_an_invalid_or_changed_file_is_refused(saved: Path, file: str, edit: Edit, named: str) -> None:
    content = json.loads((saved / file).read_text())
    edit(content)
    (saved / file).write_text(json.dumps(content))
    message = refusal(saved)
    assert file in message
    assert named in message


def test_other_weights_are_refused(saved: Path) -> None:
    with safe_open(saved / WEIGHTS, framework="pt") as stored:
        digests = stored.metadata()
    weights = load_file(saved / WEIGHTS)
    weights["output_projection.bias"] += 1
    save_file(weights, saved / WEIGHTS, metadata=digests)
    assert f"{WEIGHTS}: its weights are not those that were saved" in refusal(saved)
    del weights["output_projection.bias"]
    save_file(weights, saved / WEIGHTS, metadata=digests)
    assert "output_projection.bias is missing" in refusal(saved)
    save_file(weights, saved / WEIGHTS)  # without digests
    assert WEIGHTS in refusal(saved)


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"src_vocab": Vocabulary(("P",))}, "source vocabulary has 1 tokens, but the model has 11"),
        ({"tgt_vocab": Vocabulary(("P", *(f"word{i}" for i in range(12))))}, "target vocabulary has no E and no S"),
        ({"source_length": 0}, r"source_length \(0\)"),
        ({"output_limit": 33}, r"output_limit \(33\)"),
    ],
)
def test_parts_of_a_checkpoint_that_contradict_each_other_are_refused(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        replace(small(), **fields)
