"""Bounds on connections: how many there are, how long one may take to ask, and how slowly it may read.

uvicorn bounds idle ones between two requests, and the size of headers. It does not bound the time for headers to
arrive, nor for an answer to be read, and its limit on all connections lets one address have them all.
"""

import asyncio
import math
import random
import re
import socket
import time
from collections import Counter
from collections.abc import Iterable
from typing import Any, ClassVar, cast

import h11
from starlette.types import Scope
from uvicorn import Config
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol

from ..fair_queue import client_of

MAX_CONNECTIONS = 1000
ACCEPTED = 16  # in one turn of the loop
FILES = 4096  # file descriptors to request from the system; connections get at most half of those granted
HEADER_SECONDS = 10  # from a connection, or from an answer on it, to the last header of the next request
KEEP_ALIVE_SECONDS = 5  # without any byte of it
HEADER_BYTES = 32 * 2**10  # of a request's line and headers: a link can have a sentence and its changes
BODY_BYTES_A_SECOND, PIECES_A_SECOND = 4 * 2**20, 1000  # of an address: what arrives faster waits
CONNECTIONS_A_SECOND, TURN_SECONDS = 400, 3  # of an address: more new ones wait until they are read, at most as long
RECEIVED_BYTES = 128 * 2**10  # of a connection that wait in the system
CHUNKS, CHUNK_BYTES = 20, 1024  # one read of a chunked body may have 20 chunks, and one more per 1,024 bytes
CHUNK_HEAD = re.compile(rb"\r\n[0-9A-Fa-f]{1,20} *(?:;[^\r\n]*)?(?=\r\n)")
CHUNKED = re.compile(rb"^transfer-encoding:[^\n]*chunked", re.IGNORECASE | re.MULTILINE)
LEFT_BYTES, LEFT_SECONDS = 64 * 2**10, 1  # of a body that are read after its answer; then to read that answer
READ_SECONDS, READ_BYTES = 20, 64 * 2**10  # a client that reads less of its answer in this time is disconnected
UNREAD_BYTES = 256 * 2**20  # of all answers that are being read


def bound_connections(config: Config) -> None:
    """Set uvicorn's limits, and ours."""
    files = _files()
    most = min(MAX_CONNECTIONS, files // 2)

    class Connection(BoundedConnection):
        max_connections = most
        new, pieces = Pace(), Pace()
        by_address: ClassVar[dict[str, dict[BoundedConnection, None]]] = {}

    config.http = Connection
    config.backlog = ACCEPTED  # at a time, by asyncio
    config.limit_concurrency = 2 * most  # beyond what is closed here
    config.timeout_keep_alive = KEEP_ALIVE_SECONDS
    config.h11_max_incomplete_event_size = HEADER_BYTES
    config.proxy_headers = False  # anybody can write them


def bound_waiting(listening: Iterable[socket.socket]) -> None:
    """Let the system keep connections that wait, where asyncio lets it keep as few as it accepts at a time, and bound
    what it keeps of a body that is not read yet: by default 32 MB.
    """
    for each in listening:
        with socket.fromfd(each.fileno(), each.family, each.type) as same:
            same.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVED_BYTES)  # connections inherit it
            same.listen(MAX_CONNECTIONS)


def _files() -> int:
    """How many the process may have open, after asking for more."""
    try:
        import resource
    except ImportError:  # Windows
        return FILES
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    files = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < files:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, hard))
    return files


class Pace:
    """Turns that each address takes one after the other."""

    def __init__(self) -> None:
        self._next: dict[str, float] = {}  # the time from which an address has its next turn

    def __contains__(self, address: str) -> bool:
        return address in self._next

    def take(self, address: str, seconds: float, longest: float = math.inf) -> float:
        """Take the next turn of an address, of `seconds`; returns the seconds until it begins. Where they would be more
        than `longest`, any time before, so that not all who wait too long come at once."""
        now = time.monotonic()
        begins = max(now, self._next.get(address, 0))
        if begins - now > longest:
            return random.uniform(0, longest)
        self._next[address] = begins + seconds
        if len(self._next) > MAX_CONNECTIONS:
            self._next = {address: begins for address, begins in self._next.items() if begins > now}
        return begins - now


class PacedReading(FlowControl):
    """uvicorn's, which reads on no earlier than it may."""

    _held = False

    def hold_reading(self, seconds: float) -> None:
        self._held = True
        self._transport.pause_reading()
        asyncio.get_running_loop().call_later(seconds, self._release)

    def _release(self) -> None:
        self._held = False
        if not self.read_paused:
            self._transport.resume_reading()

    def resume_reading(self) -> None:
        if self._held:
            self.read_paused = False
        else:
            super().resume_reading()


