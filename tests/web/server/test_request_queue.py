"""A few requests are worked on at a time; the others wait in FIFO order; a client that leaves makes room."""

import asyncio
import json
import random
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from transformer.web.server import request_queue as module
from transformer.web.server.request_queue import QueueFullError, QueueMiddleware, RequestQueue, queued, release_turn

from ..loop import async_test, until

PATH = "/calls/translate"


@async_test
async def test_requests_work_in_the_order_they_came_whoever_leaves() -> None:
    rng, queue, began = random.Random(0), RequestQueue(concurrency=3, size=10), list[int]()

    async def work(number: int, done: asyncio.Event) -> None:
        await queue.acquire()
        began.append(number)
        try:
            await done.wait()
        finally:
            queue.release()

    here: list[tuple[int, asyncio.Task[None], asyncio.Event]] = []
    for number in range(500):
        if here and (len(here) == 13 or rng.random() < 0.5):
            left, task, done = here.pop(rng.randrange(len(here)))
            task.cancel() if left not in began or rng.random() < 0.5 else done.set()
        else:
            done = asyncio.Event()
            here.append((number, asyncio.create_task(work(number, done)), done))
        for _ in range(5):
            await asyncio.sleep(0)
        assert (queue.working, queue.waiting) == (min(3, len(here)), max(0, len(here) - 3))
        assert queue.full == (len(here) == 13)
        assert [each[0] in began for each in here] == [True] * queue.working + [False] * queue.waiting
        if queue.full:
            with pytest.raises(QueueFullError):
                await queue.acquire()
    assert began == sorted(began)
    for _, task, _ in here:
        task.cancel()


@pytest.fixture
def queues(monkeypatch: pytest.MonkeyPatch) -> tuple[RequestQueue, RequestQueue]:
    """The two queues of a server, shared and for own models, where one works and one may wait."""
    queues = RequestQueue(1, 1), RequestQueue(1, 1)
    monkeypatch.setattr(module, "_queues", lambda: queues)
    return queues


def queueing(app: Any) -> QueueMiddleware:
    return QueueMiddleware(app, ("/calls/",), lambda _, body: body.get("checkpoint"))


def served(endpoint: Callable[[Request], Awaitable[Response]]) -> TestClient:
    app = Starlette(routes=[Route(path, endpoint, methods=["GET", "POST"]) for path in (PATH, "/other")])
    return TestClient(queueing(app))


def test_a_request_has_one_turn_in_the_queue_of_its_checkpoint(queues: tuple[RequestQueue, RequestQueue]) -> None:
    async def answer(request: Request) -> Response:
        async with queued("own-x"):  # inside a turn there is no other
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
    assert client.post("/other").text == client.get(PATH).text  # what has no turn waits in `queued`
    assert {(queue.working, queue.waiting) for queue in queues} == {(0, 0)}


def test_a_turn_can_end_early(queues: tuple[RequestQueue, RequestQueue]) -> None:
    async def answer(_: Request) -> Response:
        release_turn()
        release_turn()
        async with queued("toy"):
            return Response(str(queues[0].working))

    assert served(answer).post(PATH).text == "0"
    assert queues[0].working == 0


@async_test
async def test_work_that_comes_past_the_middleware_waits_too(queues: tuple[RequestQueue, RequestQueue]) -> None:
    done: list[int] = []

    async def work(number: int) -> None:
        async with queued("toy"):
            done.append(number)

    shared = queues[0]
    await shared.acquire()
    waits = asyncio.create_task(work(1))
    await until(lambda: shared.waiting)
    with pytest.raises(QueueFullError, match="Too many are asking"):
        await work(2)
    async with queued("own-x"):
        assert (queues[1].working, done) == (1, [])
    waits.cancel()
    await asyncio.wait([waits])
    assert (shared.working, shared.waiting) == (1, 0)
    shared.release()
    await work(3)
    assert (shared.working, shared.waiting, done) == (0, 0, [3])


class Client:
    """Sends pieces of a body, and then what a test wants: its end, a disconnection, or nothing."""

    def __init__(self, *pieces: bytes, complete: bool = True) -> None:
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
        await queueing(app)({"type": "http", "method": "POST", "path": PATH, "headers": []}, self.receive, self.send)


@async_test
async def test_a_full_queue_refuses_and_a_client_that_leaves_makes_room(
    queues: tuple[RequestQueue, RequestQueue],
) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert (await receive())["body"] == b"{}"
        assert queues[0].working == 1
        await send({"type": "http.response.start", "status": 200, "headers": []})
        assert queues[0].working == 0  # a client that reads slowly delays nobody

    await queues[0].acquire()
    leaves, refused, stays = Client(b"{}"), Client(b"{}"), Client(b"{}")
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
    queues[0].release()
    await second
    assert stays.sent[0]["status"] == 200
    assert (queues[0].working, queues[0].waiting) == (0, 0)


def test_a_long_session_hash_is_refused_because_gradio_keeps_it(queues: tuple[RequestQueue, RequestQueue]) -> None:
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
