"""A few requests are worked on at a time; the others wait; what a client asked that has left is ended."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from transformer.web.fair_queue import Client, FairQueue, QueueFullError, current_turn, release_turn
from transformer.web.server import request_queue as module
from transformer.web.server.request_queue import QueueMiddleware, queued

from ..loop import async_test, until

PATH = "/calls/translate"


@pytest.fixture
def queues(monkeypatch: pytest.MonkeyPatch) -> tuple[FairQueue, FairQueue]:
    """The two queues of a server, shared and for own models, where one works and one may wait."""
    queues = FairQueue(1, 1), FairQueue(1, 1)
    monkeypatch.setattr(module, "_queues", lambda: queues)
    return queues


def queueing(app: Any) -> QueueMiddleware:
    return QueueMiddleware(app, ("/calls/",), lambda _, body: body.get("checkpoint"), pages=("/page",))


def served(endpoint: Callable[[Request], Awaitable[Response]]) -> TestClient:
    app = Starlette(routes=[Route(path, endpoint, methods=["GET", "POST"]) for path in (PATH, "/other", "/page")])
    return TestClient(queueing(app))


def test_a_request_has_one_turn_in_the_queue_of_its_checkpoint(queues: tuple[FairQueue, FairQueue]) -> None:
    async def answer(request: Request) -> Response:
        async with queued("own-x", Client()):  # inside a turn there is no other
            return Response(" ".join(str(queue.working) for queue in queues))

    client = served(answer)
    for body, working in [
        ('{"checkpoint": "toy"}', "1 0"),
        ('{"checkpoint": "own-abc"}', "0 1"),
        (r'{"checkpoint": "\u006fwn-abc"}', "0 1"),
        ('{"checkpoint": ["own-abc"], "sentence": "own-abc"}', "1 0"),
        ("no JSON", "1 0"),
        ("[" * 100_000, "1 0"),
    ]:
        assert client.post(PATH, content=body).text == working
    for method in ("GET", "HEAD", "POST"):  # Starlette answers HEAD, too
        assert client.request(method, "/page").headers["content-length"] == "3"
    assert client.get("/page").text == "1 0"
    assert client.post("/other").text == client.get(PATH).text  # what has no turn waits in `queued`
    assert {(queue.working, queue.waiting) for queue in queues} == {(0, 0)}


def test_a_turn_can_end_early(queues: tuple[FairQueue, FairQueue]) -> None:
    async def answer(_: Request) -> Response:
        release_turn()
        release_turn()
        async with queued("toy", Client()):
            return Response(str(queues[0].working))

    assert served(answer).post(PATH).text == "0"
    assert queues[0].working == 0


@async_test
async def test_work_that_comes_past_the_middleware_waits_too(queues: tuple[FairQueue, FairQueue]) -> None:
    done: list[int] = []

    async def work(number: int) -> None:
        async with queued("toy", Client()):
            done.append(number)

    shared = queues[0]
    works = await shared.acquire(Client())
    waits = asyncio.create_task(work(1))
    await until(lambda: shared.waiting)
    with pytest.raises(QueueFullError, match="Too many are asking"):
        await work(2)
    async with queued("own-x", Client()):
        assert (queues[1].working, done) == (1, [])
    waits.cancel()
    await asyncio.wait([waits])
    assert (shared.working, shared.waiting) == (1, 0)
    shared.leave(works)
    await work(3)
    assert (shared.working, shared.waiting, done) == (0, 0, [3])


class Caller:
    """Sends pieces of a body, and then what a test wants: its end, a disconnection, or nothing."""

    def __init__(self, *pieces: bytes, complete: bool = True, address: str = "1.2.3.4") -> None:
        self._scope = {"type": "http", "method": "POST", "path": PATH, "headers": [], "client": (address, 5)}
        self._messages = [{"type": "http.request", "body": piece, "more_body": True} for piece in pieces]
        self._messages[-1]["more_body"] = not complete
        self.gone = asyncio.Event()
        self.sent: list[Any] = []

    async def receive(self) -> Any:
        if self._messages:
            return self._messages.pop(0)
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Any) -> None:
        self.sent.append(message)

    async def post(self, app: Any) -> None:
        await queueing(app)(self._scope, self.receive, self.send)


@async_test
async def test_a_full_queue_refuses_and_a_client_that_leaves_makes_room(
    queues: tuple[FairQueue, FairQueue],
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert (await receive())["body"] == b"{}"
        assert queues[0].working == 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        assert queues[0].working == 0  # a client that reads slowly delays nobody

    works = await queues[0].acquire(Client())
    leaves, refused, stays = Caller(b"{}"), Caller(b"{}"), Caller(b"{}")
    first = asyncio.create_task(leaves.post(app))
    await until(lambda: queues[0].waiting)
    await refused.post(app)
    assert refused.sent[0]["status"] == 503
    assert (b"retry-after", b"2") in refused.sent[0]["headers"]
    assert b"Too many are asking" in refused.sent[1]["body"]
    leaves.gone.set()
    await first
    assert (leaves.sent, queues[0].waiting) == ([], 0)
    second = asyncio.create_task(stays.post(app))
    await until(lambda: queues[0].waiting)
    queues[0].leave(works)
    await second
    assert stays.sent[0]["status"] == 200
    assert (queues[0].working, queues[0].waiting) == (0, 0)


@async_test
async def test_what_a_client_asked_that_has_left_is_cancelled(queues: tuple[FairQueue, FairQueue]) -> None:
    ended = asyncio.Event()

    async def app(*_: Any) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()

    caller = Caller(b"{}")
    task = asyncio.create_task(caller.post(app))
    await until(lambda: queues[0].working)
    caller.gone.set()
    await task
    assert ended.is_set()
    assert (caller.sent, queues[0].working) == ([], 0)


@async_test
async def test_an_address_that_fills_the_queue_is_refused_behind_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    queue = FairQueue(1, 3)
    monkeypatch.setattr(module, "_queues", lambda: (queue, FairQueue(1, 3)))

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    works = await queue.acquire(Client())
    noisy = [Caller(b"{}", address="9.9.9.9") for _ in range(3)]
    tasks = []
    for caller in noisy:
        tasks.append(asyncio.create_task(caller.post(app)))
        await until(lambda: queue.waiting == len(tasks))
    other = Caller(b"{}", address="8.8.8.8")
    tasks.append(asyncio.create_task(other.post(app)))
    await until(lambda: noisy[2].sent)
    queue.leave(works)
    await asyncio.gather(*tasks)
    assert [caller.sent[0]["status"] for caller in (*noisy, other)] == [200, 200, 503, 200]


def test_each_page_that_opens_has_turns_of_its_own(queues: tuple[FairQueue, FairQueue]) -> None:
    async def answer(_: Request) -> Response:
        turn = current_turn.get()
        return Response(turn and turn.client.session)

    app = served(answer).app
    one, two = (TestClient(app, client=("1.2.3.4", port)) for port in (1, 2))
    assert one.get("/page").text == one.get("/page").text != two.get("/page").text
    for client in (one, two):
        assert client.post(PATH, content='{"session_hash": "a"}').text == "a"
        assert client.post(PATH, content="{}").text == ""


def test_a_long_session_hash_is_refused_because_gradio_keeps_it(queues: tuple[FairQueue, FairQueue]) -> None:
    async def answer(_: Request) -> Response:
        return Response()

    long, client = json.dumps({"session_hash": "x" * 65}), served(answer)
    for body, status in [
        (long, 400),
        (long.replace("session", r"\u0073ession"), 400),
        (json.dumps({"session_hash": ["x" * 65]}), 400),
        (json.dumps({"session_hash": "x" * 64, "data": "x" * 65}), 200),
        (json.dumps(["x" * 65]), 200),
    ]:
        assert client.post(PATH, content=body).status_code == status
    assert queues[0].working == 0
