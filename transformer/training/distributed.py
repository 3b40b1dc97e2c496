"""Data-parallel training under torchrun. Independent of networks and vocabularies.

Every process has the whole model and a share of each batch; after each backward pass all have the same gradient.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
import torch.distributed as dist
from torch import Tensor

from ..inference.device import pick_device


@dataclass(frozen=True)
class Processes:
    """This process is number `rank`, from 0, of `count`. A single process needs no torch.distributed."""

    rank: int = 0
    count: int = 1

    def total(self, values: Tensor) -> Tensor:
        """The sum over all processes."""
        if self.count > 1:
            values = values.clone()
            dist.all_reduce(values)
        return values

    def gathered(self, values: Tensor) -> list[Tensor]:
        """The values of every process, by rank; all have one shape."""
        if self.count == 1:
            return [values]
        everyone = [torch.empty_like(values) for _ in range(self.count)]
        dist.all_gather(everyone, values)
        return everyone


ALONE = Processes()


def device_of_process(name: str | None) -> torch.device:
    """`pick_device(name)`; with several processes, each takes the accelerator of its own local rank. Raises ValueError:
    the device is not available, or there are more processes than devices."""
    device = pick_device(name)
    if _count() == 1 or device.type == "cpu":
        return device
    number, there = int(os.environ["LOCAL_RANK"]), torch.accelerator.device_count()
    if device.type == "mps" or number >= there:  # no backend sends gradients between processes on MPS
        raise ValueError(f"process {number} has no device {device.type!r}: start fewer processes, or add --device cpu")
    device = torch.device(device.type, number)
    torch.accelerator.set_device_index(number)  # NCCL uses the current device
    return device


@contextmanager
def together(device: torch.device) -> Iterator[Processes]:
    """Join the processes that torchrun started, with the backend of their device: NCCL on CUDA, gloo on the CPU."""
    if _count() == 1:
        yield ALONE
        return
    dist.init_process_group(dist.get_default_backend_for_device(device))
    try:
        yield Processes(dist.get_rank(), dist.get_world_size())
    finally:
        dist.destroy_process_group()


def _count() -> int:
    return int(os.environ.get("WORLD_SIZE", 1))  # torchrun sets it
