"""Files that anybody may have made: whatever is in one file of a model, the model is refused in one line, and nothing
of it runs. What is valid in form and wrong in content is in the tests of each format."""

import io
import json
import pickle
import random
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from transformer.storage import pickled
from transformer.storage.checkpoint import CARD, CONFIG, VOCABULARIES, WEIGHTS, load_checkpoint, save_checkpoint
from transformer.storage.marian import load_marian
from transformer.storage.portable import load_portable, save_portable

from ..models import packed, small


class Bomb:
    """Unpickled, it leaves a file behind."""

    def __init__(self, trace: Path) -> None:
        self.trace = trace

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.trace,)


class Format(NamedTuple):
    """A format of models: its files in a folder, and how it is read; `named`: whether a refusal names the file."""

    files: tuple[str, ...]
    read: Callable[[Path], object]
    named: bool = True


FORMATS = {
    "checkpoint": Format((WEIGHTS, CONFIG, VOCABULARIES, CARD), load_checkpoint),
    "portable": Format((WEIGHTS,), lambda folder: load_portable(folder / WEIGHTS), named=False),
    "marian": Format((WEIGHTS, CONFIG, "vocab.json", "source.spm", "target.spm"), load_marian),
}
FILES = [
    pytest.param(each, file, marks=[pytest.mark.slow] if name == "marian" else [], id=f"{name}-{file}")
    for name, each in FORMATS.items()
    for file in each.files
]


@pytest.fixture
def folder(each: Format, tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    """A good model of a format, which a test spoils."""
    folder = tmp_path / "secret-place"
    if each is FORMATS["marian"]:
        return shutil.copytree(request.getfixturevalue("marian"), folder)
    if each is FORMATS["checkpoint"]:
        save_checkpoint(small(), folder, card="# a card that says something\n")
    else:
        folder.mkdir()
        save_portable(packed(), folder / WEIGHTS)
    return folder


def assert_refused(each: Format, folder: Path, file: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - its message follows
        each.read(folder)
    assert len(str(error.value).splitlines()) == 1
    assert (file in str(error.value)) is each.named
    assert each.named or folder.name not in str(error.value)


def contents(good: bytes, trace: Path) -> Iterator[bytes]:
    """What stands in the place of a good file."""
    size = len(good)
    yield from (good[:keep] for keep in (0, 1, 7, 8, 9, size // 10, size // 2, size * 9 // 10, -2))
    yield from (random.Random(seed).randbytes(1000) for seed in range(3))
    yield from (b"\0" * 1000, b"\xff\xfe", b"\xff" * 8, b"version https://git-lfs.github.com/spec/v1\n")
    texts = ("null", "3", "[]", '""', "{}", '{"model": NaN', "[" * 200_000, '{"a":' * 200_000)
    yield from (text.encode() for text in texts)
    yield pickle.dumps({"weight": Bomb(trace)})
    saved, archive = io.BytesIO(), io.BytesIO()
    torch.save({"weight": Bomb(trace)}, saved)
    yield saved.getvalue()
    with zipfile.ZipFile(archive, "w") as packed_file:
        packed_file.writestr(WEIGHTS, good)
    yield archive.getvalue()


@pytest.mark.parametrize(("each", "file"), FILES)
def test_whatever_is_in_a_file_is_refused_and_does_not_run(
    each: Format, file: str, folder: Path, tmp_path: Path
) -> None:
    good, trace = (folder / file).read_bytes(), tmp_path / "trace"
    for content in contents(good, trace):
        (folder / file).write_bytes(content)
        assert_refused(each, folder, file)
    assert not trace.exists()
    pickle.loads(pickle.dumps(Bomb(trace)))
    assert trace.exists()  # it would have


@pytest.mark.parametrize(("each", "file"), [each for each in FILES if each.values[0].named])
def test_a_file_that_is_missing_or_a_folder_is_named(each: Format, file: str, folder: Path) -> None:
    (folder / file).unlink()
    assert_refused(each, folder, file)
    (folder / file).mkdir()
    assert_refused(each, folder, file)


@pytest.mark.slow
@pytest.mark.parametrize("each", [FORMATS["marian"]])
def test_a_pickle_of_something_else_leaves_nothing_behind(
    each: Format, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pickled, "own_cache", lambda: tmp_path / "cache")
    (folder / WEIGHTS).unlink()
    for weights in (Bomb(tmp_path / "trace"), torch.zeros(1).expand(2**34)):  # 64 GB once it is contiguous
        torch.save({"a": weights}, folder / "pytorch_model.bin")
        assert_refused(each, folder, "pytorch_model.bin")
    assert not (tmp_path / "trace").exists()
    assert not list((tmp_path / "cache").iterdir())


FIELDS = {
    CONFIG: ("d_model", "vocab_size", "max_position_embeddings", "activation_function", "attention_bitte"),
    "generation_config.json": ("eos_token_id", "bad_words_ids"),
    "tokenizer_config.json": ("separate_vocabs", "unk_token"),
    "vocab.json": ("</s>", "new", ""),
}


@pytest.mark.slow
@pytest.mark.parametrize("each", [FORMATS["marian"]])
@pytest.mark.parametrize(("file", "field"), [(file, field) for file, fields in FIELDS.items() for field in fields])
def test_hostile_values_of_a_marian_model_are_refused(each: Format, file: str, field: str, folder: Path) -> None:
    rest = json.dumps({key: value for key, value in json.loads((folder / file).read_text()).items() if key != field})
    nested = "[" * 900 + "]" * 900
    for value in ("1e999", "NaN", "-1", "1" + "0" * 30, "1" + "0" * 5000, nested, '{"a": {}}', '["x"]', '"\\ud800\\n"'):
        (folder / file).write_text(f"{rest[:-1]}, {json.dumps(field)}: {value}}}")
        with pytest.raises(ValueError) as error:  # noqa: PT011 - its message follows
            each.read(folder)
        assert len(str(error.value).splitlines()) == 1
