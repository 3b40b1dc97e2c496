"""Trainings as streams, models as files: what is valid works, all else is refused in a sentence and leaves no file."""

import asyncio
import json
import threading
from collections.abc import Iterator
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.testclient import TestClient

from transformer.live import plan
from transformer.live.job import Job
from transformer.live.limits import Limits
from transformer.storage.portable import PortableModel, max_file_bytes, save_portable
from transformer.web.access_log import LOG
from transformer.web.api import downloads
from transformer.web.api.events import show
from transformer.web.api.heads import heads
from transformer.web.api.what_if import sweep
from transformer.web.fair_queue import Client, FairQueue
from transformer.web.schema import MAX_SESSION_ID
from transformer.web.server import request_limits, request_queue, routes
from transformer.web.server.routes import ROUTES, UPLOADS_PER_ADDRESS
from transformer.web.sessions import models
from transformer.web.sessions.model_store import OWN_MODEL_PREFIX, ModelStore
from transformer.web.sessions.shared_run import Event, Events
from transformer.web.sessions.training_queue import BusyError, TrainingQueue

from ...live.test_plan import question
from ...live.test_stream import TINY
from ...models import json_values, packed
from ..loop import TIMEOUT, async_test, until
from ..workers import FakeWorker, fake_workers

ROOT = Path(__file__).resolve().parents[3]
APP = Starlette(routes=ROUTES)
ME = {"Session": "me"}
LONG = "x" * MAX_SESSION_ID


@pytest.fixture
def queue(monkeypatch: pytest.MonkeyPatch) -> Iterator[TrainingQueue]:
    """A training queue and its store, which the routes and the handlers take for the server's."""
    store = ModelStore(Limits())
    queue = TrainingQueue(store.limits, store)
    for module in (routes, models, downloads):
        monkeypatch.setattr(module, "model_store", lambda: store)
    monkeypatch.setattr(routes, "training_queue", lambda: queue)
    yield queue
    queue.close()
    store.close()


@pytest.fixture
def client(queue: TrainingQueue) -> Iterator[TestClient]:
    with TestClient(APP) as client:
        yield client


def limit(queue: TrainingQueue, **limits: int) -> None:
    queue.limits = queue._store.limits = Limits(**limits)
    queue._queue = FairQueue(queue.limits.concurrency, queue.limits.queue_size)


def tiny(**changes: Any) -> dict[str, Any]:
    return question("own", **(TINY | changes)) | {"session": "me"}


def content(portable: PortableModel, folder: Path) -> bytes:
    save_portable(portable, folder / "content")
    return (folder / "content").read_bytes()


@pytest.fixture
def file(tmp_path: Path) -> bytes:
    return content(packed(), tmp_path)


def refusal(response: Any, status: int = 400) -> str:
    """Its key. Every refusal is one sentence as JSON, with no path in it."""
    assert response.status_code == status
    assert response.headers["content-type"] == "application/json"
    error = response.json()["error"]
    assert error.keys() == {"key", "english", "values"}
    assert error["english"].endswith(".")
    assert str(ROOT) not in response.text
    assert "attention-bitte-" not in response.text  # where models are kept
    return str(error["key"])


def on_disk(queue: TrainingQueue) -> list[Path]:
    return list(queue._store.folder.iterdir())


