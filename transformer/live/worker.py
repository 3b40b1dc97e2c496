"""The process that one training runs in: `python -m transformer.live.worker`.

It waits for a job, one line of JSON on standard input, and writes its events to standard output, one a line. Any
further line, or the end of its input, stops the training: so it never outlives the server. A process of its own can be
ended at any time, and leaves the interpreter of the server to the visitors' clicks.
"""

import json
import os
import sys
import threading
from pathlib import Path

from .job import Job
from .session import live

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
        for event in live(Job.from_json(asked["job"]), Path(asked["file"]), stopped.is_set):
            print(json.dumps(event), flush=True)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # nobody listens: no more words about it


if __name__ == "__main__":
    main()
