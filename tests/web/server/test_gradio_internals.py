"""What this project relies on in Gradio beyond its documentation, a test for each, so that an upgrade fails here."""

import asyncio
import inspect
import json
import logging
import sys
import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest
import uvicorn
from gradio import processing_utils
from gradio.events import api
from gradio.routes import App
from gradio.state_holder import SessionState
from starlette.testclient import TestClient

from transformer.web import without_stubs
from transformer.web.access_log import LOG
from transformer.web.api.endpoints import encoded
from transformer.web.fair_queue import ClientLeftError, FairQueue, current_turn, release_turn
from transformer.web.server import gradio_internals, request_queue
from transformer.web.server.connections import BoundedConnection
from transformer.web.server.gradio_internals import (
    EXCEPTION_HANDLERS,
    MAX_CALLS_WITHOUT_READER,
    MAX_UNREAD,
    REACHABLE,
    Blocks,
    EventQueue,
    Server,
    body_limit,
    middleware,
    without_cors_and_state,
)
from transformer.web.server.logged_calls import logged
from transformer.web.server.request_limits import CALL, MAX_CALL, TABLE
from transformer.web.server.request_queue import MAX_SESSION_HASH
from transformer.web.without_stubs import WRITER

from ..loop import async_test, in_a_loop, until

SECRET = "geheim"
begun, ended = threading.Event(), threading.Event()  # an endless call
TOY, OWN = "toy", "own-abc"


def test_gradio_writes_no_stubs_when_it_is_imported() -> None:
    module, name = WRITER
    assert f"        {name}(component_class, name, events)\n" in inspect.getsource(sys.modules[module])
    assert inspect.getmodule(getattr(sys.modules[module], name)) is without_stubs


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    """A page with an event, actions and a server function. Each answers which queue it works in."""
    queues = FairQueue(1, 5), FairQueue(1, 5)

    def turn() -> str:
        return {(1, 0): "shared", (0, 1): "own", (0, 0): "none"}[queues[0].working, queues[1].working]

    def event(event: gr.EventData) -> str:
        return f"{turn()} {event._data['checkpoint']}"

    def action(sentence: str, checkpoint: str = TOY) -> str:
        if sentence == SECRET:
            raise gr.Error(SECRET)
        if sentence == "fault":
            raise RuntimeError(SECRET)
        return turn()

    async def train(sentence: str) -> str:
        release_turn()
        return turn()

    def endless() -> None:
        turn = current_turn.get()
        assert turn
        begun.set()
        try:
            while True:
                turn.pause()
                time.sleep(0.001)
        except ClientLeftError:
            ended.set()

    def function(question: Any) -> str:
        return turn()

    with Blocks() as page:
        html = gr.HTML(server_functions=[logged(function)])
        box = gr.Textbox()
        html.click(logged(event), None, box, queue=False, api_visibility="private")
        api(logged(action), api_name="action", queue=False)
        api(logged(train), api_name="train", queue=False)
        api(logged(action), api_name="queued")
        api(endless, api_name="endless")
    page.queue(max_size=100)
    app = App.create_app(page, app_kwargs={"middleware": middleware(()), "exception_handlers": EXCEPTION_HANDLERS})
    without_cors_and_state(app)
    with pytest.MonkeyPatch.context() as patch, TestClient(app) as client:
        patch.setattr(request_queue, "_queues", lambda: queues)
        assert client.get("/gradio_api/startup-events").json()  # as `launch` does; it starts Gradio's queue
        yield client


def call(client: TestClient, path: str, **body: Any) -> Any:
    return client.post(f"/gradio_api/{path}", json=body)


def component(client: TestClient) -> int:
    """The id of the one that has a server function."""
    components = client.get("/config").json()["components"]
    (found,) = (each["id"] for each in components if each["props"].get("server_fns") == ["function"])
    return found