@pytest.mark.slow
def test_a_model_is_trained_downloaded_and_uploaded_and_translates_alike(
    client: TestClient, queue: TrainingQueue
) -> None:
    answer = client.post("/train", json=tiny(steps=30, watch="Danke"))
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    assert (answer.headers["cache-control"], answer.headers["x-accel-buffering"]) == ("no-store", "no")
    events: list[Event] = [json.loads(line, parse_constant=pytest.fail) for line in answer.text.splitlines()]
    kinds = [event["event"] for event in events]
    assert (kinds[:3], kinds[-1]) == (["run", "started", "snapshot"], "snapshot")
    (trained,) = (event for event in events if event["event"] == "trained")
    model = trained["model"]
    assert (model["name"], model["corpus"], model["sentences"]) == ("Bert", "own", 3)
    file = client.get(f"/models/{model['checkpoint']}")
    assert file.headers["content-type"] == "application/octet-stream"
    assert file.headers["content-disposition"] == 'attachment; filename="Bert.safetensors"'
    uploaded = client.post("/models", content=file.content, headers={"Session": "other"}).json()
    again = uploaded["model"]
    assert uploaded["kept"] == [again["checkpoint"]] != [model["checkpoint"]]
    assert again | {"checkpoint": ""} == model | {"checkpoint": ""}
    for sentence in ("Guten Morgen!", "danke dir", "Wie geht es dir?"):
        one, two = (show(each["checkpoint"], sentence)["run"] for each in (model, again))
        assert one | {"checkpoint": ""} == two | {"checkpoint": ""}
    for each in (model, again):
        address = f"/models/{each['checkpoint']}"
        assert client.get(address).content == file.content
        assert client.delete(address).json() == {}
        assert client.get(address).status_code == 404
    assert on_disk(queue) == []


# Trainings


class IdleQueue(TrainingQueue):
    """Trains nothing, and knows what it was asked."""

    def __init__(self, store: ModelStore) -> None:
        super().__init__(store.limits, store)
        self.asked: list[tuple[str, str]] = []
        self.stopped: list[str] = []
        self.busy: BusyError | None = None

    def train(self, job: Job, client: Client) -> Events:
        return self._record(job.name, client.session)

    def train_mistake(self, mistake: str, client: Client) -> Events:
        return self._record(mistake, client.session)

    async def _record(self, name: str, session: str) -> Events:
        if self.busy:
            raise self.busy
        self.asked.append((name, session))
        yield {"event": "run", "run": "ä"}
        yield '{"event": "line"}\n'

    def stop(self, run: str) -> None:
        self.stopped.append(run)


@pytest.fixture
def idle(queue: TrainingQueue, monkeypatch: pytest.MonkeyPatch) -> IdleQueue:
    idle = IdleQueue(queue._store)
    monkeypatch.setattr(routes, "training_queue", lambda: idle)
    return idle


MISTAKE = {"name": "causal_mask", "session": "me"}


def test_events_come_one_a_line(client: TestClient, idle: IdleQueue) -> None:
    for path, body in (("/train", tiny(name=" Otto ")), ("/mistake", MISTAKE), ("/train", tiny() | {"session": LONG})):
        answer = client.post(path, json=body)
        assert answer.status_code == 200
        assert [json.loads(line) for line in answer.text.split("\n")[:-1]] == [
            {"event": "run", "run": "ä"},
            {"event": "line"},
        ]
    assert idle.asked == [("Otto", "me"), ("causal_mask", "me"), ("Bert", LONG)]
    for key in ("train.already", "train.crowded"):
        idle.busy = BusyError(key)
        for path, body in (("/train", tiny()), ("/mistake", MISTAKE)):
            assert refusal(client.post(path, json=body), 429) == key
    for body, stopped in (({"run": "abc"}, ["abc"]), ({"run": 5}, []), ({"ran": "x"}, [])):
        assert client.post("/train/stop", json=body).json() == {}
        assert idle.stopped == stopped
        idle.stopped.clear()


def test_what_is_no_request_of_a_session_of_this_page_is_refused(client: TestClient, idle: IdleQueue) -> None:
    wrong: Any
    for wrong in (None, "", 5, [], {}, True, LONG + "x"):
        assert refusal(client.post("/train", json=tiny() | {"session": wrong})) == "error.request"
        assert refusal(client.post("/mistake", json=MISTAKE | {"session": wrong})) == "error.request"
    for wrong in ("never_stops", "nonesuch", "", 5, None, [], {}, True):  # a mistake of decoding needs no training
        assert refusal(client.post("/mistake", json=MISTAKE | {"name": wrong})) == "error.request"
    elsewhere = {"sec-fetch-site": "cross-site"}
    for path, body in (("/train", tiny()), ("/mistake", MISTAKE), ("/models", {})):
        assert refusal(client.post(path, json=body, headers=elsewhere | ME)) == "error.request"
    client.post("/train/stop", json={"run": "x"}, headers=elsewhere)
    assert refusal(client.post("/models", content=b"", headers={"Session": LONG + "x"})) == "error.request"
    for address in ("/models", "/models?visit=", f"/models?visit={LONG}x", "/models?session=me"):
        assert refusal(client.post(address, content=b"")) == "error.request"
    assert refusal(client.post("/models?visit=me", content=b"")).startswith("file.")  # its old place
    assert (idle.asked, idle.stopped, on_disk(idle)) == ([], [], [])


