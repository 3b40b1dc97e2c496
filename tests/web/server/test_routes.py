"""A training as a stream, and models as files: the whole way works; what else is sent is refused with a sentence."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.responses import Response
from starlette.testclient import TestClient

from transformer.live.limits import Limits
from transformer.storage.portable import MAX_HEADER, PortableModel, save_portable
from transformer.web.api import lesson, models
from transformer.web.api import runs as handlers
from transformer.web.server import routes
from transformer.web.server.access_log import LOG
from transformer.web.server.request_limits import MAX_BODY
from transformer.web.server.routes import AT_ONCE, LONGEST_VISIT, ROUTES
from transformer.web.sessions import training_queue
from transformer.web.sessions.model_store import OWN_MODEL_PREFIX, ModelStore
from transformer.web.sessions.training_queue import BusyError, Event, TrainingQueue, _Ticket

from ...live.test_plan import question
from ...live.test_stream import TINY
from ...storage.test_portable import json_values, packed
from ..sessions.test_training_queue import Fake, in_a_loop, until

APP = Starlette(routes=ROUTES)
ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture
def shop(monkeypatch: pytest.MonkeyPatch) -> Iterator[TrainingQueue]:
    """A training queue and its store, which the routes and the handlers take for the server's."""
    kept = ModelStore(Limits())
    shop = TrainingQueue(kept.limits, kept)
    for module in (routes, models, lesson):
        monkeypatch.setattr(module, "model_store", lambda: kept)
    monkeypatch.setattr(routes, "training_queue", lambda: shop)
    yield shop
    shop.close()
    kept.close()


@pytest.fixture
def client(shop: TrainingQueue) -> Iterator[TestClient]:
    with TestClient(APP) as client:
        yield client


def limited(shop: TrainingQueue, **limits: int) -> None:
    shop.limits = shop._store.limits = Limits(**limits)


def tiny(**changes: Any) -> dict[str, Any]:
    return question("own", **(TINY | changes)) | {"visit": "me"}


def content(portable: PortableModel, folder: Path) -> bytes:
    save_portable(portable, folder / "content")
    return (folder / "content").read_bytes()


def refusal(response: Any, status: int = 400) -> str:
    """Its key. Every refusal is one sentence as JSON, with no path in it, and leaves no file."""
    assert response.status_code == status
    assert response.headers["content-type"] == "application/json"
    answer = response.json()
    assert answer.keys() == {"error"}
    assert answer["error"].keys() == {"key", "english", "values"}
    assert answer["error"]["english"].endswith(".")
    assert str(ROOT) not in response.text
    assert "attention-bitte-" not in response.text  # where models are kept
    return answer["error"]["key"]


def on_disk(shop: TrainingQueue) -> list[Path]:
    return list(shop._store.folder.iterdir())


# The whole way


def test_a_model_is_trained_taken_home_brought_back_and_says_the_same(client: TestClient, shop: TrainingQueue) -> None:
    answer = client.post("/train", json=tiny(steps=30, watch="Danke"))
    assert answer.status_code == 200
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
    brought = client.post("/models?visit=other", content=file.content)
    assert brought.status_code == 200
    again = brought.json()["model"]
    assert brought.json()["kept"] == [again["checkpoint"]]
    assert again["checkpoint"] != model["checkpoint"]
    assert again | {"checkpoint": ""} == model | {"checkpoint": ""}
    assert client.get(f"/models/{again['checkpoint']}").content == file.content
    for sentence in ("Guten Morgen!", "danke dir", "Wie geht es dir?"):
        one, two = (handlers.show(sentence, each["checkpoint"])["run"] for each in (model, again))
        assert one.pop("checkpoint") != two.pop("checkpoint")
        assert one == two
    assert sorted(on_disk(shop)) == sorted(kept.file for kept in shop._store._models.values())
    assert client.delete(f"/models/{model['checkpoint']}").json() == {}
    assert client.get(f"/models/{model['checkpoint']}").status_code == 404
    assert client.get(f"/models/{again['checkpoint']}").content == file.content
    assert client.delete(f"/models/{again['checkpoint']}").json() == {}
    assert on_disk(shop) == []


# A training


