"""What this project relies on in Gradio beyond its documentation, a test for each, so that an upgrade fails here."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import gradio as gr
import pytest
from gradio import processing_utils
from gradio.events import api
from gradio.routes import App
from starlette.testclient import TestClient

from transformer.web.server import request_queue
from transformer.web.server.access_log import LOG, logged
from transformer.web.server.gradio_internals import EXCEPTION_HANDLERS, MIDDLEWARE, Blocks, max_body
from transformer.web.server.request_limits import MAX_BODY, MAX_CALL
from transformer.web.server.request_queue import RequestQueue, release_turn

SECRET = "geheim"
TOY, OWN = "toy", "own-abc"


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    """A page with an event, actions and a server function. Each answers which queue it works in."""
    queues = RequestQueue(1, 5), RequestQueue(1, 5)

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

    def function(question: Any) -> str:
        return turn()

    with Blocks() as page:
        html = gr.HTML(server_functions=[logged(function)])
        box = gr.Textbox()
        html.click(logged(event), None, box, queue=False, api_visibility="private")
        api(logged(action), api_name="action", queue=False)
        api(logged(train), api_name="train", queue=False)
        api(logged(action), api_name="queued")
    page.queue()
    app = App.create_app(page, app_kwargs={"middleware": MIDDLEWARE, "exception_handlers": EXCEPTION_HANDLERS})
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
def test_every_road_waits_in_the_queue_of_its_checkpoint(client: TestClient, checkpoint: str, queue: str) -> None:
    """Not in the queue of what else it says: a sentence may have "own-" in it."""
    asked = {"checkpoint": checkpoint, "sentence": OWN}
    event = {"data": [], "event_data": asked, "fn_index": 0, "trigger_id": component(client), "session_hash": "s"}
    assert call(client, "run/predict", **event).json()["data"] == [f"{queue} {checkpoint}"]
    for path in ("run/action", "run/action/", "api/action"):
        assert call(client, path, data=[OWN, checkpoint]).json()["data"] == [queue]
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
            (["fault", TOY], 500, "The server made a mistake. It is in the server's log."),
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
    """`max_body` knows these paths; Gradio keeps what comes to its queue."""
    assert [max_body(path) for path in ("/models", "/train", "/gradio_api/component_server/", "/gradio_api/run/x")] == [
        None,
        MAX_BODY,
        MAX_BODY,
        MAX_CALL,
    ]
    for path in ("queue/join", "run/action"):
        assert client.post(f"/gradio_api/{path}", content=b"0" * (MAX_CALL + 1)).status_code == 413
