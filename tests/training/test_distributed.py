"""Two processes train as one: equal losses and weights. They run on the CPU."""

from pathlib import Path

import pytest
import torch

from transformer.training.distributed import ALONE, device_of_process

from ..networks import agree
from .distributed_worker import CASES, in_processes, record, seen, write_pairs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The records of two processes for every case."""
    folder = tmp_path_factory.mktemp("parallel")
    write_pairs(folder / "pairs.tsv")
    in_processes(2, record, folder)
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_two_processes_equal_one(name: str, folder: Path) -> None:
    alone, first, second = seen(name, folder, ALONE), *(torch.load(folder / f"{name} {rank}.pt") for rank in (0, 1))
    assert second["progress"] == [pytest.approx(each, abs=1e-5) for each in first["progress"]]
    apart = torch.tensor(first["progress"]).double() - torch.tensor(alone["progress"]).double()
    assert len(apart) >= 10
    assert apart[:, 0].abs().max() == 0  # steps
    assert apart[:, 1].abs().max() < 1e-5  # losses
    assert (apart[:, 2].abs() > 1e-6).sum() <= 1  # accuracies: rounding may turn a guess
    for parameter, value in alone["weights"].items():
        ours = first["weights"][parameter]
        agree(ours, second["weights"][parameter])
        # A key's bias shifts all scores of a row equally: its gradient is rounding error, which Adam amplifies.
        assert parameter.endswith("k_proj.bias") or (ours - value).abs().max() < 1e-4


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
    monkeypatch.setenv("LOCAL_RANK", "2")
    with pytest.raises(ValueError, match="process 2 has no device 'cuda'"):
        device_of_process(None)