class Idle(TrainingQueue):
    """Trains nothing, and knows what it was asked."""

    def __init__(self, kept: ModelStore) -> None:
        super().__init__(kept.limits, kept)
        self.asked: list[tuple[Any, str]] = []
        self.stopped: list[str] = []
        self.busy: BusyError | None = None

    async def train(self, job: Any, visit: str) -> AsyncGenerator[Event | str]:
        if self.busy:
            raise self.busy
        self.asked.append((job, visit))
        yield {"event": "run", "run": "ä"}
        yield '{"event": "line"}\n'
        yield {"event": "last"}

    async def show(self, mistake: str, visit: str) -> AsyncGenerator[Event | str]:
        if self.busy:
            raise self.busy
        self.asked.append((mistake, visit))
        yield {"event": "run", "run": "ä"}

    def stop(self, run: str) -> None:
        self.stopped.append(run)


@pytest.fixture
def idle(shop: TrainingQueue, monkeypatch: pytest.MonkeyPatch) -> Idle:
    idle = Idle(shop._store)
    monkeypatch.setattr(routes, "training_queue", lambda: idle)
    return idle


def test_events_come_one_a_line(client: TestClient, idle: Idle) -> None:
    answer = client.post("/train", json=tiny(name=" Otto "))
    lines = answer.text.split("\n")
    assert [json.loads(line) for line in lines[:-1]] == [
        {"event": "run", "run": "ä"},
        {"event": "line"},
        {"event": "last"},
    ]
    assert lines[-1] == ""
    ((job, visit),) = idle.asked
    assert (job.name, visit) == ("Otto", "me")


@pytest.mark.parametrize("key", ["train.already", "train.crowded"])
def test_who_has_to_come_back_later_is_told_so(client: TestClient, idle: Idle, key: str) -> None:
    idle.busy = BusyError(key)
    assert refusal(client.post("/train", json=tiny()), 429) == key


def test_a_mistake_is_shown_as_events(client: TestClient) -> None:
    answer = client.post("/mistake", json={"name": "rank_collapse", "visit": "me"})
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    events = [json.loads(line, parse_constant=pytest.fail) for line in answer.text.splitlines()]
    kinds = [event["event"] for event in events]
    assert (kinds[0], kinds[-1], set(kinds[1:-1])) == ("run", "symptom", {"progress"})


def test_a_mistake_is_asked_for_by_a_visit_and_a_name(client: TestClient, idle: Idle) -> None:
    right = {"name": "causal_mask", "visit": "me"}
    assert client.post("/mistake", json=right).status_code == 200
    assert idle.asked == [("causal_mask", "me")]
    for wrong in ("never_stops", "nonesuch", "", 5, None, [], {}, True):  # a mistake of decoding needs no training
        assert refusal(client.post("/mistake", json=right | {"name": wrong})) == "error.request"
    for visit in (None, "", 5, [], {}, True, "x" * (LONGEST_VISIT + 1)):
        assert refusal(client.post("/mistake", json=right | {"visit": visit})) == "error.request"
    assert refusal(client.post("/mistake", json={})) == "error.request"
    foreign = client.post("/mistake", json=right, headers={"Sec-Fetch-Site": "cross-site"})
    assert refusal(foreign) == "error.request"
    idle.busy = BusyError("train.crowded")
    assert refusal(client.post("/mistake", json=right), 429) == "train.crowded"


@pytest.mark.parametrize("visit", [None, "", 5, [], {}, True, "x" * (LONGEST_VISIT + 1)])
def test_a_training_is_of_a_visit(client: TestClient, idle: Idle, visit: Any) -> None:
    assert refusal(client.post("/train", json=tiny() | {"visit": visit})) == "error.request"
    left_out = tiny()
    del left_out["visit"]
    assert refusal(client.post("/train", json=left_out)) == "error.request"
    assert client.post("/train", json=tiny() | {"visit": "x" * LONGEST_VISIT}).status_code == 200


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"steps": 0}, "plan.whole"),
        ({"learning_rate": 7}, "plan.number"),
        ({"name": ""}, "plan.name"),
        ({"watch": 5}, "plan.text"),
        ({"watch": "wasser"}, "error.unknown"),
        ({"pairs": []}, "pairs.empty"),
        ({"d_model": 9, "n_heads": 2}, "plan.heads"),
    ],
)
def test_what_cannot_be_trained_is_refused_as_in_the_plan(
    client: TestClient, idle: Idle, change: dict[str, Any], key: str
) -> None:
    assert refusal(client.post("/train", json=tiny(**change))) == key
    assert idle.asked == []


