"""The worker process runs one training, stops on any line of input, and ends with its reader.

That it finishes a job, or stops it at a line, is tested in tests/browser/test_train.py, and of a mistake in
tests/browser/test_mistakes.py; the weights, in test_stream.py.
"""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from transformer.inference.device import ENVIRONMENT
from transformer.live.worker import NICE

from .test_stream import job

ROOT = Path(__file__).parent.parent.parent
GENEROUS = 120  # seconds; a longer wait is a hang


@pytest.mark.slow
def test_it_exits_when_the_server_dies(tmp_path: Path) -> None:
    todo = job()
    endless = replace(todo, training=todo.training | {"steps": 10**7}, seconds=10**7)
    process = subprocess.Popen(
        [sys.executable, "-m", "transformer.live.worker"],
        cwd=ROOT,
        env=os.environ | {ENVIRONMENT: "cpu"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        assert json.loads(process.stdout.readline()) == {"event": "ready"}
        assert os.getpriority(os.PRIO_PROCESS, process.pid) >= NICE  # visitors' clicks come first
        print(json.dumps({"job": endless.to_json(), "file": str(tmp_path / "model")}), file=process.stdin, flush=True)
        assert json.loads(process.stdout.readline())["event"] == "started"
        process.stdin.close()
        process.stdout.close()
        assert process.wait(GENEROUS) == 0
        assert process.stderr.read() == ""
    finally:
        process.kill()
