"""PyTorch has one global random generator for all threads."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import torch

rng_lock = threading.RLock()  # held while drawing, so that a seed gives the same numbers whatever other threads do


@contextmanager
def untouched_rng() -> Iterator[None]:
    """Hold the lock while drawing inside, and restore the generator's state afterwards."""
    with rng_lock, torch.random.fork_rng(devices=[]):
        yield
