"""A checkpoint comes back bit for bit, or not at all: whatever is wrong with it is one line that names the file."""

import hashlib
import json
import pickle
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from transformer import Vocabulary
from transformer.storage.checkpoint import (
    FOLDER,
    Checkpoint,
    CheckpointError,
    available_checkpoints,
    load_checkpoint,
    save_checkpoint,
)

from ..networks import network

CPU = torch.device("cpu")
FILES = ("model.safetensors", "config.json", "vocabularies.json", "card.md")
Edit = Callable[[dict[str, Any]], object]


def small(word: str = "wort", **fields: Any) -> Checkpoint:
    src_vocab = Vocabulary(("P", *(f"{word}{i}" for i in range(10))))
    tgt_vocab = Vocabulary(("P", "S", "E", *(f"{word}{i}" for i in range(network(**fields).config.tgt_vocab_size - 3))))
    return Checkpoint(network(**fields), src_vocab, tgt_vocab, source_length=5, output_limit=7)


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    save_checkpoint(small(), tmp_path / "saved", card="# a card that says something\n")
    return tmp_path / "saved"


def refusal(folder: Path) -> str:
    with pytest.raises(CheckpointError) as error:
        load_checkpoint(folder, CPU)
    assert len(str(error.value).splitlines()) == 1
    return str(error.value)


def edit_json(file: Path, edit: Edit) -> None:
    content = json.loads(file.read_text())
    edit(content)
    file.write_text(json.dumps(content))


# What comes back


@pytest.mark.parametrize(
    "fields",
    [{}, {"tie_weights": True, "tgt_vocab_size": 11}, {"final_norm": "both"}, {"positional_encoding": False}],
)
def test_everything_comes_back_bit_for_bit(fields: dict[str, Any], tmp_path: Path) -> None:
    before = small(**fields)
    save_checkpoint(before, tmp_path / "new" / "folder", card="# a card that says something\n")
    after = load_checkpoint(tmp_path / "new" / "folder", CPU)
    assert after.model.config == before.model.config
    assert (after.src_vocab, after.tgt_vocab) == (before.src_vocab, before.tgt_vocab)
    assert (after.source_length, after.output_limit) == (5, 7)
    weights = after.model.state_dict()
    assert weights.keys() == before.model.state_dict().keys()
    assert all(torch.equal(value, weights[name]) for name, value in before.model.state_dict().items())
    assert not after.model.training
    assert sorted(file.name for file in (tmp_path / "new" / "folder").iterdir()) == sorted(FILES)
    assert (tmp_path / "new" / "folder" / "card.md").read_text() == "# a card that says something\n"


@pytest.mark.parametrize("name", available_checkpoints())
def test_a_checkpoint_that_is_older_than_a_switch_has_its_default(name: str) -> None:
    assert "positional_encoding" not in json.loads((FOLDER / name / "config.json").read_text())["model"]
    model = load_checkpoint(FOLDER / name, CPU).model
    assert model.config.positional_encoding
    assert model.positions.any()


@pytest.mark.parametrize("pad_source", [True, False])
def test_whether_sources_are_padded_is_kept(tmp_path: Path, pad_source: bool) -> None:
    save_checkpoint(Checkpoint(**(vars(small()) | {"pad_source": pad_source})), tmp_path, card="# a card\n")
    assert json.loads((tmp_path / "config.json").read_text())["pad_source"] is pad_source
    assert load_checkpoint(tmp_path, CPU).pad_source is pad_source


def sign_config(folder: Path) -> None:
    """Make a changed config.json the one that the weights were saved with."""
    file = folder / "model.safetensors"
    with safe_open(file, framework="pt") as stored:
        digests = json.loads(stored.metadata()["digests"])
    content = json.dumps(json.loads((folder / "config.json").read_text()), sort_keys=True)
    digests["config.json"] = hashlib.sha256(content.encode()).hexdigest()
    save_file(load_file(file), file, metadata={"digests": json.dumps(digests)})


def test_a_checkpoint_from_before_there_was_a_choice_pads_its_sources(tmp_path: Path) -> None:
    save_checkpoint(Checkpoint(**(vars(small()) | {"pad_source": False})), tmp_path, card="# a card\n")
    edit_json(tmp_path / "config.json", lambda c: c.pop("pad_source"))
    assert "config.json" in refusal(tmp_path)  # it was changed
    sign_config(tmp_path)
    assert load_checkpoint(tmp_path, CPU).pad_source is True


@pytest.mark.parametrize("value", ["yes", "", 1, 0, None, [], 0.5])
def test_padding_that_is_neither_true_nor_false_is_refused(saved: Path, value: object) -> None:
    edit_json(saved / "config.json", lambda c: c.update(pad_source=value))
    sign_config(saved)
    message = refusal(saved)
    assert "config.json: pad_source" in message
    assert repr(value) in message


