"""Trainings share a server: so many at a time, the others in a queue; who goes leaves no process and no file behind."""

import asyncio
import json
import sys
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from transformer import Translator
from transformer.live.job import Job
from transformer.live.limits import Limits
from transformer.storage.portable import save_portable
from transformer.web.api import models
from transformer.web.sessions import training_queue
from transformer.web.sessions.model_store import OWN_MODEL_PREFIX, ModelStore, ModelStoreFullError
from transformer.web.sessions.training_queue import GRACE_SECONDS, BusyError, Event, TrainingQueue, Worker

from ...live.test_stream import job
from ...storage.test_portable import packed

GENEROUS = 60  # seconds, after which something hangs
JOB = job()
Stream = AsyncGenerator[Event | str]


class Fake:
    """A worker that says what a test lets it say."""

    def __init__(self) -> None:
        self.process = SimpleNamespace(poll=lambda: 0 if self.ended else None)
        self.told: list[str] = []
        self.ended = False
        self.patience: float | None = None
        self.file: Path | None = None
        self.said: asyncio.Queue[str | None] = asyncio.Queue()

    def begin(self, job: Job, file: Path) -> None:
        assert job is JOB
        assert threading.current_thread() is not threading.main_thread()  # where the server's clicks are answered
        self.told.append("job")
        self.file = file

    def show(self, mistake: str) -> None:
        self.told.append(mistake)

    def stop(self) -> None:
        assert not self.ended
        self.told.append("stop")

    async def lines(self, seconds: float) -> AsyncIterator[str]:
        self.patience = seconds
        while (line := await self.said.get()) is not None:
            yield line

    def end(self) -> None:
        self.ended = True

    def say(self, *events: dict[str, Any] | None) -> None:
        """Events; None is the end of its process."""
        for event in events:
            self.said.put_nowait(event and json.dumps(event) + "\n")

    def learn(self) -> None:
        """Write a model, and say so."""
        save_portable(packed(), self.file)
        self.say({"event": "trained", "file": str(self.file), "step": 3, "why": "steps"})


@pytest.fixture
def fakes(monkeypatch: pytest.MonkeyPatch) -> list[Fake]:
    """All that were made, in their order."""
    made: list[Fake] = []

    def make() -> Fake:
        made.append(Fake())
        return made[-1]

    monkeypatch.setattr(training_queue, "Worker", make)
    return made


@pytest.fixture
def kept(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelStore]:
    store = ModelStore(Limits())
    monkeypatch.setattr(models, "model_store", lambda: store)
    yield store
    store.close()


def in_a_loop(test: Coroutine[Any, Any, None]) -> None:
    async def limited() -> None:
        async with asyncio.timeout(GENEROUS) as limit:
            await test
        assert not limit.expired()  # nor may anybody swallow that

    with ThreadPoolExecutor(1) as own:  # in this thread Playwright may have a loop of its own
        own.submit(asyncio.run, limited()).result()


