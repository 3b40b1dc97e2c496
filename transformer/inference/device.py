"""The device to run on, and the reason for it. Independent of models."""

import os

import torch

from ..messages import Message

ENVIRONMENT = "TRANSFORMER_DEVICE"


def on_zero_gpu() -> bool:
    """Whether this is a Hugging Face Space on ZeroGPU: it has a GPU only while a function decorated by `spaces` runs,
    although PyTorch claims to have one all the time."""
    return os.environ.get("SPACES_ZERO_GPU", "").lower() in ("1", "t", "true")  # as `spaces` reads it


def pick_device(name: str | None = None) -> torch.device:
    """The device to run on: `name`, else $TRANSFORMER_DEVICE, else CUDA, Apple MPS or XPU where there is one, else CPU.
    Raises ValueError: the requested device is not available."""
    wanted = name or os.environ.get(ENVIRONMENT)
    if not wanted:
        return _accelerator() or torch.device("cpu")
    try:
        device = torch.device(wanted)
        if on_zero_gpu() and device.type != "cpu":
            raise ValueError(
                f"device {wanted!r} was requested, but a Space on ZeroGPU has no GPU between calls: use cpu"
            )
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
        return Message("device.zero_gpu" if on_zero_gpu() else "device.cpu")
    if device.type == "cuda":
        kind = {"device": f"{torch.cuda.get_device_name(device)} (cuda)"}
    return Message("device.accelerator", kind)


def _accelerator() -> torch.device | None:
    """CUDA, MPS or XPU: a build of PyTorch has one of them at most."""
    return None if on_zero_gpu() else torch.accelerator.current_accelerator(check_available=True)