@pytest.mark.parametrize(
    ("change", "key"),
    [({"steps": 0}, "plan.integer"), ({"watch": "wasser"}, "error.unknown"), ({"pairs": []}, "pairs.empty")],
)
def test_what_cannot_be_trained_is_refused_as_in_the_plan(
    client: TestClient, idle: IdleQueue, change: dict[str, Any], key: str
) -> None:
    assert refusal(client.post("/train", json=tiny(**change))) == key
    assert idle.asked == []


BODIES = [b"", b"{", b"nul", b"[{}]", b'"x"', b"5", b"null", b"{}", b"\xff\xfe", b"\0", b'{"session": 1}', b"NaN"]
BODIES += [b"[" * 100_000, b'{"a":' * 100_000, b'{"session": "x", "name": ' + b"[" * 50_000, b"1" * 5000, b'"\\ud800"']
BODIES += [b'{"session": "me"}', b'{"session": "me", "model": [], "training": 5}', b'{"visit": "\\ud800"}']


def test_a_body_that_is_no_request_is_refused(client: TestClient, idle: IdleQueue) -> None:
    for body in BODIES:
        refusal(client.post("/train", content=body))
        refusal(client.post("/mistake", content=body))
        assert client.post("/train/stop", content=body).json() == {}
    assert (idle.asked, idle.stopped) == ([], [])


@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    asked=st.dictionaries(st.sampled_from(["name", "corpus", "watch", "pairs", "model", "training"]), json_values),
    body=st.binary(max_size=100),
)
def test_any_request_is_refused_or_trained(
    client: TestClient, idle: IdleQueue, asked: dict[str, Any], body: bytes
) -> None:
    answer = client.post("/train", content=json.dumps(tiny() | asked))
    if answer.status_code != 200:
        refusal(answer)
    for path in ("/train", "/mistake", "/models"):
        refusal(client.post(path, content=body, headers=ME))
    assert on_disk(idle) == []


# Files


