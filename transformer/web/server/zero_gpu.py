"""The process of one training on the GPU of a Space (ZeroGPU): `python -m transformer.web.server.zero_gpu`.

It is live/worker.py, but trains in a function that `spaces` decorates: for such a function the hub lends a GPU, and a
Space without one is ended at its start. The process ends without an event if no GPU can be had. It does not go on
without one, because PyTorch's optimisers fail where `spaces` makes them believe in a GPU.
"""

import ctypes
import multiprocessing
import signal
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import spaces
import torch

from ...live import worker
from ...live.events import LiveEvent, TrainedFile
from ...live.job import Job
from ...live.stream import live
from .. import gradio_internals

SECONDS = 60  # of the visitor's daily quota of GPU time, which the hub reserves; the job ends earlier
TRAINING_SECONDS = 40  # the rest is for starting, measuring and writing
DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG

_stopped = multiprocessing.get_context("fork").Event()  # seen by the forked process, too


@spaces.GPU(duration=SECONDS)
def train_on_gpu(job: Job, file: Path) -> Iterator[LiveEvent | TrainedFile]:
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL)
    job = replace(job, seconds=min(job.seconds, TRAINING_SECONDS))
    yield from live(job, file, _stopped.is_set, torch.device("cuda"))


def train(job: Job, file: Path, _: object) -> Iterator[LiveEvent | TrainedFile]:
    gradio_internals.ask_as(job.hub_token)
    sys.stdin = None  # it is being read: a forked process could not close it
    sys.stdout = sys.stderr  # standard output is for events, and `spaces` prints
    try:
        yield from train_on_gpu(job, file)
    except Exception as error:  # whatever `spaces` raises: no quota, no GPU within a minute, a fault of the hub
        sys.exit(f"ZeroGPU: {error}")


if __name__ == "__main__":
    worker.main(train, _stopped)
