"""Bodies are bounded at every address, in bytes, seconds and values; a fault is answered, and logged without what was
sent."""

import asyncio
import json
import logging
import socket
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from transformer.web.server import request_limits as module
from transformer.web.server.request_limits import (
    MAX_DEPTH,
    TABLE,
    BodyLimit,
    RequestLimits,
    check_json,
    foreign,
    known_host,
)
from transformer.web.settings import Settings

from ..loop import async_test, until

LIMIT = BodyLimit(10_000, 100)
PATHS = dict.fromkeys(("/size", "/unbounded", "/broken"), ("POST",)) | {"/file={path:path}": ("GET",)}


async def size(request: Request) -> Response:
    return JSONResponse(len(await request.body()))


async def broken(request: Request) -> Response:
    raise RuntimeError((await request.body()).decode())


def limited(app: Any) -> RequestLimits:
    return RequestLimits(app, PATHS, lambda path: LIMIT if path != "/unbounded" else None)


@pytest.fixture
def client() -> TestClient:
    routes = [Route(path, size, methods=["POST"]) for path in ("/size", "/unbounded", "/hidden")]
    return TestClient(
        Starlette(routes=[*routes, Route("/broken", broken, methods=["POST"])], middleware=[Middleware(limited)])
    )


def pieces(size: int) -> Iterator[bytes]:
    """A body without a Content-Length."""
    while size > 0:
        yield b"0" * min(size, 1000)
        size -= 1000


def test_bodies_are_bounded_whether_they_say_their_length_or_not(client: TestClient) -> None:
    for path, length, status in [
        ("/size", LIMIT.size, 200),
        ("/size", LIMIT.size + 1, 413),
        ("/unbounded", LIMIT.size + 1, 200),
    ]:
        assert client.post(path, content=b"0" * length).status_code == status
        answer = client.post(path, content=pieces(length))
        assert (answer.status_code, answer.text) == (
            status,
            str(length) if status == 200 else "The request is too large.",
        )


def test_a_request_that_changes_nothing_has_no_body(client: TestClient) -> None:
    for content in (b"0", pieces(1)):
        assert client.request("GET", "/file=x", content=content).status_code == 413


def test_only_what_is_reachable_is_there(client: TestClient) -> None:
    assert client.post("/hidden").status_code == client.get("/nowhere").status_code == 404
    assert client.get("/size").status_code == client.options("/size").status_code == 405


def test_no_form_with_files_is_read_and_nothing_is_fetched_from_elsewhere(client: TestClient) -> None:
    for kind in ("multipart/form-data; boundary=x", "Multipart/Mixed", " multipart/form-data"):
        assert client.post("/size", content=b"--x--", headers={"Content-Type": kind}).status_code == 415
    for path in ("/file=https://a.b/c", "/proxy=http://a.b", "/file=http:%2F%2Fa"):
        assert client.get(path).status_code == 404


def test_a_fault_is_answered_and_its_message_kept(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "transformer.actions"):
        answer = client.post("/broken", content="geheim")
    assert answer.status_code == 500
    assert "geheim" not in answer.text + caplog.text
    assert "RuntimeError" in caplog.text
    assert f"{__name__.rsplit('.')[-1]}.py" in caplog.text  # where


@pytest.mark.parametrize(
    ("headers", "refused"),
    [
        ({}, False),  # a program
        ({"sec-fetch-site": "same-origin"}, False),
        ({"sec-fetch-site": "none"}, False),
        ({"sec-fetch-site": "cross-site"}, True),
        ({"sec-fetch-site": "same-site"}, True),  # another port of this machine
        ({"sec-fetch-site": "cross-site", "origin": "http://here:7860"}, True),
        ({"origin": "http://here:7860"}, False),
        ({"origin": "https://HERE:7860"}, False),
        ({"origin": "http://here"}, True),
        ({"origin": "http://evil.example"}, True),
        ({"origin": "null"}, True),
        ({"origin": "https://there", "x-forwarded-host": "there, inner"}, False),
        ({"origin": "https://evil", "x-forwarded-host": "there"}, True),
    ],
)
def test_a_page_of_another_origin_is_foreign(headers: dict[str, str], refused: bool) -> None:
    assert foreign(Headers({"host": "here:7860"} | headers)) == refused


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("", True),  # a program that speaks HTTP/1.0
        ("localhost:7860", True),
        ("127.0.0.1:7860", True),
        ("192.168.1.5", True),
        ("[fe80::1]:7860", True),
        ("[::ffff:10.0.0.1]", True),
        ("classroom-pc", True),
        (socket.gethostname(), True),
        (f"{socket.gethostname()}.local:7860", True),
        ("Page.School.example:80", True),
        ("page.school.example.", True),
        ("evil.example", False),
        ("evil.example:7860", False),
        ("127.0.0.1.evil.example", False),
        ("127.0.0.1@evil.example", False),
        ("[", False),
    ],
)
def test_a_request_has_to_name_this_server(host: str, known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "settings", lambda: Settings(hosts="a.example, page.school.example"))
    assert known_host(host) == known


def test_behind_a_proxy_any_name_will_do_unless_some_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "settings", lambda: Settings(proxies=1))
    assert known_host("page.hf.space")
    monkeypatch.setattr(module, "settings", lambda: Settings(proxies=1, hosts="school.example"))
    assert not known_host("page.hf.space")


def test_a_name_that_another_site_lets_lead_here_is_refused(client: TestClient) -> None:
    for method, path in (("POST", "/size"), ("GET", "/file=x")):
        answer = client.request(method, path, headers={"Host": "evil.example", "Origin": "http://evil.example"})
        assert (answer.status_code, answer.text) == (403, module.UNKNOWN_HOST)