def test_a_file_that_cannot_be_kept_is_refused_and_removed(
    client: TestClient, queue: TrainingQueue, file: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def upload(body: bytes) -> str:
        key = refusal(client.post("/models", content=body, headers=ME))
        assert on_disk(queue) == []
        return key

    for body in (b"", b"nothing", file[:100], file[:-1], file + b"x", bytes([file[-1] ^ 1]).join([file[:-1], b""])):
        assert upload(body) in ("file.foreign", "file.broken")
    assert upload(content(replace(packed(), name="\r\nX: y"), tmp_path)) == "file.broken"  # it would be a header
    limit(queue, parameters=100)
    assert upload(file) == "file.parameters"
    limit(queue, megabytes=1)
    assert upload(content(packed(d_model=512, n_heads=4), tmp_path)) == "store.full"
    monkeypatch.setattr("secrets.token_hex", lambda size: "full")
    (queue._store.folder / "full.safetensors").symlink_to("/dev/full")  # a device that has room for nothing
    assert upload(file) == "file.no_room"


@pytest.mark.parametrize(
    ("name", "disposition"),
    [
        ("../../x", 'filename="x.safetensors"'),
        ('a"; filename="b', 'filename="a-filename-b.safetensors"'),
        ("Über 猫", f"filename*=utf-8''{quote('Über-猫.safetensors')}"),
        ("%0d%0aX: y", 'filename="0d-0aX-y.safetensors"'),
    ],
)
def test_a_download_is_named_after_its_model(
    client: TestClient, queue: TrainingQueue, name: str, disposition: str, tmp_path: Path
) -> None:
    body = content(replace(packed(), name=name), tmp_path)
    model = client.post("/models", content=body, headers=ME).json()["model"]
    assert model["name"] == name
    headers = client.get(f"/models/{model['checkpoint']}").headers
    assert headers["content-disposition"] == f"attachment; {disposition}"
    assert "x" not in headers


def test_a_key_that_does_not_exist_gives_nothing(client: TestClient, queue: TrainingQueue, file: bytes) -> None:
    client.post("/models", content=file, headers=ME)
    (kept,) = on_disk(queue)
    keys = ["toy", OWN_MODEL_PREFIX, f"{OWN_MODEL_PREFIX}x", "..", "../toy", "../../etc/passwd", "%2e%2e/etc/passwd"]
    keys += ["/etc/passwd", "%2fetc%2fpasswd", "..\\..\\x", "%00", "x" * 5000, "", "%ff", "~", ".", kept.name]
    for key in (*keys, f"../{kept}", f"..%2f{kept.parent.name}"):
        answer = client.get(f"/models/{key}")
        assert answer.status_code in (404, 405)
        assert len(answer.content) < 100
        assert client.delete(f"/models/{key}").status_code in (200, 404, 405)
    assert on_disk(queue) == [kept]
    for method, path in (("GET", "/train"), ("GET", "/train/stop"), ("GET", "/models"), ("POST", "/health")):
        assert client.request(method, path).status_code == 405


# What a client may do to a connection


class Caller:
    """A client that sends pieces of a body, and disconnects when it likes."""

    def __init__(self, path: str, *pieces: bytes, complete: bool = False, spec: str = "2.3", headers: Any = ()) -> None:
        self.scope: dict[str, Any] = {"type": "http", "method": "POST", "path": path, "headers": list(headers)}
        self.scope |= {"query_string": b"", "asgi": {"version": "3.0", "spec_version": spec}}
        self.pieces = list(pieces)
        self.complete = complete
        self.gone = asyncio.Event()
        self.pace: asyncio.Event | None = None  # before the first piece
        self.answer: list[Any] = []

    async def receive(self) -> Any:
        if self.pace:
            await self.pace.wait()
        if self.pieces:
            body = self.pieces.pop(0)
            return {"type": "http.request", "body": body, "more_body": bool(self.pieces) or not self.complete}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        if not self.gone.is_set():
            self.answer.append(message)
        elif self.scope["asgi"]["spec_version"] >= "2.4":  # older servers say nothing
            raise OSError("the connection is closed")

    async def call(self) -> "Caller":
        await APP(self.scope, self.receive, self.send)
        return self

    def lines(self) -> list[Any]:
        body = b"".join(part.get("body", b"") for part in self.answer)
        return [json.loads(line) for line in body.splitlines()]

    def refused(self) -> tuple[int, str]:
        (answer,) = self.lines()
        return self.answer[0]["status"], answer["error"]["key"]

    def events(self) -> list[str]:
        return [line["event"] for line in self.lines()]


def upload(*pieces: bytes, complete: bool = False) -> Caller:
    return Caller("/models", *pieces, complete=complete, headers=[(b"session", b"me")])


@async_test
async def test_an_upload_is_bounded_in_size_and_time_and_may_break_off(
    queue: TrainingQueue, file: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit(queue, parameters=1000)
    most = max_file_bytes(1000) // 2**20
    long = upload(*[bytes(2**20)] * (most + 9))
    await long.call()
    assert (long.refused(), len(long.pieces)) == ((400, "file.too_big"), 8)  # it was not read to its end
    broken = upload(file[:100], file[100:2000])
    task = asyncio.create_task(broken.call())
    await until(lambda: not broken.pieces)
    broken.gone.set()
    await task
    asking = Caller("/train", b'{"session": ')
    asking.gone.set()
    await asking.call()
    monkeypatch.setattr(routes, "UPLOAD_SECONDS", 0.01)
    assert (await upload(file[:100]).call()).refused() == (400, "file.not_taken")
    assert on_disk(queue) == []


@async_test
async def test_uploads_have_places_for_each_address(
    queue: TrainingQueue, file: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The others of that address wait with nothing read, and are refused if that takes long."""
    slow = [upload(file[:100]) for _ in range(UPLOADS_PER_ADDRESS)]
    tasks = [asyncio.create_task(caller.call()) for caller in slow]
    await until(lambda: len(on_disk(queue)) == UPLOADS_PER_ADDRESS)
    third = upload(file)
    with monkeypatch.context() as patch:
        patch.setattr(routes, "UPLOAD_WAIT_SECONDS", 0.01)
        await third.call()
    assert (third.refused(), len(third.pieces)) == ((429, "file.busy"), 1)
    other = upload(file, complete=True)
    other.scope["client"] = ("9.9.9.9", 1)
    assert (await other.call()).answer[0]["status"] == 200
    waits = asyncio.create_task(upload(file, complete=True).call())
    await until(lambda: routes._uploads()[0].waiting)
    slow[0].gone.set()
    assert (await waits).answer[0]["status"] == 200
    slow[1].gone.set()
    await asyncio.gather(*tasks)
    for _ in range(2 * UPLOADS_PER_ADDRESS):  # no place is lost, however an upload ended
        assert (await upload(b"nothing", complete=True).call()).refused()[0] == 400


@async_test
async def test_the_longest_upload_makes_room_for_one_of_its_address_that_waits(
    queue: TrainingQueue, file: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "CONTENDED_SECONDS", 0)
    trickling = [upload(*[b"x"] * 2, file[:1]) for _ in range(UPLOADS_PER_ADDRESS)]
    for caller in trickling:
        caller.pace = asyncio.Event()
    tasks = [asyncio.create_task(caller.call()) for caller in trickling]
    await until(lambda: len(on_disk(queue)) == UPLOADS_PER_ADDRESS)
    honest = asyncio.create_task(upload(file, complete=True).call())
    await until(lambda: routes._uploads()[0].waiting)
    for caller in trickling:
        caller.pace.set()
    assert (await honest).answer[0]["status"] == 200
    assert (await tasks[0]).refused() == (400, "file.not_taken")
    assert not tasks[1].done()
    trickling[1].gone.set()
    await tasks[1]


@async_test
async def test_an_upload_that_trickles_is_ended(
    queue: TrainingQueue, file: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(request_limits, "RATE_SECONDS", 0.01)
    assert (await upload(file[:100]).call()).refused() == (400, "file.not_taken")


@async_test
async def test_plans_take_turns_in_the_queue_and_none_is_made_for_a_session_that_trains(
    queue: TrainingQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_workers(monkeypatch)
    go, begun, make = threading.Event(), list[str](), plan.plan

    def slow(form: Any, limits: Limits) -> Any:
        begun.append(form["name"])
        assert go.wait(TIMEOUT)
        return make(form, limits)

    monkeypatch.setattr(routes, "plan", slow)

    def asking(session: str, address: str) -> Caller:
        caller = Caller("/train", json.dumps(tiny(name=session) | {"session": session}).encode(), complete=True)
        caller.scope["client"] = (address, 1)
        return caller

    callers = [asking(session, "1.1.1.1") for session in "abc"] + [asking("d", "2.2.2.2")]
    tasks = [asyncio.create_task(caller.call()) for caller in callers]
    waiting = request_queue.request_queue(OWN_MODEL_PREFIX)
    await until(lambda: waiting.waiting == 3 and bool(begun))
    assert begun == ["a"]
    go.set()
    await until(lambda: all(caller.answer for caller in callers))
    assert begun[:2] == ["a", "d"]  # another address is next
    assert (await asking("a", "1.1.1.1").call()).refused() == (429, "train.already")
    assert len(begun) == 4
    for caller in callers:
        caller.gone.set()
    await asyncio.wait(tasks)


@pytest.mark.parametrize("spec", ["2.3", "2.4"])  # which report in two ways that a client has disconnected
def test_a_client_that_disconnects_ends_its_training(
    queue: TrainingQueue, spec: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", LOG.name)
    workers: list[FakeWorker] = fake_workers(monkeypatch)
    limit(queue, concurrency=1)

    def at_work() -> bool:
        return bool(workers) and not workers[-1].ended and workers[-1].seconds is not None

    @async_test
    async def test() -> None:
        bodies = [json.dumps(tiny() | {"session": session}).encode() for session in "abc"]
        callers = [Caller("/train", body, complete=True, spec=spec) for body in bodies]
        tasks = []
        for caller, first in zip(callers, ("run", "waiting", "waiting"), strict=True):
            tasks.append(asyncio.create_task(caller.call()))
            await until(lambda caller=caller, first=first: first in caller.events())  # type: ignore[misc]
        if spec == "2.3":  # which notices also while it waits
            callers[1].gone.set()
            await until(lambda: queue.counts() == {"running": 1, "waiting": 1})
        for caller in callers:
            if not caller.gone.is_set() or spec == "2.4":
                await until(lambda caller=caller: "run" in caller.events() and at_work())  # type: ignore[misc]
                caller.gone.set()
                workers[-1].write({"event": "progress"})  # a newer server notices only when it sends
                await until(lambda worker=workers[-1]: worker.ended)  # type: ignore[misc]
        await asyncio.wait(tasks)
        assert [task.exception() is None for task in tasks] == [spec == "2.3"] * 3  # the server's own
        assert queue.counts() == {"running": 0, "waiting": 0}
        assert on_disk(queue) == []

    test()
    lines = [record.__dict__["logged"] for record in caplog.records if record.name == LOG.name]
    assert [(line["action"], line["outcome"]) for line in lines] == [("train", "left")] * 3


# Health and log


def test_health_counts_trainings_and_requests(client: TestClient, queue: TrainingQueue) -> None:
    answer = client.get("/health").json()
    assert (answer["status"], answer["checkpoints"]) == ("ok", ["classroom", "toy"])
    assert answer["queue"] == answer["line"] == {"working": 0, "waiting": 0}
    assert answer["training"] == {"running": 0, "waiting": 0}
    queue._queue = SimpleNamespace(working=2, waiting=3)  # type: ignore[assignment]
    assert client.get("/health").json()["training"] == {"running": 2, "waiting": 3}


def test_each_request_is_logged_without_whose_it_was(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", LOG.name):
        client.post("/train", json=tiny(name="geheim", corpus="geheim"))
        client.get("/models/own-geheim")
        client.delete("/models/own-geheim")
        client.post("/models", content="geheim", headers={"Session": "geheim"})
    lines = [record.__dict__["logged"] for record in caplog.records if record.name == LOG.name]
    assert [(line["action"], line["status"]) for line in lines] == [
        ("train", 400),
        ("download", 404),
        ("delete", 200),
        ("upload", 400),
    ]
    assert lines[3]["received"] == 6
    assert lines[3]["outcome"].startswith("file.")
    assert "geheim" not in json.dumps(lines)


def test_heads_are_measured_part_by_part(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parts make the whole that `sweep` answers, each in a turn of the queue of its own."""
    turns: list[object] = []
    queued = request_queue.queued

    def counted(checkpoint: object, who: Client) -> AbstractAsyncContextManager[None]:
        turns.append(checkpoint)
        return queued(checkpoint, who)

    monkeypatch.setattr(request_queue, "queued", counted)
    about = {"checkpoint": "toy", "sentence": "ich cola"}  # which the corpus does not have

    def events(what: str) -> list[dict[str, Any]]:
        answer = client.post("/heads", json={**about, "what": what, "session": "me"})
        return [json.loads(line) for line in answer.text.splitlines()]

    swept = events("sweep")
    assert len(turns) == len(swept) + 1
    assert [event["done"] for event in swept][-1] == swept[0]["of"] == 144
    whole = sweep({**about, "on": "sentence"})
    assert swept[0]["reference"] == whole["reference"]
    assert swept[0]["baseline"] == pytest.approx(whole["baseline"], rel=1e-5)
    for drop in (drop for event in swept for drop in event["drops"]):
        assert drop["drop"] == pytest.approx(whole["drop"][drop["kind"]][drop["layer"]][drop["head"]], abs=1e-6)
    ablated = events("ablations")
    assert len(ablated) == 6
    found = [each for event in ablated for each in event["ablations"]]
    wanted = heads(about)["ablations"]
    assert [each["text"] for each in found] == [each["text"] for each in wanted]
    about["sentence"] = "wasser"
    assert [event["event"] for event in events("sweep")] == ["error"]
    assert client.post("/heads", json=about).status_code == 400