@pytest.mark.parametrize(("checkpoint", "queue"), [(TOY, "shared"), (OWN, "own")])
def test_every_way_to_ask_waits_in_the_queue_of_its_checkpoint(client: TestClient, checkpoint: str, queue: str) -> None:
    """Not in the queue of what else it says: a sentence may have "own-" in it."""
    asked = {"checkpoint": checkpoint, "sentence": OWN}
    event = {"data": [], "event_data": asked, "fn_index": 0, "trigger_id": component(client), "session_hash": "s"}
    assert call(client, "run/predict", **event).json()["data"] == [f"{queue} {checkpoint}"]
    assert call(client, "run/action", data=[OWN, checkpoint]).json()["data"] == [queue]
    by_index = call(client, "run/train", data=[OWN, checkpoint], fn_index=1)  # the body wins over the path
    assert by_index.json()["data"] == [queue]
    body = {"data": asked, "fn_name": "function", "component_id": component(client), "session_hash": "s"}
    for path in ("component_server", "component_server/"):
        assert call(client, path, **body).json() == queue


@pytest.mark.parametrize(("checkpoint", "queue"), [(TOY, "shared"), (OWN, "own")])
def test_gradios_own_queue_ends_in_process_api(client: TestClient, checkpoint: str, queue: str) -> None:
    join = {"data": [OWN, checkpoint], "fn_index": 3, "session_hash": "s"}
    assert call(client, "queue/join", **join).status_code == 200
    with client.stream("GET", "/gradio_api/queue/data?session_hash=s") as stream:
        events = [json.loads(line[5:]) for line in stream.iter_lines() if line.startswith("data:")]
    (done,) = (event for event in events if event["msg"] == "process_completed")
    assert done["output"]["data"] == [queue]


def test_an_action_runs_in_the_context_of_its_request(client: TestClient) -> None:
    """So that `release_turn` finds the turn."""
    assert call(client, "run/train", data=["x"]).json()["data"] == ["none"]


def test_a_component_has_an_event_of_every_name_in_quotes_in_its_script() -> None:
    with gr.Blocks():
        assert hasattr(gr.HTML(js_on_load="/* 'ask' */"), "ask")
        assert not hasattr(gr.HTML(js_on_load="/* ask */"), "ask")


def test_without_a_root_path_gradio_does_not_walk_through_answers(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processing_utils, "add_root_url", None)
    assert call(client, "run/action", data=["x", TOY]).status_code == 200


def test_an_empty_queue_sleeps_for_longer_than_gradios() -> None:
    assert gr.Blocks()._queue.sleep_when_free < Blocks().queue()._queue.sleep_when_free == 0.01


def test_errors_say_nothing_of_the_visitor(
    client: TestClient, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.ERROR, LOG.name):
        for sentence, status, error in [
            ([SECRET, TOY], 500, SECRET),
            (["fault", TOY], 500, "Internal error. It is in the server's log."),
            ([SECRET], 500, "This action takes 2 values, and 1 came."),
        ]:
            answer = call(client, "run/action", data=sentence)
            assert (answer.status_code, answer.json()["error"]) == (status, error)
    (fault,) = (record.__dict__["logged"] for record in caplog.records if record.name == LOG.name)
    assert (fault["action"], fault["error"]) == ("action", "RuntimeError")
    assert SECRET not in "".join(capfd.readouterr()) + caplog.text


def test_what_gradio_cannot_read_or_find_is_refused(client: TestClient, capfd: pytest.CaptureFixture[str]) -> None:
    function = {"component_id": 99, "fn_name": "function", "session_hash": "s", "data": {}}
    for path, body, status in [
        ("run/nothing", {"data": []}, 404),
        ("run/predict", {"data": [], "fn_index": 99}, 404),
        ("run/predict", {"data": [], "fn_index": [5]}, 422),
        ("run/action", {"data": 5}, 422),
        ("run/action", [], 422),
        ("component_server", function | {"session_hash": "t"}, 404),
        ("component_server", function | {"session_hash": [SECRET]}, 400),
        ("component_server", SECRET, 400),
    ]:
        answer = client.post(f"/gradio_api/{path}", json=body)
        assert (answer.status_code, len(answer.json())) == (status, 1), (path, body)
        assert SECRET not in answer.text
        assert client.post(f"/gradio_api/{path}", content=b"{").status_code in (400, 404, 422)
    assert "Traceback" not in "".join(capfd.readouterr())


