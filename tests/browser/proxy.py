"""A load balancer for tests: every request goes to the next replica that is there."""

import asyncio
import itertools
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import httpx
import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

METHODS = ["GET", "POST", "DELETE", "HEAD"]
OWN = {"connection", "transfer-encoding", "content-length", "keep-alive"}  # of each of the two connections


class Proxy:
    """Serves on a free port, in a thread of its own.

    Attributes:
        seen: (method, path, replica) of each request that was answered.
    """

    def __init__(self, replicas: list[str]) -> None:
        self.replicas = replicas
        self.seen: list[tuple[str, str, int]] = []
        self._turn = itertools.count()
        app = Starlette(routes=[Route("/{path:path}", self._pass, methods=METHODS)], lifespan=self._lifespan)
        self._server = uvicorn.Server(
            uvicorn.Config(app, "127.0.0.1", 0, log_level="error", timeout_graceful_shutdown=1)
        )
        self._thread = threading.Thread(target=lambda: asyncio.run(self._server.serve()), daemon=True)
        self._thread.start()
        while not self._server.started:
            time.sleep(0.01)
        self.url = f"http://127.0.0.1:{self._server.servers[0].sockets[0].getsockname()[1]}/"

    def close(self) -> None:
        self._server.should_exit = True
        self._thread.join(10)

    @asynccontextmanager
    async def _lifespan(self, _: Starlette) -> AsyncIterator[None]:
        kept = httpx.Limits(keepalive_expiry=3)  # below the server's 20 s, at which it would close what is being asked
        async with httpx.AsyncClient(timeout=None, limits=kept, trust_env=False) as self._client:
            yield

    async def _pass(self, request: Request) -> Response:
        body, path = await request.body(), request.url.path
        headers = [(name, value) for name, value in request.headers.items() if name not in OWN]
        first = next(self._turn)
        for number in range(first, first + len(self.replicas)):
            number %= len(self.replicas)
            address = self.replicas[number].rstrip("/") + path
            asked = self._client.build_request(
                request.method, address, params=request.query_params, headers=headers, content=body
            )
            try:
                answer = await self._client.send(asked, stream=True)
            except httpx.ConnectError:
                continue
            self.seen.append((request.method, path, number))
            kept = {name: value for name, value in answer.headers.items() if name not in OWN}
            return StreamingResponse(answer.aiter_raw(), answer.status_code, kept)
        return Response("No replica answers.", 502)
