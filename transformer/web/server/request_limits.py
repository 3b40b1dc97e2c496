"""What stands before every address, Gradio's own included: bodies are bounded, and faults say nothing of visitors."""

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from . import access_log as log

MAX_BODY = 8 * 2**20  # bytes: a table of 2,000 pairs of the longest sentences
MAX_CALL = 256 * 2**10  # bytes: of a sentence and its changes
CALLS = "/gradio_api/"
WITH_TABLES = "/gradio_api/component_server"
UNBOUNDED = "/models"  # which reads no more than a model can have


class RequestLimits:
    """Refuses what is larger than any question (413), files in forms, which nothing here takes (415), and addresses of
    other servers (404), from where Gradio would fetch whatever anybody asks for."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        headers = Headers(scope=scope)
        if headers.get("content-type", "").lower().lstrip().startswith("multipart/"):  # Gradio would keep it on disk
            return await PlainTextResponse("No files are taken here.", 415)(scope, receive, send)
        path = scope["path"]
        if "://" in path:
            return await PlainTextResponse("Only files of this page are here.", 404)(scope, receive, send)
        bounded = path != UNBOUNDED
        most = MAX_CALL if path.startswith(CALLS) and not path.startswith(WITH_TABLES) else MAX_BODY
        if bounded and int(headers.get("content-length", 0)) > most:  # a server admits digits only
            return await PlainTextResponse("That is too much.", 413)(scope, receive, send)
        received, begun = 0, False

        async def read() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if bounded and received > most:
                raise HTTPException(413, "That is too much.")
            return message

        async def write(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, read, write)
        except HTTPException as error:
            if not begun:
                await PlainTextResponse(error.detail, error.status_code)(scope, receive, send)
        except Exception as error:
            log.fault("request", error)
            if not begun:
                await PlainTextResponse("The server made a mistake.", 500)(scope, receive, send)
