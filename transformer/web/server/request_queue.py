"""Requests that compute something wait in a FIFO queue, so that each has the interpreter to itself.

Requests about sessions' own models, which may be large, have a queue of their own, so that they delay nobody else.
`GET health` counts both. A full queue refuses a request with status 503 and Retry-After.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

import anyio
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..sessions.model_store import is_own_model
from . import access_log
from .request_limits import FULL, RETRY_AFTER_SECONDS
from .settings import settings

MAX_SESSION_HASH = 64  # characters: Gradio keeps it as long as the session
LONG_SESSION = "The session_hash is too long."


class QueueFullError(Exception):
    """Too many requests wait already; the message is for visitors."""

    def __init__(self) -> None:
        super().__init__(FULL)


class RequestQueue:
    """A FIFO semaphore that counts: `working` requests hold it, `waiting` ones wait for it, `size` may."""

    def __init__(self, concurrency: int, size: int) -> None:
        self._semaphore = asyncio.Semaphore(concurrency)
        self._size = size
        self.working = self.waiting = 0

    @property
    def free(self) -> bool:
        return not self._semaphore.locked()

    @property
    def full(self) -> bool:
        return self.waiting >= self._size

    async def acquire(self) -> None:
        """Wait for a turn, which `release` ends.

        Raises:
            QueueFullError: the queue is full.
        """
        if self.full:
            raise QueueFullError
        self.waiting += 1
        try:
            await self._semaphore.acquire()
        finally:
            self.waiting -= 1
        self.working += 1

    def release(self) -> None:
        self.working -= 1
        self._semaphore.release()


@cache
def _queues() -> tuple[RequestQueue, RequestQueue]:
    shared, own = (RequestQueue(settings().concurrency, settings().queue_size) for _ in range(2))
    return shared, own


def request_queue(checkpoint: object = None) -> RequestQueue:
    """The queue for requests about a checkpoint: the shared one, or the one for own models."""
    return _queues()[is_own_model(checkpoint)]


def counts() -> dict[str, int]:
    """Of both queues together."""
    return {
        "working": sum(queue.working for queue in _queues()),
        "waiting": sum(queue.waiting for queue in _queues()),
    }


_turn: ContextVar[ExitStack | None] = ContextVar("turn", default=None)  # what this request holds; closing it releases


@asynccontextmanager
async def queued(checkpoint: object) -> AsyncIterator[None]:
    """Wait for a turn around work that did not come through `QueueMiddleware`: Gradio's own queue, and MCP tools.

    Raises:
        QueueFullError: the queue is full.
    """
    if _turn.get() is not None:
        yield
        return
    with ExitStack() as turn:
        queue = request_queue(checkpoint)
        await queue.acquire()
        turn.callback(queue.release)
        token = _turn.set(turn)
        try:
            yield
        finally:
            _turn.reset(token)


def release_turn() -> None:
    """End this request's turn early, before work that waits in another queue."""
    if turn := _turn.get():
        turn.close()


class QueueMiddleware:
    """Makes requests wait. A turn begins when the body is there and ends before the answer is sent, so that a slow
    client delays nobody.

    Args:
        paths: beginnings of the paths that wait.
        checkpoint_of: the checkpoint that a request is about, from its scope and its body.
    """

    def __init__(
        self, app: ASGIApp, paths: tuple[str, ...], checkpoint_of: Callable[[Scope, dict[str, Any]], object]
    ) -> None:
        self.app, self._paths, self._checkpoint_of = app, paths, checkpoint_of

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or not scope["path"].startswith(self._paths):
            return await self.app(scope, receive, send)
        started = time.perf_counter()

        def refuse(error: str, status: int, **headers: str) -> Awaitable[None]:
            return JSONResponse({"error": error}, status, headers)(scope, receive, send)

        with ExitStack() as turn:
            try:
                body = await Request(scope, receive).body()  # which RequestLimits has bounded
                asked = _parse(body)
                if len(str(asked.get("session_hash"))) > MAX_SESSION_HASH:
                    return await refuse(LONG_SESSION, 400)
                if not await _acquire(request_queue(self._checkpoint_of(scope, asked)), receive, turn):
                    return
            except ClientDisconnect:
                return
            except QueueFullError:
                access_log.action("wait", started, "full", status=503)
                return await refuse(FULL, 503, **{"Retry-After": str(RETRY_AFTER_SECONDS)})
            unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

            async def replay() -> Message:
                return unread.pop() if unread else await receive()

            async def release_and_send(message: Message) -> None:
                turn.close()
                await send(message)

            _turn.set(turn)
            await self.app(scope, replay, release_and_send)


async def _acquire(queue: RequestQueue, receive: Receive, turn: ExitStack) -> bool:
    """Whether the turn came before the client disconnected."""
    if queue.full:
        raise QueueFullError
    if queue.free:
        await queue.acquire()
        turn.callback(queue.release)
        return True
    async with anyio.create_task_group() as group:

        async def cancel_on_disconnect() -> None:
            await receive()  # after the body nothing else comes
            group.cancel_scope.cancel()

        group.start_soon(cancel_on_disconnect)
        await queue.acquire()
        turn.callback(queue.release)
        group.cancel_scope.cancel()
        return True
    return False


def _parse(body: bytes) -> dict[str, Any]:
    """Empty if it is not a JSON object; Gradio then says so."""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return asked if isinstance(asked, dict) else {}
