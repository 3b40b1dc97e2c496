"""The first middleware of ours: refuses requests that neither the page nor the documented API sends, and bounds bodies.

A body is read here, whole, before anything else sees it: all that wait or arrive are bounded together and by address,
and JSON is refused by its size, the number of its values and their depth before it is parsed.
"""

import asyncio
import ipaddress
import re
import socket
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import anyio
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse
from starlette.routing import compile_path
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .. import access_log
from ..fair_queue import FULL, client_of
from ..settings import settings
from .logged_calls import SERVER_FAULT

BODY_SECONDS = 60  # for a body to arrive
HELD_BYTES = 64 * 2**20  # of all bodies that arrive or wait
HELD_BYTES_OF_ADDRESS = 16 * 2**20  # of calls, and the same again of larger bodies
UPLOAD_RATE, RATE_SECONDS = 64 * 2**10, 10  # at least these bytes a second, averaged over these seconds
RETRY_AFTER_SECONDS = 2
MAX_DEPTH = 32  # of JSON in JSON
INLINE_BYTES = 16 * 2**10  # of JSON that is checked without a thread of its own
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")  # which change nothing
TOO_LARGE = "The request is too large."
NO_FILES = "This server accepts no files here."
NO_BODY = "A request that changes nothing has no body here."
FOREIGN = "Another site's page may not ask this."
UNKNOWN_HOST = "This server has another name. Its operator can add this one to TRANSFORMER_HOSTS."
# Bounded in length, because a match holds the interpreter: a sign or what is between two, and a part of a string.
OUTSIDE = re.compile(rb'[\[\]{},"]|[^\[\]{},"]{1,65536}+')
INSIDE = re.compile(rb'(?:[^"\\]{1,1024}+|\\.){1,64}+', re.DOTALL)
PAUSE_TOKENS = 20_000  # more than INLINE_BYTES have
QUOTE = ord('"')
TOKENS_PER_VALUE = 12  # at most: quotes and text of a key and of a value, a comma or two brackets, what is between

MAX_BODY = 8 * 2**20  # bytes: a table of 2,000 pairs of the longest sentences
MAX_CALL = 256 * 2**10  # bytes: a sentence and its changes


@dataclass(frozen=True)
class BodyLimit:
    """Of one body: its bytes, and the values in its JSON."""

    size: int
    values: int


TABLE = BodyLimit(MAX_BODY, 50_000)  # which take 30 ms to parse
CALL = BodyLimit(MAX_CALL, 10_000)


