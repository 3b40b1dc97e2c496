"""Which accelerator, and why. Knows nothing of models."""

import os

import torch

from ..messages import Message

ENVIRONMENT = "TRANSFORMER_DEVICE"


def pick_device(name: str | None = None) -> torch.device:
    """The device to run on: `name`, else $TRANSFORMER_DEVICE, else CUDA, Apple MPS or XPU where there is one, else CPU.

    Raises:
        ValueError: a device was asked for that is not there.
    """
    wanted = name or os.environ.get(ENVIRONMENT)
    if not wanted:
        return _accelerator() or torch.device("cpu")
    try:
        device = torch.device(wanted)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError, ImportError) as error:
        there = ", ".join(str(d) for d in (_accelerator(), "cpu") if d)
        raise ValueError(f"device {wanted!r} was asked for, but this machine has {there}") from error
    if device.type == "meta":
        raise ValueError("device 'meta' holds no numbers, so nothing can run on it")
    return device


def why_device(device: torch.device, name: str | None = None) -> Message:
    """One sentence for people: what `device` is, and why `pick_device(name)` chose it."""
    kind = {"device": device.type}
    if name:
        return Message("device.caller", kind)
    if os.environ.get(ENVIRONMENT):
        variable = {"variable": f"${ENVIRONMENT}"}
        return Message("device.asked", kind | variable)
    if device.type == "cpu":
        return Message("device.cpu")
    if device.type == "cuda":
        kind = {"device": f"{torch.cuda.get_device_name(device)} (cuda)"}
    return Message("device.accelerator", kind)


def _accelerator() -> torch.device | None:
    """CUDA, MPS or XPU: a build of PyTorch has one of them at most."""
    return torch.accelerator.current_accelerator(check_available=True)
