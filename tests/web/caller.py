"""A client of an ASGI application, which disconnects when it likes."""

import asyncio
from typing import Any

from starlette.types import ASGIApp


class Caller:
    """One request, whose body comes in pieces.

    Args:
        complete: whether the last piece is the end of the body; else the client goes on to send nothing.
    """

    def __init__(
        self,
        app: ASGIApp,
        path: str,
        *pieces: bytes,
        complete: bool = True,
        address: str = "1.1.1.1",
        session: str = "me",
    ) -> None:
        self._app = app
        self._scope: dict[str, Any] = {"type": "http", "method": "POST", "path": path, "query_string": b""}
        self._scope |= {"headers": [(b"session", session.encode())], "client": (address, 1)}
        self._scope |= {"asgi": {"version": "3.0", "spec_version": "2.3"}}
        self._complete = complete
        self.pieces, self.gone = list(pieces), asyncio.Event()
        self.answer: list[Any] = []

    async def _receive(self) -> Any:
        if self.pieces:
            body = self.pieces.pop(0)
            return {"type": "http.request", "body": body, "more_body": bool(self.pieces) or not self._complete}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: Any) -> None:
        self.answer.append(message)

    async def call(self) -> bytes:
        """The answer's body."""
        await self._app(self._scope, self._receive, self._send)
        return b"".join(part.get("body", b"") for part in self.answer)

    @property
    def status(self) -> int:
        return int(self.answer[0]["status"])
