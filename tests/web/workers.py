"""A worker process whose events a test decides on."""

import asyncio
import json
import threading
from collections.abc import AsyncGenerator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from transformer.live.job import Job
from transformer.storage.portable import save_portable
from transformer.web.sessions import training_queue

from ..models import packed


class FakeWorker:
    def __init__(self) -> None:
        self.ended = False
        self.process = SimpleNamespace(poll=lambda: 0 if self.ended else None)
        self.received: list[str] = []
        self.seconds: float | None = None  # that its lines are listened to
        self.file = Path()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()

    def train(self, job: Job, file: Path) -> None:
        assert threading.current_thread() is not threading.main_thread()
        self.received.append(job.name)
        self.file = file
        file.write_bytes(b"half a model")

    def train_mistake(self, mistake: str) -> None:
        self.received.append(mistake)

    def stop(self) -> None:
        assert not self.ended
        self.received.append("stop")

    async def lines(self, seconds: float) -> AsyncGenerator[str]:
        self.seconds = seconds
        while (line := await self._lines.get()) is not None:
            yield line

    def end(self) -> None:
        self.ended = True

    def write(self, *events: dict[str, Any] | None) -> None:
        """Events; None is the end of its process."""
        for event in events:
            self._lines.put_nowait(None if event is None else json.dumps(event) + "\n")

    def finish(self) -> None:
        """Write a model, and say so."""
        save_portable(packed(), self.file)
        self.write({"event": "trained", "file": str(self.file), "step": 3, "why": "steps"}, None)


def fake_workers(monkeypatch: pytest.MonkeyPatch) -> list[FakeWorker]:
    """All that are started, in their order."""
    started: list[FakeWorker] = []

    def start() -> FakeWorker:
        started.append(FakeWorker())
        return started[-1]

    monkeypatch.setattr(training_queue, "Worker", start)
    return started
