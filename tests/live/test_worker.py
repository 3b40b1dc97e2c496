"""The process of one training: it does its job and goes, stops when it is told to, and never outlives who reads it."""

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
from transformer.live.stream import Event
from transformer.storage.portable import load_portable

from .test_stream import job, of, one, same_weights, trained_alone

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
GENEROUS = 120  # seconds, after which it hangs
Process = subprocess.Popen[str]


def asked(job: Job, file: Path) -> str:
    return json.dumps({"job": job.to_json(), "file": str(file)}) + "\n"


def events_of(lines: Iterator[str]) -> list[Event]:
    return [json.loads(line, parse_constant=pytest.fail) for line in lines]


@pytest.fixture(autouse=True)
def _on_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the training alone is, too."""
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
    process.stdin.write(asked(job, file))
    process.stdin.flush()


def rest(process: Process) -> list[Event]:
    """All events up to its end, which is a good one."""
    assert process.stdout
    events = events_of(process.stdout)
    assert (process.wait(GENEROUS), process.stderr.read()) == (0, "")
    return events


def test_a_job_is_done_to_its_end_and_the_process_goes(process: Process, tmp_path: Path) -> None:
    todo, file = job(held_out=0.4), tmp_path / "model.safetensors"
    begin(process, todo, file)
    events = rest(process)  # with its standard input still open
    assert [events[0]["event"], one("ended", events)["why"]] == ["started", "steps"]
    assert max(event["step"] for event in of("snapshot", events)) == 8
    assert one("trained", events)["file"] == str(file)
    assert same_weights(load_portable(file).checkpoint.model, trained_alone(todo).model)


def test_it_shows_a_mistake_and_goes(process: Process) -> None:
    assert json.loads(process.stdout.readline()) == {"event": "ready"}
    process.stdin.write(json.dumps({"mistake": "rank_collapse"}) + "\n")
    process.stdin.flush()
    *told, symptom = rest(process)
    assert {event["event"] for event in told} == {"progress"}
    assert symptom["event"] == "symptom"
    assert symptom["wrong"]["numbers"]["largest_weight"] < 0.26 < 0.5 < symptom["right"]["numbers"]["largest_weight"]


def test_it_goes_when_the_server_dies(process: Process, tmp_path: Path) -> None:
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
    """What `main` would make its process; it is called in this one here."""
    asked: list[int] = []
    monkeypatch.setattr(os, "nice", asked.append)
    return asked


@pytest.mark.parametrize("line", ["stop\n", "\n", ""])
def test_any_line_stops_it_and_so_does_the_end_of_its_input(
    line: str,
    niceness: list[int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    todo, file = job(steps=10_000), tmp_path / "model.safetensors"
    monkeypatch.setattr(sys, "stdin", io.StringIO(asked(todo, file) + line))
    worker.main()
    ready, *events = events_of(iter(capsys.readouterr().out.splitlines()))
    assert ready == {"event": "ready"}
    assert one("ended", events)["why"] == "stop"
    assert file.exists()
    assert niceness == [worker.NICE] != [0]


def test_without_a_job_it_goes(
    niceness: list[int], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(""))
    worker.main()
    assert events_of(iter(capsys.readouterr().out.splitlines())) == [{"event": "ready"}]
