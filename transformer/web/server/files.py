"""Files: models that visitors bring and take along, and what the page loads; and the server's health.

POST models         a file, and a header `Session`; answers {"model", "session_models": the keys of all the session's
                    models} or {"error"}
GET models/KEY      the file
GET dist/NAME       the page's bundle, and Plotly's
GET health          see README.md
"""

import asyncio
import errno
import gzip
import hashlib
import secrets
import time
from functools import cache
from pathlib import Path

import anyio
import plotly
from starlette.requests import ClientDisconnect, Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from ...files import shipped
from ...messages import Message, MessageError
from ...storage.checkpoint import available_checkpoints
from ...storage.portable import PortableError, max_file_bytes
from .. import access_log
from ..api import turns
from ..client import client_of
from ..fair_queue import FairQueue, QueueFullError
from ..sessions.model_store import file_name, model_store
from ..sessions.models import about, translator
from ..sessions.real_models import real_models
from ..sessions.training_queue import training_queue
from .page_routes import refused

MAX_UPLOADS, UPLOADS_PER_ADDRESS = 6, 2  # at a time, until the file is read: each is up to 208 MB on the disk
MAX_WAITING_UPLOADS = 60  # with nothing read
UPLOAD_SECONDS = 300  # for a file to arrive
UPLOAD_WAIT_SECONDS = 60  # for one of the places
DIST = shipped("assets") / "dist"
BUNDLE = {
    "app.js": DIST / "app.js",
    "app.css": DIST / "app.css",
    "plotly.js": Path(plotly.__file__).parent / "package_data" / "plotly.min.js",
}


@cache
def _uploads() -> tuple[FairQueue, FairQueue]:
    """For files to arrive, and for one at a time to be read into memory."""
    return FairQueue(MAX_UPLOADS, MAX_WAITING_UPLOADS, UPLOADS_PER_ADDRESS), FairQueue(1, MAX_UPLOADS)


async def upload(request: Request) -> Response:
    (arriving, reading), client = _uploads(), client_of(request.scope)
    file = model_store().folder / f"{secrets.token_hex(16)}.safetensors"
    started, why, is_kept = time.perf_counter(), None, False
    try:
        if not client.session:
            raise MessageError("error.request")
        async with arriving.turn(client, UPLOAD_WAIT_SECONDS):
            await _write(request, file)
            async with reading.turn(client, UPLOAD_SECONDS):
                key = await asyncio.to_thread(model_store().keep, client, file)
        is_kept = True
        answer = {"model": await asyncio.to_thread(about, key), "session_models": model_store().keys_of(client.session)}
        return JSONResponse(answer)
    except QueueFullError:
        why = Message("file.busy")
    except MessageError as error:
        why = error.message
    except (OSError, ClientDisconnect) as error:
        is_full = getattr(error, "errno", None) in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
        why = Message("file.no_space" if is_full else "file.not_taken")
    finally:
        if not is_kept:
            file.unlink(missing_ok=True)
        access_log.action("upload", started, why.key if why else "ok")
    return refused(why)


async def _write(request: Request, file: Path) -> None:
    """The body, piece by piece, and no more of it than a model can have. Raises PortableError if it is more; OSError
    if the disk is full, or the client too slow."""
    parameters = model_store().limits.parameters
    with file.open("wb") as written, anyio.fail_after(UPLOAD_SECONDS):
        async for piece in request.stream():
            if written.tell() + len(piece) > max_file_bytes(parameters):
                raise PortableError("file.too_big", most=parameters)
            await asyncio.to_thread(written.write, piece)


async def download(request: Request) -> Response:
    model = model_store().find(request.path_params["key"])
    if model is None or not model.file.exists():  # the machine may have tidied its temporary files
        return PlainTextResponse("This model is no longer here.", 404)
    return FileResponse(model.file, media_type="application/octet-stream", filename=file_name(model.name))


async def health(request: Request) -> Response:
    """Cheap enough for a load balancer to poll every second."""
    return JSONResponse(
        {
            "status": "ok",
            "device": str(translator("toy").device),  # which was loaded with the page
            "checkpoints": available_checkpoints(),
            "models": real_models().counts(),
            "training": training_queue().counts(),
            "queue": turns.counts() | {"others": turns.others(client_of(request.scope))},
        }
    )


@cache
def _packed(name: str) -> bytes:
    return gzip.compress(BUNDLE[name].read_bytes(), mtime=0)


async def bundle(request: Request) -> Response:
    """Compressed once. A browser keeps the file: its address changes with its contents."""
    name = request.path_params["name"]
    if name not in BUNDLE:
        return PlainTextResponse("Not found.", 404)
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "Content-Encoding": "gzip"}
    if (source_map := Path(f"{BUNDLE[name]}.map")).exists():
        headers["SourceMap"] = f"../gradio_api/file={source_map}"  # Gradio serves it, and the sources that it names
    kind = "text/css" if name.endswith(".css") else "text/javascript"
    return Response(await asyncio.to_thread(_packed, name), 200, headers, kind)


def bundle_address(name: str) -> str:
    """The address of a file of the bundle, relative to the page."""
    return f"dist/{name}?{hashlib.sha256(BUNDLE[name].read_bytes()).hexdigest()[:16]}"


ROUTES = [
    Route("/models", upload, methods=["POST"]),
    Route("/models/{key}", download, methods=["GET"]),
    Route("/dist/{name}", bundle, methods=["GET"]),
    Route("/health", health, methods=["GET"]),
]
