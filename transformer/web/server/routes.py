"""Routes beside Gradio's own: trainings as streams of events, and models as files.

POST train          a training (see live.plan) with the id of its `session`; answers events, one line of JSON each
POST train/stop     {"run"}: the training ends, and its model is kept
POST mistake        {"name", "session"}: trainings that show a mistake, as events (see live.mistake_training)
POST heads          {"checkpoint", "sentence", "what": "sweep" or "ablations", "session"}; answers events, as heads are
                    ablated. Closing the stream ends the work
POST models         a file, and a header `Session`; answers {"model", "kept": the keys of all the session's models} or
                    {"error"}
GET models/KEY      the file
DELETE models/KEY   delete the model
POST load           {"checkpoint"}: a real model is fetched and read into memory, for all who ask meanwhile; answers
                    events: "loading" with the bytes fetched so far and in all, then "ready" or "error". Closing the
                    stream ends the wait, and a download that nobody waits for ends
GET health          {"status": "ok", "device", "checkpoints", "models": {"loaded": {name: bytes}, "bytes", "most"}, the
                    real models in memory, "training": {"running", "waiting"},
                    "queue": {"working", "waiting"}, the requests that compute something,
                    "line": the same, under its old name}
"""

import asyncio
import errno
import secrets
from collections.abc import AsyncGenerator, Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, Literal

import anyio
from pydantic import ConfigDict
from pydantic_core import to_jsonable_python
from starlette.concurrency import run_in_threadpool
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from ...inference.translator import available_checkpoints
from ...live.plan import plan
from ...messages import Message, MessageJSON, Words
from ...storage.portable import PortableError, max_file_bytes
from .. import schema
from ..api.endpoints import message
from ..api.what_if import AblatedHeads, SweptHeads, ablation_events, sweep_events
from ..fair_queue import Client, FairQueue, QueueFullError, client_of
from ..sessions.model_store import OWN_MODEL_PREFIX, ModelStoreFullError, file_name, model_store
from ..sessions.models import about, translator
from ..sessions.real_models import RealModelError, real_models
from ..sessions.shared_run import Event
from ..sessions.training_queue import BusyError, training_queue
from . import request_queue
from .answers import UNREADABLE, Refusal, event_stream, read, route
from .request_limits import foreign, pieces

MAX_UPLOADS, UPLOADS_PER_ADDRESS = 6, 2  # at a time, until the file is read: each is up to 208 MB on the disk
MAX_WAITING_UPLOADS = 60  # with nothing read
UPLOAD_SECONDS = 300  # for a file to arrive
CONTENDED_SECONDS = 60  # the same, for the longest of the address with most, while somebody waits for its place
UPLOAD_WAIT_SECONDS = 60  # for one of the places


@cache
def _uploads() -> tuple[FairQueue, FairQueue]:
    """For files to arrive, and for one at a time to be read into memory."""
    return FairQueue(MAX_UPLOADS, MAX_WAITING_UPLOADS, UPLOADS_PER_ADDRESS), FairQueue(1, MAX_UPLOADS)


class TrainRequest(schema.Request):
    """A session's training, which `plan` reads."""

    model_config = ConfigDict(extra="allow")
    session: schema.SessionId


async def train(request: Request) -> Response:
    asked = await read(request, TrainRequest.model_validate_json)
    if not asked:
        return Refusal(UNREADABLE)
    client, form = client_of(request.scope, asked.session), asked.model_extra or {}
    try:
        training_queue().check(client)
        async with request_queue.queued(OWN_MODEL_PREFIX, client):  # where slow work waits: a plan can take a second
            planned = await run_in_threadpool(plan, form, training_queue().limits)
    except BusyError as error:
        return Refusal(error.message, 429)
    except QueueFullError:
        return Refusal(Message("train.crowded"), 429)
    if planned.job is None:
        return Refusal(planned.problems[0].message)
    job = replace(planned.job, hub_token=request.headers.get("x-ip-token", ""))
    return await event_stream(training_queue().train(job, client))


async def mistake(request: Request) -> Response:
    asked = await read(request, schema.MistakeTrainingRequest.model_validate_json)
    if not asked:
        return Refusal(UNREADABLE)
    return await event_stream(training_queue().train_mistake(asked.name, client_of(request.scope, asked.session)))


async def stop(request: Request) -> Response:
    if asked := await read(request, schema.StopRequest.model_validate_json):
        training_queue().stop(asked.run)
    return JSONResponse({})


LOADING_SECONDS = 0.5  # between two events


class Loading(TypedDict):
    """`fetched` of `size` bytes are here; both are 0 where none has to be fetched."""

    event: Literal["loading"]
    fetched: int
    size: int


class Ready(TypedDict):
    """The model is in memory."""

    event: Literal["ready"]


class NotLoaded(TypedDict):
    """The reason why a model, or an answer about it, is unavailable now."""

    event: Literal["error"]
    message: MessageJSON


LoadingEvent = Loading | Ready | NotLoaded
HeadsEvent = SweptHeads | AblatedHeads | NotLoaded


