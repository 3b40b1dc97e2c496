"""Long answers are compressed for those who can read that."""

import gzip

from anyio import to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LEAST, MOST = 128 * 2**10, 16 * 2**20  # bytes: the toy's runs are shorter; a program waits for more than it would save
LEVEL = 1  # attention weights do not become smaller at a higher one


class Compression:
    """Compresses long JSON in a thread: on the event loop it would delay every request."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or "gzip" not in Headers(scope=scope).get("accept-encoding", ""):
            return await self.app(scope, receive, send)
        start: Message | None = None  # of an answer that is compressed
        body = bytearray()

        async def write(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_long_json(Headers(raw=message["headers"])):
                start = message
                return
            if not start:
                await send(message)
                return
            body.extend(message.get("body", b""))
            if message.get("more_body"):
                return
            packed = await to_thread.run_sync(gzip.compress, body, LEVEL)
            headers = MutableHeaders(scope=start)
            headers["Content-Encoding"] = "gzip"
            headers["Content-Length"] = str(len(packed))
            headers.add_vary_header("Accept-Encoding")
            await send(start)
            await send({"type": "http.response.body", "body": packed})

        await self.app(scope, receive, write)


def _is_long_json(headers: Headers) -> bool:
    is_plain_json = headers.get("content-type", "").startswith("application/json") and "content-encoding" not in headers
    return is_plain_json and LEAST <= int(headers.get("content-length", 0)) <= MOST
