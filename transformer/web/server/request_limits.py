"""The outermost middleware: bounds bodies at every address, Gradio's included, and logs uncaught errors."""

from collections.abc import Callable

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from . import access_log

MAX_BODY = 8 * 2**20  # bytes: a table of 2,000 pairs of the longest sentences
MAX_CALL = 256 * 2**10  # bytes: a sentence and its changes


class RequestLimits:
    """Refuses bodies that are larger than any valid request (413), multipart forms (415), which Gradio would store on
    disk, and paths with an address of another server (404), from which Gradio would fetch.

    Args:
        max_body: the most bytes of a body by its path; None where the handler bounds it.
    """

    def __init__(self, app: ASGIApp, max_body: Callable[[str], int | None]) -> None:
        self.app, self._max_body = app, max_body

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        headers, most = Headers(scope=scope), self._max_body(scope["path"])
        received, started = 0, False

        async def bounded() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if most is not None and received > most:
                raise HTTPException(413, "That is too much.")
            return message

        async def write(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            if headers.get("content-type", "").lower().lstrip().startswith("multipart/"):
                raise HTTPException(415, "No files are taken here.")
            if "://" in scope["path"]:
                raise HTTPException(404, "Only files of this page are here.")
            if most is not None and int(headers.get("content-length", 0)) > most:  # uvicorn accepts digits only
                raise HTTPException(413, "That is too much.")
            await self.app(scope, bounded, write)
        except HTTPException as error:
            if not started:
                await PlainTextResponse(error.detail, error.status_code)(scope, receive, send)
        except Exception as error:
            access_log.fault("request", error)
            if not started:
                await PlainTextResponse("The server made a mistake.", 500)(scope, receive, send)