BODIES = [b"", b"{", b"nul", b"[]", b"[{}]", b'"x"', b"5", b"null", b"true", b"{}", b"\xff\xfe", b"\0", b'{"visit": 1}']
BODIES += [b"[" * 100_000, b'{"a":' * 100_000, b'{"visit": "x", "name": ' + b"[" * 50_000, b"1" * 5000, b'"\\ud800"']
BODIES += [b'{"visit": "me"}', b'{"visit": "me", "model": [], "training": 5}', b'{"visit": "\\ud800"}', b"NaN"]


@pytest.mark.parametrize("body", BODIES, ids=lambda body: repr(body[:20]))
def test_a_body_that_is_no_question_is_refused(client: TestClient, idle: Idle, body: bytes) -> None:
    refusal(client.post("/train", content=body))
    refusal(client.post("/mistake", content=body))
    assert client.post("/train/stop", content=body).json() == {}
    assert idle.asked == []


@given(
    asked=st.dictionaries(
        st.sampled_from(["name", "corpus", "watch", "pairs", "model", "training", "steps"]), json_values
    )
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_question_is_refused_or_trained(client: TestClient, idle: Idle, asked: dict[str, Any]) -> None:
    body = json.dumps(tiny() | asked)
    answer = client.post("/train", content=body)
    if answer.status_code != 200:
        refusal(answer)


@given(st.binary(max_size=100))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_are_refused(client: TestClient, idle: Idle, body: bytes) -> None:
    refusal(client.post("/train", content=body))
    refusal(client.post("/models?visit=me", content=body))
    assert on_disk(idle) == []


def test_another_sites_page_may_not_ask(client: TestClient, shop: TrainingQueue, idle: Idle, file: bytes) -> None:
    elsewhere = {"sec-fetch-site": "cross-site"}
    assert refusal(client.post("/train", json=tiny(), headers=elsewhere)) == "error.request"
    assert refusal(client.post("/models?visit=me", content=file, headers=elsewhere)) == "error.request"
    assert on_disk(shop) == []
    assert client.post("/models?visit=me", content=file, headers={"sec-fetch-site": "same-origin"}).status_code == 200


def test_a_stop_is_handed_on(client: TestClient, idle: Idle) -> None:
    for asked, run in (({"run": "abc"}, "abc"), ({"run": 5}, "5"), ({"run": None}, "None"), ({"ran": 1}, "None")):
        assert client.post("/train/stop", json=asked).json() == {}
        assert idle.stopped.pop() == run


# Files


@pytest.fixture
def file(tmp_path: Path) -> bytes:
    return content(packed(), tmp_path)


@pytest.mark.parametrize("visit", ["", "?visit=", f"?visit={'x' * (LONGEST_VISIT + 1)}", "?visits=me"])
def test_a_file_is_of_a_visit(client: TestClient, shop: TrainingQueue, file: bytes, visit: str) -> None:
    assert refusal(client.post(f"/models{visit}", content=file)) == "error.request"
    assert on_disk(shop) == []
    assert client.post(f"/models?visit={'x' * LONGEST_VISIT}", content=file).status_code == 200


def test_a_file_that_is_none_is_refused_and_not_kept(client: TestClient, shop: TrainingQueue, file: bytes) -> None:
    for body in (b"", b"nothing", file[:100], file[:-1], file + b"x", bytes([file[-1] ^ 1]).join([file[:-1], b""])):
        assert refusal(client.post("/models?visit=me", content=body)) in ("file.foreign", "file.broken")
        assert on_disk(shop) == []


def test_a_file_of_too_large_a_network_is_refused(client: TestClient, shop: TrainingQueue, file: bytes) -> None:
    limited(shop, parameters=100)
    assert refusal(client.post("/models?visit=me", content=file)) == "file.parameters"
    assert on_disk(shop) == []


def test_a_full_shelf_refuses_a_file(client: TestClient, shop: TrainingQueue, file: bytes, tmp_path: Path) -> None:
    limited(shop, megabytes=1)
    large = content(packed(d_model=512, n_heads=4), tmp_path)
    assert refusal(client.post("/models?visit=me", content=large)) == "shelf.full"
    assert on_disk(shop) == []
    assert client.post("/models?visit=me", content=file).status_code == 200


def test_files_of_a_visit_push_out_only_its_own(client: TestClient, shop: TrainingQueue, file: bytes) -> None:
    limited(shop, models=2)

    def bring(visit: str) -> str:
        return client.post(f"/models?visit={visit}", content=file).json()["model"]["checkpoint"]

    other, *keys = bring("other"), bring("me"), bring("me"), bring("me")
    assert [client.get(f"/models/{key}").status_code for key in (other, *keys)] == [200, 404, 200, 200]
    assert len(on_disk(shop)) == 3


@pytest.mark.parametrize(
    ("name", "disposition"),
    [
        ("../../x", 'filename="x.safetensors"'),
        ('a"; filename="b', 'filename="a-filename-b.safetensors"'),
        ("...", 'filename="model.safetensors"'),
        ("Über 猫", f"filename*=utf-8''{quote('Über-猫.safetensors')}"),
        ("a\\b/c:d", 'filename="a-b-c-d.safetensors"'),
        ("%0d%0aX: y", 'filename="0d-0aX-y.safetensors"'),
    ],
)
def test_a_file_is_called_as_its_model_in_safe_letters(
    client: TestClient, shop: TrainingQueue, name: str, disposition: str, tmp_path: Path
) -> None:
    named = PortableModel(**(vars(packed()) | {"name": name}))
    brought = client.post("/models?visit=me", content=content(named, tmp_path)).json()["model"]
    assert brought["name"] == name
    headers = client.get(f"/models/{brought['checkpoint']}").headers
    assert headers["content-disposition"] == f"attachment; {disposition}"
    assert "x" not in headers
    assert all(file.parent == shop._store.folder for file in on_disk(shop))


def test_a_name_that_would_be_a_header_is_none(client: TestClient, shop: TrainingQueue, tmp_path: Path) -> None:
    named = PortableModel(**(vars(packed()) | {"name": "\r\nX: y"}))
    assert refusal(client.post("/models?visit=me", content=content(named, tmp_path))) == "file.broken"


@pytest.mark.parametrize(
    "key",
    [
        *(
            "toy",
            OWN_MODEL_PREFIX,
            f"{OWN_MODEL_PREFIX}x",
            "..",
            "../toy",
            "../../etc/passwd",
            "%2e%2e/%2e%2e/etc/passwd",
            "..%2f..%2fetc%2fpasswd",
        ),
        *("/etc/passwd", "%2fetc%2fpasswd", "..\\..\\x", "%00", "x" * 5000, "", "%ff", "~", "."),
    ],
)
def test_a_key_that_is_none_gives_nothing(client: TestClient, shop: TrainingQueue, file: bytes, key: str) -> None:
    client.post("/models?visit=me", content=file)
    (kept,) = on_disk(shop)
    for path in (f"/models/{key}", f"/models/{kept.name}", f"/models/../{kept}", f"/models/..%2f{kept.parent.name}"):
        answer = client.get(path)
        assert answer.status_code in (404, 405)
        assert len(answer.content) < 100
        assert client.delete(path).status_code in (200, 404, 405)
    assert on_disk(shop) == [kept]


def test_only_the_methods_that_there_are_answer(client: TestClient, shop: TrainingQueue) -> None:
    for method, path in (
        ("GET", "/train"),
        ("GET", "/train/stop"),
        ("GET", "/models"),
        ("POST", f"/models/{OWN_MODEL_PREFIX}x"),
    ):
        assert client.request(method, path).status_code == 405


# What a client may do to a connection


class Caller:
    """A client that sends pieces, and goes when it likes."""

    def __init__(self, path: str, body: Iterator[bytes], spec: str = "2.3", **query: str) -> None:
        raw = "&".join(f"{name}={value}" for name, value in query.items()).encode()
        self.scope = {"type": "http", "method": "POST", "path": path, "query_string": raw, "headers": []}
        self.scope["asgi"] = {"version": "3.0", "spec_version": spec}
        self.body = body
        self.sent = 0
        self.gone = asyncio.Event()
        self.answer: list[dict[str, Any]] = []

    async def receive(self) -> dict[str, Any]:
        if (piece := next(self.body, None)) is not None:
            self.sent += 1
            return {"type": "http.request", "body": piece, "more_body": True}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: dict[str, Any]) -> None:
        if not self.gone.is_set():
            self.answer.append(message)
        elif self.scope["asgi"]["spec_version"] >= "2.4":  # older servers say nothing
            raise OSError("the connection is closed")

    async def call(self) -> None:
        await APP(self.scope, self.receive, self.send)

    def response(self) -> Response:
        response = Response(b"".join(part.get("body", b"") for part in self.answer), self.answer[0]["status"])
        response.headers["content-type"] = dict(self.answer[0]["headers"])[b"content-type"].decode()
        response.text = bytes(response.body).decode()
        response.json = lambda: json.loads(response.body)
        return response


