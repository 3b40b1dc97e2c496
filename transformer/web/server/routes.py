"""Addresses beside Gradio's own: a training as a stream of events, and models as files.

POST train          a question (see live.plan) with a `visit`; answers events, one line of JSON each, until it ends
POST train/stop     {"run"}: the training ends, and its model is kept
POST mistake        {"name", "visit"}: trainings that show a mistake, as events (see live.retrained)
POST models?visit=  a file; answers {"model", "kept": the keys of all the visit's models} or {"error"}
GET models/OWN_MODEL_PREFIX      the file
DELETE models/OWN_MODEL_PREFIX   forget it
GET health          {"status": "ok", "device", "checkpoints", "training": {"running", "waiting"},
                    "line": {"working", "waiting"}}
"""

import asyncio
import errno
import json
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Message as Sent
from starlette.types import Receive, Scope, Send

from ...inference.device import pick_device
from ...inference.translator import available_checkpoints
from ...live.plan import plan
from ...messages import Message
from ...mistakes import MISTAKES, TrainingMistake
from ...storage.portable import PortableError, file_too_large, load_portable, max_file_bytes
from ..api.models import about, translator
from ..sessions.model_store import ModelStoreFullError, file_name, model_store
from ..sessions.training_queue import BusyError, Event, training_queue
from . import access_log as log
from .request_limits import MAX_BODY
from .request_queue import line

LONGEST_VISIT = 64  # characters
AT_ONCE = 2  # files that are brought at a time: each is up to 208 MB on the disk, and then in memory
SLOWEST = 300  # seconds that a file may take to arrive, so that nobody keeps a place for ever
PATIENCE = 30  # seconds that others wait for a place, with nothing read
NOT_A_QUESTION = Message("error.request")


async def train(request: Request) -> Response:
    question, visit = await _visited(request)
    if not question:
        return _refused(NOT_A_QUESTION)
    planned = await run_in_threadpool(plan, question, training_queue().limits)
    if planned.job is None:
        return _refused(planned.problems[0].message)
    return await _answered(training_queue().train(planned.job, visit))


async def mistake(request: Request) -> Response:
    question, visit = await _visited(request)
    name = question.get("name")
    if not isinstance(name, str) or not isinstance(MISTAKES.get(name), TrainingMistake):
        return _refused(NOT_A_QUESTION)
    return await _answered(training_queue().show(name, visit))


async def _answered(events: AsyncGenerator[Event | str]) -> Response:
    try:
        first = await anext(events)
    except BusyError as error:
        return _refused(error.message, 429)
    return _Events(first, events)


class _Events(StreamingResponse):
    """A line of JSON each. However it ends, the training ends with it: at once, not when somebody collects garbage."""

    def __init__(self, first: Event | str, events: AsyncGenerator[Event | str]) -> None:
        async def lines() -> AsyncIterator[str]:
            yield _line(first)
            async for event in events:
                yield _line(event)

        # So that no server between here and the visitor keeps lines back.
        headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
        super().__init__(lines(), media_type="application/x-ndjson", headers=headers)
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            await self._events.aclose()


async def stop(request: Request) -> Response:
    question = await _question(request)
    if question:
        training_queue().stop(str(question.get("run")))
    return JSONResponse({})


_places = asyncio.Semaphore(AT_ONCE)


async def bring(request: Request) -> Response:
    """Takes a file in pieces, and no more of it than a model can have. Who comes while others bring theirs waits a
    while before anything is read."""
    visit = request.query_params.get("visit", "")
    if _foreign(request) or not 1 <= len(visit) <= LONGEST_VISIT:
        return _refused(NOT_A_QUESTION)
    try:
        async with asyncio.timeout(PATIENCE):
            await _places.acquire()
    except TimeoutError:
        return _refused(Message("file.busy"), 429)
    try:
        return await _brought(request, visit)
    finally:
        _places.release()


