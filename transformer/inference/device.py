"""The device to run on, and the reason for it. Independent of models."""

import os

import torch

from ..messages import Message

ENVIRONMENT = "TRANSFORMER_DEVICE"


def pick_device(name: str | None = None) -> torch.device:
    """The device to run on: `name`, else $TRANSFORMER_DEVICE, else CUDA, Apple MPS or XPU where there is one, else CPU.

    Raises:
        ValueError: the requested device is not available.
    """
    wanted = name or os.environ.get(ENVIRONMENT)
    if not wanted:
        return _accelerator() or torch.device("cpu")
    try:
        device = torch.device(wanted)
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError, NotImplementedError, ImportError) as error:
        there = ", ".join(str(d) for d in (_accelerator(), "cpu") if d)
        raise ValueError(f"device {wanted!r} was requested, but this machine has {there}") from error
    if device.type == "meta":
        raise ValueError("device 'meta' holds no numbers, so no model can run on it")
    return device


def why_device(device: torch.device, name: str | None = None) -> Message:
    """The name of `device` and why `pick_device(name)` chose it, as a message for the page."""
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