async def load(request: Request) -> Response:
    asked = await read(request, schema.CheckpointRequest.model_validate_json)
    if not asked:
        return Refusal(UNREADABLE)
    if asked.checkpoint not in real_models():
        return Refusal(Message("error.no_checkpoint", {"names": Words(tuple(real_models()))}))
    return await event_stream(_loading(asked.checkpoint))


async def _loading(checkpoint: str) -> AsyncGenerator[Event | str]:
    try:
        async with real_models().chosen(checkpoint) as loading:
            while loading and not loading.done.done():
                yield {"event": "loading", "fetched": loading.fetched, "size": loading.size}
                await loading.wait(LOADING_SECONDS)
            if loading:
                loading.done.result()
        yield {"event": "ready"}
    except RealModelError as error:
        yield {"event": "error", "message": error.message.for_page()}


async def heads(request: Request) -> Response:
    asked = await read(request, schema.HeadsRequest.model_validate_json)
    if not asked:
        return Refusal(UNREADABLE)
    return await event_stream(_ablations(asked, client_of(request.scope, asked.session)))


async def _ablations(asked: schema.HeadsRequest, client: Client) -> AsyncGenerator[Any]:
    """A turn of the queue for every part, so that others who wait have theirs between two."""
    parts = (sweep_events if asked.what == "sweep" else ablation_events)(asked.checkpoint, asked.sentence)
    try:
        while True:
            async with request_queue.queued(asked.checkpoint, client):
                event = await asyncio.to_thread(next, parts, None)
            if event is None:
                return
            yield to_jsonable_python(event)
    except QueueFullError:
        yield {"event": "error", "message": Message("heads.busy").for_page()}
    except ValueError as error:
        yield {"event": "error", "message": message(error).for_page()}


async def upload(request: Request) -> Response:
    session = request.headers.get("session", request.query_params.get("visit", ""))  # its old place
    if foreign(request.headers) or not 1 <= len(session) <= schema.MAX_SESSION_ID:
        return Refusal(UNREADABLE)
    (arriving, reading), client = _uploads(), client_of(request.scope, session)
    file = model_store().folder / f"{secrets.token_hex(16)}.safetensors"
    kept = False
    try:
        async with arriving.turn(client, UPLOAD_WAIT_SECONDS) as ticket:
            await _write(request, file, lambda: arriving.overdue() is ticket)
            async with reading.turn(client, UPLOAD_SECONDS):
                key = await asyncio.to_thread(model_store().keep, client, file)
        kept = True
        return JSONResponse({"model": await asyncio.to_thread(about, key), "kept": model_store().keys_of(session)})
    except QueueFullError:
        return Refusal(Message("file.busy"), 429)
    except (PortableError, ModelStoreFullError) as error:
        return Refusal(error.message)
    except (OSError, ClientDisconnect) as error:
        full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        return Refusal(Message("file.no_room" if full else "file.not_taken"))
    finally:
        if not kept:
            file.unlink(missing_ok=True)


async def _write(request: Request, file: Path, overdue: Callable[[], bool]) -> None:
    """The body, piece by piece, and no more of it than a model can have.

    Args:
        overdue: whether somebody else needs the place of this upload first.

    Raises:
        PortableError: it is more.
        OSError: the disk is full, or the client too slow.
    """
    parameters = training_queue().limits.parameters
    began = anyio.current_time()
    with file.open("wb") as written, anyio.fail_after(UPLOAD_SECONDS), anyio.fail_after(None) as reading:
        async for piece in pieces(request, reading):
            if written.tell() + len(piece) > max_file_bytes(parameters):
                raise PortableError("file.too_big", most=parameters)
            if anyio.current_time() - began > CONTENDED_SECONDS and overdue():
                raise TimeoutError  # an OSError
            await asyncio.to_thread(written.write, piece)


async def download(request: Request) -> Response:
    model = model_store().find(request.path_params["key"])
    if model is None or not model.file.exists():  # the machine may have tidied its temporary files
        return PlainTextResponse("This model is no longer here.", 404)
    return FileResponse(model.file, media_type="application/octet-stream", filename=file_name(model.name))


async def delete(request: Request) -> Response:
    model_store().delete(request.path_params["key"])
    return JSONResponse({})


async def health(_: Request) -> Response:
    """Cheap enough for a load balancer to poll every second."""
    counts = request_queue.counts()
    return JSONResponse(
        {
            "status": "ok",
            "device": str(translator("toy").device),  # which was loaded with the page
            "checkpoints": available_checkpoints(),
            "models": real_models().counts(),
            "training": training_queue().counts(),
            "queue": counts,
            "line": counts,  # its old name
        }
    )


ROUTES = [
    route("/train", "POST", train),
    route("/train/stop", "POST", stop),
    route("/mistake", "POST", mistake),
    route("/load", "POST", load),
    route("/heads", "POST", heads),
    route("/models", "POST", upload),
    route("/models/{key}", "GET", download),
    route("/models/{key}", "DELETE", delete),
    Route("/health", health, methods=["GET"]),
]
