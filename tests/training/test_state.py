"""An interrupted and resumed training equals an uninterrupted one, in one process bit for bit, wherever it was
interrupted."""

import itertools
import json
import os
import shlex
import signal
from collections.abc import Iterator
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.multiprocessing.spawn import ProcessExitedException

from transformer.data import Batch, PairFile
from transformer.storage.checkpoint import CheckpointError
from transformer.training import Progress, TrainingConfig, adam, train
from transformer.training.__main__ import main
from transformer.training.distributed import ALONE
from transformer.training.state import STATE, TrainingState

from ..networks import agree, network
from .distributed_worker import in_processes, write_pairs
from .test_training import of_many_lengths

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
    model = network(src_vocab_size=256, tgt_vocab_size=256)
    return TrainingState(folder / STATE, model, adam(model), ALONE, {"seed": 0} | run)


def steps(state: TrainingState, data: Batch | PairFile, after: int = 0) -> Iterator[Progress]:
    return train(state.model, data, CONFIG, optimizer=state.optimizer, after=after)


def same(one: dict[str, Tensor], other: dict[str, Tensor]) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


@pytest.mark.slow
@pytest.mark.parametrize("saved", [1, 4, 12])
def test_a_resumed_run_equals_an_uninterrupted_one(data: Batch | PairFile, saved: int, tmp_path: Path) -> None:
    uninterrupted, interrupted, resumed = fresh(tmp_path), fresh(tmp_path), fresh(tmp_path)
    progress = list(steps(uninterrupted, data))
    assert interrupted.load() == 0
    for each, expected in zip(itertools.islice(steps(interrupted, data), saved), progress, strict=False):
        assert each == expected  # saving changes nothing
        interrupted.save(each.step)
        assert [file.name for file in tmp_path.iterdir()] == [STATE]
    torch.rand(7)  # other code may draw from the global generator
    assert resumed.load() == saved
    assert list(steps(resumed, data, saved)) == progress[saved:]
    assert same(resumed.model.state_dict(), uninterrupted.model.state_dict())
    for _ in range(2):  # a missing file is not an error
        resumed.remove()
        assert not list(tmp_path.iterdir())


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
    header = json.dumps({"step": 1, "run": saved.run})
    for content in (b"", b"junk", whole[:-1], whole[: len(whole) // 2]):
        saved.file.write_bytes(content)
        with pytest.raises(CheckpointError, match=f"{STATE}: not a complete safetensors file"):
            fresh(saved.file.parent).load()
    for metadata in (None, *({"state": text} for text in ("[", "[]", "{}", '{"step": "x", "run": {}}', header))):
        save_file({"weights/positions": torch.zeros(1)}, saved.file, metadata)
        with pytest.raises(CheckpointError) as error:
            fresh(saved.file.parent).load()
        assert STATE in str(error.value)
        assert len(str(error.value).splitlines()) == 1


# The command, and killed processes

COMMAND = shlex.split("--d-model 16 --n-heads 4 --d-ff 32 --layers 1 --batch-size 13 --device cpu --keep-every 3")


@pytest.fixture(scope="module")
def command(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Dropout needs the random state of each process; the sum of three gradients depends on its order; and the last
    batch of a pass has one pair for three processes."""
    file = tmp_path_factory.mktemp("pairs") / "pairs.tsv"
    write_pairs(file, 40)
    return [*COMMAND, "--steps", "20", "--pairs", str(file), "--out"]


def run(folder: Path, arguments: list[str], dying: bool) -> None:
    """Run the command in one of several processes, with its output in a file.

    Args:
        dying: the last process is killed at its second save, with the bytes written, but not yet renamed.
    """
    rank = int(os.environ["RANK"])

    def die(*_: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def save(state: TrainingState, step: int, save: Any = TrainingState.save) -> None:
        if step > 3:
            os.replace = die  # type: ignore[assignment]
        save(state, step)
        if step > 3:
            die()

    if dying and rank + 1 == int(os.environ["WORLD_SIZE"]):
        TrainingState.save = save  # type: ignore[assignment, method-assign]
    with (folder / f"{rank}.txt").open("w") as output, redirect_stdout(output):
        main(arguments)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1, 3])
def test_a_killed_run_resumes_to_the_weights_of_an_uninterrupted_one(
    count: int, command: list[str], tmp_path: Path
) -> None:
    interrupted, uninterrupted = tmp_path / "interrupted", tmp_path / "uninterrupted"
    with pytest.raises(ProcessExitedException, match="SIGKILL"):
        in_processes(count, run, tmp_path, [*command, str(interrupted)], True)
    assert (interrupted / STATE).exists()
    assert (interrupted / f"{STATE}.part").exists() or count > 1
    in_processes(count, run, tmp_path, [*command, str(interrupted), "--resume"], False)
    files = {"config.json", "vocabularies.json", "card.md", "model.safetensors"}
    assert {file.name for file in interrupted.iterdir()} == files
    assert "20 steps, of which the last " in (interrupted / "card.md").read_text()
    in_processes(count, run, tmp_path, [*command, str(uninterrupted), "--resume"], False)  # there is nothing to resume
    first, *others = [(tmp_path / f"{rank}.txt").read_text() for rank in range(count)]
    assert first == (uninterrupted / "card.md").read_text() + "\n"  # only one process prints
    assert set(others) <= {""}
    assert "20 steps in " in first
    assert (f", {count} processes" in first) is (count > 1)
    weights, expected = (load_file(folder / "model.safetensors") for folder in (interrupted, uninterrupted))
    assert weights.keys() == expected.keys()
    for name, value in weights.items():
        if not name.endswith("k_proj.bias"):  # see test_distributed.py
            agree(value, expected[name], atol=1e-4)