def test_another_padding_than_was_saved_is_refused(saved: Path) -> None:
    edit_json(saved / "config.json", lambda c: c.update(pad_source=False))
    assert "config.json" in refusal(saved)


def test_tied_weights_are_stored_once_and_come_back_as_one(tmp_path: Path) -> None:
    save_checkpoint(small(tie_weights=True, tgt_vocab_size=11), tmp_path, card="")
    model = load_checkpoint(tmp_path, CPU).model
    assert model.src_embedding.weight is model.tgt_embedding.weight is model.output_projection.weight
    assert load_file(tmp_path / "model.safetensors").keys() == dict(model.named_parameters()).keys()


def test_the_shipped_ones_are_whole_and_small() -> None:
    assert "toy" in available_checkpoints()
    for name in available_checkpoints():
        load_checkpoint(FOLDER / name, CPU)
        assert (FOLDER / name / "card.md").is_file()
        assert all(file.stat().st_size < 8 * 2**20 for file in (FOLDER / name).iterdir())


def test_the_shipped_toy_is_as_deep_as_the_paper_and_narrower() -> None:
    config = load_checkpoint(FOLDER / "toy", CPU).model.config
    assert (config.num_encoder_layers, config.num_decoder_layers, config.n_heads) == (6, 6, 8)
    assert (config.d_model, config.d_ff) == (64, 256)


# What is refused


def test_a_full_disk_leaves_what_was_there_and_nothing_half(saved: Path) -> None:
    before = {file.name: file.read_bytes() for file in saved.iterdir()}
    (saved / "model.safetensors.part").symlink_to("/dev/full")  # a device that has room for nothing
    with pytest.raises(OSError, match="No space left"):
        save_checkpoint(small("word"), saved, card="# another\n")
    assert {file.name: file.read_bytes() for file in saved.iterdir()} == before
    load_checkpoint(saved, CPU)


@pytest.mark.parametrize("file", FILES)
def test_a_missing_file_is_named(saved: Path, file: str) -> None:
    (saved / file).unlink()
    assert f"{file}: no such file" in refusal(saved)


@pytest.mark.parametrize("file", FILES)
def test_a_folder_in_a_files_place_is_refused(saved: Path, file: str) -> None:
    (saved / file).unlink()
    (saved / file).mkdir()
    assert file in refusal(saved)


@pytest.mark.parametrize("keep", [0, 1, 7, 8, 9, 0.1, 0.5, 0.9, -2])
@pytest.mark.parametrize("file", FILES)
def test_a_file_that_is_cut_off_is_named(saved: Path, file: str, keep: float) -> None:
    content = (saved / file).read_bytes()
    (saved / file).write_bytes(content[: int(keep * len(content)) if 0 < keep < 1 else int(keep)])
    assert file in refusal(saved)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("file", FILES)
def test_random_bytes_are_refused(saved: Path, file: str, seed: int) -> None:
    (saved / file).write_bytes(random.Random(seed).randbytes(1000))
    assert file in refusal(saved)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        *((content, "not a JSON object") for content in ("null", "3", "[]", '""')),
        *((content, "not whole JSON") for content in ('{"model": NaN', "[" * 100_000)),
        ("{}", "is missing"),
    ],
)
@pytest.mark.parametrize("file", ["config.json", "vocabularies.json"])
def test_other_json_is_refused(saved: Path, file: str, content: str, named: str) -> None:
    (saved / file).write_text(content)
    message = refusal(saved)
    assert file in message
    assert named in message


@pytest.mark.parametrize("file", FILES)
def test_a_file_of_another_checkpoint_is_named(saved: Path, file: str, tmp_path: Path) -> None:
    save_checkpoint(small("other", norm_first=True), tmp_path / "other", card="")  # the same shapes throughout
    shutil.copy(tmp_path / "other" / file, saved / file)
    assert file in refusal(saved)


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (lambda c: c["model"].update(colour="red"), "colour"),
        (lambda c: c["model"].update(d_model="16"), "d_model ('16')"),
        (lambda c: c["model"].update(n_heads=5), "n_heads (5)"),
        (lambda c: c["model"].update(n_heads=2), ""),
        (lambda c: c["model"].update(d_ff=64), ""),
        (lambda c: c["model"].update(dropout=float("nan")), "dropout (nan)"),
        (lambda c: c["model"].pop("src_vocab_size"), "src_vocab_size"),
        (lambda c: c.update(model=[]), ""),
        (lambda c: c.pop("model"), "model"),
        (lambda c: c.pop("output_limit"), "output_limit"),
        (lambda c: c.update(source_length="5"), "source_length ('5')"),
        (lambda c: c.update(source_length=33), "source_length (33)"),
        (lambda c: c.update(source_length=True), ""),
        (lambda c: c.update(output_limit=0), "output_limit (0)"),
    ],
)
def test_a_configuration_that_cannot_be_or_was_changed_is_refused(saved: Path, edit: Edit, named: str) -> None:
    edit_json(saved / "config.json", edit)
    message = refusal(saved)
    assert "config.json" in message
    assert named in message


