"""The worker process runs one training, stops on any line of input, and ends with its reader."""

import io
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
from transformer.live import worker
from transformer.live.job import Job
from transformer.storage.portable import load_portable

from .test_stream import job, of, one, same_weights, trained_alone

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
GENEROUS = 120  # seconds; a longer wait is a hang
Process = subprocess.Popen[str]


def request(job: Job, file: Path) -> str:
    return json.dumps({"job": job.to_json(), "file": str(file)}) + "\n"


def events_of(lines: Iterator[str]) -> list[dict[str, Any]]:
    return [json.loads(line, parse_constant=pytest.fail) for line in lines]


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


def begin(process: Process, job: Job, file: Path) -> None:
    assert json.loads(process.stdout.readline()) == {"event": "ready"}
    process.stdin.write(request(job, file))
    process.stdin.flush()


def rest(process: Process) -> list[dict[str, Any]]:
    """All events up to a clean exit."""
    assert process.stdout
    events = events_of(process.stdout)
    assert (process.wait(GENEROUS), process.stderr.read()) == (0, "")
    return events


def test_a_job_is_finished_and_the_process_exits(process: Process, tmp_path: Path) -> None:
    todo, file = job(held_out=0.4), tmp_path / "model.safetensors"
    begin(process, todo, file)
    events = rest(process)  # its standard input stays open
    assert [events[0]["event"], one("ended", events)["why"]] == ["started", "steps"]
    assert max(event["step"] for event in of("snapshot", events)) == 8
    assert one("trained", events)["file"] == str(file)
    assert same_weights(load_portable(file).checkpoint.model, trained_alone(todo).model)


def test_it_exits_when_the_server_dies(process: Process, tmp_path: Path) -> None:
    todo = job()
    endless = replace(todo, training=todo.training | {"steps": 10**7}, seconds=10**7)
    begin(process, endless, tmp_path / "model.safetensors")
    assert json.loads(process.stdout.readline())["event"] == "started"
    process.stdin.close()
    process.stdout.close()
    assert process.wait(GENEROUS) == 0
    assert process.stderr.read() == ""


@pytest.fixture
def niceness(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Records the niceness that `main` sets: here it runs in the test's own process."""
    calls: list[int] = []
    monkeypatch.setattr(os, "nice", calls.append)
    return calls


@pytest.mark.parametrize("line", ["stop\n", ""])
def test_any_line_or_the_end_of_input_stops_it(
    line: str,
    niceness: list[int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    todo, file = job(steps=10_000), tmp_path / "model.safetensors"
    monkeypatch.setattr(sys, "stdin", io.StringIO(request(todo, file) + line))
    worker.main()
    ready, *events = events_of(iter(capsys.readouterr().out.splitlines()))
    assert ready == {"event": "ready"}
    assert one("ended", events)["why"] == "stop"
    assert file.exists()
    assert niceness == [worker.NICE] != [0]


def test_a_mistake_is_trained_until_a_line_stops_it(
    niceness: list[int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(json.dumps({"mistake": "rank_collapse"}) + "\nstop\n"))
    worker.main()
    ready, *events = events_of(iter(capsys.readouterr().out.splitlines()))
    assert ready == {"event": "ready"}
    assert [event["side"] for event in events] == ["wrong"] * len(events)  # and no symptom


def test_without_a_job_it_exits(
    niceness: list[int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    worker.main()
    assert events_of(iter(capsys.readouterr().out.splitlines())) == [{"event": "ready"}]
