"""Trainings share a server: a few at a time, the others in a queue; none leaves a process or a file behind."""

import asyncio
import json
import threading
from collections.abc import AsyncGenerator, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from transformer.live.job import Job
from transformer.live.limits import Limits
from transformer.messages import MessageError
from transformer.storage.portable import save_portable
from transformer.web.client import Client
from transformer.web.sessions import models
from transformer.web.sessions import training_queue as module
from transformer.web.sessions.model_store import ModelStore, size_of
from transformer.web.sessions.shared_run import Event, Events
from transformer.web.sessions.training_queue import GRACE_SECONDS, TrainingQueue, Worker

from ...live.test_stream import job
from ...models import packed
from ..loop import TIMEOUT, async_test, until

JOB = job()


class FakeWorker:
    """A process whose events a test decides on."""

    def __init__(self) -> None:
        self.ended = False
        self.process = SimpleNamespace(poll=lambda: 0 if self.ended else None)
        self.received: list[str] = []
        self.seconds: float | None = None  # that its lines are listened to
        self.file = Path()
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()

    def send(self, line: str) -> None:
        assert not self.ended
        request = {} if line == "stop" else json.loads(line)
        if "job" in request:
            assert threading.current_thread() is not threading.main_thread()
            self.file = Path(request["file"])
            self.file.write_bytes(b"half a model")
            line = Job.from_json(request["job"]).name
        self.received.append(request.get("mistake", line))

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


@pytest.fixture
def workers(monkeypatch: pytest.MonkeyPatch) -> list[FakeWorker]:
    """All that are started, in their order."""
    started: list[FakeWorker] = []

    def start() -> FakeWorker:
        started.append(FakeWorker())
        return started[-1]

    monkeypatch.setattr(module, "Worker", start)
    monkeypatch.setattr(module, "HEARTBEAT_SECONDS", TIMEOUT)  # so that a slow machine says no place twice
    return started


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelStore]:
    store = ModelStore(Limits())
    monkeypatch.setattr(models, "model_store", lambda: store)
    yield store
    store.close()


def queue_of(store: ModelStore, **limits: int) -> TrainingQueue:
    return TrainingQueue(Limits(**({"concurrency": 1, "queue_size": 5} | limits)), store)


def of(session: str, address: str = "1.2.3.4") -> Client:
    return Client(address, session)


class Listener:
    """A client: it collects the events of its training as they come, until it leaves."""

    def __init__(self, events: Events) -> None:
        self.events: list[Event] = []
        self.task = asyncio.create_task(self._listen(events))

    async def _listen(self, events: Events) -> None:
        try:
            async for event in events:
                self.events.append(event)
        finally:
            await events.aclose()

    async def hears(self, *expected: object) -> Event:
        """Wait for the last of these: places in the queue, or the names of other events. There is nothing else."""
        await until(lambda: len(self.events) >= len(expected) or self.task.done())
        assert tuple(event.get("place", event["event"]) for event in self.events) == expected
        return self.events[-1]

    async def leaves(self) -> None:
        self.task.cancel()
        await asyncio.wait([self.task])


async def at_work(worker_list: list[FakeWorker], number: int = 0) -> FakeWorker:
    await until(lambda: len(worker_list) > number and worker_list[number].seconds is not None)
    return worker_list[number]


async def working(queue: TrainingQueue, workers: list[FakeWorker], who: Client) -> tuple[Listener, FakeWorker]:
    """A client whose training has begun, and its process: of two that start at once either may be first."""
    number, client = len(workers), Listener(queue.train(JOB, who))
    return client, await at_work(workers, number)


async def assert_nothing_left(queue: TrainingQueue, store: ModelStore, workers: list[FakeWorker]) -> None:
    assert queue.counts() == {"running": 0, "waiting": 0}
    await until(lambda: all(worker.ended for worker in workers))  # one that was starting ends when it has started
    assert list(store.folder.iterdir()) == []


@async_test
async def test_the_lines_of_the_process_are_passed_on_and_its_model_is_kept(
    store: ModelStore, workers: list[FakeWorker]
) -> None:
    queue = queue_of(store)
    client = Listener(queue.train(JOB, of("me")))
    worker = await at_work(workers)
    assert (worker.received, worker.seconds) == ([JOB.name], queue.limits.seconds + GRACE_SECONDS)
    worker.write({"event": "ready"}, {"event": "started", "steps": 3})
    worker.finish()
    trained = await client.hears("run", "started", "trained")
    await client.task
    assert len(client.events[0]["run"]) >= 16
    assert client.events[1] == {"event": "started", "steps": 3}
    key = trained["model"]["checkpoint"]
    about = models.about(key)
    assert trained == {"event": "trained", "step": 3, "why": "steps", "model": about, "session_models": [key]}
    model = store.find(key)
    assert model
    assert (model.client, model.file) == (of("me"), worker.file)
    assert worker.ended
    assert queue.counts() == {"running": 0, "waiting": 0}