def runs(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """A test that has an event loop, and may not hang in it."""

    def run(kept: ModelStore, fakes: list[Fake]) -> None:
        in_a_loop(test(kept, fakes))

    run.__name__, run.__doc__ = test.__name__, test.__doc__
    return run


def open_queue(kept: ModelStore, **limits: int) -> TrainingQueue:
    return TrainingQueue(Limits(**({"concurrency": 1, "queue_size": 5} | limits)), kept)


async def begun(stream: Stream) -> str:
    """Its key, where it is its turn at once."""
    first = await anext(stream)
    assert first["event"] == "run"
    return first["run"]


async def waits(stream: Stream) -> int:
    first = await anext(stream)
    assert first["event"] == "waiting"
    return first["place"]


async def asked(stream: Stream) -> asyncio.Task[Any]:
    """A stream that is waited for, as a page's request waits for it."""
    task = asyncio.create_task(anext(stream))
    for _ in range(10):  # as far as it comes by itself
        await asyncio.sleep(0)
    return task


async def at_work(stream: Stream, fakes: list[Fake]) -> asyncio.Task[Any]:
    """The same where it is its turn: its process has its job, and is listened to."""

    def listened() -> int:
        return sum(fake.patience is not None for fake in fakes)

    before = listened()
    task = await asked(stream)
    await until(lambda: listened() > before)
    return task


async def until(true: Callable[[], bool]) -> None:
    while not true():
        await asyncio.sleep(0.001)


def rest_of(stream: Stream) -> Coroutine[Any, Any, list[Event | str]]:
    async def collect() -> list[Event | str]:
        return [event async for event in stream]

    return collect()


# A training from its first to its last line


@runs
async def test_what_the_process_says_is_handed_on_and_its_model_is_kept(kept: ModelStore, fakes: list[Fake]) -> None:
    shop, other = open_queue(kept), kept.folder / "other"
    save_portable(packed(), other)
    kept.put(packed(), "somebody else", other)
    stream = shop.train(JOB, "me")
    run = await begun(stream)
    assert len(run) >= 16
    task = await at_work(stream, fakes)
    (fake,) = fakes
    assert (fake.told, fake.patience) == (["job"], shop.limits.seconds + GRACE_SECONDS)
    fake.say({"event": "ready"}, {"event": "started", "steps": 3})
    assert json.loads(await task) == {"event": "started", "steps": 3}
    fake.learn()
    trained = await anext(stream)
    assert trained["event"] == "trained"
    assert trained["kept"] == [trained["model"]["checkpoint"]]
    assert trained["model"] == models.about(trained["model"]["checkpoint"])
    assert (trained["step"], trained["why"]) == (3, "steps")
    assert str(kept.folder) not in json.dumps(trained)
    fake.say({"event": "snapshot", "step": 2}, None)
    assert [json.loads(line) for line in await rest_of(stream)] == [{"event": "snapshot", "step": 2}]
    assert fake.ended
    assert shop._tickets == []
    model = kept.find(trained["model"]["checkpoint"])
    assert (model.visit, model.file) == ("me", fake.file)
    assert model.translator.translate("wort1").text == Translator(packed().checkpoint, "").translate("wort1").text


@runs
async def test_every_training_has_a_process_and_a_file_of_its_own(kept: ModelStore, fakes: list[Fake]) -> None:
    shop = open_queue(kept, concurrency=3)
    streams = [shop.train(JOB, visit) for visit in "abc"]
    keys = [await begun(stream) for stream in streams]
    tasks = [await at_work(stream, fakes) for stream in streams]
    assert len(set(keys)) == len(fakes) == len({fake.file for fake in fakes}) == 3
    for fake in fakes:
        fake.say(None)
    await asyncio.gather(*tasks)


# What goes wrong


@runs
async def test_a_process_that_dies_is_told_and_leaves_nothing(kept: ModelStore, fakes: list[Fake]) -> None:
    shop = open_queue(kept)
    stream = shop.train(JOB, "me")
    await begun(stream)
    task = await at_work(stream, fakes)
    fakes[0].file.write_bytes(b"half a model")
    fakes[0].say({"event": "started"}, None)
    await task
    (error,) = await rest_of(stream)
    assert (error["event"], error["message"]["key"]) == ("error", "train.died")
    assert fakes[0].ended
    assert list(kept.folder.iterdir()) == []
    assert shop._tickets == []


@runs
async def test_an_error_that_the_process_tells_is_the_only_one(kept: ModelStore, fakes: list[Fake]) -> None:
    stream = open_queue(kept).train(JOB, "me")
    await begun(stream)
    task = await at_work(stream, fakes)
    fakes[0].say({"event": "error", "message": {"key": "train.diverged"}}, None)
    assert json.loads(await task)["message"]["key"] == "train.diverged"
    assert await rest_of(stream) == []


@runs
async def test_a_model_that_cannot_be_read_is_told_and_its_file_removed(kept: ModelStore, fakes: list[Fake]) -> None:
    stream = open_queue(kept).train(JOB, "me")
    await begun(stream)
    task = await at_work(stream, fakes)
    fakes[0].file.write_bytes(b"no model")
    fakes[0].say({"event": "trained", "file": str(fakes[0].file)}, None)
    error = await task
    assert (error["event"], error["message"]["key"]) == ("error", "file.foreign")
    assert await rest_of(stream) == []
    assert list(kept.folder.iterdir()) == []


@runs
async def test_a_full_shelf_is_told_and_the_file_removed(kept: ModelStore, fakes: list[Fake]) -> None:
    def full(*_: object) -> str:
        raise ModelStoreFullError("shelf.full")

    kept.put = full
    stream = open_queue(kept).train(JOB, "me")
    await begun(stream)
    task = await at_work(stream, fakes)
    fakes[0].learn()
    fakes[0].say(None)
    assert (await task)["message"]["key"] == "shelf.full"
    assert await rest_of(stream) == []
    assert list(kept.folder.iterdir()) == []


# The queue


@runs
async def test_so_many_train_at_once_and_the_others_are_told_their_place(kept: ModelStore, fakes: list[Fake]) -> None:
    shop = open_queue(kept, concurrency=2)
    one, two, three, four, five = (shop.train(JOB, visit) for visit in "abcde")
    await begun(one)
    await begun(two)
    assert [await waits(stream) for stream in (three, four, five)] == [1, 2, 3]
    tasks = [await at_work(stream, fakes) for stream in (one, two)]
    tasks += [await asked(stream) for stream in (three, four, five)]
    assert len(fakes) == 2
    assert not any(task.done() for task in tasks)
    fakes[1].say(None)  # two has died
    await tasks[1]
    await rest_of(two)
    assert (await tasks[2])["event"] == "run"
    assert [await task for task in tasks[3:]] == [{"event": "waiting", "place": 1}, {"event": "waiting", "place": 2}]
    third = await at_work(three, fakes)
    assert len(fakes) == 3
    last = [await asked(stream) for stream in (four, five)]
    fakes[0].say(None)
    await tasks[0]
    await rest_of(one)
    assert (await last[0])["event"] == "run"
    assert await last[1] == {"event": "waiting", "place": 1}
    fakes[2].say(None)
    await third
    await three.aclose()
    await four.aclose()
    await five.aclose()
    assert shop._tickets == []
    assert all(fake.ended for fake in fakes)


@runs
async def test_who_is_told_a_place_while_the_queue_moves_does_not_wait_for_ever(
    kept: ModelStore, fakes: list[Fake]
) -> None:
    shop = open_queue(kept)
    one, two, three = (shop.train(JOB, visit) for visit in "abc")
    await begun(one)
    assert (await waits(two), await waits(three)) == (1, 2)
    await one.aclose()  # before the two have asked what comes next
    assert (await anext(two))["event"] == "run"
    await two.aclose()
    assert (await anext(three))["event"] == "run"
    await three.aclose()


@runs
async def test_who_waits_is_told_the_place_again_and_again(kept: ModelStore, fakes: list[Fake]) -> None:
    """Else a server on the way would take the line for dead."""
    shop, seconds, training_queue.HEARTBEAT_SECONDS = open_queue(kept), training_queue.HEARTBEAT_SECONDS, 0.01
    try:
        one, two = shop.train(JOB, "a"), shop.train(JOB, "b")
        await begun(one)
        assert [await waits(two) for _ in range(3)] == [1, 1, 1]
        await one.aclose()
        await begun(two)
        await two.aclose()
    finally:
        training_queue.HEARTBEAT_SECONDS = seconds


@runs
async def test_one_visit_trains_one_model_at_a_time(kept: ModelStore, fakes: list[Fake]) -> None:
    shop = open_queue(kept, concurrency=2)
    one = shop.train(JOB, "me")
    await begun(one)
    with pytest.raises(BusyError) as error:
        await anext(shop.train(JOB, "me"))
    assert error.value.message.key == "train.already"
    await begun(other := shop.train(JOB, "other"))
    await waits(third := shop.train(JOB, "third"))
    with pytest.raises(BusyError):
        await anext(shop.train(JOB, "third"))  # nor does it wait twice
    await one.aclose()
    await waits(again := shop.train(JOB, "me"))
    for stream in (other, third, again):
        await stream.aclose()


@runs
async def test_when_too_many_wait_nobody_else_may(kept: ModelStore, fakes: list[Fake]) -> None:
    shop = open_queue(kept, concurrency=1, queue_size=2)
    streams = [shop.train(JOB, visit) for visit in "abc"]
    for stream in streams:
        await anext(stream)
    with pytest.raises(BusyError) as error:
        await anext(shop.train(JOB, "d"))
    assert error.value.message.key == "train.crowded"
    await streams[1].aclose()
    await waits(more := shop.train(JOB, "d"))
    for stream in (*streams, more):
        await stream.aclose()
    assert shop._tickets == []


# Who leaves


@runs
async def test_who_leaves_ends_the_process_and_makes_room(kept: ModelStore, fakes: list[Fake]) -> None:
    shop = open_queue(kept)
    one, two = shop.train(JOB, "a"), shop.train(JOB, "b")
    await begun(one)
    await waits(two)
    waiting = await asked(two)
    task = await at_work(one, fakes)
    fakes[0].file.write_bytes(b"half a model")
    fakes[0].say({"event": "started"})
    await task
    await one.aclose()
    assert fakes[0].ended
    assert list(kept.folder.iterdir()) == []
    assert (await waiting)["event"] == "run"
    await two.aclose()


@runs
async def test_who_is_cut_off_ends_the_process_and_makes_room(kept: ModelStore, fakes: list[Fake]) -> None:
    shop = open_queue(kept)
    one, two = shop.train(JOB, "a"), shop.train(JOB, "b")
    await begun(one)
    await waits(two)
    waiting = await asked(two)
    task = await at_work(one, fakes)
    fakes[0].file.write_bytes(b"half a model")
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert fakes[0].ended
    assert list(kept.folder.iterdir()) == []
    assert (await waiting)["event"] == "run"
    await two.aclose()


@runs
async def test_who_leaves_the_queue_lets_the_others_move_up(kept: ModelStore, fakes: list[Fake]) -> None:
    shop = open_queue(kept)
    one, two, three, four = (shop.train(JOB, visit) for visit in "abcd")
    await begun(one)
    assert [await waits(stream) for stream in (two, three, four)] == [1, 2, 3]
    tasks = [await asked(stream) for stream in (two, three, four)]
    tasks[0].cancel()
    assert await tasks[1] == {"event": "waiting", "place": 1}
    assert await tasks[2] == {"event": "waiting", "place": 2}
    await three.aclose()
    assert await anext(four) == {"event": "waiting", "place": 1}
    assert fakes == []
    await one.aclose()
    await begun(four)
    await four.aclose()
    assert shop._tickets == []


@runs
async def test_a_process_that_comes_too_late_is_ended(kept: ModelStore, fakes: list[Fake]) -> None:
    shop, go = open_queue(kept), threading.Event()
    take = shop._take

    def slowly() -> Worker:
        assert go.wait(GENEROUS)
        return take()

    shop._take = slowly
    stream = shop.train(JOB, "me")
    await begun(stream)
    task = await asked(stream)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert shop._tickets == []
    go.set()
    await until(lambda: bool(fakes) and fakes[0].ended)
    assert fakes[0].told == []


@runs
async def test_who_is_cut_off_while_a_model_is_read_leaves_no_file(kept: ModelStore, fakes: list[Fake]) -> None:
    reading, go = threading.Event(), threading.Event()

    def slowly(*_: object) -> str:
        reading.set()
        assert go.wait(GENEROUS)
        raise ModelStoreFullError("shelf.full")

    kept.put = slowly
    stream = open_queue(kept).train(JOB, "me")
    await begun(stream)
    task = await at_work(stream, fakes)
    fakes[0].learn()
    await until(reading.is_set)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    go.set()
    assert fakes[0].ended
    assert list(kept.folder.iterdir()) == []


# Stop


@runs
async def test_a_stop_is_told_to_the_process_of_that_run_alone(kept: ModelStore, fakes: list[Fake]) -> None:
    shop = open_queue(kept, concurrency=2)
    streams = [shop.train(JOB, visit) for visit in "ab"]
    keys = [await begun(stream) for stream in streams]
    tasks = [await at_work(stream, fakes) for stream in streams]
    for unknown in ("", "x", "None", keys[0][:-1], keys[0] + "x"):
        shop.stop(unknown)
    assert [fake.told for fake in fakes] == [["job"], ["job"]]
    shop.stop(keys[1])
    assert [fake.told for fake in fakes] == [["job"], ["job", "stop"]]
    for fake in fakes:
        fake.say(None)
    await asyncio.gather(*tasks)
    for stream in streams:
        await stream.aclose()
    shop.stop(keys[0])  # it has ended
    assert fakes[0].told == ["job"]


@runs
async def test_a_stop_that_comes_before_the_process_has_its_job_is_told_after_it(
    kept: ModelStore, fakes: list[Fake]
) -> None:
    class Slow(Fake):
        go = threading.Event()

        def begin(self, job: Job, file: Path) -> None:
            assert self.go.wait(GENEROUS)
            super().begin(job, file)

    shop, fake = open_queue(kept), Slow()
    shop._take = lambda: fake
    stream = shop.train(JOB, "me")
    key = await begun(stream)
    task = await asked(stream)
    shop.stop(key)
    assert fake.told == []
    fake.go.set()
    await until(lambda: len(fake.told) > 1)
    assert fake.told == ["job", "stop"]
    fake.say(None)
    await task
    await stream.aclose()


# A process that is ready


@runs
async def test_one_process_is_ready_and_is_taken_first(kept: ModelStore, fakes: list[Fake]) -> None:
    shop = open_queue(kept, concurrency=2)
    threads = [threading.Thread(target=shop.prepare) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(GENEROUS)
    assert len(fakes) == 1
    streams = [shop.train(JOB, visit) for visit in "ab"]
    tasks = []
    for stream in streams:
        await begun(stream)
        tasks.append(await at_work(stream, fakes))
    assert [fake.told for fake in fakes] == [["job"], ["job"]]
    shop.prepare()
    shop.prepare()
    assert len(fakes) == 3
    for fake in fakes[:2]:
        fake.say(None)
    await asyncio.gather(*tasks)
    for stream in streams:
        await stream.aclose()
    shop.close()
    assert all(fake.ended for fake in fakes)
    shop.close()


@runs
async def test_a_ready_process_that_has_died_is_not_taken(kept: ModelStore, fakes: list[Fake]) -> None:
    shop = open_queue(kept)
    shop.prepare()
    fakes[0].ended = True  # killed by somebody
    stream = shop.train(JOB, "me")
    await begun(stream)
    task = await at_work(stream, fakes)
    assert [fake.told for fake in fakes] == [[], ["job"]]
    shop.prepare()
    fakes[2].ended = True
    shop.prepare()
    assert len(fakes) == 4
    fakes[1].say(None)
    await task
    await stream.aclose()
    shop.close()


# Real processes that say back what they are told

ECHO = """#!/bin/sh
echo '{"event": "ready"}'
exec cat
"""


@pytest.fixture
def echo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "echo"
    script.write_text(ECHO)
    script.chmod(0o755)
    monkeypatch.setattr(training_queue, "sys", SimpleNamespace(executable=str(script)))


@pytest.mark.usefixtures("echo")
def test_a_worker_is_told_its_job_in_one_line(tmp_path: Path) -> None:
    async def test() -> None:
        worker = Worker()
        worker.begin(JOB, tmp_path / "model")
        worker.stop()
        lines = worker.lines(GENEROUS)
        assert json.loads(await anext(lines)) == {"event": "ready"}
        asked = json.loads(await anext(lines))
        assert Job.from_json(asked["job"]) == JOB
        assert asked["file"] == str(tmp_path / "model")
        assert await anext(lines) == "stop\n"
        worker.end()
        assert [line async for line in lines] == []

    in_a_loop(test())


@pytest.mark.usefixtures("echo")
def test_a_worker_that_says_nothing_more_is_not_listened_to_for_ever() -> None:
    async def test() -> None:
        worker = Worker()
        assert [line async for line in worker.lines(0.3)] in ([], ['{"event": "ready"}\n'])
        assert worker.process.poll() is None
        worker.end()
        assert worker.process.poll() is not None

    in_a_loop(test())


@pytest.mark.usefixtures("echo")
def test_a_worker_that_has_died_may_still_be_told_something_and_ended(tmp_path: Path) -> None:
    worker = Worker()
    worker.process.kill()
    worker.process.wait()
    worker.begin(JOB, tmp_path / "model")
    worker.stop()
    worker.end()
    worker.stop()
    worker.end()
    assert worker.process.poll() is not None


@pytest.mark.usefixtures("echo")
def test_a_process_that_is_killed_makes_room_though_it_was_told_to_stop(kept: ModelStore) -> None:
    async def test() -> None:
        shop = open_queue(kept)
        stream = shop.train(JOB, "me")
        run = await begun(stream)
        assert '"job"' in await anext(stream)  # said back
        worker = shop._tickets[0].worker
        worker.process.kill()
        worker.process.wait()
        shop.stop(run)
        (error,) = await rest_of(stream)
        assert error["message"]["key"] == "train.died"
        assert shop._tickets == []

    in_a_loop(test())


@pytest.mark.usefixtures("echo")
def test_a_training_that_takes_too_long_is_ended(kept: ModelStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_queue, "GRACE_SECONDS", -0.7)

    async def test() -> None:
        shop = open_queue(kept, seconds=1)
        stream = shop.train(JOB, "me")
        await begun(stream)
        task = await asked(stream)  # who asks first is not who asks then
        await until(lambda: shop._tickets[0].worker is not None)
        worker = shop._tickets[0].worker
        *_, error = [await task, *await rest_of(stream)]
        assert error["message"]["key"] == "train.died"
        assert worker.process.poll() is not None

    in_a_loop(test())


# And a real one


def test_a_real_training_is_stopped_and_its_model_kept(kept: ModelStore) -> None:
    async def test() -> None:
        shop = open_queue(kept)
        shop.prepare()
        spare = shop._spare
        stream = shop.train(job(steps=10_000), "me")
        events: list[Event] = [await anext(stream)]
        async for event in stream:
            events.append(json.loads(event) if isinstance(event, str) else event)
            if events[-1]["event"] == "started":
                shop.stop(events[0]["run"])
        (ended,) = (event for event in events if event["event"] == "ended")
        (trained,) = (event for event in events if event["event"] == "trained")
        assert ended["why"] == "stop"
        model = kept.find(trained["model"]["checkpoint"])
        assert model.portable.training["steps_taken"] == ended["step"] < 10_000
        assert model.translator.translate("Guten Morgen!").checkpoint.startswith(OWN_MODEL_PREFIX)
        assert spare.process.poll() is not None
        assert shop._spare is None

    assert sys.executable  # the real one
    in_a_loop(test())


# A mistake, shown


@runs
async def test_a_mistake_is_shown_in_a_process_and_leaves_nothing(kept: ModelStore, fakes: list[Fake]) -> None:
    shop = open_queue(kept)
    stream = shop.show("rank_collapse", "me")
    await begun(stream)
    task = await at_work(stream, fakes)
    (fake,) = fakes
    assert (fake.told, fake.patience) == (["rank_collapse"], shop.limits.seconds + GRACE_SECONDS)
    fake.say({"event": "ready"}, {"event": "progress", "side": "wrong"}, {"event": "symptom", "head": 0}, None)
    told = [await task, *await rest_of(stream)]
    assert [json.loads(line)["event"] for line in told] == ["progress", "symptom"]
    assert fake.ended
    assert shop._tickets == []
    assert list(kept.folder.iterdir()) == []


@runs
async def test_a_mistake_waits_in_the_queue_of_the_trainings(kept: ModelStore, fakes: list[Fake]) -> None:
    shop = open_queue(kept, queue_size=1)
    training = shop.train(JOB, "one")
    await begun(training)
    shown = shop.show("rank_collapse", "two")
    assert await waits(shown) == 1
    for visit, key in (("two", "train.already"), ("three", "train.crowded")):
        with pytest.raises(BusyError) as busy:
            await anext(shop.show("rank_collapse", visit))
        assert busy.value.message.key == key
    await training.aclose()
    assert (await anext(shown))["event"] == "run"
    await shown.aclose()
    assert shop._tickets == []


@runs
async def test_who_leaves_ends_the_process_that_shows_a_mistake(kept: ModelStore, fakes: list[Fake]) -> None:
    shop = open_queue(kept)
    stream = shop.show("rank_collapse", "me")
    await begun(stream)
    task = await at_work(stream, fakes)
    fakes[0].say({"event": "progress", "side": "wrong"})
    await task
    await stream.aclose()
    assert fakes[0].ended
    assert shop._tickets == []


@runs
async def test_a_mistake_that_breaks_off_says_so(kept: ModelStore, fakes: list[Fake]) -> None:
    stream = open_queue(kept).show("rank_collapse", "me")
    await begun(stream)
    task = await at_work(stream, fakes)
    fakes[0].say({"event": "progress", "side": "wrong"}, None)
    *_, last = [await task, *await rest_of(stream)]
    assert (last["event"], last["message"]["key"]) == ("error", "train.died")
