"""Where visitors' models are trained: so many at a time, each in a process of its own; who comes later waits."""

import asyncio
import json
import secrets
import subprocess
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from functools import cache
from pathlib import Path
from typing import Any

from ...inference.device import pick_device
from ...live.job import Job
from ...live.limits import Limits
from ...live.stream import NO_ROOM
from ...messages import Message, MessageError
from ...storage.portable import PortableError, load_portable
from ..api.models import about
from .model_store import ModelStore, ModelStoreFullError, model_store

ROOT = Path(__file__).resolve().parents[3]
HEARTBEAT_SECONDS = 15  # in the queue
GRACE_SECONDS = 60  # that a process has besides its training: to begin, to measure, to write
RESULTS = tuple(f'{{"event": "{name}"' for name in ("trained", "symptom", "error"))  # how their lines begin
Event = dict[str, Any]


class BusyError(MessageError):
    """No training can start now."""


class Worker:
    """A process that trains one model, or those that show a mistake.

    It has loaded PyTorch by the time that it is needed, if it was started early.
    """

    def __init__(self) -> None:
        command = [sys.executable, "-m", "transformer.live.worker"]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process = subprocess.Popen(command, cwd=ROOT, encoding="utf-8", **pipes)  # type: ignore[call-overload]

    def begin(self, job: Job, file: Path) -> None:
        self._tell(json.dumps({"job": job.to_json(), "file": str(file)}))

    def show(self, mistake: str) -> None:
        self._tell(json.dumps({"mistake": mistake}))

    def stop(self) -> None:
        """Training ends after the step that it is in; the rest of its events follows."""
        self._tell("stop")

    def _tell(self, line: str) -> None:
        try:
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()
        except (BrokenPipeError, ValueError):
            pass  # it has ended; who reads its events learns that

    async def lines(self, seconds: float) -> AsyncGenerator[str]:
        """What it writes, until it ends or so many seconds have passed."""
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[str | None]()

        def read() -> None:
            try:
                for line in self.process.stdout:
                    loop.call_soon_threadsafe(queue.put_nowait, line)
                loop.call_soon_threadsafe(queue.put_nowait, None)
            except (RuntimeError, ValueError):
                pass  # the server is going down

        threading.Thread(target=read, daemon=True).start()
        # No asyncio.timeout: it would cancel the task that asked first, and another may be the one that asks now.
        late = loop.call_later(seconds, queue.put_nowait, None)
        try:
            while (line := await queue.get()) is not None:
                yield line
        finally:
            late.cancel()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        with suppress(BrokenPipeError):  # it was told something that it did not live to read
            self.process.stdin.close()