@async_test
async def test_every_failure_is_an_error_and_leaves_nothing(
    store: ModelStore, workers: list[FakeWorker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that dies, one that says why, a file that is not a model, and a full store."""

    def fills_the_store(worker: FakeWorker) -> None:
        monkeypatch.setattr(store, "put", full)
        worker.finish()

    def full(*_: object) -> str:
        raise MessageError("store.full")

    failures: list[tuple[Callable[[FakeWorker], None], str]] = [
        (lambda worker: worker.write(None), "train.died"),
        (lambda worker: worker.write({"event": "error", "message": {"key": "train.diverged"}}, None), "train.diverged"),
        (lambda worker: worker.write({"event": "trained", "file": str(worker.file)}, None), "file.foreign"),
        (fills_the_store, "store.full"),
    ]
    queue = queue_of(store)
    for number, (fail, key) in enumerate(failures):
        client = Listener(queue.train(JOB, of("me")))
        fail(await at_work(workers, number))
        await client.task
        assert [event["message"]["key"] for event in client.events if event["event"] == "error"] == [key]
        await assert_nothing_left(queue, store, workers)


@async_test
async def test_a_few_train_at_a_time_and_the_others_hear_their_place(
    store: ModelStore, workers: list[FakeWorker]
) -> None:
    queue = queue_of(store, concurrency=2, queue_size=3)
    (one, _), (two, second) = [await working(queue, workers, of(session)) for session in "ab"]
    three, four, five = (Listener(queue.train(JOB, of(session))) for session in "cde")
    for place, client in enumerate((three, four, five), 1):
        await client.hears(place)
    assert queue.counts() == {"running": 2, "waiting": 3}
    for session, key in (("a", "train.already"), ("e", "train.already"), ("f", "train.crowded")):
        with pytest.raises(MessageError) as error:
            await anext(queue.train_mistake("rank_collapse", of(session)))
        assert error.value.message.key == key
    second.write(None)
    await two.task
    await three.hears(1, "run")
    await four.hears(2, 1)
    await five.hears(3, 2)
    await four.leaves()
    await five.hears(3, 2, 1)
    await one.leaves()
    await five.hears(3, 2, 1, "run")
    for client in (three, five):
        await client.leaves()
    await assert_nothing_left(queue, store, workers)


@async_test
async def test_another_address_gets_a_place_of_the_one_that_has_all(
    store: ModelStore, workers: list[FakeWorker], monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not one of its own: a class behind one address keeps its places."""
    monkeypatch.setattr(module, "SHARE_SECONDS", 0.01)
    queue = queue_of(store, concurrency=2)
    (one, first), (two, second) = [await working(queue, workers, of(session)) for session in "ab"]
    three = Listener(queue.train(JOB, of("c")))
    other = Listener(queue.train(JOB, of("d", "8.8.8.8")))
    await until(lambda: "stop" in first.received)
    assert (first.received, second.received) == ([JOB.name, "stop"], [JOB.name])
    first.finish()
    await other.hears(1, "run")
    await one.task
    assert one.events[-1]["event"] == "trained"
    for client in (two, three, other):
        await client.leaves()


@async_test
async def test_one_that_gives_way_to_another_address_is_told(store: ModelStore, workers: list[FakeWorker]) -> None:
    queue = queue_of(store, queue_size=2)
    first, _ = await working(queue, workers, of("s"))
    waits, gives_way = (Listener(queue.train(JOB, of(session))) for session in ("t", ""))
    await gives_way.hears(2)
    other = Listener(queue.train(JOB, of("a", "8.8.8.8")))
    await other.hears(1)
    assert (await gives_way.hears(2, "error"))["message"]["key"] == "train.crowded"
    for client in (first, waits, other):
        await client.leaves()
    await assert_nothing_left(queue, store, workers)


@async_test
async def test_space_for_the_model_is_there_before_its_training_begins(
    store: ModelStore, workers: list[FakeWorker]
) -> None:
    store.limits = Limits(megabytes=8)
    queue, other = queue_of(store), of("b", "8.8.8.8")
    with store.reserved(other, 8 * 2**20):
        refused = Listener(queue.train(JOB, of("a")))
        assert (await refused.hears("run", "error"))["message"]["key"] == "store.full"
        assert workers == []
    client = Listener(queue.train(JOB, of("a")))
    (await at_work(workers)).write({"event": "started"})
    with pytest.raises(MessageError) as refusal, store.reserved(other, 8 * 2**20):
        pass
    assert refusal.value.message.key == "store.full"
    with store.reserved(other, 8 * 2**20 - size_of(JOB)):
        workers[0].finish()
        await client.hears("run", "started", "trained")
        await client.task


@async_test
async def test_waiting_has_a_heartbeat_and_a_client_that_is_slow_to_ask_misses_no_move(
    store: ModelStore, workers: list[FakeWorker], monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = queue_of(store)
    one, two = (queue.train(JOB, of(session)) for session in "ab")
    await anext(one)
    assert (await anext(two))["place"] == 1
    await one.aclose()  # before the other asks for its next event
    assert (await anext(two))["event"] == "run"
    monkeypatch.setattr(module, "HEARTBEAT_SECONDS", 0.001)
    waiting = Listener(queue.train(JOB, of("d")))
    await until(lambda: len(waiting.events) > 3)
    assert {event["place"] for event in waiting.events} == {1}
    await waiting.leaves()
    await two.aclose()


@async_test
async def test_a_client_that_leaves_while_its_process_starts_leaves_nothing(
    store: ModelStore, workers: list[FakeWorker], monkeypatch: pytest.MonkeyPatch
) -> None:
    queue, go, start = queue_of(store), threading.Event(), module.Worker

    def start_slowly() -> Worker:
        assert go.wait(TIMEOUT)
        return start()

    monkeypatch.setattr(module, "Worker", start_slowly)
    client = Listener(queue.train(JOB, of("me")))
    await client.hears("run")
    await client.leaves()
    go.set()
    await until(lambda: workers and workers[0].ended)
    assert workers[0].received == []
    await assert_nothing_left(queue, store, workers)


@async_test
async def test_a_stop_reaches_the_process_of_its_run_alone(store: ModelStore, workers: list[FakeWorker]) -> None:
    queue = queue_of(store, concurrency=2)
    clients = [Listener(queue.train(JOB, of(session))) for session in "ab"]
    runs = [(await client.hears("run"))["run"] for client in clients]
    await at_work(workers, 1)
    for run in ("", "x", "None", runs[0][:-1], runs[0] + "x", runs[0]):
        queue.stop(run)
    await until(lambda: any("stop" in worker.received for worker in workers))
    assert sorted(worker.received for worker in workers) == [[JOB.name], [JOB.name, "stop"]]
    for client in clients:
        await client.leaves()
    queue.stop(runs[0])  # it has ended
    await assert_nothing_left(queue, store, workers)


@async_test
async def test_one_process_is_prepared_and_taken_first_if_it_lives(
    store: ModelStore, workers: list[FakeWorker]
) -> None:
    queue = queue_of(store)
    for _ in range(3):
        queue.prepare()
    assert len(workers) == 1
    for taken in (0, 2):  # something kills the one between
        client = Listener(queue.train(JOB, of("me")))
        await at_work(workers, taken)
        await client.leaves()
        queue.prepare()
        workers[-1].ended = True
    queue.close()
    assert [len(worker.received) for worker in workers] == [1, 0, 1, 0]
    await assert_nothing_left(queue, store, workers)


@async_test
async def test_a_mistake_is_trained_once_for_all_who_ask(store: ModelStore, workers: list[FakeWorker]) -> None:
    """Also where the visitor who was first leaves, or is another address; it ends with the last listener."""
    queue = queue_of(store, queue_size=1)
    training, _ = await working(queue, workers, of("x"))
    first = Listener(queue.train_mistake("rank_collapse", of("a")))
    await first.hears(1)
    others = [Listener(queue.train_mistake("rank_collapse", of(f"s{i}", f"8.8.8.{i}"))) for i in range(30)]
    for each in others:
        await each.hears("joined", 1)
    assert queue.counts() == {"running": 1, "waiting": 1}
    await first.leaves()
    await training.leaves()
    worker = await at_work(workers, 1)
    worker.write({"event": "symptom", "head": 0}, None)
    for each in others:
        await each.task
        await each.hears("joined", 1, "run", "symptom")
    late = Listener(queue.train_mistake("rank_collapse", of("late")))
    await late.task
    assert (await late.hears("joined", "run", "symptom"))["head"] == 0
    assert len(workers) == 2

    last = Listener(queue.train_mistake("causal_mask", of("late")))
    await at_work(workers, 2)
    await last.leaves()  # nobody listens: the next one begins again
    again = Listener(queue.train_mistake("causal_mask", of("late")))
    (await at_work(workers, 3)).write({"event": "error", "message": {}}, None)
    await again.task
    once_more = Listener(queue.train_mistake("causal_mask", of("late")))  # a failure is not kept
    await at_work(workers, 4)
    await once_more.leaves()
    await assert_nothing_left(queue, store, workers)


@async_test
async def test_a_process_that_is_too_slow_makes_way(
    store: ModelStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent = tmp_path / "silent"
    silent.write_text("#!/bin/sh\nexec cat > /dev/null\n")
    silent.chmod(0o755)
    monkeypatch.setattr(module, "sys", SimpleNamespace(executable=str(silent)))
    monkeypatch.setattr(module, "GRACE_SECONDS", -0.9)
    queue = queue_of(store, seconds=1)
    client = Listener(queue.train(JOB, of("me")))
    await client.task
    assert client.events[-1]["message"]["key"] == "train.died"
    assert queue.counts() == {"running": 0, "waiting": 0}