class BoundedConnection(H11Protocol):
    """A connection, which is closed when it takes too long, or when there are too many.

    Then the address with the most connections loses one: its oldest that asks nothing, else its oldest whose request
    has not fully arrived, else its newest.
    """

    max_connections = MAX_CONNECTIONS
    new, pieces = Pace(), Pace()  # the turns of new connections, and of pieces of bodies
    flow: "PacedReading"
    _deadline: asyncio.TimerHandle | None = None
    _reading: asyncio.TimerHandle | None = None
    by_address: ClassVar[dict[str, dict["BoundedConnection", None]]] = {}  # that are open, the oldest first
    _address = ""
    _placed_by: object = None  # the request that named the address
    _left = LEFT_BYTES

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.flow = PacedReading(transport)
        self._expect_headers()
        self._place({"type": "http", "client": self.client, "headers": []})
        if sum(map(len, self.by_address.values())) > self.max_connections:
            self._make_room()
        # Reading from many new ones at once would block the event loop.
        if seconds := self.new.take(self._address, 1 / CONNECTIONS_A_SECOND, TURN_SECONDS):
            self.flow.hold_reading(seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        for timer in (self._deadline, self._reading):
            if timer:
                timer.cancel()
        self._leave()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Reads on when it is the turn of this address's bodies, and hardly at all after the answer.

        Tiny chunks end the connection: each takes as long as a large one.
        """
        is_body = self.conn.their_state is h11.SEND_BODY
        is_chunked = self._is_chunked() if is_body else CHUNKED.search(data)
        chunks = len(CHUNK_HEAD.findall(data)) if is_chunked else 0
        if chunks > CHUNKS + len(data) // CHUNK_BYTES:
            self.transport.abort()
            return
        super().data_received(data)
        if self.scope is not self._placed_by and not self.transport.is_closing():
            self._place(cast(Scope, self.scope))
        if self.conn.their_state is not h11.SEND_BODY or self.transport.is_closing():
            return
        if not self._idle:
            if not self.cycle.body:  # headers only
                return
            seconds = max(len(data) / BODY_BYTES_A_SECOND, (1 + chunks) / PIECES_A_SECOND)
            self.flow.hold_reading(self.pieces.take(self._address, seconds) + seconds)
        elif self._left >= 0:
            self._left -= len(data)
            if self._left < 0:
                self.flow.hold_reading(2 * LEFT_SECONDS)  # beyond the end
                self.loop.call_later(LEFT_SECONDS, self.transport.abort)

    def on_response_complete(self) -> None:
        self._left = LEFT_BYTES
        self._expect_headers()
        super().on_response_complete()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect_reading()
        unread = {each: each.transport.get_write_buffer_size() for each in self._all}
        if sum(unread.values()) > UNREAD_BYTES:
            of_address = Counter[str]()
            for each, size in unread.items():
                of_address[each._address] += size
            ((busiest, _),) = of_address.most_common(1)
            max((each for each in unread if each._address == busiest), key=unread.__getitem__).transport.abort()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._reading:
            self._reading.cancel()
            self._reading = None

    def _expect_headers(self) -> None:
        if self._deadline:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(HEADER_SECONDS, self._close_if_idle)

    def _close_if_idle(self) -> None:
        if self._idle:
            self.transport.abort()

    def _expect_reading(self) -> None:
        before = self.transport.get_write_buffer_size()

        def check() -> None:
            if self.transport.get_write_buffer_size() > before - READ_BYTES:
                self.transport.abort()
            else:
                self._expect_reading()

        self._reading = self.loop.call_later(READ_SECONDS, check)

    def _is_chunked(self) -> bool:
        """Whether the body that arrives comes in chunks."""
        return any(name == b"transfer-encoding" for name, _ in self.headers or ())

    @property
    def _all(self) -> "set[BoundedConnection]":
        return cast(Any, self.connections)

    @property
    def _idle(self) -> bool:
        return self.cycle is None or self.cycle.response_complete

    def _place(self, scope: Scope) -> None:
        """Count it for the client of its last request; behind a proxy, until there is one, for the proxy."""
        self._placed_by, address = self.scope, client_of(scope).address
        if address != self._address or self not in self.by_address.get(address, ()):
            self._leave()
            self._address = address
            self.by_address.setdefault(address, {})[self] = None

    def _leave(self) -> None:
        its = self.by_address.get(self._address, {})
        its.pop(self, None)
        if not its:
            self.by_address.pop(self._address, None)

    def _make_room(self) -> None:
        """Close one, of the address that has most."""
        its = max(self.by_address.values(), key=len)
        idle = next((each for each in its if each._idle and each is not self), None)
        arriving = next((each for each in its if not each._idle and each.cycle.more_body), None)
        loser = idle or arriving or next(reversed(its))
        loser._leave()
        loser.transport.abort()
