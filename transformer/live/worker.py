"""The process of one training: `python -m transformer.live.worker`.

It reads a job or the name of a mistake as one line of JSON from standard input, and writes one event per line to
standard output. Another line, or the end of input, stops the training, so it never outlives the server. A process of
its own can be killed at any time and does not compete with the server for the interpreter lock.
"""

import json
import multiprocessing.synchronize
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..mistakes import MISTAKES, TrainingMistake
from .events import LiveEvent, TrainedFile
from .job import Job
from .mistake_training import MistakeEvent, retrain
from .stream import live

NICE = 10  # visitors' clicks come first
Train = Callable[[Job, Path, Callable[[], bool]], Iterator[LiveEvent | TrainedFile]]
Flag = threading.Event | multiprocessing.synchronize.Event


def main(train: Train = live, stopped: Flag | None = None) -> None:
    """Train with `train`, which sees `stopped` set when it is to stop."""
    stopped = stopped or threading.Event()
    output = sys.stdout  # which `train` may set to something else
    if hasattr(os, "nice"):
        os.nice(NICE)
    print(json.dumps({"event": "ready"}), flush=True)
    line = sys.stdin.readline()
    if not line:
        return
    request = json.loads(line)

    def wait() -> None:
        sys.stdin.readline()
        stopped.set()

    threading.Thread(target=wait, daemon=True).start()
    try:
        for event in _events(request, train, stopped.is_set):
            print(json.dumps(event), file=output, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())  # without a reader, the flush at exit would fail


def _events(
    request: dict[str, Any], train: Train, stopped: Callable[[], bool]
) -> Iterator[LiveEvent | TrainedFile | MistakeEvent]:
    if "mistake" not in request:
        return train(Job.from_json(request["job"]), Path(request["file"]), stopped)
    mistake = MISTAKES[request["mistake"]]
    assert isinstance(mistake, TrainingMistake)
    return retrain(mistake, stopped)


if __name__ == "__main__":
    main()
