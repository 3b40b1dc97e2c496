"""Classes over HTTP: a page opens one, others hear of it, and nobody without the secret changes it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from transformer.web.schema import MAX_CHOICE, MAX_CHOICES, MAX_PLACE, MAX_SESSION_ID
from transformer.web.server import class_routes
from transformer.web.sessions.class_store import SqliteStore
from transformer.web.sessions.classes import LiveClasses
from transformer.web.settings import Settings

FOREIGN = {"Sec-Fetch-Site": "cross-site"}
REPLICA = "5ba7cb8e"


@pytest.fixture
def classes() -> LiveClasses:
    return LiveClasses(SqliteStore(None))


@pytest.fixture
def client(classes: LiveClasses, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    monkeypatch.setattr(class_routes, "live_classes", lambda: classes)
    app = Starlette(routes=class_routes.routes(), exception_handlers=class_routes.EXCEPTION_HANDLERS)
    with TestClient(app, base_url="http://192.0.2.7:7860") as client:
        yield client


@pytest.fixture
def opened(client: TestClient) -> dict[str, Any]:
    opened: dict[str, Any] = client.post("/rooms").json()
    return opened


def join(classes: LiveClasses, code: str, student: str) -> None:
    classes._store.write(code, {f"seen {student}": "0"})


def test_a_question_is_asked_answered_and_revealed(
    client: TestClient, classes: LiveClasses, opened: dict[str, Any]
) -> None:
    path, secret = f"/rooms/{opened['code']}", {"secret": opened["secret"]}
    assert client.post(f"{path}/lead", json=secret | {"do": "show", "place": "?tab=lesson"}).json() == {}
    ask = {"do": "ask", "about": "stop.1", "choices": ["a", "b"]}
    assert client.post(f"{path}/lead", json=secret | ask).json() == {}
    join(classes, opened["code"], "ann")
    vote = {"student": "ann", "question": 1, "round": 0, "choice": 1}
    assert client.post(f"{path}/vote", json=vote).json() == {}
    client.post(f"{path}/lead", json=secret | {"do": "close"})
    assert client.post(f"{path}/vote", json=vote).status_code == 409
    client.post(f"{path}/lead", json=secret | {"do": "vote_again"})
    client.post(f"{path}/lead", json=secret | {"do": "reveal", "right": 0})
    assert client.post(f"{path}/lead", json=secret | {"do": "end"}).json() == {}
    gone = client.post(f"{path}/events", json={"student": "ann"})
    assert (gone.status_code, gone.json()["error"]["key"]) == (404, "room.unknown")


@pytest.fixture
def ended_stream(classes: LiveClasses, monkeypatch: pytest.MonkeyPatch) -> None:
    """Streams end after a heartbeat."""

    async def ended(live: Any, student: str | None) -> Any:
        yield live.shown(0, student)
        yield "\n"
        yield {"event": "ended"}

    monkeypatch.setattr(classes, "stream", ended)


def test_a_stream_is_lines_of_json(client: TestClient, opened: dict[str, Any], ended_stream: None) -> None:
    answer = client.post(f"/rooms/{opened['code']}/events", json={"student": "ann"})
    assert answer.headers["x-accel-buffering"] == "no"
    assert "set-cookie" not in answer.headers
    first, heartbeat, last = answer.text.splitlines()
    assert (json.loads(first)["event"], heartbeat, json.loads(last)) == ("room", "", {"event": "ended"})


def test_guests_come_to_the_replica_of_their_teacher(client: TestClient, ended_stream: None) -> None:
    """By the cookie of the proxy."""
    for sent, given in ((REPLICA, REPLICA), ("a; Domain=x", None), ("x" * 65, None)):
        opened = client.post("/rooms", headers={"Cookie": f'replica="{sent}"'}).json()
        answer = client.post(f"/rooms/{opened['code']}/events", json={"student": "ann"})
        assert answer.cookies.get("replica") == given
        client.cookies.clear()
    again = client.post(f"/rooms/{opened['code']}/events", json={"student": "ann"}, headers={"Cookie": "replica=x"})
    assert "set-cookie" not in again.headers


def test_where_the_store_fails_a_page_may_try_again(
    client: TestClient, classes: LiveClasses, opened: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Any:
        raise classes._store.errors[0]

    monkeypatch.setattr(classes._store, "read", fail)
    body = {"student": "ann", "question": 1, "round": 0, "choice": 0, "secret": opened["secret"], "do": "close"}
    for path in ("", *(f"/{opened['code']}/{what}" for what in ("events", "vote", "lead"))):
        given = {key: value for key, value in body.items() if (key in ("secret", "do")) == path.endswith("lead")}
        answer = client.post(f"/rooms{path}", json={"student": "ann"} if path.endswith("events") else given)
        assert (answer.status_code, answer.headers["retry-after"], answer.content) == (503, "1", b"")


@pytest.mark.parametrize(
    "given",
    [
        {"do": "close"},
        {"do": "close", "secret": "x" * (MAX_SESSION_ID + 1)},
        {"do": "dance"},
        {"do": "show", "place": "https://elsewhere.example/"},
        {"do": "show", "place": "?" * (MAX_PLACE + 1)},
        {"do": "ask", "about": "stop.1", "choices": ["only one"]},
        {"do": "ask", "about": "stop.1", "choices": ["a"] * (MAX_CHOICES + 1)},
        {"do": "ask", "about": "stop.1", "choices": ["a", "b" * (MAX_CHOICE + 1)]},
        {"do": "ask", "about": "stop.1", "choices": ["a", "b"], "seconds": float("1e9")},
        {"do": "reveal", "right": -1},
        {"do": "reveal", "right": "0"},
        [],
    ],
)
def test_what_a_page_does_not_send_is_refused(client: TestClient, opened: dict[str, Any], given: Any) -> None:
    body = {"secret": opened["secret"], **given} if isinstance(given, dict) and given != {"do": "close"} else given
    assert client.post(f"/rooms/{opened['code']}/lead", json=body).status_code == 400


@pytest.mark.parametrize("do", ["close", "end", "reveal", "vote_again"])
def test_a_stranger_changes_nothing(client: TestClient, classes: LiveClasses, opened: dict[str, Any], do: str) -> None:
    path = f"/rooms/{opened['code']}"
    refused = client.post(f"{path}/lead", json={"do": do, "secret": "guess"})
    assert (refused.status_code, refused.json()["error"]["key"]) == (409, "room.not_yours")
    assert client.post(f"{path}/events", json={"secret": "guess"}).status_code == 404
    for each in ("/rooms", f"{path}/lead"):
        assert client.post(each, json={"do": do, "secret": opened["secret"]}, headers=FOREIGN).status_code == 400
    assert not classes._classes[opened["code"]].is_ended


@pytest.mark.parametrize(
    ("host", "environment", "base"),
    [
        ("192.0.2.7:7860", {}, "http://192.0.2.7:7860/"),
        ("page.example", {}, "http://page.example/"),
        ("127.0.0.1:7860", {}, None),
        ("localhost:7860", {"GRADIO_SERVER_NAME": "0.0.0.0"}, "http://198.51.100.1:7860/"),
        ("localhost:7860", {"SPACE_HOST": "me-page.hf.space"}, "https://me-page.hf.space/"),
    ],
)
def test_the_address_is_one_that_phones_can_open(
    client: TestClient, host: str, environment: dict[str, str], base: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_routes, "own_address", lambda: "198.51.100.1")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    opened = client.post("/rooms", headers={"Host": host}).json()
    assert opened["address"] == (base and f"{base}?room={opened['code']}")
    assert (opened["qr"] is None) == (base is None)


def test_behind_a_proxy_the_address_is_the_one_that_it_was_asked_for(
    client: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(class_routes, "settings", lambda: Settings(proxies=1))
    headers = {"Host": "127.0.0.1:7860", "X-Forwarded-Host": "page.example", "X-Forwarded-Proto": "https"}
    assert client.post("/rooms", headers=headers).json()["address"].startswith("https://page.example/?room=")


def test_a_server_without_classes_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(class_routes, "settings", lambda: Settings(classes="off"))
    client = TestClient(Starlette(routes=class_routes.routes()))
    for path in ("/rooms", "/rooms/K7QF/events", "/rooms/K7QF/vote", "/rooms/K7QF/lead"):
        assert client.post(path).json()["error"]["key"] == "room.off"