# JSON


def too_much(body: bytes, most: int = 100) -> bool:
    try:
        check_json(body, most)
    except HTTPException as error:
        return error.status_code == 413
    return False


def test_json_is_refused_by_its_depth_and_its_values() -> None:
    assert not too_much(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    assert too_much(b"[" * (MAX_DEPTH + 1))
    assert too_much(b'{"a":' * (MAX_DEPTH + 1))
    assert not too_much(json.dumps(list(range(100))).encode())
    assert too_much(json.dumps(list(range(101))).encode())
    assert not too_much(json.dumps({"sentence": '[{,"\\' * 1000}).encode())  # within a string they do not count
    assert not too_much(json.dumps({"sentence": "\n\\a" * 10_000}).encode())
    assert not too_much(json.dumps([{"a": "b"}] * 50, indent=9, separators=(" , ", " : ")).encode())
    assert too_much(b'""' * 10_000)  # not JSON
    for nothing in (b"", b"\xff", b'"', b'"\\', b"]]]", b"}"):
        assert not too_much(nothing)


def test_json_in_utf_16_is_refused() -> None:
    """Its bytes would not be what is checked: U+2230 has a quote in it."""
    for encoding in ("utf-16", "utf-16-be", "utf-32"):
        with pytest.raises(HTTPException) as error:
            check_json(json.dumps(["\u2230", [[]] * 1000], ensure_ascii=False).encode(encoding), 100)
        assert error.value.status_code == 400


@pytest.mark.parametrize("unit", [b" ", b"a", b'"a', b"\\a", b"[],", b'"', b'\\"', b'"\\', b'["a'])
def test_json_is_checked_in_short_matches(unit: bytes) -> None:
    """Others run between two matches, and none goes back."""
    body = unit * (2**18 // len(unit))
    for pattern in (module.INSIDE, module.OUTSIDE):
        assert all(len(match[0]) <= 2**16 for match in pattern.finditer(body))
    too_much(body, TABLE.values)


def test_a_table_of_many_pairs_is_taken() -> None:
    pairs = [[f'Ich möchte, "bitte", {n} Bier.', f"I want, please, {n} beer."] for n in range(2000)]
    assert not too_much(json.dumps({"session": "x", "pairs": pairs}).encode(), TABLE.values)


# Slow and many clients


class Body:
    """A client that sends pieces of a body, and then nothing."""

    def __init__(self, *pieces: bytes, address: str = "1.2.3.4") -> None:
        self.scope = {"type": "http", "method": "POST", "path": "/size", "headers": [], "client": (address, 1)}
        self.pieces = list(pieces)
        self.answer: list[Any] = []

    async def receive(self) -> Any:
        if self.pieces:
            return {"type": "http.request", "body": self.pieces.pop(0), "more_body": True}
        await asyncio.Event().wait()

    async def send(self, message: Any) -> None:
        self.answer.append(message)


async def nothing(*_: Any) -> None:
    raise AssertionError("a body that has not arrived is passed on")


@async_test
@pytest.mark.parametrize("limit", ["BODY_SECONDS", "RATE_SECONDS"])
async def test_a_body_that_does_not_arrive_is_given_up(limit: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, limit, 0.01)
        limits, slow = limited(nothing), Body(b"{")
        await limits(slow.scope, slow.receive, slow.send)
    assert slow.answer[0]["status"] == 408
    assert not limits._bodies


@async_test
async def test_where_there_is_no_room_the_largest_body_gives_way_that_has_not_arrived() -> None:
    """Of the address, where its share is full, or of the one with most; a small one always has room."""
    with pytest.MonkeyPatch.context() as patch:
        for name, size in [("INLINE_BYTES", 10), ("MAX_CALL", 50), ("HELD_BYTES", 800), ("HELD_BYTES_OF_ADDRESS", 400)]:
            patch.setattr(module, name, size)
        limits = limited(nothing)
        tasks = []

        async def post(address: str, *pieces: int) -> Body:
            body = Body(*(b"0" * size for size in pieces), address=address)
            tasks.append(asyncio.create_task(limits(body.scope, body.receive, body.send)))
            await until(lambda: not body.pieces)
            await asyncio.sleep(0.01)
            return body

        def sizes() -> list[tuple[str, int]]:
            return [(each.address, each.size) for each in limits._bodies]

        def statuses(*bodies: Body) -> list[int | None]:
            return [body.answer[0]["status"] if body.answer else None for body in bodies]

        slow = [await post("a", 90, 60), await post("a", 100, 100)]
        calls = [await post("a", 5), await post("a", 40)]
        assert sizes() == [("a", 150), ("a", 200), ("a", 5), ("a", 40)]
        honest = await post("a", 60, 60)
        assert statuses(*slow, *calls, honest) == [None, 503, None, None, None]
        assert slow[1].answer[0]["headers"].count((b"retry-after", b"2"))
        other = await post("b", 300)
        assert sizes() == [("a", 150), ("a", 5), ("a", 40), ("a", 120), ("b", 300)]
        await post("c", 200)
        assert statuses(*slow, *calls, honest, other) == [503, 503, None, None, None, None]
        for each in limits._bodies:
            each.complete = True
        full = await post("a", 290)
        assert statuses(full, await post("a", 9)) == [503, None]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    assert not limits._bodies


def test_a_body_is_let_go_when_the_answer_begins() -> None:
    held = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        body = await Request(scope, receive).body()
        held.append(sum(each.size for each in limits._bodies))
        await Response(body)(scope, receive, send)
        held.append(sum(each.size for each in limits._bodies))

    limits = limited(app)
    assert TestClient(limits).post("/size", content=b"123").content == b"123"
    assert held == [3, 0]
