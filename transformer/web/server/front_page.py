"""The page as it is served."""

import gzip

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send


class FrontPage:
    """Puts `head` into the page's HTML, which Gradio would insert by script once all of its own is there, and
    compresses it.
    """

    def __init__(self, app: ASGIApp, head: str) -> None:
        self.app, self._head = app, head.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["path"] != "/" or scope["method"] != "GET":
            return await self.app(scope, receive, send)
        compressed = "gzip" in Headers(scope=scope).get("accept-encoding", "")
        start: Message = {}
        body = bytearray()

        async def write(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start":
                start = message
                return
            body.extend(message.get("body", b""))
            if message.get("more_body"):
                return
            page = bytes(body).replace(b"</head>", self._head + b"</head>", 1)
            headers = MutableHeaders(scope=start)
            if compressed:
                page = gzip.compress(page, 3)
                headers["Content-Encoding"] = "gzip"
            headers["Content-Length"] = str(len(page))
            headers["Vary"] = "Accept-Encoding"
            await send(start)
            await send({"type": "http.response.body", "body": page})

        await self.app(scope, receive, write)