def test_a_full_disk_is_told_and_nothing_half_is_kept(
    client: TestClient, shop: TrainingQueue, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = content(packed(), tmp_path)
    monkeypatch.setattr(routes.secrets, "token_hex", lambda size: "full")
    full = shop._store.folder / "full.safetensors"
    full.symlink_to("/dev/full")  # a device that has room for nothing
    assert refusal(client.post("/models?visit=me", content=file)) == "file.no_room"
    assert list(shop._store.folder.iterdir()) == []
    monkeypatch.undo()


def endless(size: int = 2**20) -> Iterator[bytes]:
    while True:
        yield bytes(size)


def test_a_question_that_is_too_long_is_not_read_to_its_end(shop: TrainingQueue) -> None:
    async def test() -> None:
        for path in ("/train", "/train/stop"):
            caller = Caller(path, endless())
            await caller.call()
            assert caller.sent == MAX_BODY // 2**20 + 1
            if path == "/train":
                assert refusal(caller.response()) == "error.request"

    in_a_loop(test())


def test_a_file_that_is_too_long_is_not_read_to_its_end(shop: TrainingQueue) -> None:
    limited(shop, parameters=1000)

    async def test() -> None:
        caller = Caller("/models", endless(), visit="me")
        await caller.call()
        assert caller.sent == MAX_HEADER // 2**20 + 1
        assert refusal(caller.response()) == "file.too_big"
        assert on_disk(shop) == []

    in_a_loop(test())


def test_a_file_that_breaks_off_is_not_kept(shop: TrainingQueue, file: bytes) -> None:
    async def test() -> None:
        caller = Caller("/models", iter([file[:100], file[100:2000]]), visit="me")
        task = asyncio.create_task(caller.call())
        await until(lambda: caller.sent == 2)
        caller.gone.set()
        await asyncio.wait([task])
        assert on_disk(shop) == []

    in_a_loop(test())


def test_so_many_files_are_brought_at_a_time(shop: TrainingQueue, file: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who comes then waits with nothing read, and is sent away if it takes long."""
    monkeypatch.setattr(routes, "_places", asyncio.Semaphore(AT_ONCE))  # of this test's loop

    async def test() -> None:
        slow = [Caller("/models", iter([file[:100]]), visit=f"v{i}") for i in range(AT_ONCE)]
        tasks = [asyncio.create_task(caller.call()) for caller in slow]
        await until(lambda: len(on_disk(shop)) == AT_ONCE)
        third = Caller("/models", endless(), visit="me")
        with monkeypatch.context() as patch:
            patch.setattr(routes, "PATIENCE", 0.05)
            await third.call()
        assert third.sent == 0
        assert refusal(third.response(), 429) == "file.busy"
        assert len(on_disk(shop)) == AT_ONCE
        waits = asyncio.create_task(bring(file, 200))
        await asyncio.sleep(0.05)
        assert not waits.done()
        slow[0].gone.set()
        await asyncio.wait(tasks[:1])
        await waits
        slow[1].gone.set()
        await asyncio.wait(tasks)
        for _ in range(2 * AT_ONCE):  # no place is lost, however it ended
            await bring(b"nothing", 400)
        await bring(file, 200)

    async def bring(content: bytes, status: int) -> None:
        caller = Whole("/models", iter([content]), visit="me")
        await caller.call()
        assert caller.response().status_code == status

    in_a_loop(test())


def test_a_file_that_takes_for_ever_is_not_waited_for(
    shop: TrainingQueue, file: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(routes, "SLOWEST", 0.05)

    async def test() -> None:
        caller = Caller("/models", iter([file[:100]]), visit="me")
        await asyncio.wait_for(caller.call(), 10)
        assert refusal(caller.response()) == "file.not_taken"
        assert on_disk(shop) == []

    in_a_loop(test())


def test_a_question_that_breaks_off_is_none(shop: TrainingQueue) -> None:
    async def test() -> None:
        for path in ("/train", "/train/stop"):
            caller = Caller(path, iter([b'{"visit": ']))
            task = asyncio.create_task(caller.call())
            await until(lambda caller=caller: caller.sent == 1)
            caller.gone.set()
            await asyncio.wait([task])

    in_a_loop(test())


class Whole(Caller):
    """Sends one piece, and says that it is all."""

    async def receive(self) -> dict[str, Any]:
        if (piece := next(self.body, None)) is not None:
            return {"type": "http.request", "body": piece, "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}


class Asker(Whole):
    """Asks for a training."""

    def __init__(self, visit: str, spec: str) -> None:
        super().__init__("/train", iter([json.dumps(tiny() | {"visit": visit}).encode()]), spec)

    def events(self) -> list[str]:
        text = b"".join(part.get("body", b"") for part in self.answer).decode()
        return [json.loads(line)["event"] for line in text.splitlines()]


@pytest.mark.parametrize("spec", ["2.3", "2.4"])  # which tell in two ways that a client has gone
def test_who_goes_ends_the_training_and_makes_room(
    shop: TrainingQueue, spec: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fakes: list[Fake] = []

    class Loose(Fake):
        def begin(self, job: Any, file: Path) -> None:
            self.file = file
            file.write_bytes(b"half a model")

    def make() -> Fake:
        fakes.append(Loose())
        return fakes[-1]

    monkeypatch.setattr(training_queue, "Worker", make)
    limited(shop, concurrency=1)

    async def test() -> None:
        one, two, three = (Asker(visit, spec) for visit in "abc")
        tasks = []
        for caller, begins in ((one, "run"), (two, "waiting"), (three, "waiting")):
            tasks.append(asyncio.create_task(caller.call()))
            await until(lambda caller=caller, begins=begins: begins in caller.events())
        for n, (caller, behind) in enumerate(((one, two), (two, three), (three, None))):
            await until(lambda n=n: len(fakes) > n and fakes[n].patience is not None)
            caller.gone.set()
            fakes[n].say({"event": "progress"})  # a newer server notices only when it sends
            if behind:
                await until(lambda behind=behind: "run" in behind.events())
            await until(lambda n=n: fakes[n].ended)
            assert not fakes[n].file.exists()
        await asyncio.wait(tasks)
        assert [task.exception() is None for task in tasks] == [spec == "2.3"] * 3  # the server's own
        assert three.events() == ["waiting", "waiting", "run"]
        assert shop._tickets == []
        assert on_disk(shop) == []

    in_a_loop(test())


def test_who_goes_from_the_queue_leaves_it(shop: TrainingQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(training_queue, "Worker", Fake)
    monkeypatch.setattr(Fake, "begin", lambda *_: None)
    limited(shop, concurrency=1)

    async def test() -> None:
        one, two = Asker("a", "2.3"), Asker("b", "2.3")
        tasks = [asyncio.create_task(one.call())]
        await until(lambda: "run" in one.events())
        tasks.append(asyncio.create_task(two.call()))
        await until(lambda: "waiting" in two.events())
        two.gone.set()
        await until(lambda: len(shop._tickets) == 1)
        one.gone.set()
        await asyncio.wait(tasks)
        assert shop._tickets == []

    in_a_loop(test())


# Health


def test_health_counts_who_trains_and_who_waits(client: TestClient, shop: TrainingQueue) -> None:
    limited(shop, concurrency=2)
    told = client.get("/health").json()
    assert (told["status"], told["checkpoints"]) == ("ok", ["classroom", "toy"])
    assert told["training"] == {"running": 0, "waiting": 0}
    shop._tickets = [_Ticket(str(number)) for number in range(5)]
    assert client.get("/health").json()["training"] == {"running": 2, "waiting": 3}
    assert client.post("/health").status_code == 405


# The log


def test_each_request_is_noted_without_whose_it_was(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", LOG.name):
        client.post("/train", json=tiny(name="geheim", corpus="geheim"))
        client.get("/models/own-geheim")
        client.delete("/models/own-geheim")
        client.post("/models?visit=geheim", content="geheim")
    lines = [record.told for record in caplog.records if record.name == LOG.name]
    assert [line["action"] for line in lines] == ["train", "file", "forget", "bring"]
    assert [line["status"] for line in lines] == [400, 404, 200, 400]
    assert lines[3]["received"] == 6
    assert lines[3]["outcome"].startswith("file.")
    assert "geheim" not in json.dumps(lines)