def test_bodies_are_bounded_at_gradios_addresses(client: TestClient) -> None:
    """`body_limit` knows these paths; Gradio keeps what comes to its queue."""
    assert body_limit("/models") is None
    assert body_limit("/train") == body_limit("/gradio_api/component_server/") == TABLE
    assert body_limit("/gradio_api/run/x") == CALL
    for path in ("queue/join", "run/action"):
        assert client.post(f"/gradio_api/{path}", content=b"0" * (MAX_CALL + 1)).status_code == 413


REFUSED = [
    "/call/v2/{api_name}",
    "/call/v2/{api_name}/{event_id}",
    "/app_id",
    "/custom_component/{id}/{environment}/{type}/{file_name}",
    "/api/{api_name}",
    "/config",
    "/deep_link",
    "/dev/reload",
    "/file/{path:path}",
    "/heartbeat/{session_hash}",
    "/login",
    "/login_check",
    "/logout",
    "/manifest.json",
    "/monitoring",
    "/monitoring/summary",
    "/monitoring/{key}",
    "/openapi.json",
    "/process_recording",
    "/proxy={url_path:path}",
    "/pwa_icon",
    "/pwa_icon/{size}",
    "/queue/status",
    "/run/{api_name}",
    "/call/{api_name}",
    "/reset",
    "/runs",
    "/info",
    "/run-history/buckets",
    "/run-history/connect",
    "/run-history/records",
    "/run-history/records/{endpoint}/{record_id}/assets/{asset_id}",
    "/stream/{event_id}",
    "/stream/{event_id}/close",
    "/stream/{session_hash}/{run}/{component_id}/playlist-file",
    "/stream/{session_hash}/{run}/{component_id}/playlist.m3u8",
    "/stream/{session_hash}/{run}/{component_id}/{segment_id}.{ext}",
    "/svelte/{path:path}",
    "/theme.css",
    "/token",
    "/undo-vibe-edit",
    "/upload",
    "/upload_progress",
    "/user",
    "/vibe-code",
    "/vibe-edit",
    "/vibe-starter-queries",
]  # without /gradio_api, and with or without a slash at the end


def test_every_route_of_gradio_is_reachable_or_refused(client: TestClient) -> None:
    """After an upgrade, decide about each route that is new."""
    there = set[str]()
    for route in client.app.routes:  # type: ignore[attr-defined]
        router = getattr(route, "original_router", None)
        there |= {each.path for each in router.routes} if router else {route.path}
    assert len(there) > 70
    for path in sorted(there - REACHABLE.keys()):
        assert path.removeprefix("/gradio_api").rstrip("/") in REFUSED, path
    assert REACHABLE.keys() <= there


@pytest.mark.parametrize("path", ["/pwa_icon/16", "/gradio_api/deep_link", "/gradio_api/dev/reload", "/manifest.json"])
def test_what_is_refused_is_not_there(client: TestClient, path: str) -> None:
    assert client.get(path).status_code == 404
    assert client.post("/config").status_code == 405


def test_another_sites_page_can_neither_act_nor_read(client: TestClient) -> None:
    elsewhere = {"Origin": "https://evil.example"}
    answer = client.get("/config", headers=elsewhere)
    assert not [name for name in answer.headers if name.startswith("access-control")]
    asking = {**elsewhere, "Access-Control-Request-Method": "POST"}
    answer = client.options("/gradio_api/run/action", headers=asking)
    assert answer.status_code == 405
    assert not [name for name in answer.headers if name.startswith("access-control")]
    for headers, status in [
        (elsewhere, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "http://testserver"}, 200),
        ({}, 200),
    ]:
        answer = client.post("/gradio_api/run/action", json={"data": ["x", TOY]}, headers=headers)
        assert answer.status_code == status


