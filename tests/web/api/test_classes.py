"""A page opens a class, others hear of it, and nobody without the secret changes it."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from transformer.web.api import classes as module
from transformer.web.api.classes import students_address
from transformer.web.api.table import QUESTIONS
from transformer.web.schema import MAX_CHOICE, MAX_CHOICES, MAX_PLACE, MAX_SESSION_ID
from transformer.web.server.page_routes import routes
from transformer.web.sessions.class_store import SqliteStore
from transformer.web.sessions.classes import LiveClasses
from transformer.web.settings import Settings

PAGE = {"page": "http://192.0.2.7:7860/?tab=lesson"}
REPLICA = "5ba7cb8e"
NAMES = ("open_class", "follow_class", "vote", "lead_class")


@pytest.fixture
def store() -> SqliteStore:
    return SqliteStore(None)


@pytest.fixture
def classes(store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> LiveClasses:
    classes = LiveClasses(store)
    monkeypatch.setattr(module, "live_classes", lambda: classes)
    return classes


@pytest.fixture
def client(classes: LiveClasses) -> Iterator[TestClient]:
    with TestClient(Starlette(routes=routes({name: QUESTIONS[name] for name in NAMES}))) as client:
        yield client


@pytest.fixture
def opened(client: TestClient) -> dict[str, Any]:
    return ask(client, "open_class", PAGE)


def ask(client: TestClient, name: str, request: Any, **headers: str) -> Any:
    return client.post(f"/api/{name}", json=request, headers=headers).json()


def test_guests_hear_of_the_class_and_of_the_replica_of_their_teacher(
    client: TestClient, classes: LiveClasses, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def ended(live: Any, student: str | None) -> Any:
        yield live.shown(0, student)
        yield {"event": "beat"}
        yield {"event": "ended"}

    monkeypatch.setattr(classes, "stream", ended)
    for sent, known in ((REPLICA, REPLICA), ("a; Domain=x", "a"), ("x" * 65, "")):
        opened = ask(client, "open_class", PAGE, Cookie=f"a=b; replica={sent}")
        answer = client.post("/api/follow_class", json={"code": opened["code"], "student": "ann"})
        assert answer.headers["x-accel-buffering"] == "no"
        first, *others = (json.loads(line) for line in answer.text.splitlines())
        assert (first["event"], first["replica"]) == ("class", known)
        assert others == [{"event": "beat"}, {"event": "ended"}]


def test_where_the_store_fails_a_page_may_try_again(
    client: TestClient, store: SqliteStore, opened: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Any:
        raise store.errors[0]

    monkeypatch.setattr(store, "read", fail)
    for name, request in (("open_class", PAGE), ("follow_class", {"code": opened["code"], "student": "ann"})):
        answer = client.post(f"/api/{name}", json=request)
        assert (answer.status_code, "retry-after" in answer.headers) == (503, True)


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
        [],
    ],
)
def test_what_a_page_does_not_send_is_refused(client: TestClient, opened: dict[str, Any], given: Any) -> None:
    right = {"code": opened["code"], "secret": opened["secret"]}
    body = {**right, **given} if isinstance(given, dict) and given != {"do": "close"} else given
    assert client.post("/api/lead_class", json=body).status_code == 422


def test_a_stranger_neither_leads_nor_follows_as_the_teacher(client: TestClient, opened: dict[str, Any]) -> None:
    guess = {"code": opened["code"], "secret": "guess"}
    for name, do in (("lead_class", {"do": "close"}), ("lead_class", {"do": "end"}), ("follow_class", {})):
        assert ask(client, name, guess | do)["error"]["key"] == "room.not_yours"
    assert ask(client, "lead_class", guess | {"secret": opened["secret"], "do": "end"}) is None  # it was still there


@pytest.mark.parametrize(
    ("page", "environment", "address"),
    [
        ("http://192.0.2.7:7860/?tab=lesson", {}, "http://192.0.2.7:7860/"),
        ("https://page.example/bitte/", {}, "https://page.example/bitte/"),
        ("http://127.0.0.1:7860/", {}, None),
        ("http://localhost:7860/", {"GRADIO_SERVER_NAME": "0.0.0.0"}, "http://198.51.100.1:7860/"),
        ("https://localhost/", {"SPACE_HOST": "me-page.hf.space"}, "https://me-page.hf.space/"),
    ],
)
def test_the_address_is_one_that_phones_can_open(
    page: str, environment: dict[str, str], address: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "own_address", lambda: "198.51.100.1")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert students_address(page, "K7QF") == (address and f"{address}?room=K7QF")


def test_a_class_has_a_qr_code_where_it_has_an_address(client: TestClient, opened: dict[str, Any]) -> None:
    assert opened["qr"].startswith("data:image/svg+xml")
    assert ask(client, "open_class", {"page": "http://localhost/"})["qr"] is None
    assert client.post("/api/open_class", json={"page": "javascript:alert()"}).status_code == 422


def test_a_server_without_classes_says_so(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "settings", lambda: Settings(classes="off"))
    assert ask(client, "open_class", PAGE)["error"]["key"] == "room.off"
