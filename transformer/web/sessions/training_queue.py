"""The trainings of this server: each runs in a process of its own, a few at a time; the others wait in a fair queue."""

import asyncio
import json
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from functools import cache, partial
from heapq import heapify, heapreplace
from pathlib import Path
from typing import Any, Literal

from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...inference.device import on_zero_gpu, pick_device
from ...live.events import Failed, LiveEvent, Trained
from ...live.job import Job
from ...live.limits import Limits
from ...live.mistake_training import MistakeEvent
from ...live.pace import Pace
from ...live.plan import THREADS_FROM
from ...live.stream import NO_SPACE
from ...messages import Message, MessageError
from ...network.config import TransformerConfig
from ...network.cost import count_parameters
from ..client import Client
from ..fair_queue import FairQueue, QueueFullError, Ticket
from .model_store import ModelStore, Reservation, model_store, size_of
from .models import Model, about
from .shared_run import Event, Events, Joined, SharedRun

ROOT = Path(__file__).resolve().parents[3]
ON_CPU, ON_GPU = "transformer.live.worker", "transformer.web.server.zero_gpu"  # modules of the process
PLACE_SECONDS = 0.5  # between two looks at the place of a training that waits
HEARTBEAT_SECONDS = 15  # between two events of a training that waits: proxies close connections that are silent
GPU_SECONDS = 90  # to wait for a GPU: the hub answers within 60
MISTAKE_SECONDS = 15  # that the two models of a mistake take on an idle machine
SHARE_SECONDS = 20  # guaranteed to a training of the busiest address while another address waits
GRACE_SECONDS = 60  # for a process beyond its training: to start, to measure, to write
RESULTS = ("trained", "symptom", "error")


class Waiting(TypedDict):
    """The place in the queue, from 1, and the estimated seconds until the turn."""

    event: Literal["waiting"]
    place: int
    seconds: float


class Turn(TypedDict):
    """The training begins; `run` is the name to stop it by."""

    event: Literal["run"]
    run: str


class TrainedModel(Trained):
    """`session_models`: the keys of all the session's models."""

    model: Model
    session_models: list[str]


TrainingEvent = Waiting | Turn | LiveEvent | TrainedModel
MistakeTrainingEvent = Joined | Waiting | Turn | MistakeEvent | Failed


class Worker:
    """A process that trains one model, or the models that show a mistake. If it is started before it is needed, it has
    loaded PyTorch by then."""

    def __init__(self, module: str = ON_CPU) -> None:
        command = [sys.executable, "-m", module]
        pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
        self.process: subprocess.Popen[str] = subprocess.Popen(command, cwd=ROOT, encoding="utf-8", **pipes)

    def send(self, line: str) -> None:
        """The request that worker.py reads, then perhaps "stop": the training ends after its present step, and its last
        events follow."""
        assert self.process.stdin
        with suppress(BrokenPipeError, ValueError):  # if it has ended, `lines` shows that
            self.process.stdin.write(line + "\n")
            self.process.stdin.flush()

    async def lines(self, seconds: float) -> AsyncGenerator[str]:
        """Its output lines, until it ends or its time is up."""
        loop, queue = asyncio.get_running_loop(), asyncio.Queue[str | None]()

        def read() -> None:
            assert self.process.stdout
            with suppress(RuntimeError, ValueError):  # the server shuts down
                for line in self.process.stdout:
                    loop.call_soon_threadsafe(queue.put_nowait, line)
                loop.call_soon_threadsafe(queue.put_nowait, None)

        threading.Thread(target=read, daemon=True).start()
        # Not asyncio.timeout, which would cancel the task that asked for the first line; another may wait by then.
        late = loop.call_later(seconds, queue.put_nowait, None)
        try:
            while (line := await queue.get()) is not None:
                yield line
        finally:
            late.cancel()

    def end(self) -> None:
        assert self.process.stdin
        self.process.kill()
        self.process.wait()
        with suppress(BrokenPipeError):  # of what it did not read
            self.process.stdin.close()


@dataclass(eq=False)
class _Training:
    """One that waits or runs."""

    ticket: Ticket
    seconds: float  # that it takes, by estimate
    run: str = field(default_factory=lambda: secrets.token_urlsafe(16))
    worker: Worker | None = None  # as soon as it has its job
    stopped: bool = False
    above_share: bool = False  # it is ended for another address
    end: float | None = None  # by estimate, once it runs: a time of the monotonic clock


