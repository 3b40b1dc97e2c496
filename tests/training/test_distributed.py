"""Two processes train as one: equal losses and weights, each pair read once. They run on the CPU under torchrun."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch

from transformer.training.distributed import ALONE, device_of_process

from .distributed_worker import CASES, seen, write_pairs

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The records of two processes for every case."""
    folder = tmp_path_factory.mktemp("parallel")
    write_pairs(folder / "pairs.tsv")
    launch = [
        "-m",
        "torch.distributed.run",
        "--standalone",
        "--nproc-per-node=2",
        "-m",
        "tests.training.distributed_worker",
    ]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    command = [sys.executable, *launch, str(folder)]
    run = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, check=False, timeout=300)
    assert run.returncode == 0, run.stderr
    return folder


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest, folder: Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """The records of a single process, and of each of two."""
    name = request.param
    return seen(name, folder, ALONE), *(torch.load(folder / f"{name} {rank}.pt") for rank in (0, 1))


@pytest.mark.slow
def test_two_processes_equal_one(case: tuple[dict[str, Any], ...]) -> None:
    alone, first, second = case
    assert first["progress"] == second["progress"]
    assert len(first["progress"]) >= 10
    apart = torch.tensor(first["progress"]).double() - torch.tensor(alone["progress"]).double()
    print(f"largest difference of a loss {apart[:, 1].abs().max():.1e}")
    assert apart[:, 0].abs().max() == 0  # steps
    assert apart[:, 1].abs().max() < 1e-5  # losses
    assert apart[:, 2].abs().max() < 1e-6  # accuracies
    for name, value in alone["weights"].items():
        assert torch.equal(first["weights"][name], second["weights"][name])
        # A key's bias shifts all scores of a row equally: its gradient is rounding error, which Adam amplifies.
        assert name.endswith("k_proj.bias") or (first["weights"][name] - value).abs().max() < 1e-4


@pytest.mark.slow
def test_each_pair_of_a_batch_is_read_by_one_process(case: tuple[dict[str, Any], ...]) -> None:
    alone, first, second = case
    for whole, one, other in zip(alone["read"], first["read"], second["read"], strict=True):
        if len(whole) == 1:  # both read the only pair
            assert one == other == whole
        else:
            assert sorted(one + other) == sorted(whole)
            assert 0 <= len(one) - len(other) <= 1


@pytest.mark.parametrize(("number", "accelerators"), [(0, 0), (2, 2), (5, 2)])
def test_a_process_without_its_own_device_is_refused(
    monkeypatch: pytest.MonkeyPatch, number: int, accelerators: int
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_RANK", str(number))
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: accelerators)
    monkeypatch.setattr("transformer.training.distributed.pick_device", lambda name: torch.device("cuda"))
    with pytest.raises(ValueError, match=f"process {number} has no device 'cuda'"):
        device_of_process(None)


def test_each_process_takes_the_device_of_its_rank(monkeypatch: pytest.MonkeyPatch) -> None:
    current: list[int] = []
    monkeypatch.setattr(torch.accelerator, "device_count", lambda: 2)
    monkeypatch.setattr(torch.accelerator, "set_device_index", current.append)
    monkeypatch.setattr("transformer.training.distributed.pick_device", lambda name: torch.device(name or "cuda"))
    assert device_of_process(None) == torch.device("cuda")  # alone
    monkeypatch.setenv("WORLD_SIZE", "2")
    monkeypatch.setenv("LOCAL_RANK", "1")
    assert device_of_process(None) == torch.device("cuda", 1)
    assert current == [1]
    assert device_of_process("cpu") == torch.device("cpu")
    with pytest.raises(ValueError, match="'mps'"):
        device_of_process("mps")
