"""An interrupted and resumed training equals an uninterrupted one bit for bit, wherever it was interrupted."""

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
PATIENCE = 300  # seconds, for a loaded machine
CONFIG = TrainingConfig(steps=13, batch_size=8, schedule="one-cycle")


@pytest.fixture(scope="module", params=["whole", "batches", "streamed"])
def data(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Batch | PairFile:
    """A corpus of one batch, one of several, and a file; the steps make at least 3 passes."""
    if request.param != "streamed":
        return of_many_lengths({"whole": 8, "batches": 30}[request.param])
    file = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    write_pairs(file, 30)
    return PairFile.scan(file)


def fresh(folder: Path, **run: Any) -> TrainingState:
    """A run before its first step, with dropout."""
    model = network(src_vocab_size=100, tgt_vocab_size=100)
    return TrainingState(folder / STATE, model, adam(model), ALONE, {"seed": 0} | run)


def steps(state: TrainingState, data: Batch | PairFile, after: int = 0) -> Iterator[Progress]:
    return train(state.model, data, CONFIG, optimizer=state.optimizer, after=after)


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.slow
@pytest.mark.parametrize("saved", [1, 4, 5, 12])
def test_a_resumed_run_equals_an_uninterrupted_one(data: Batch | PairFile, saved: int, tmp_path: Path) -> None:
    uninterrupted, interrupted, resumed = fresh(tmp_path), fresh(tmp_path), fresh(tmp_path)
    progress = list(steps(uninterrupted, data))
    for each in itertools.islice(steps(interrupted, data), saved):
        if each.step == saved:
            interrupted.save(saved)
    torch.rand(7)  # other code may draw from the global generator
    assert resumed.load() == saved
    assert list(steps(resumed, data, saved)) == progress[saved:]
    assert same(resumed.model.state_dict(), uninterrupted.model.state_dict())


@pytest.mark.slow
def test_saving_changes_nothing_and_leaves_one_file(tmp_path: Path) -> None:
    data, plain, saved = of_many_lengths(30), fresh(tmp_path), fresh(tmp_path)
    progress = list(steps(plain, data))
    for each, expected in zip(steps(saved, data), progress, strict=True):
        assert each == expected
        saved.save(each.step)
        assert [file.name for file in tmp_path.iterdir()] == [STATE]
    assert same(saved.model.state_dict(), plain.model.state_dict())
    saved.remove()
    assert not list(tmp_path.iterdir())
    saved.remove()  # a missing file is not an error


@pytest.mark.slow
def test_without_a_saved_state_a_run_starts_at_step_0(tmp_path: Path) -> None:
    state = fresh(tmp_path)
    before = {name: value.clone() for name, value in state.model.state_dict().items()}
    assert state.load() == 0
    assert same(state.model.state_dict(), before)


@pytest.fixture
def saved(tmp_path: Path) -> TrainingState:
    """A run that was saved after its first step."""
    state = fresh(tmp_path)
    next(steps(state, of_many_lengths(8)))
    state.save(1)
    return state


def test_the_state_of_another_run_is_refused_with_the_difference(saved: TrainingState) -> None:
    with pytest.raises(CheckpointError, match=rf"{STATE}: belongs to another run: its seed is 0, not 1$"):
        fresh(saved.file.parent, seed=1).load()
    with pytest.raises(CheckpointError, match=r"its pairs is None, not abc$"):
        fresh(saved.file.parent, pairs="abc").load()


def test_an_invalid_state_is_refused_in_one_line(saved: TrainingState) -> None:
    whole = saved.file.read_bytes()
    header = {"state": json.dumps({"step": 1, "run": saved.run})}
    for content in (b"", b"junk", whole[:-1], whole[: len(whole) // 2]):
        saved.file.write_bytes(content)
        with pytest.raises(CheckpointError, match=f"{STATE}: not a complete safetensors file"):
            fresh(saved.file.parent).load()
    for metadata in (
        None,
        {"state": "["},
        {"state": "[]"},
        {"state": "{}"},
        {"state": '{"step": "x", "run": {}}'},
        header,
    ):
        save_file({"weights/positions": torch.zeros(1)}, saved.file, metadata)
        with pytest.raises(CheckpointError) as error:
            fresh(saved.file.parent).load()
        assert STATE in str(error.value)
        assert len(str(error.value).splitlines()) == 1


def test_processes_with_different_files_are_refused(saved: TrainingState, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(ALONE), "gathered", lambda self, value: [value, value * 0])
    with pytest.raises(CheckpointError, match="the processes see different files"):
        fresh(saved.file.parent).load()


# The command, and killed processes

COMMAND = shlex.split("--d-model 32 --n-heads 4 --d-ff 64 --layers 2 --batch-size 16 --device cpu --keep-every 3")


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    write_pairs(file, 40)
    return file


def start(arguments: list[str], before: str = "", processes: int = 1) -> subprocess.Popen[bytes]:
    """Start the command in a new process, which runs the Python code `before` first."""
    if processes > 1:
        run = f"torch.distributed.run --standalone --nproc-per-node={processes} -m transformer.training"
        command = [sys.executable, "-m", *run.split(), *arguments]
    else:
        code = f"{before}\nimport sys, transformer.training.__main__ as training\ntraining.main(sys.argv[1:])"
        command = [sys.executable, "-c", code, *arguments]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


# The process dies while it saves its second state: the bytes are written, but not yet renamed.
DIES_WRITING = """
import os, signal, transformer.training.state
saves = []
def replace(part, file, replace=os.replace):
    saves.append(part)
    os.kill(os.getpid(), signal.SIGKILL) if len(saves) == 2 else replace(part, file)
os.replace = replace
"""


@pytest.mark.slow
@pytest.mark.parametrize("moment", ["while it writes the state", "anywhere"])
def test_a_killed_run_resumes_to_the_weights_of_an_uninterrupted_one(moment: str, pairs: Path, tmp_path: Path) -> None:
    writing = moment == "while it writes the state"
    command = [*COMMAND, *(["--pairs", str(pairs), "--steps", "30"] if writing else ["--steps", "250"])]
    interrupted = [*command, "--out", str(tmp_path / "interrupted")]
    state = tmp_path / "interrupted" / STATE
    process = start(interrupted, DIES_WRITING if writing else "")
    if not writing:
        wait_for(state)
        time.sleep(0.3)
        process.kill()
    assert process.wait(PATIENCE) == -signal.SIGKILL
    assert state.exists()
    assert state.with_name(f"{STATE}.part").exists() or not writing
    main([*interrupted, "--resume"])
    assert sorted(file.suffix for file in (tmp_path / "interrupted").iterdir()) == [
        ".json",
        ".json",
        ".md",
        ".safetensors",
    ]
    main([*command, "--out", str(tmp_path / "uninterrupted")])
    assert_same_weights(tmp_path / "interrupted", tmp_path / "uninterrupted")
    assert ", of which the last " in (tmp_path / "interrupted" / "card.md").read_text()


@pytest.mark.slow
def test_three_processes_resume_after_one_was_killed(pairs: Path, tmp_path: Path) -> None:
    """Dropout needs the random state of each process; the sum of three gradients depends on its order; and the last
    batch of a pass has one pair for three processes."""
    command = [*COMMAND, "--pairs", str(pairs), "--batch-size", "13", "--steps", "60", "--resume", "--out"]
    interrupted = start([*command, str(tmp_path / "interrupted")], processes=3)
    uninterrupted = start([*command, str(tmp_path / "uninterrupted")], processes=3)
    wait_for(tmp_path / "interrupted" / STATE)
    children = Path(f"/proc/{interrupted.pid}/task/{interrupted.pid}/children").read_text().split()
    os.kill(int(children[-1]), signal.SIGKILL)
    assert interrupted.wait(PATIENCE) == 1
    assert start([*command, str(tmp_path / "interrupted")], processes=3).wait(PATIENCE) == 0
    output, _ = uninterrupted.communicate(timeout=PATIENCE)
    assert uninterrupted.returncode == 0
    assert output.decode() == (tmp_path / "uninterrupted" / "card.md").read_text() + "\n"  # only one process prints
    assert "60 steps in " in output.decode()
    assert "(1 threads), 3 processes" in output.decode()
    assert_same_weights(tmp_path / "interrupted", tmp_path / "uninterrupted")
    assert "60 steps, of which the last " in (tmp_path / "interrupted" / "card.md").read_text()


def wait_for(file: Path) -> None:
    for _ in range(10 * PATIENCE):
        if file.exists():
            return
        time.sleep(0.1)
    raise AssertionError(f"{file} was never written")


def assert_same_weights(one: Path, other: Path) -> None:
    assert same(*(load_file(folder / "model.safetensors") for folder in (one, other)))


@pytest.mark.slow
def test_the_command_refuses_to_resume_with_other_settings(
    pairs: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [*COMMAND, "--pairs", str(pairs), "--steps", "8", "--out", str(tmp_path)]
    with monkeypatch.context() as patch:  # the run is finished, but its state remains
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
