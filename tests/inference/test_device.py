"""The device is the requested one, the accelerator, or the CPU; every device gives the same results."""

import pytest
import torch

from transformer import Translator, pick_device
from transformer.data import Batch
from transformer.inference.device import ENVIRONMENT, why_device
from transformer.messages import Message
from transformer.training import TrainingConfig, train

from ..networks import Created, network

ACCELERATOR = torch.accelerator.current_accelerator(check_available=True)
CPU, CUDA, MPS = map(torch.device, ("cpu", "cuda", "mps"))


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(ENVIRONMENT, raising=False)


def found(monkeypatch: pytest.MonkeyPatch, device: torch.device | None) -> None:
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda check_available: device)


@pytest.mark.parametrize(("accelerator", "picked"), [(None, CPU), (CUDA, CUDA), (MPS, MPS)])
def test_an_available_accelerator_is_picked(
    monkeypatch: pytest.MonkeyPatch, accelerator: torch.device | None, picked: torch.device
) -> None:
    found(monkeypatch, accelerator)
    assert pick_device() == picked
    assert pick_device("cpu") == CPU
    monkeypatch.setenv(ENVIRONMENT, "cpu")
    assert pick_device() == CPU


@pytest.mark.parametrize("name", ["nonesuch", "cuda:99", "hpu", "meta", "cpu and more", ":0"])
def test_an_unavailable_device_is_named(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    with pytest.raises(ValueError, match=name) as error:
        pick_device(name)
    assert len(str(error.value).splitlines()) == 1
    monkeypatch.setenv(ENVIRONMENT, name)
    with pytest.raises(ValueError, match=name):
        pick_device()


def test_the_message_names_the_device_and_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda device: "Abacus 9")
    assert why_device(CPU) == Message("device.cpu")
    assert why_device(CUDA) == Message("device.accelerator", {"device": "Abacus 9 (cuda)"})
    assert why_device(MPS) == Message("device.accelerator", {"device": "mps"})
    assert why_device(CPU, "cpu") == Message("device.caller", {"device": "cpu"})
    monkeypatch.setenv(ENVIRONMENT, "cpu")
    assert why_device(CPU) == Message("device.asked", {"device": "cpu", "variable": f"${ENVIRONMENT}"})


def test_a_space_on_zero_gpu_stays_on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """There PyTorch claims to have a GPU."""
    found(monkeypatch, CUDA)
    monkeypatch.setenv("SPACES_ZERO_GPU", "true")
    assert pick_device() == pick_device("cpu") == CPU
    assert why_device(CPU) == Message("device.zero_gpu")
    with pytest.raises(ValueError, match="'cuda' was requested, but a Space on ZeroGPU"):
        pick_device("cuda")
    monkeypatch.setenv("SPACES_ZERO_GPU", "false")
    assert pick_device() == CUDA


def test_the_device_needs_no_float64(babbler: Translator, toy_data: Batch) -> None:
    model = network()
    with Created() as created:
        babbler.translate("wort1 wort2")
        next(train(model, toy_data, TrainingConfig()))
    dtypes = {dtype for _, dtype in created.seen}
    assert torch.float32 in dtypes
    assert torch.float64 not in dtypes


@pytest.mark.skipif(ACCELERATOR is None, reason="this machine has no accelerator")
@pytest.mark.parametrize("sentence", ["Ich möchte ein Bier", "Ich möchte ein Cola"])
def test_an_accelerator_gives_the_results_of_the_cpu(toy: Translator, sentence: str) -> None:
    here, there = toy.translate(sentence), Translator.load("toy", device=str(ACCELERATOR)).translate(sentence)
    assert there.device.startswith(str(ACCELERATOR))
    assert there.output == here.output
    assert there.table()["weight"].to_numpy() == pytest.approx(here.table()["weight"].to_numpy(), abs=1e-4)
