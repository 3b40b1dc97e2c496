"""`POST /api/NAME` for every question of the table: JSON in; JSON out, or a line of JSON for each event.

A refusal is `{"error": {key, values, english}}`: with status 200 where the request was understood, 422 where it was
not, 503 and Retry-After where the queue is full.
"""

import asyncio
import gzip
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
from anyio import to_thread
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ...messages import Message
from .. import access_log
from ..api.question import Question, message
from ..api.runs import awaited
from ..api.turns import turn
from ..client import client_of
from ..fair_queue import TryAgainError
from ..schema import TranslateRequest
from ..sessions.models import log_action

INLINE = 16 * 2**10  # bytes of a body that is read without a thread of its own
COMPRESSED_BYTES, LEVEL = 128 * 2**10, 1  # at least; weights do not become smaller at a higher level
RETRY_AFTER_SECONDS = 2
NO_HEADERS: Mapping[str, str] = {}


def routes(questions: dict[str, Question]) -> list[Route]:
    return [Route(f"/api/{name}", partial(_endpoint, each), methods=["POST"]) for name, each in questions.items()]


async def _endpoint(question: Question, request: Request) -> Response:
    call = _Call(question, time.perf_counter())
    try:
        answer = await _answered(call, request)
    except (ClientDisconnect, asyncio.CancelledError):
        call.log("left")
        raise
    except HTTPException:  # of the guard: the body became too large
        call.log("refused")
        raise
    except TryAgainError as error:
        call.log("full")
        return refused(error.message, 503, {"Retry-After": str(RETRY_AFTER_SECONDS)})
    except ValueError as error:
        why = message(error)
        call.log(why.key)
        return refused(why, 422 if call.request is None else 200)
    except Exception as error:
        access_log.fault(question.name, error)
        call.log("fault")
        return refused(Message("error.fault"), 500)
    if not question.streams:
        call.log("ok")
    return answer


@dataclass
class _Call:
    """A question that is asked, for the log."""

    question: Question
    started: float
    request: Any = None

    def log(self, outcome: str) -> None:
        about = (getattr(self.request, name, None) for name in ("checkpoint", "sentence"))
        log_action(self.question.name, self.started, outcome, *about)


async def _answered(call: _Call, request: Request) -> Response:
    question, client, body = call.question, client_of(request.scope), await _body(request)
    asked = question.read(body) if len(body) <= INLINE else await to_thread.run_sync(question.read, body)
    call.request = asked
    if question.streams:
        events = question.function(asked, client)
        return _Events(await anext(events), events, call)
    if not question.computes:
        return _json(question.dump(await question.function(asked, client)))

    def work() -> Response:
        body = question.dump(question.function(asked))
        if len(body) < COMPRESSED_BYTES or "gzip" not in request.headers.get("accept-encoding", ""):
            return _json(body)
        return _json(gzip.compress(body, LEVEL), headers={"Content-Encoding": "gzip"})

    async def in_turn() -> Response:
        is_plain_run = isinstance(asked, TranslateRequest) and not asked.changes.changes
        with awaited(asked.checkpoint, asked.sentence) if is_plain_run else nullcontext():
            async with turn(getattr(asked, "checkpoint", None), client, question.is_slow):
                return await to_thread.run_sync(work)

    return await _unless_left(request, in_turn())


async def _body(request: Request) -> bytes:
    """In one piece from the start: of megabytes in small ones, glibc keeps many after the answer."""
    body = bytearray()
    async for piece in request.stream():
        body += piece
    return bytes(body)


def _json(body: bytes, status: int = 200, headers: Mapping[str, str] = NO_HEADERS) -> Response:
    return Response(body, status, {"Vary": "Accept-Encoding", **headers}, "application/json")


async def _unless_left(request: Request, work: Awaitable[Response]) -> Response:
    """A client that disconnects leaves the queue. Work that has begun goes on, unless it asks
    `check_cancelled`: a thread cannot be ended. Raises ClientDisconnect if nobody waits for the answer."""
    scope = anyio.CancelScope()

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        scope.cancel()

    watching = asyncio.create_task(watch())
    try:
        with scope:
            return await work
        raise ClientDisconnect
    finally:
        watching.cancel()


def refused(why: Message, status: int = 200, headers: Mapping[str, str] = NO_HEADERS) -> Response:
    """The one form of every refusal."""
    return _json(to_json({"error": why.for_page()}), status, headers)


class _Events(StreamingResponse):
    """A line for each event. However it ends, the events end with it, not when garbage is collected."""

    def __init__(self, first: Any, events: AsyncGenerator[Any], call: _Call) -> None:
        # So that neither a proxy nor a middleware keeps lines back.
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", "Content-Encoding": "identity"}
        super().__init__(self._lines(first), media_type="application/x-ndjson", headers=headers)
        self._events, self._call, self._outcome = events, call, "left"

    async def _lines(self, first: Any) -> AsyncIterator[bytes]:
        yield as_line(first)
        try:
            async for event in self._events:
                yield as_line(event)
            self._outcome = "ok"
        except ValueError as error:
            why = message(error)
            self._outcome = why.key
            yield as_line({"event": "error", "message": why.for_page()})
        except Exception as error:
            self._outcome = "fault"
            access_log.fault(self._call.question.name, error)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._events.aclose()
            self._call.log(self._outcome)


def as_line(event: Any) -> bytes:
    return to_json(event) + b"\n"
