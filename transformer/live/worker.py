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
    events: Iterator[LiveEvent | TrainedFile | MistakeEvent]
    if "mistake" in request:
        mistake = MISTAKES[request["mistake"]]
        assert isinstance(mistake, TrainingMistake)
        events = retrain(mistake, stopped.is_set)
    else:
        events = train(Job.from_json(request["job"]), Path(request["file"]), stopped.is_set)
    try:
        for event in events:
            print(json.dumps(event), file=output, flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), output.fileno())  # without a reader, the flush at exit would fail


if __name__ == "__main__":
    main()
