"""The line of those who ask: so many questions are worked on at a time, and the others wait in the order they came.

More at a time would only take the interpreter from each other, and nobody could say who is next. Who waits can ask
`GET health` how many do; where too many wait already, a question is sent away at once, to come back a little later.

`$TRANSFORMER_AT_ONCE` is how many are worked on at a time, `$TRANSFORMER_LINE` how many may wait.
"""

import asyncio
import os
import time
from collections import deque
from functools import cache
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from . import log

AT_ONCE, LONGEST = "TRANSFORMER_AT_ONCE", "TRANSFORMER_LINE"
DEFAULTS = {AT_ONCE: 1, LONGEST: 500}
WORK = ("/gradio_api/run/", "/gradio_api/api/", "/gradio_api/component_server")
RETRAINS = "spot_the_bug"  # may train for seconds, and has the line of the trainings
COME_BACK_SECONDS = 2
MOST_HELD = 64 * 2**20  # bytes of all questions in line, which stay in memory until it is their turn
FULL = "Too many are asking right now. Try again in a few seconds."


class Line:
    """Who is at work, and who waits. Belongs to the server's event loop.

    Args:
        at_once: questions that are worked on at a time.
        longest: questions that may wait.

    Raises:
        ValueError: a number below 1.
    """

    def __init__(self, at_once: int, longest: int) -> None:
        if at_once < 1 or longest < 1:
            raise ValueError(f"{AT_ONCE} ({at_once}) or {LONGEST} ({longest}) is below 1")
        self.at_once, self.longest = at_once, longest
        self.working = 0
        self.held = 0  # bytes
        self._waiting: deque[asyncio.Future[None]] = deque()

    @classmethod
    def from_environment(cls) -> "Line":
        asked = {name: os.environ.get(name, str(usual)) for name, usual in DEFAULTS.items()}
        try:
            return cls(int(asked[AT_ONCE]), int(asked[LONGEST]))
        except ValueError as error:
            named = ", ".join(f"{name}={value!r}" for name, value in asked.items())
            raise ValueError(f"the line is not of whole numbers above 0: {named}") from error

    @property
    def waiting(self) -> int:
        return len(self._waiting)

    @property
    def full(self) -> bool:
        return self.waiting >= self.longest

    def join(self) -> asyncio.Future[None]:
        """Done when it is one's turn; each turn is to be ended by `leave`, also one that never came."""
        turn = asyncio.get_running_loop().create_future()
        if self.working < self.at_once:
            self.working += 1
            turn.set_result(None)
        else:
            self._waiting.append(turn)
        return turn

    def leave(self, turn: asyncio.Future[None]) -> None:
        """Out of the line, or from work: then whoever is next begins."""
        if not turn.done():
            self._waiting.remove(turn)
            turn.cancel()
        elif self._waiting:
            self._waiting.popleft().set_result(None)
        else:
            self.working -= 1


@cache
def line() -> Line:
    """This server's.

    Raises:
        ValueError: the environment asks for what is no line.
    """
    return Line.from_environment()


class InLine:
    """Has questions wait for their turn, as middleware.

    A question is read before it takes a place, and has left it before its answer is sent: whoever is slow at either
    keeps nobody waiting.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _is_work(scope):
            return await self.app(scope, receive, send)
        started = time.perf_counter()
        body = await _whole(receive)
        if body is None:
            return
        here = line()
        if here.full or here.held + len(body) > MOST_HELD:
            log.action("wait", started, "full", status=503, received=len(body))
            back = {"Retry-After": str(COME_BACK_SECONDS)}
            return await JSONResponse({"error": FULL}, 503, back)(scope, receive, send)
        turn, left = here.join(), False
        here.held += len(body)

        def leave() -> None:
            nonlocal left
            if not left:
                left = True
                here.held -= len(body)
                here.leave(turn)

        unread = [{"type": "http.request", "body": body, "more_body": False}]

        async def read() -> Message:
            return unread.pop() if unread else await receive()

        async def write(message: Message) -> None:
            leave()
            await send(message)

        try:
            if turn.done() or await _comes(turn, receive):
                await self.app(scope, read, write)
        finally:
            leave()


def _is_work(scope: Scope) -> bool:
    path = scope["path"]
    return scope["method"] == "POST" and path.startswith(WORK) and RETRAINS not in path


async def _whole(receive: Receive) -> bytes | None:
    """A request's body; None where the visitor went before its end."""
    pieces = []
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            return None
        pieces.append(message.get("body", b""))
        if not message.get("more_body"):
            return b"".join(pieces)


async def _comes(turn: asyncio.Future[None], receive: Receive) -> bool:
    """Whether it comes to one's turn before the visitor goes."""
    gone = asyncio.ensure_future(receive())  # after the body nothing else comes
    either: set[asyncio.Future[Any]] = {turn, gone}
    try:
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        return turn.done()
    finally:
        gone.cancel()
