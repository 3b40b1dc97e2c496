"""The application: our own routes, and Gradio's Blocks at /."""

import gradio as gr
from fastapi import FastAPI
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ...files import shipped
from .. import gradio_internals
from ..api.table import QUESTIONS
from ..api.turns import QUEUE_SIZE
from ..client import client_of
from ..fair_queue import FairQueue, QueueFullError
from ..settings import settings
from . import files, page_routes
from .guard import Guard

MAX_CALL, MAX_TABLE = 256 * 2**10, 8 * 2**20  # bytes: a sentence and its changes; 2,000 pairs of the longest sentences
CALLS, CALLS_PER_ADDRESS = 8, 4  # of actions, at a time
MAX_UNREAD = 40  # answers of actions that their programs have not read yet; 8 are made at a time
MAX_SESSIONS = 20  # of programs, which Gradio keeps; the page has no state there
TABLES = ("/api/pairs", "/api/plan", "/api/train")
OWN = ("/api/", "/dist/", "/health", "/models")


def max_body(path: str) -> int | None:
    """Bytes of a request's body; None for a model, which its route bounds."""
    return None if path == "/models" else MAX_TABLE if path in TABLES else MAX_CALL


class Preload:
    """Names the bundle beside the page: a browser would hear of it from Gradio's scripts, after it has those."""

    def __init__(self, app: ASGIApp) -> None:
        self.app, self._link = app, f'<{files.bundle_address("app.js")}>; rel="modulepreload"'

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def write(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).append("Link", self._link)
            await send(message)

        is_page = scope["type"] == "http" and scope["path"] == "/"
        await self.app(scope, receive, write if is_page else send)


class FairCalls:
    """Calls of actions take turns by address before Gradio spends milliseconds of the event loop on each."""

    def __init__(self, app: ASGIApp) -> None:
        self.app, self._queue = app, FairQueue(CALLS, QUEUE_SIZE, CALLS_PER_ADDRESS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith("/gradio_api/run/"):
            return await self.app(scope, receive, send)
        try:
            async with self._queue.turn(client_of(scope)):
                await self.app(scope, receive, send)
        except QueueFullError:
            await PlainTextResponse("Too many calls wait. Try again in a moment.", 503)(scope, receive, send)


def application(page: gr.Blocks) -> FastAPI:
    """The page and its server."""
    app = FastAPI(
        openapi_url=None,
        routes=[*page_routes.routes(QUESTIONS), *files.ROUTES],
        middleware=[
            Middleware(Guard, own=OWN, max_body=max_body),
            Middleware(GZipMiddleware, minimum_size=1024, compresslevel=3),
            Middleware(CORSMiddleware, allow_origins=()),  # of its own, so that Gradio lets no other site read answers
        ],
    )
    gradio_internals.without_quotes(page)
    gradio_internals.forget(page, MAX_UNREAD, MAX_SESSIONS)
    return gr.mount_gradio_app(
        app,
        page,
        path="/",
        app_kwargs={
            "middleware": [Middleware(FairCalls), Middleware(Preload)],
            "exception_handlers": gradio_internals.error_handlers(),
        },
        head=(shipped("assets") / "head.html").read_text("utf-8"),
        css_paths=[files.BUNDLE["app.css"]],
        theme=gr.themes.Base(
            font=["ui-sans-serif", "system-ui", "sans-serif"], font_mono=["ui-monospace", "monospace"]
        ),
        favicon_path=str(shipped("assets") / "favicon.png"),
        footer_links=[],
        show_error=False,
        run_history=False,  # it would write every run to the visitor's disk
        enable_monitoring=False,
        ssr_mode=False,
        mcp_server=settings().mcp,
    )