def test_a_value_that_names_a_file_is_refused(client: TestClient) -> None:
    file = {"path": "/etc/passwd", "meta": {"_type": "gradio.FileData"}}
    for value in (file, [file], {"x": file}, {"path": "x", "meta": 5}):
        answer = call(client, "run/action", data=[value, TOY])
        assert (answer.status_code, answer.text) == (422, "This server accepts no files here.")
    event_id = call(client, "call/queued", data=[file, TOY]).json()["event_id"]
    assert "This server accepts no files here." in client.get(f"/gradio_api/call/queued/{event_id}").text


def test_nothing_of_a_call_is_kept_for_its_session(client: TestClient) -> None:
    before = json.dumps(client.app.state_holder["s"].config_values, default=str)  # type: ignore[attr-defined]
    assert call(client, "run/action", data=[SECRET * 2, TOY], session_hash="s").status_code == 200
    kept = client.app.state_holder  # type: ignore[attr-defined]
    assert json.dumps(kept["s"].config_values, default=str) == before
    assert kept["other"] is kept["s"]


# Calls through Gradio's own queue


@pytest.fixture
def events(client: TestClient) -> EventQueue:
    queue = client.app.get_blocks()._queue  # type: ignore[attr-defined]
    assert isinstance(queue, EventQueue)
    return queue


def test_a_call_waits_until_a_client_reads_its_answer(client: TestClient, events: EventQueue) -> None:
    event_id = call(client, "call/queued", data=["x", TOY]).json()["event_id"]
    for _ in range(5):
        client.get("/robots.txt")  # the loop turns
    assert [event._id for event in events._waiting()] == [event_id]
    assert not events.pending_messages_per_session[event_id].qsize()
    assert "event: complete" in client.get(f"/gradio_api/call/queued/{event_id}").text
    assert events._waiting() == []


def test_calls_without_a_reader_are_bounded_and_forgotten(client: TestClient, events: EventQueue) -> None:
    """The oldest of the session with most gives way."""

    def ask(session: str) -> str:
        return str(call(client, "call/queued", data=["x", TOY], session_hash=session).json()["event_id"])

    other, *noisy = ask("u"), *(ask("t") for _ in range(MAX_CALLS_WITHOUT_READER + 9))
    assert [event._id for event in events._waiting()] == [other, *noisy[10:]]
    for unknown in (f"call/queued/{noisy[0]}", "queue/data?session_hash=nobody", "queue/data"):
        assert client.get(f"/gradio_api/{unknown}").status_code == 404, unknown
    assert "event: complete" in client.get(f"/gradio_api/call/queued/{other}").text
    events._forget("t")
    assert not events._waiting()
    assert "t" not in events.pending_messages_per_session
    assert "t" not in events.pending_event_ids_session
    assert events.event_ids_to_events.keys() <= {other}  # which Gradio forgets a little later


def test_calls_whose_answers_are_read_wait_in_our_queue(events: EventQueue, monkeypatch: pytest.MonkeyPatch) -> None:
    """A few of each session, so that it cannot leave answers unread."""

    def event(session: str, number: int) -> Any:
        return SimpleNamespace(session_hash=session, concurrency_id="all", _id=number)

    waiting = [event("unread", 0), *(event("a", number) for number in range(1, 20)), event("b", 20), event("full", 21)]
    messages = {session: SimpleNamespace(qsize=lambda: 0) for session in ("unread", "a", "b")}
    messages["full"] = SimpleNamespace(qsize=lambda: MAX_UNREAD)
    monkeypatch.setattr(events, "event_queue_per_concurrency_id", {"all": SimpleNamespace(queue=waiting)})
    monkeypatch.setattr(events, "pending_messages_per_session", messages)
    monkeypatch.setattr(events, "_readers", {"a": 1, "b": 1, "full": 1, "unread": 0})
    monkeypatch.setattr(events, "active_jobs", [])
    began: list[Any] = []
    while job := events.get_events():
        events.active_jobs.append(job[0])
        began.append(job[0][0]._id)
    assert began == [*range(1, MAX_UNREAD + 1), 20]


