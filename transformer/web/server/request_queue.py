"""The line of those who ask: so many questions are worked on at a time, and the others wait in the order they came.

More at a time would only take the interpreter from each other, and nobody could say who is next. Who waits can ask
`GET health` how many do; where too many wait already, a question is sent away at once, to come back a little later.
What comes by another road, through Gradio's own queue or as a tool, waits in the same line. Questions about visits' own
models, which may be large, have a line of their own, so that they keep nobody else waiting.

`$TRANSFORMER_AT_ONCE` is how many of a line are worked on at a time, `$TRANSFORMER_LINE` how many may wait.
"""

import asyncio
import json
import os
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable
from contextlib import asynccontextmanager
from contextvars import ContextVar
from functools import cache
from typing import Any

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..sessions.model_store import OWN_MODEL_PREFIX
from . import access_log as log
from .request_limits import MAX_CALL

AT_ONCE, LONGEST = "TRANSFORMER_AT_ONCE", "TRANSFORMER_LINE"
DEFAULTS = {AT_ONCE: 1, LONGEST: 500}
WORK = ("/gradio_api/run/", "/gradio_api/api/", "/gradio_api/component_server")
RETRAINS = "spot_the_bug"  # may train for seconds, and has the line of the trainings
COME_BACK_SECONDS = 2
READ_SECONDS = 60  # for a question to arrive
MAX_HELD = 64 * 2**20  # bytes of questions that arrive or wait, after which only calls are taken, which are short
LONGEST_SESSION = 64  # characters; Gradio keeps it for as long as the session
FULL = "Too many are asking right now. Try again in a few seconds."
SLOW = "The question did not arrive in time. Ask it again."
NO_SESSION = "A session has a shorter name."


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
        self.held = 0  # bytes of questions, which are counted in one line
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
def _lines() -> tuple[Line, Line]:
    return Line.from_environment(), Line.from_environment()


def line(own: bool = False) -> Line:
    """This server's, or that of questions about visits' own models.

    Raises:
        ValueError: the environment asks for what is no line.
    """
    return _lines()[own]


class QueueFullError(Exception):
    """Too many wait already; its message is for visitors."""

    def __init__(self) -> None:
        super().__init__(FULL)


class Question:
    """It arrives, waits in line, is worked on, and has then left."""

    def __init__(self) -> None:
        self.body = bytearray()
        self._line = line()
        self._turn: asyncio.Future[None] | None = None
        self._left = False

    async def arrives(self, receive: Receive) -> bool:
        """Whether it is there before the visitor goes.

        Raises:
            QueueFullError: it is long, and too many long ones are here.
            TimeoutError: it takes too long.
        """
        async with asyncio.timeout(READ_SECONDS):
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    return False
                piece = message.get("body", b"")
                self.body += piece
                line().held += len(piece)
                if len(self.body) > MAX_CALL and line().held > MAX_HELD:
                    raise QueueFullError
                if not message.get("more_body"):
                    return True

    async def comes(self, own: bool, receive: Receive | None = None) -> bool:
        """Whether it comes to its turn before the visitor goes; `own`: it is about a visit's own model.

        Raises:
            QueueFullError: so many wait already.
        """
        self._line = line(own)
        if self._line.full:
            raise QueueFullError
        self._turn = self._line.join()
        if self._turn.done():
            return True
        either: set[asyncio.Future[Any]] = {self._turn}
        if receive:
            either.add(asyncio.ensure_future(receive()))  # after the body nothing comes but the visitor's leave
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
            return self._turn.done()
        finally:
            for gone in either - {self._turn}:
                gone.cancel()

    def leave(self) -> None:
        """More than once is as once."""
        if not self._left:
            self._left = True
            line().held -= len(self.body)
            if self._turn:
                self._line.leave(self._turn)


_ASKED: ContextVar[Question | None] = ContextVar("asked", default=None)


@asynccontextmanager
async def turn(action: str, asked_of: object) -> AsyncIterator[None]:
    """Around the work of an action, and of what it was asked: what came past `QueueMiddleware` waits here, and
    what may train gives its place to the next.

    Raises:
        QueueFullError: so many wait already.
    """
    asked = _ASKED.get()
    if action == RETRAINS:
        if asked:
            asked.leave()
        yield
    elif asked:
        yield
    else:
        question = Question()
        try:
            await question.comes(_is_about_own(asked_of))
            yield
        finally:
            question.leave()


class QueueMiddleware:
    """Has questions wait for their turn, as middleware.

    A question is read before it takes a place, and has left it before its answer is sent: whoever is slow at either
    keeps nobody waiting.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or scope["method"] != "POST" or not scope["path"].startswith(WORK):
            return await self.app(scope, receive, send)
        started, question = time.perf_counter(), Question()

        def refuse(why: str, status: int, **headers: str) -> Awaitable[None]:
            return JSONResponse({"error": why}, status, headers)(scope, receive, send)

        async def read() -> Message:
            if unread:
                return unread.pop()
            return await receive()

        async def write(message: Message) -> None:
            question.leave()
            await send(message)

        try:
            try:
                if not await question.arrives(receive):
                    return
                asked = _read(question.body)
                if len(str(asked.get("session_hash"))) > LONGEST_SESSION:
                    return await refuse(NO_SESSION, 400)
                if not await question.comes(_is_about_own(asked), receive):
                    return
            except TimeoutError:
                return await refuse(SLOW, 408)
            except QueueFullError:
                log.action("wait", started, "full", status=503, received=len(question.body))
                return await refuse(FULL, 503, **{"Retry-After": str(COME_BACK_SECONDS)})
            unread: list[Message] = [{"type": "http.request", "body": bytes(question.body), "more_body": False}]
            _ASKED.set(question)
            await self.app(scope, read, write)
        finally:
            question.leave()


def _read(body: bytearray) -> dict[str, Any]:
    """Empty where it is no question, as Gradio will say."""
    try:
        asked = json.loads(body)
        return asked if isinstance(asked, dict) else {}
    except (ValueError, RecursionError):
        return {}


def _is_about_own(asked: object) -> bool:
    """Wherever in it the key of a model stands."""
    return OWN_MODEL_PREFIX in str(asked)
