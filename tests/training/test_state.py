"""A training that is broken off and resumed ends where an unbroken one does, bit for bit, wherever it was broken."""

import itertools
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from transformer.data import Batch, PairFile
from transformer.storage.checkpoint import CheckpointError
from transformer.training import Progress, TrainingConfig, adam, train
from transformer.training.__main__ import main
from transformer.training.distributed import ALONE
from transformer.training.state import STATE, TrainingState

from ..networks import network
from ..training.distributed_worker import write_pairs
from ..training.test_training import of_many_lengths

ROOT = Path(__file__).resolve().parents[2]
PATIENCE = 300  # seconds, for a machine that is busy with other things
CONFIG = TrainingConfig(steps=13, batch_size=8, schedule="one-cycle")


@pytest.fixture(scope="module", params=["whole", "batches", "streamed"])
def data(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Batch | PairFile:
    """A corpus of one batch, one of many, and a file: 3 passes and more in all the steps."""
    if request.param != "streamed":
        return of_many_lengths({"whole": 8, "batches": 30}[request.param])
    file = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    write_pairs(file, 30)
    return PairFile.scan(file)


def fresh(folder: Path, **run: Any) -> TrainingState:
    """A run that has not begun; with dropout."""
    model = network(src_vocab_size=100, tgt_vocab_size=100)
    return TrainingState(folder / STATE, model, adam(model), ALONE, {"seed": 0} | run)


def steps(state: TrainingState, data: Batch | PairFile, after: int = 0) -> Iterator[Progress]:
    return train(state.model, data, CONFIG, optimizer=state.optimizer, after=after)


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.parametrize("kept", [1, 4, 5, 12])
def test_a_resumed_run_ends_as_an_unbroken_one(data: Batch | PairFile, kept: int, tmp_path: Path) -> None:
    unbroken, broken, resumed = fresh(tmp_path), fresh(tmp_path), fresh(tmp_path)
    progress = list(steps(unbroken, data))
    for each in itertools.islice(steps(broken, data), kept):
        if each.step == kept:
            broken.save(kept)
    torch.rand(7)  # whatever else draws from the global generator meanwhile
    assert resumed.load() == kept
    assert list(steps(resumed, data, kept)) == progress[kept:]
    assert same(resumed.model.state_dict(), unbroken.model.state_dict())


def test_keeping_changes_nothing_and_leaves_one_file(tmp_path: Path) -> None:
    data, quiet, kept = of_many_lengths(30), fresh(tmp_path), fresh(tmp_path)
    progress = list(steps(quiet, data))
    for each, expected in zip(steps(kept, data), progress, strict=True):
        assert each == expected
        kept.save(each.step)
        assert [file.name for file in tmp_path.iterdir()] == [STATE]
    assert same(kept.model.state_dict(), quiet.model.state_dict())
    kept.remove()
    assert not list(tmp_path.iterdir())
    kept.remove()  # there is nothing to remove, which is fine


def test_where_nothing_was_kept_a_run_begins(tmp_path: Path) -> None:
    state = fresh(tmp_path)
    before = {name: value.clone() for name, value in state.model.state_dict().items()}
    assert state.load() == 0
    assert same(state.model.state_dict(), before)


@pytest.fixture
def kept(tmp_path: Path) -> TrainingState:
    """A run that was broken off after its first step."""
    state = fresh(tmp_path)
    next(steps(state, of_many_lengths(8)))
    state.save(1)
    return state


def test_the_state_of_another_run_is_refused_by_what_differs(kept: TrainingState) -> None:
    with pytest.raises(CheckpointError, match=rf"{STATE}: belongs to another run: its seed is 0, not 1$"):
        fresh(kept.file.parent, seed=1).load()
    with pytest.raises(CheckpointError, match=r"its pairs is None, not abc$"):
        fresh(kept.file.parent, pairs="abc").load()


def test_a_state_that_is_none_is_refused_in_a_line(kept: TrainingState) -> None:
    whole = kept.file.read_bytes()
    header = {"state": json.dumps({"step": 1, "run": kept.run})}
    for content in (b"", b"junk", whole[:-1], whole[: len(whole) // 2]):
        kept.file.write_bytes(content)
        with pytest.raises(CheckpointError, match=f"{STATE}: not a complete safetensors file"):
            fresh(kept.file.parent).load()
    for metadata in (
        None,
        {"state": "["},
        {"state": "[]"},
        {"state": "{}"},
        {"state": '{"step": "x", "run": {}}'},
        header,
    ):
        save_file({"weights/positions": torch.zeros(1)}, kept.file, metadata)
        with pytest.raises(CheckpointError) as error:
            fresh(kept.file.parent).load()
        assert STATE in str(error.value)
        assert len(str(error.value).splitlines()) == 1


def test_processes_that_see_different_files_are_refused(kept: TrainingState, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(ALONE), "gathered", lambda self, value: [value, value * 0])
    with pytest.raises(CheckpointError, match="the processes see different files"):
        fresh(kept.file.parent).load()


# The command, and real kills

COMMAND = shlex.split("--d-model 32 --n-heads 4 --d-ff 64 --layers 2 --batch-size 16 --device cpu --keep-every 3")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    write_pairs(file, 40)
    return file


def start(arguments: list[str], before: str = "", processes: int = 1) -> subprocess.Popen[bytes]:
    """The command as a process of its own; `before` is Python that it runs first."""
    if processes > 1:
        run = f"torch.distributed.run --standalone --nproc-per-node={processes} -m transformer.training"
        command = [sys.executable, "-m", *run.split(), *arguments]
    else:
        code = f"{before}\nimport sys, transformer.training.__main__ as training\ntraining.main(sys.argv[1:])"
        command = [sys.executable, "-c", code, *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


# Dies at the second time that a state is kept: its bytes are written, but not yet in their place.
DIES_WRITING = """
import os, signal, transformer.training.state
kept = []
def replace(part, file, replace=os.replace):
    kept.append(part)
    os.kill(os.getpid(), signal.SIGKILL) if len(kept) == 2 else replace(part, file)
os.replace = replace
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["while it writes the state", "anywhere"])
def test_a_killed_run_resumes_to_the_weights_of_an_unbroken_one(moment: str, pairs: Path, tmp_path: Path) -> None:
    writing = moment == "while it writes the state"
    command = [*COMMAND, *(["--pairs", str(pairs), "--steps", "30"] if writing else ["--steps", "250"])]
    broken = [*command, "--out", str(tmp_path / "broken")]
    state = tmp_path / "broken" / STATE
    process = start(broken, DIES_WRITING if writing else "")
    if not writing:
        wait_for(state)
        time.sleep(0.3)
        process.kill()
    assert process.wait(PATIENCE) == -signal.SIGKILL
    assert state.exists()
    assert state.with_name(f"{STATE}.part").exists() or not writing
    main([*broken, "--resume"])
    assert sorted(file.suffix for file in (tmp_path / "broken").iterdir()) == [".json", ".json", ".md", ".safetensors"]
    main([*command, "--out", str(tmp_path / "unbroken")])
    assert_same_weights(tmp_path / "broken", tmp_path / "unbroken")
    assert ", of which the last " in (tmp_path / "broken" / "card.md").read_text()


@pytest.mark.slow
def test_of_three_processes_one_is_killed_and_all_go_on(pairs: Path, tmp_path: Path) -> None:
    """With dropout, so the random generators of all have to be kept; and the sum of three depends on its order. The
    last batch of a pass has one pair, for three."""
    command = [*COMMAND, "--pairs", str(pairs), "--batch-size", "13", "--steps", "60", "--resume", "--out"]
    broken = start([*command, str(tmp_path / "broken")], processes=3)
    unbroken = start([*command, str(tmp_path / "unbroken")], processes=3)
    wait_for(tmp_path / "broken" / STATE)
    children = Path(f"/proc/{broken.pid}/task/{broken.pid}/children").read_text().split()
    os.kill(int(children[-1]), signal.SIGKILL)
    assert broken.wait(PATIENCE) == 1
    assert start([*command, str(tmp_path / "broken")], processes=3).wait(PATIENCE) == 0
    said, _ = unbroken.communicate(timeout=PATIENCE)
    assert unbroken.returncode == 0
    assert said.decode() == (tmp_path / "unbroken" / "card.md").read_text() + "\n"  # one of them alone speaks
    assert "60 steps in " in said.decode()
    assert "(1 threads), 3 processes" in said.decode()
    assert_same_weights(tmp_path / "broken", tmp_path / "unbroken")
    assert "60 steps, of which the last " in (tmp_path / "broken" / "card.md").read_text()


def wait_for(file: Path) -> None:
    for _ in range(10 * PATIENCE):
        if file.exists():
            return
        time.sleep(0.1)
    raise AssertionError(f"{file} never came")


def assert_same_weights(one: Path, other: Path) -> None:
    assert same(*(load_file(folder / "model.safetensors") for folder in (one, other)))


def test_resuming_with_other_settings_is_refused_by_the_command(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [*COMMAND, "--pairs", str(pairs), "--steps", "8", "--out", str(tmp_path)]
    with monkeypatch.context() as patch:  # all is done, but the state is not removed yet
        patch.setattr(TrainingState, "remove", lambda self: None)
        main(command)
    assert (tmp_path / STATE).exists()
    with pytest.raises(SystemExit) as error:
        main([*command, "--resume", "--dropout", "0.2"])
    assert error.value.code == 2
    assert "belongs to another run: its dropout is 0.1, not 0.2" in capsys.readouterr().err.splitlines()[-1]
    weights = load_file(tmp_path / "model.safetensors")
    main([*command, "--resume"])  # from step 6
    assert same(load_file(tmp_path / "model.safetensors"), weights)
    main([*command, "--resume"])
    assert f"{STATE}: no such file, so training begins at its first step" in capsys.readouterr().err
    assert same(load_file(tmp_path / "model.safetensors"), weights)


def test_a_negative_keep_every_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--out", str(tmp_path), "--keep-every", "-1"])
    assert "--keep-every -1 is below 0" in capsys.readouterr().err