def test_gradio_holds_no_call_back(events: EventQueue) -> None:
    assert len(events.active_jobs) == events.max_size
    assert events.default_concurrency_limit is None


def test_a_call_ends_when_its_listener_has_left(client: TestClient, events: EventQueue) -> None:
    """Also one that is being worked on, in a thread."""
    begun.clear()
    ended.clear()
    events._readers["left"] += 1
    for _ in range(2):  # one works, one waits
        call(client, "call/endless", data=[], session_hash="left")
    queue = request_queue.request_queue()
    in_a_loop(until(lambda: min(len(events._tasks), queue.working + queue.waiting) == 2))
    assert begun.wait(30)
    del events._readers["left"]
    assert client.portal
    client.portal.call(events._forget, "left")
    assert ended.wait(30)
    in_a_loop(until(lambda: not events._tasks and not queue.working))


def test_a_session_that_calls_again_is_not_forgotten(
    client: TestClient, events: EventQueue, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As gradio_client does, which reads for as long as a call takes."""
    for name, seconds in (("LEFT_SECONDS", 0.05), ("READER_SECONDS", 30)):
        monkeypatch.setattr(gradio_internals, name, seconds)
    join = {"data": ["x", TOY], "fn_index": 3, "session_hash": "again"}
    for _ in range(2):
        assert call(client, "queue/join", **join).status_code == 200
        time.sleep(0.1)  # s: in which the last one is forgotten, if nothing happens
        answer = client.get("/gradio_api/queue/data?session_hash=again")
        assert "process_completed" in answer.text
    in_a_loop(until(lambda: "again" not in events._forgetting))


def test_both_ways_to_call_send_what_is_json_already() -> None:
    """`routes.json` is what Gradio writes the answers of its own queue with."""

    def numbers() -> dict[str, Any]:
        return {"a": [[1.5, 2]]}

    with Blocks() as page:
        api(encoded(numbers), api_name="numbers", queue=False)
    page.queue()
    app = App.create_app(page, app_kwargs={"middleware": middleware([]), "exception_handlers": EXCEPTION_HANDLERS})
    with TestClient(without_cors_and_state(app)) as client:
        client.get("/gradio_api/startup-events")
        assert call(client, "run/numbers", data=[]).json()["data"] == [{"a": [[1.5, 2]]}]
        event = call(client, "call/numbers", data=[]).json()["event_id"]
        with client.stream("GET", f"/gradio_api/call/numbers/{event}") as stream:
            (answer,) = (line[5:] for line in stream.iter_lines() if line.startswith("data:"))
        assert json.loads(answer) == [{"a": [[1.5, 2]]}]


@async_test
async def test_a_call_that_is_cancelled_prints_nothing() -> None:
    """Gradio prints every error that is not its own."""

    async def cancelled() -> None:
        raise asyncio.CancelledError

    with Blocks() as page:
        api(cancelled, api_name="cancelled", queue=False)
    (function,) = page.fns.values()
    with pytest.raises(gr.Error) as error:
        await page.process_api(function, [], SessionState(page))
    assert not error.value.print_exception


@async_test
async def test_the_server_that_gradio_starts_has_bounds() -> None:
    with Blocks() as page:
        pass
    server = Server(uvicorn.Config(App.create_app(page), "127.0.0.1", 0, log_level="error", lifespan="off"))
    task = asyncio.create_task(server.serve())
    await until(lambda: server.started or task.done())
    server.should_exit = True
    await task
    assert server.started
    assert issubclass(server.config.http, BoundedConnection)  # type: ignore[arg-type]


def test_what_a_client_calls_its_session_is_bounded(client: TestClient, events: EventQueue) -> None:
    long = "s" * (MAX_SESSION_HASH + 1)
    for path, body in [("call/queued", {}), ("queue/join", {"fn_index": 3})]:
        assert call(client, path, data=["x", TOY], session_hash=long, **body).status_code == 400
    assert not events._waiting()