class TrainingQueue:
    """The queue and the processes of one server. All but `prepare` belongs to the server's event loop."""

    def __init__(self, limits: Limits, models: ModelStore) -> None:
        self.limits = limits
        self._store = models
        self._tickets: list[_Ticket] = []  # who trains, and behind them who waits
        self._spare: Worker | None = None
        self._lock = threading.Lock()

    def prepare(self) -> None:
        """Have a process ready, because somebody is about to train. May be called from any thread."""
        with self._lock:
            if self._spare is None or self._spare.process.poll() is not None:
                self._spare = Worker()

    def close(self) -> None:
        with self._lock:
            if self._spare:
                self._spare.end()
                self._spare = None

    def busy(self) -> tuple[int, int]:
        """How many train, and how many wait."""
        running = min(len(self._tickets), self.limits.at_once)
        return running, len(self._tickets) - running

    def stop(self, run: str) -> None:
        """End a training after its present step, and keep what was learned."""
        for ticket in self._tickets:
            if ticket.run == run:
                ticket.stopped = True
                if ticket.worker:
                    ticket.worker.stop()

    def train(self, job: Job, visit: str) -> AsyncGenerator[Event | str]:
        """Wait for a place, train, and put the model on the model store: events, or lines of JSON that are events.

        Whoever stops listening ends the training.

        Raises:
            BusyError: this visit trains already, or too many wait.
        """
        return self._queued(visit, lambda ticket: self._trained(ticket, job))

    def show(self, mistake: str, visit: str) -> AsyncGenerator[Event | str]:
        """Wait for a place, and train small models with a mistake of training and without: events as of `train`.

        Raises:
            BusyError: this visit trains already, or too many wait.
        """
        return self._queued(visit, lambda ticket: self._lines(ticket, lambda worker: worker.show(mistake)))

    async def _queued(
        self, visit: str, work: Callable[["_Ticket"], AsyncGenerator[Event | str]]
    ) -> AsyncGenerator[Event | str]:
        if any(ticket.visit == visit for ticket in self._tickets):
            raise BusyError("train.already")
        if len(self._tickets) >= self.limits.at_once + self.limits.waiting:
            raise BusyError("train.crowded")
        ticket = _Ticket(visit)
        self._tickets.append(ticket)
        try:
            async for place in self._turn(ticket):
                yield {"event": "waiting", "place": place}
            yield {"event": "run", "run": ticket.run}
            async with aclosing(work(ticket)) as events:
                async for event in events:
                    yield event
        finally:
            self._tickets.remove(ticket)
            for other in self._tickets:
                other.moved.set()

    async def _turn(self, ticket: "_Ticket") -> AsyncGenerator[int]:
        """One's place in the queue, from 1, whenever it changes, until it is one's turn."""
        said = 0
        while True:
            ticket.moved.clear()  # before looking, so that what moves while the place is told is not missed
            place = self._tickets.index(ticket) + 1 - self.limits.at_once
            if place <= 0:
                return
            if place != said:
                yield (said := place)
            try:
                await asyncio.wait_for(ticket.moved.wait(), HEARTBEAT_SECONDS)
            except TimeoutError:
                said = 0  # say it again: a server on the way may end what is silent for long

    async def _trained(self, ticket: "_Ticket", job: Job) -> AsyncGenerator[Event | str]:
        file = self._store.folder / f"{secrets.token_hex(16)}.safetensors"
        kept = False
        try:
            async with aclosing(self._lines(ticket, lambda worker: worker.begin(job, file))) as lines:
                async for line in lines:
                    if isinstance(line, str) and line.startswith('{"event": "trained"'):
                        event = await self._kept(json.loads(line), file, ticket.visit)
                        kept = "model" in event
                        yield event
                    else:
                        yield line
        finally:
            if not kept:
                file.unlink(missing_ok=True)

    async def _lines(self, ticket: "_Ticket", begin: Callable[[Worker], None]) -> AsyncGenerator[Event | str]:
        """What a process of its own writes, and an error where it broke off before it had a result."""
        worker = await self._taken()
        ended = False
        try:
            await asyncio.to_thread(begin, worker)  # which waits until the process reads, if it has to load
            ticket.worker = worker
            if ticket.stopped:
                worker.stop()
            async with aclosing(worker.lines(self.limits.seconds + GRACE_SECONDS)) as lines:
                async for line in lines:
                    if not line.startswith('{"event": "ready"'):
                        ended = ended or line.startswith(RESULTS)
                        yield line
        finally:
            worker.end()
        if not ended:
            yield {"event": "error", "message": Message("train.died").for_page()}

    async def _kept(self, trained: Event, file: Path, visit: str) -> Event:
        try:
            portable = await asyncio.to_thread(load_portable, file, self.limits.parameters, pick_device())
            key = await asyncio.to_thread(self._store.put, portable, visit, file)
        except (PortableError, ModelStoreFullError) as error:
            return {"event": "error", "message": error.message.for_page()}
        except OSError:  # somebody else has removed it
            return {"event": "error", "message": NO_ROOM.for_page()}
        del trained["file"]
        return {**trained, "model": about(key), "kept": self._store.of(visit)}

    async def _taken(self) -> Worker:
        taking = asyncio.ensure_future(asyncio.to_thread(self._take))
        try:
            return await asyncio.shield(taking)
        except asyncio.CancelledError:
            taking.add_done_callback(_end)
            raise

    def _take(self) -> Worker:
        with self._lock:
            spare, self._spare = self._spare, None
        return spare if spare and spare.process.poll() is None else Worker()


def _end(taken: "asyncio.Future[Worker]") -> None:
    """End a process that came when nobody waited for it any more."""
    if not taken.cancelled() and taken.exception() is None:
        taken.result().end()


class _Ticket:
    """A visitor's place in the queue, and then at work."""

    def __init__(self, visit: str) -> None:
        self.visit = visit
        self.run = secrets.token_urlsafe(16)
        self.worker: Worker | None = None  # as soon as it has its job
        self.stopped = False
        self.moved = asyncio.Event()


@cache
def training_queue() -> TrainingQueue:
    """This server's."""
    kept = model_store()
    return TrainingQueue(kept.limits, kept)
