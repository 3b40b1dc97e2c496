"""Helpers of the routes beside Gradio's own: reading, refusing, streaming events and logging."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Message as AsgiMessage
from starlette.types import Receive, Scope, Send

from ...messages import Message, MessageError
from .. import access_log
from .request_limits import foreign

UNREADABLE = Message("error.request")

R = TypeVar("R")


async def read(request: Request, validate: Callable[[bytes], R]) -> R | None:
    """The body, as pydantic's `validate` reads it; None if it is something else, or another site's page sent it."""
    try:
        body = b"" if foreign(request.headers) else await request.body()
        return await asyncio.to_thread(validate, body)
    except (ValidationError, ClientDisconnect):
        return None


class Refusal(JSONResponse):
    def __init__(self, message: Message, status: int = 400) -> None:
        super().__init__({"error": message.for_page()}, status)
        self.refusal = message.key


async def event_stream(events: AsyncGenerator[Mapping[str, Any] | str]) -> Response:
    try:
        return EventStream(await anext(events), events)
    except MessageError as error:
        return Refusal(error.message, 429)


class EventStream(StreamingResponse):
    """A line of JSON for each event. However it ends, the events end with it, not when garbage is collected."""

    def __init__(self, first: Mapping[str, Any] | str, events: AsyncGenerator[Mapping[str, Any] | str]) -> None:
        async def lines() -> AsyncIterator[str]:
            yield _line(first)
            async for event in events:
                yield _line(event)

        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}  # so that no proxy keeps lines back
        super().__init__(lines(), media_type="application/x-ndjson", headers=headers)
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._events.aclose()


def _line(event: Mapping[str, Any] | str) -> str:
    return event if isinstance(event, str) else json.dumps(event) + "\n"


class _Logged:
    """A response that is logged when it has ended."""

    def __init__(self, response: Response, action: str, request: Request, started: float) -> None:
        self._response, self._action, self._started = response, action, started
        self._received = int(request.headers.get("content-length", 0))

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sent, complete = 0, False

        async def count(message: AsgiMessage) -> None:
            nonlocal sent, complete
            await send(message)
            sent += len(message.get("body", b""))
            complete = message["type"] == "http.response.body" and not message.get("more_body")

        try:
            await self._response(scope, receive, count)
        finally:
            outcome = getattr(self._response, "refusal", "ok") if complete else "left"
            details = {"status": self._response.status_code, "received": self._received, "sent": sent}
            access_log.action(self._action, self._started, outcome, **details)


def route(path: str, method: str, endpoint: Callable[[Request], Awaitable[Response]]) -> Route:
    async def answer(request: Request) -> _Logged:
        started = time.perf_counter()
        return _Logged(await endpoint(request), endpoint.__name__, request, started)

    return Route(path, answer, methods=[method])
