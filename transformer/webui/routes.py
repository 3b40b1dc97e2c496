"""Addresses beside Gradio's own: a training as a stream of events, and models as files.

POST train          a question (see live.plan) with a `visit`; answers events, one line of JSON each, until it ends
POST train/stop     {"run"}: the training ends, and its model is kept
POST mistake        {"name", "visit"}: trainings that show a mistake, as events (see live.retrained)
POST models?visit=  a file; answers {"model", "kept": the keys of all the visit's models} or {"error"}
GET models/KEY      the file
DELETE models/KEY   forget it
"""

import asyncio
import json
import secrets
from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Receive, Scope, Send

from ..device import pick_device
from ..experiments import MISTAKES, TrainingMistake
from ..live.plan import plan
from ..message import Message
from ..portable import PortableError, load_portable, most_bytes, too_big
from .models import about
from .shelf import ShelfError, file_name, shelf
from .workshop import BusyError, Event, workshop

MOST_QUESTION = 8 * 2**20  # bytes: 2,000 pairs of the longest sentences
LONGEST_VISIT = 64  # characters
NOT_A_QUESTION = Message("train.no_question", "The server did not understand this page. Reload it, and try again.")


async def train(request: Request) -> Response:
    question, visit = await _visited(request)
    if not question:
        return _refused(NOT_A_QUESTION)
    planned = await run_in_threadpool(plan, question, workshop().limits)
    if planned.job is None:
        return _refused(planned.problems[0].message)
    return await _answered(workshop().train(planned.job, visit))


async def mistake(request: Request) -> Response:
    question, visit = await _visited(request)
    name = question.get("name")
    if not isinstance(name, str) or not isinstance(MISTAKES.get(name), TrainingMistake):
        return _refused(NOT_A_QUESTION)
    return await _answered(workshop().show(name, visit))


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
        workshop().stop(str(question.get("run")))
    return JSONResponse({})


async def bring(request: Request) -> Response:
    """Takes a file in pieces, and no more of it than a model can have."""
    visit = request.query_params.get("visit", "")
    if _foreign(request) or not 1 <= len(visit) <= LONGEST_VISIT:
        return _refused(NOT_A_QUESTION)
    limits = workshop().limits
    most, file = most_bytes(limits.parameters), shelf().folder / f"{secrets.token_hex(16)}.safetensors"
    kept = False
    try:
        with file.open("wb") as written:
            async for piece in request.stream():
                if written.tell() + len(piece) > most:
                    raise too_big(limits.parameters)
                await asyncio.to_thread(written.write, piece)
        portable = await asyncio.to_thread(load_portable, file, limits.parameters, pick_device())
        key = await asyncio.to_thread(shelf().put, portable, visit, file)
        kept = True
        return JSONResponse({"model": about(key), "kept": shelf().of(visit)})
    except (PortableError, ShelfError) as error:
        return _refused(error.message)
    except (OSError, ClientDisconnect):
        return _refused(Message("file.not_taken", "The file did not arrive whole. Try again."))
    finally:
        if not kept:
            file.unlink(missing_ok=True)


async def file(request: Request) -> Response:
    model = shelf().find(request.path_params["key"])
    if model is None:
        return Response("This model is here no more.", 404, media_type="text/plain")
    return FileResponse(model.file, media_type="application/octet-stream", filename=file_name(model.portable.name))


async def forget(request: Request) -> Response:
    shelf().forget(request.path_params["key"])
    return JSONResponse({})


ROUTES = [
    Route("/mistake", mistake, methods=["POST"]),
    Route("/train", train, methods=["POST"]),
    Route("/train/stop", stop, methods=["POST"]),
    Route("/models", bring, methods=["POST"]),
    Route("/models/{key}", file, methods=["GET"]),
    Route("/models/{key}", forget, methods=["DELETE"]),
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
            if len(body) > MOST_QUESTION:
                return None
        question = json.loads(body)
    except (ValueError, RecursionError, ClientDisconnect):
        return None
    return question if isinstance(question, dict) else None


def _line(event: Event | str) -> str:
    return event if isinstance(event, str) else json.dumps(event) + "\n"


def _refused(message: Message, status: int = 400) -> Response:
    return JSONResponse({"error": message.for_page()}, status)