async def _brought(request: Request, visit: str) -> Response:
    limits = training_queue().limits
    most, file = max_file_bytes(limits.parameters), model_store().folder / f"{secrets.token_hex(16)}.safetensors"
    kept = False
    try:
        with file.open("wb") as written:
            async with asyncio.timeout(SLOWEST):  # whose error is an OSError
                async for piece in request.stream():
                    if written.tell() + len(piece) > most:
                        raise file_too_large(limits.parameters)
                    await asyncio.to_thread(written.write, piece)
        portable = await asyncio.to_thread(load_portable, file, limits.parameters, pick_device())
        key = await asyncio.to_thread(model_store().put, portable, visit, file)
        kept = True
        return JSONResponse({"model": about(key), "kept": model_store().of(visit)})
    except (PortableError, ModelStoreFullError) as error:
        return _refused(error.message)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
            return _refused(Message("file.no_room"))
        return _refused(Message("file.not_taken"))
    except ClientDisconnect:
        return _refused(Message("file.not_taken"))
    finally:
        if not kept:
            file.unlink(missing_ok=True)


async def file(request: Request) -> Response:
    model = model_store().find(request.path_params["key"])
    if model is None or not model.file.exists():  # whoever tidies a machine's temporary files may have taken it
        return Response("This model is here no more.", 404, media_type="text/plain")
    return FileResponse(model.file, media_type="application/octet-stream", filename=file_name(model.portable.name))


async def forget(request: Request) -> Response:
    model_store().forget(request.path_params["key"])
    return JSONResponse({})


async def health(_: Request) -> Response:
    """Cheap enough for a load balancer that asks every second."""
    running, waiting = training_queue().busy()
    training = {"running": running, "waiting": waiting}
    lines = line(), line(own=True)
    asking = {"working": sum(each.working for each in lines), "waiting": sum(each.waiting for each in lines)}
    device = str(translator("toy").device)  # which was loaded with the page
    told = {
        "status": "ok",
        "device": device,
        "checkpoints": available_checkpoints(),
        "training": training,
        "line": asking,
    }
    return JSONResponse(told)


class _Noted:
    """A response that notes how it went, when it has ended."""

    def __init__(self, response: Response, action: str, request: Request, started: float) -> None:
        self._response = response
        self._action = action
        self._received = int(request.headers.get("content-length", 0))
        self._started = started

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        sent, whole = 0, False

        async def write(message: Sent) -> None:
            nonlocal sent, whole
            await send(message)
            sent += len(message.get("body", b""))
            whole = message["type"] == "http.response.body" and not message.get("more_body")

        try:
            await self._response(scope, receive, write)
        finally:
            said = getattr(self._response, "refusal", "ok") if whole else "left"
            sizes = {"status": self._response.status_code, "received": self._received, "sent": sent}
            log.action(self._action, self._started, said, **sizes)


Endpoint = Callable[[Request], Awaitable[Response]]


def _route(path: str, endpoint: Endpoint, method: str) -> Route:
    async def answer(request: Request) -> _Noted:
        started = time.perf_counter()
        return _Noted(await endpoint(request), endpoint.__name__, request, started)

    return Route(path, answer, methods=[method])


ROUTES = [
    _route("/mistake", mistake, "POST"),
    _route("/train", train, "POST"),
    _route("/train/stop", stop, "POST"),
    _route("/models", bring, "POST"),
    _route("/models/{key}", file, "GET"),
    _route("/models/{key}", forget, "DELETE"),
    Route("/health", health, methods=["GET"]),
]


def _foreign(request: Request) -> bool:
    """Whether another site's page asks, through the browser of somebody who may ask: on their own machine, say."""
    return request.headers.get("sec-fetch-site") == "cross-site"


async def _visited(request: Request) -> tuple[dict[str, Any], str]:
    """A question of a visit, and the visit; an empty one where it is of none."""
    question = await _question(request) or {}
    visit = question.get("visit")
    return (question, visit) if isinstance(visit, str) and 1 <= len(visit) <= LONGEST_VISIT else ({}, "")


async def _question(request: Request) -> dict[str, Any] | None:
    """The body as a dict; None where it is anything else, or too much of it, or another site's page sent it."""
    body = b""
    if _foreign(request):
        return None
    try:
        async for piece in request.stream():
            body += piece
            if len(body) > MAX_BODY:
                return None
        question = json.loads(body)
    except (ValueError, RecursionError, ClientDisconnect):
        return None
    return question if isinstance(question, dict) else None


def _line(event: Event | str) -> str:
    return event if isinstance(event, str) else json.dumps(event) + "\n"


def _refused(message: Message, status: int = 400) -> Response:
    return _Refusal(message, status)


class _Refusal(JSONResponse):
    def __init__(self, message: Message, status: int) -> None:
        super().__init__({"error": message.for_page()}, status)
        self.refusal = message.key