class RequestLimits:
    """Refuses paths that are not reachable (404), forms (415), which Gradio would store on disk, unknown names of this
    server and other sites' pages (403), and bodies that are larger than any valid request (413), slower (408), or one
    too many (503).

    Args:
        reachable: the methods of each path, which is written as in a route.
        limit: of a body by its path; None where the handler reads and bounds it.
    """

    def __init__(
        self, app: ASGIApp, reachable: Mapping[str, Collection[str]], limit: Callable[[str], BodyLimit | None]
    ) -> None:
        self.app, self._limit = app, limit
        self._reachable = [(compile_path(path)[0], methods) for path, methods in reachable.items()]
        self._bodies: list[_Body] = []  # that arrive, or wait for their answer

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        started = False

        async def write(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            self._check(scope)
            limit = self._limit(scope["path"])
            if limit is None or scope["method"] in SAFE_METHODS:
                await self.app(scope, receive, write)
            else:
                await self._read_and_pass_on(limit, scope, receive, write)
        except ClientDisconnect:
            pass
        except HTTPException as error:
            if not started:
                await PlainTextResponse(error.detail, error.status_code, error.headers)(scope, receive, send)
        except Exception as error:
            access_log.fault("request", error)
            if not started:
                await PlainTextResponse(SERVER_FAULT.message, 500)(scope, receive, send)

    def _check(self, scope: Scope) -> None:
        path, method, headers = scope["path"], scope["method"], Headers(scope=scope)
        if not known_host(headers.get("host", "")):
            raise HTTPException(403, UNKNOWN_HOST)
        methods = [methods for pattern, methods in self._reachable if pattern.match(path)]
        if not methods or "://" in path:  # an address of another server, from which Gradio would fetch
            raise HTTPException(404, "Not found.")
        if not any(method in some for some in methods):
            raise HTTPException(405, "Method not allowed.")
        if method in SAFE_METHODS and ("transfer-encoding" in headers or headers.get("content-length", "0") != "0"):
            raise HTTPException(413, NO_BODY)
        if headers.get("content-type", "").lower().lstrip().startswith("multipart/"):
            raise HTTPException(415, NO_FILES)
        if method not in SAFE_METHODS and foreign(headers):
            raise HTTPException(403, FOREIGN)

    async def _read_and_pass_on(self, limit: BodyLimit, scope: Scope, receive: Receive, send: Send) -> None:
        held = _Body(client_of(scope).address)
        self._bodies.append(held)
        try:
            body = await self._read(Request(scope, receive), limit, held)
            if len(body) <= INLINE_BYTES:
                check_json(body, limit.values)
            else:
                await asyncio.to_thread(check_json, body, limit.values)
            receive_again = replayed(bytes(body), receive)
            del body

            async def release_and_send(message: Message) -> None:
                held.size = 0
                await send(message)

            await self.app(scope, receive_again, release_and_send)
        finally:
            self._bodies.remove(held)

    async def _read(self, request: Request, limit: BodyLimit, held: "_Body") -> bytearray:
        if int(request.headers.get("content-length", 0)) > limit.size:  # uvicorn accepts digits only
            raise HTTPException(413, TOO_LARGE)
        body = bytearray()
        with anyio.move_on_after(BODY_SECONDS), held.reading:
            async for piece in pieces(request, held.reading):
                body += piece
                if len(body) > limit.size:
                    raise HTTPException(413, TOO_LARGE)
                held.size = len(body)
                self._make_room(held)
            held.complete = True
            return body
        if held.size == len(body):  # else `_make_room` has let it go
            raise HTTPException(408, "The request took too long to arrive.")
        raise _busy()

    def _make_room(self, held: "_Body") -> None:
        """After a body has grown: where the share of its address is full, or the total, the largest that has not fully
        arrived gives way, of the address or of the one with most.

        Bodies of up to INLINE_BYTES always have room, because connections are bounded; those of calls and larger ones
        have a share each.

        Raises:
            HTTPException: only bodies that have arrived completely hold the room.
        """
        while held.share:
            counted = [each for each in self._bodies if each.share]
            of_share = [each for each in counted if (each.address, each.share) == (held.address, held.share)]
            if sum(each.size for each in of_share) <= HELD_BYTES_OF_ADDRESS:
                if sum(each.size for each in counted) <= HELD_BYTES:
                    return
                sizes = Counter[str]()
                for each in counted:
                    sizes[each.address] += each.size
                ((busiest, _),) = sizes.most_common(1)
                of_share = [each for each in counted if each.address == busiest]
            loser = max((each for each in of_share if not each.complete), key=lambda each: each.size, default=held)
            loser.size = 0
            loser.reading.cancel()
            if loser is held:
                raise _busy()


@dataclass(eq=False)
class _Body:
    """A body that arrives, or waits for its answer: `size` is 0 once it has been let go."""

    address: str
    size: int = 0
    complete: bool = False
    reading: anyio.CancelScope = field(default_factory=anyio.CancelScope)

    @property
    def share(self) -> int:
        return (self.size > INLINE_BYTES) + (self.size > MAX_CALL)


def _busy() -> HTTPException:
    return HTTPException(503, FULL, {"Retry-After": str(RETRY_AFTER_SECONDS)})


async def pieces(request: Request, reading: anyio.CancelScope) -> AsyncIterator[bytes]:
    """A body as it arrives. `reading` is cancelled where it is slower than UPLOAD_RATE."""
    arrived = 0
    reading.deadline = anyio.current_time() + RATE_SECONDS
    async for piece in request.stream():
        yield piece
        arrived += len(piece)
        if arrived >= UPLOAD_RATE * RATE_SECONDS:
            arrived = 0
            reading.deadline = anyio.current_time() + RATE_SECONDS


def check_json(body: bytes | bytearray, most: int) -> None:
    """Refuse JSON that would be slow to parse, without parsing it. A body that is not JSON is left to the parser.

    Raises:
        HTTPException: it has more than `most` values, is deeper than MAX_DEPTH, or in UTF-16 or UTF-32 (with zeros).
    """
    if b"\0" in body:
        raise HTTPException(400, "JSON has to be UTF-8.")
    values = depth = tokens = position = 0
    inside = False
    while position < len(body):
        token = (INSIDE if inside else OUTSIDE).match(body, position)
        sign = 0 if inside and token else body[position]
        position = token.end() if token else position + 1
        inside ^= sign == QUOTE
        values += sign in b"[{,"
        depth += (sign in b"[{") - (sign in b"]}")
        tokens += 1
        if tokens % PAUSE_TOKENS == 0:
            time.sleep(0.001)  # of the thread: others need the interpreter
        if values > most or depth > MAX_DEPTH or tokens > TOKENS_PER_VALUE * most + len(body) // 64:
            raise HTTPException(413, TOO_LARGE)


def replayed(body: bytes, receive: Receive) -> Receive:
    """A `receive` for a request whose body has been read: it yields that body once, then passes on later messages."""
    unread: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return unread.pop() if unread else await receive()

    return receive_again


def known_host(host: str) -> bool:
    """Whether a request names this server: by an IP address, by a name without a dot, or by a name that it knows.

    Another site could let a name of its own lead to a private server (DNS rebinding), whose answers its page could
    then read. Behind a proxy, which chooses what it passes on, any name will do.
    """
    known = settings().hosts.lower().replace(",", " ").split()
    if settings().proxies and not known:
        return True
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return False
    machine = socket.gethostname().lower()
    if "." not in name or name in (machine, f"{machine}.local", *known):
        return True
    try:
        return bool(ipaddress.ip_address(name))
    except ValueError:
        return False


def foreign(headers: Headers) -> bool:
    """Whether a page of another origin asks, through the browser of a visitor, who may use a private server.

    Browsers say so by Sec-Fetch-Site, and where this page has no HTTPS, by Origin alone. No other program sends either.
    A page cannot set X-Forwarded-Host, which a proxy may, without asking first, and nothing here permits it.
    """
    site, origin = headers.get("sec-fetch-site"), headers.get("origin")
    if site is not None:
        return site not in ("same-origin", "none")
    if origin is None:
        return False
    hosts = headers.getlist("host") + headers.get("x-forwarded-host", "").replace(" ", "").split(",")
    return urlsplit(origin).netloc.lower() not in [host.lower() for host in hosts if host]