@pytest.mark.parametrize("size", [10**15, 10**30])
def test_a_configuration_that_no_memory_holds_is_refused(saved: Path, size: int) -> None:
    edit_json(saved / "config.json", lambda c: c["model"].update(max_len=size))
    assert "config.json" in refusal(saved)


def test_a_configuration_for_other_vocabularies_is_refused(saved: Path) -> None:
    edit_json(saved / "config.json", lambda c: c["model"].update(src_vocab_size=12))
    assert "has 11 tokens, but the model has 12" in refusal(saved)


@pytest.mark.parametrize(
    "edit",
    [
        lambda v: v["source"].append(v["source"][-1]),
        lambda v: v["source"].__setitem__(2, v["source"][1]),
        lambda v: v["source"].reverse(),
        lambda v: v["source"].__setitem__(1, "two words"),
        lambda v: v["source"].__setitem__(1, 3),
        lambda v: v["source"].__setitem__(1, ["wort"]),
        lambda v: v["target"].pop(),
        lambda v: v["target"].__setitem__(slice(3, 5), v["target"][4:2:-1]),
        lambda v: v.update(source="P"),
        lambda v: v.update(target=5),
        lambda v: v.pop("target"),
    ],
)
def test_vocabularies_that_cannot_be_or_were_changed_are_refused(saved: Path, edit: Edit) -> None:
    edit_json(saved / "vocabularies.json", edit)
    assert "vocabularies.json" in refusal(saved)


@pytest.mark.parametrize(
    ("edit", "named"),
    [
        (lambda w: w.update({"linear3.weight": torch.ones(1)}), "linear3.weight has no place"),
        (lambda w: w.pop("output_projection.bias"), "output_projection.bias is missing"),
        (lambda w: w.update({"output_projection.bias": torch.ones(12)}), "output_projection.bias is [12]"),
        (lambda w: w.update({"output_projection.bias": torch.ones(1, 13)}), "output_projection.bias is [1, 13]"),
    ],
)
def test_weights_that_do_not_fit_are_refused(saved: Path, edit: Edit, named: str) -> None:
    file = saved / "model.safetensors"
    with safe_open(file, framework="pt") as stored:
        digests = stored.metadata()
    weights = load_file(file)
    edit(weights)
    save_file(weights, file, metadata=digests)
    message = refusal(saved)
    assert "model.safetensors" in message
    assert named in message


def test_a_weight_that_was_changed_is_refused(saved: Path) -> None:
    content = bytearray((saved / "model.safetensors").read_bytes())
    content[-100:] = bytes(100)
    (saved / "model.safetensors").write_bytes(content)
    assert "model.safetensors" in refusal(saved)


def test_weights_without_digests_are_refused(saved: Path) -> None:
    save_file(load_file(saved / "model.safetensors"), saved / "model.safetensors")
    assert "model.safetensors" in refusal(saved)


class Bomb:
    """Unpickled, it leaves a file behind."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.trace,)


@pytest.mark.parametrize("write", [pickle.dump, torch.save])
def test_a_pickle_is_refused_and_does_not_run(saved: Path, tmp_path: Path, write: Callable[..., None]) -> None:
    trace = tmp_path / "trace"
    with (saved / "model.safetensors").open("wb") as file:
        write({"weight": Bomb(trace)}, file)
    assert "model.safetensors" in refusal(saved)
    assert not trace.exists()
    pickle.loads(pickle.dumps(Bomb(trace)))
    assert trace.exists()  # it would have


# A checkpoint whose parts disagree does not exist


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        ({"src_vocab": Vocabulary(("P",))}, "source vocabulary has 1 tokens, but the model has 11"),
        ({"tgt_vocab": Vocabulary(("P", "S", "E"))}, "target vocabulary has 3 tokens, but the model has 13"),
        ({"source_length": 0}, "source_length (0)"),
        ({"output_limit": 33}, "output_limit (33)"),
        ({"output_limit": 2.5}, "output_limit (2.5)"),
    ],
)
def test_its_parts_must_agree(fields: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the message is looked at below
        Checkpoint(**(vars(small()) | fields))
    assert named in str(error.value)


def test_a_target_vocabulary_without_start_and_end_is_refused() -> None:
    words = Vocabulary(("P", *(f"word{i}" for i in range(12))))
    with pytest.raises(ValueError, match="target"):
        Checkpoint(**(vars(small()) | {"tgt_vocab": words}))
