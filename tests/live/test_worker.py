"""The worker process runs one training, stops on any line of input, and ends with its reader.

That it finishes a job, or stops it at a line, is tested in tests/browser/test_train.py, and of a mistake in
tests/browser/test_mistakes.py; the weights, in test_stream.py.
"""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from transformer.inference.device import ENVIRONMENT
from transformer.live.job import Job
from transformer.live.worker import NICE

from .test_stream import job

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
GENEROUS = 120  # seconds; a longer wait is a hang
Process = subprocess.Popen[str]


def request(job: Job, file: Path) -> str:
    return json.dumps({"job": job.to_json(), "file": str(file)}) + "\n"


@pytest.fixture(autouse=True)
def _on_the_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """The reference training runs on the CPU, too."""
    monkeypatch.setenv(ENVIRONMENT, "cpu")


@pytest.fixture
def process() -> Iterator[Process]:
    command = [sys.executable, "-m", "transformer.live.worker"]
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, cwd=ROOT, encoding="utf-8", **pipes) as process:
        try:
            yield process
        finally:
            process.kill()


def begin(process: Process, lines: str) -> None:
    assert json.loads(process.stdout.readline()) == {"event": "ready"}
    assert os.getpriority(os.PRIO_PROCESS, process.pid) >= NICE  # visitors' clicks come first
    process.stdin.write(lines)
    process.stdin.flush()


def test_it_exits_when_the_server_dies(process: Process, tmp_path: Path) -> None:
    todo = job()
    endless = replace(todo, training=todo.training | {"steps": 10**7}, seconds=10**7)
    begin(process, request(endless, tmp_path / "model.safetensors"))
    assert json.loads(process.stdout.readline())["event"] == "started"
    process.stdin.close()
    process.stdout.close()
    assert process.wait(GENEROUS) == 0
    assert process.stderr.read() == ""