class TrainingQueue:
    """The trainings of one server. All methods but `prepare` and `close` belong to the server's event loop."""

    def __init__(self, limits: Limits, models: ModelStore) -> None:
        self.limits = limits
        self.pace = Pace()
        self._store = models
        self._queue = FairQueue(limits.concurrency, limits.queue_size)
        self._trainings: list[_Training] = []
        self._mistakes: dict[str, SharedRun] = {}  # the last run of each
        self._spare: Worker | None = None
        self._lock = threading.Lock()

    def prepare(self) -> None:
        """Start a process ahead of a training request. Thread-safe."""
        with self._lock:
            if self._spare is None or self._spare.process.poll() is not None:
                self._spare = Worker()

    def close(self) -> None:
        with self._lock:
            if self._spare:
                self._spare.end()
                self._spare = None

    def counts(self) -> dict[str, int]:
        counts = self._queue.counts()
        return {"running": counts["working"], "waiting": counts["waiting"]}

    def stop(self, run: str) -> None:
        """End a training after its present step, and keep its model."""
        for training in self._trainings:
            if training.run == run:
                training.stopped = True
                if training.worker:
                    training.worker.send("stop")

    def check(self, client: Client) -> None:
        """Raises MessageError where the session trains already; programs have none, and wait for each other."""
        if client.session and any(each.ticket.client.session == client.session for each in self._trainings):
            raise MessageError("train.already")

    def train(self, job: Job, client: Client) -> Events:
        """Wait, train, and keep the model. Closing the generator ends the training. Raises MessageError if the session
        trains already, or too many trainings wait."""
        return self._queued(client, lambda training: self._train(training, job), job.estimate)

    async def train_mistake(self, mistake: str, client: Client) -> Events:
        """Wait, and train small models with a mistake and without it; see `train`. A mistake has neither a sentence nor
        settings of a visitor, so one run serves everybody, during the training and after it: each listener hears the
        same events. It goes on until nobody listens."""
        run = self._mistakes.get(mistake)
        if run is None or run.failed:
            self.check(client)
            # A session of its own: the listener's may leave, and train a model.
            own = Client(client.address, f"{mistake} {secrets.token_hex(8)}")
            work = partial(self._work, request={"mistake": mistake})
            run = self._mistakes[mistake] = SharedRun(self._queued(own, work, MISTAKE_SECONDS))
        async with aclosing(run.listen()) as events:
            async for event in events:
                yield event

    async def _queued(self, client: Client, work: Callable[[_Training], Events], estimate: float) -> Events:
        """`estimate`: seconds on an idle machine."""
        self.check(client)
        seconds = min(self.pace.seconds(estimate), self.limits.seconds)
        try:
            training = _Training(self._queue.join(client), seconds)
        except QueueFullError:
            raise MessageError("train.crowded") from None
        self._trainings.append(training)
        try:
            async for place in self._places(training):
                yield {"event": "waiting", "place": place, "seconds": self._seconds_until(training)}
            training.end = time.monotonic() + seconds
            self._end_above_share(training, SHARE_SECONDS)
            yield {"event": "run", "run": training.run}
            async with aclosing(work(training)) as events:
                async for event in events:
                    yield event
        except QueueFullError:  # another address needed the place
            yield {"event": "error", "message": Message("train.crowded").for_page()}
        finally:
            self._trainings.remove(training)
            self._queue.leave(training.ticket)

    def _end_above_share(self, training: _Training, seconds: float) -> None:
        """Stop a training that is still above its address's share after `seconds`, or as soon as it is later."""

        def look() -> None:
            if training in self._trainings and not training.stopped:
                if self._queue.above_share() is training.ticket:
                    training.above_share = True
                    self.stop(training.run)
                else:
                    self._end_above_share(training, min(seconds, 1))

        asyncio.get_running_loop().call_later(seconds, look)

    def _seconds_until(self, training: _Training) -> float:
        """The estimated wait for its turn: running trainings end, and those ahead of it take their places."""
        now = time.monotonic()
        ends = [max(0, (each.end or now) - now) for each in self._trainings if not self._queue.place(each.ticket)]
        heapify(ends)
        waiting = sorted((self._queue.place(each.ticket), each.seconds) for each in self._trainings)
        for place, seconds in waiting:
            if 0 < place < self._queue.place(training.ticket):
                heapreplace(ends, ends[0] + seconds)
        return ends[0]

    async def _places(self, training: _Training) -> AsyncGenerator[int]:
        """A training's place in the queue, from 1, when it changes and as a heartbeat, until its turn."""
        announced, due = 0, 0.0
        while place := self._queue.place(training.ticket):
            if place != announced or time.monotonic() >= due:
                announced, due = place, time.monotonic() + HEARTBEAT_SECONDS
                yield place
            await asyncio.wait([training.ticket.turn], timeout=min(PLACE_SECONDS, HEARTBEAT_SECONDS))
        training.ticket.turn.result()  # raises where another address needed the place

    async def _train(self, training: _Training, job: Job) -> Events:
        client, file = training.ticket.client, self._store.folder / f"{secrets.token_hex(16)}.safetensors"
        is_kept = False
        try:
            with self._store.reserved(client, size_of(job)) as reservation:
                async with aclosing(self._job_events(training, job, file)) as events:
                    async for event in events:
                        if event["event"] == "ended":
                            self._learn(job, event)
                        if event["event"] == "trained":
                            event = await self._keep(event, file, reservation)
                            is_kept = True
                        yield event
        except MessageError as error:
            yield {"event": "error", "message": error.message.for_page()}
        finally:
            if not is_kept:
                file.unlink(missing_ok=True)

    def _learn(self, job: Job, ended: Event) -> None:
        """How long trainings take here, where they run on the processor."""
        if pick_device().type == "cpu" and not on_zero_gpu():
            estimate = job.estimate * ended["step"] / job.training["steps"]
            self.pace.learn(ended["step"], estimate, ended["seconds"], ended["processor_seconds"])

    async def _job_events(self, training: _Training, job: Job, file: Path) -> Events:
        """The events of the training's process: on a GPU, if that is worth while and can be had."""
        is_large = count_parameters(TransformerConfig(**job.model)) >= THREADS_FROM
        for module in (ON_GPU, ON_CPU) if is_large and on_zero_gpu() else (ON_CPU,):
            request = {"job": job.to_json(), "file": str(file)}
            async with aclosing(self._work(training, request, module)) as events:
                with suppress(TimeoutError):
                    first = await asyncio.wait_for(anext(events), GPU_SECONDS if module == ON_GPU else None)
                    if module == ON_CPU or first["event"] != "error":  # the process has not ended
                        yield first
                        async for event in events:
                            yield event
                        return

    async def _work(self, training: _Training, request: dict[str, str], module: str = ON_CPU) -> Events:
        """The events of a process of its own, which gets a request; an error if it ends without a result."""
        worker = await self._start_worker(module)
        finished = False
        try:
            await asyncio.to_thread(worker.send, json.dumps(request))  # blocks while the process loads
            training.worker = worker
            if training.stopped:
                worker.send("stop")
            async with aclosing(worker.lines(self.limits.seconds + GRACE_SECONDS)) as lines:
                async for line in lines:
                    event = json.loads(line)
                    if "left" in event:
                        training.end = time.monotonic() + event["left"]
                    if event["event"] != "ready":
                        finished = finished or event["event"] in RESULTS
                        yield event
        finally:
            worker.end()
        if not finished:
            key = "train.crowded" if training.above_share else "train.died"  # that of a mistake ends without a result
            yield {"event": "error", "message": Message(key).for_page()}

    async def _keep(self, trained: Event, file: Path, reservation: Reservation) -> Event:
        client = reservation.client
        try:
            key = await asyncio.to_thread(self._store.keep, client, file, reservation)
        except OSError:  # the file has been removed
            raise MessageError(NO_SPACE.key) from None
        del trained["file"]
        model = await asyncio.to_thread(about, key)
        return trained | {"model": model, "session_models": self._store.keys_of(client.session)}

    async def _start_worker(self, module: str) -> Worker:
        start = self._take_spare_or_start if module == ON_CPU else lambda: Worker(module)
        starting = asyncio.ensure_future(asyncio.to_thread(start))
        try:
            return await asyncio.shield(starting)
        except asyncio.CancelledError:
            starting.add_done_callback(lambda started: started.result().end())
            raise

    def _take_spare_or_start(self) -> Worker:
        with self._lock:
            spare, self._spare = self._spare, None
        return spare if spare and spare.process.poll() is None else Worker()


@cache
def training_queue() -> TrainingQueue:
    """This server's."""
    store = model_store()
    return TrainingQueue(store.limits, store)
