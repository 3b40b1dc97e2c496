"""The process that one training runs in: `python -m transformer.live.worker`.

It waits for a job or the name of a mistake, one line of JSON on standard input, and writes its events to standard
output, one a line. Any further line, or the end of its input, stops the training: so it never outlives the server. A
process of its own can be ended at any time, and leaves the interpreter of the server to the visitors' clicks.
"""

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ..mistakes import MISTAKES, TrainingMistake
from .job import Job
from .mistake_training import retrain
from .stream import Event, live

NICE = 10  # clicks come first


def main() -> None:
    if hasattr(os, "nice"):
        os.nice(NICE)
    print(json.dumps({"event": "ready"}), flush=True)
    line = sys.stdin.readline()
    if not line:
        return
    asked = json.loads(line)
    stopped = threading.Event()

    def wait() -> None:
        sys.stdin.readline()
        stopped.set()

    threading.Thread(target=wait, daemon=True).start()
    try:
        for event in _events(asked, stopped.is_set):
            print(json.dumps(event), flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody listens: no more words about it


def _events(asked: dict[str, Any], stopped: Callable[[], bool]) -> Iterator[Event]:
    if "mistake" not in asked:
        return live(Job.from_json(asked["job"]), Path(asked["file"]), stopped)
    mistake = MISTAKES[asked["mistake"]]
    assert isinstance(mistake, TrainingMistake)
    return retrain(mistake, stopped)


if __name__ == "__main__":
    main()
