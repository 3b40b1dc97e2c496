"""Requests that compute something wait for a turn, so that each has the interpreter to itself for a slice of its work.

Requests about sessions' own models and real ones, which may be large, have a queue of their own, so that they delay
nobody else. A real model is in memory before the turn of a request about it begins, and stays there until its end.
`GET health` counts both. A full queue refuses a request with status 503 and Retry-After.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import cache
from typing import Any

import anyio
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .. import access_log
from ..fair_queue import Client, ClientLeftError, FairQueue, QueueFullError, Turn, client_of, current_turn
from ..sessions.model_store import is_own_model
from ..sessions.real_models import real_models
from ..settings import settings
from .request_limits import INLINE_BYTES, RETRY_AFTER_SECONDS, replayed

MAX_SESSION_HASH = 64  # characters: Gradio keeps it as long as the session
LONG_SESSION = "The session_hash is too long."


@cache
def _queues() -> tuple[FairQueue, FairQueue]:
    shared, own = (FairQueue(settings().concurrency, settings().queue_size, by_time=True) for _ in range(2))
    return shared, own


def request_queue(checkpoint: object = None) -> FairQueue:
    """The queue for requests about a checkpoint: the shared one, or the one for own and real models."""
    return _queues()[is_own_model(checkpoint) or checkpoint in real_models()]


def counts() -> dict[str, int]:
    """Of both queues together."""
    return {
        "working": sum(queue.working for queue in _queues()),
        "waiting": sum(queue.waiting for queue in _queues()),
    }


@asynccontextmanager
async def queued(checkpoint: object, client: Client) -> AsyncIterator[None]:
    """Wait for a turn around work that did not come through `QueueMiddleware`: Gradio's own queue, and MCP tools.

    Where its task is cancelled, the work ends.

    Raises:
        QueueFullError: the queue is full.
    """
    if current_turn.get():
        yield
        return
    turn = Turn(request_queue(checkpoint), client)
    token = current_turn.set(turn)
    try:
        async with real_models().in_use(checkpoint):
            await turn.begin()
            yield
    except asyncio.CancelledError:
        turn.left = True
        raise
    finally:
        turn.end()
        current_turn.reset(token)


class QueueMiddleware:
    """Makes requests wait. A turn begins when the body is there and ends before the answer is sent, so that a slow
    client delays nobody. The work of a client that has disconnected is ended. A page that opens has no session yet, so
    its connection stands for one: else all that open in a class would share the turns of one.

    Args:
        paths: beginnings of the paths to which a POST waits.
        pages: paths to which any request waits: Gradio writes the same long page for each.
        checkpoint_of: the checkpoint that a request is about, from its scope and its body.
    """

    def __init__(
        self,
        app: ASGIApp,
        paths: tuple[str, ...],
        checkpoint_of: Callable[[Scope, dict[str, Any]], object],
        pages: Collection[str] = (),
    ) -> None:
        self.app, self._paths, self._checkpoint_of, self._pages = app, paths, checkpoint_of, pages

    def _waits(self, scope: Scope) -> bool:
        if scope["type"] != "http":
            return False
        is_call: bool = scope["method"] == "POST" and scope["path"].startswith(self._paths)
        return is_call or scope["path"] in self._pages

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._waits(scope):
            return await self.app(scope, receive, send)
        started, answered = time.perf_counter(), False

        def refuse(error: str, status: int, **headers: str) -> Awaitable[None]:
            return JSONResponse({"error": error}, status, headers)(scope, receive, send)

        with ExitStack() as held:
            try:
                body = await Request(scope, receive).body()  # which RequestLimits has bounded
            except ClientDisconnect:
                return
            asked = _parse(body) if len(body) <= INLINE_BYTES else await asyncio.to_thread(_parse, body)
            session = str(asked.get("session_hash", ""))
            if scope["path"] in self._pages:
                session = f"connection {(scope.get('client') or '?')[-1]}"
            if len(session) > MAX_SESSION_HASH:
                return await refuse(LONG_SESSION, 400)
            checkpoint = self._checkpoint_of(scope, asked)
            turn = Turn(request_queue(checkpoint), client_of(scope, session))

            async def release_and_send(message: Message) -> None:
                nonlocal answered
                answered = True
                held.close()
                await send(message)

            current_turn.set(turn)
            held.callback(turn.end)
            try:
                with _ended_if_client_leaves(turn, receive, held):
                    async with real_models().in_use(checkpoint):
                        await turn.begin()
                        await self.app(scope, replayed(body, receive), release_and_send)
            except ClientLeftError:
                pass
            except QueueFullError as error:
                access_log.action("wait", started, "full", status=503)
                if not answered:
                    await refuse(str(error), 503, **{"Retry-After": str(RETRY_AFTER_SECONDS)})


@contextmanager
def _ended_if_client_leaves(turn: Turn, receive: Receive, unanswered: ExitStack) -> Iterator[None]:
    """Cancels the work inside when the client disconnects before its answer begins, which closes `unanswered`."""
    with anyio.CancelScope() as scope:

        async def cancel_on_disconnect() -> None:
            await receive()  # after the body nothing else comes
            turn.left = True
            scope.cancel()

        unanswered.callback(asyncio.create_task(cancel_on_disconnect()).cancel)
        yield


def _parse(body: bytes) -> dict[str, Any]:
    """Empty if it is not a JSON object; Gradio then says so."""
    try:
        asked = json.loads(body)
    except (ValueError, RecursionError):
        return {}
    return asked if isinstance(asked, dict) else {}
