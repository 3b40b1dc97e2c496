"""Places for work, shared fairly: turns go round by address, and for each address round by session.

Requests, trainings and uploads all wait in such queues. A client with many requests waits behind itself: a full queue
drops what came last from the address that has most waiting, so that another address always finds room. Requests
differ in length: in their queues an address comes after those that have had less time than it lately, and so does a
session of an address.
"""

import asyncio
import ipaddress
import random
import re
import time
from collections import Counter, deque
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from starlette.datastructures import Headers
from starlette.types import Scope

from ..network.model import Transformer
from .settings import settings

SLICE_SECONDS = 0.03  # of work, after which others have their turn
LEVEL_SECONDS = 0.03  # addresses, or sessions of one, whose times differ by less take turns
HALF_LIFE_SECONDS = 2.0  # of the time that one of them has had
MAX_STARTED = 4  # tasks of one address that may pause between two slices: each keeps what it has computed
MAX_ALL_STARTED = 16  # of all addresses: each has one of the 40 threads that requests of both queues share
MAX_NAME = 64  # characters of a name that is not an IP address
PORT = re.compile(r"^\[(.*)\](?::\d+)?$|^([^:]*):\d+$")  # behind an address: 1.2.3.4:80, [::1]:80
FULL = "Too many are asking right now. Try again in a few seconds."

Sessions = dict[str, deque["Ticket"]]  # the waiting tickets of one address, by session


class QueueFullError(Exception):
    """Too many requests wait already; the message is for visitors."""

    def __init__(self) -> None:
        super().__init__(FULL)


class ClientLeftError(Exception):
    """The client has disconnected, so nobody waits for the answer."""


@dataclass(frozen=True)
class Client:
    """A visitor or a program: where it comes from, and which of the sessions there it is."""

    address: str = ""
    session: str = ""


def client_of(scope: Scope, session: str = "") -> Client:
    """The client of a request: the peer, or behind proxies ($TRANSFORMER_PROXIES) the one that the first of them heard.

    Of an IPv6 address only the network counts, because one computer has 2^64 addresses there.
    """
    peer = (scope.get("client") or ("",))[0]
    forwarded = ",".join(Headers(scope=scope).getlist("x-forwarded-for")).split(",")
    trusted = [name.strip() for name in forwarded if name.strip()][-settings().proxies :] if settings().proxies else []
    name = PORT.sub(r"\1\2", trusted[0] if trusted else peer)
    try:
        ip = ipaddress.ip_address(name)
    except ValueError:
        return Client(name[:MAX_NAME], session)
    if isinstance(ip, ipaddress.IPv6Address):
        ip = ip.ipv4_mapped or ipaddress.ip_network((ip.packed, 64), strict=False).network_address
    return Client(str(ip), session)


@dataclass(eq=False)
class Ticket:
    """A place in the queue.

    Attributes:
        resumed: its client goes on with what it has begun.
        began: when its turn came, on the monotonic clock.
        turn: done when its turn has come, or with a QueueFullError if it was dropped.
    """

    client: Client
    resumed: bool = False
    began: float = 0.0
    turn: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class FairQueue:
    """Places for `concurrency` tasks at a time, which clients take in turns. It belongs to one event loop.

    Args:
        size: clients that may wait.
        per_address: tasks of one address at a time; the others of that address wait even where places are free.
        by_time: who has had less time in the last seconds comes first, of addresses, and then of the sessions of one.
            `place` does not foresee that.
    """

    def __init__(self, concurrency: int, size: int, per_address: int | None = None, by_time: bool = False) -> None:
        self._concurrency, self._size = concurrency, size
        self._per_address = per_address or concurrency
        self._by_time = by_time
        self._seconds_had: dict[str | Client, tuple[float, float]] = {}  # of addresses and sessions; when counted
        self._waiting: dict[str, Sessions] = {}  # by address, the next one first
        self._working: list[Ticket] = []
        self.waiting = 0

    @property
    def working(self) -> int:
        return len(self._working)

    def join(self, client: Client, resumed: bool = False) -> Ticket:
        """Wait for a turn; `leave` ends the waiting or the turn.

        Args:
            resumed: the client goes on with what it has begun, before what its session asked later.

        Raises:
            QueueFullError: the queue is full, and no other address has more waiting.
        """
        ticket = Ticket(client, resumed)
        queue = self._waiting.setdefault(client.address, {}).setdefault(client.session, deque())
        queue.insert(0 if resumed else len(queue), ticket)
        self.waiting += 1
        for each in self._working:  # their addresses come behind this one
            self._to_the_end(each.client)
        self._fill()
        if self.waiting > self._size and self._drop(client) is ticket:
            raise QueueFullError
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """End the waiting, or the turn; of a ticket that has ended, nothing."""
        if ticket in self._working:
            self._working.remove(ticket)
            if self._by_time:
                self._count_time(ticket)
            self._fill()
        elif not ticket.turn.done():
            ticket.turn.cancel()
            self._remove(ticket)

    async def acquire(self, client: Client, instead: Ticket | None = None) -> Ticket:
        """Wait for a turn, which `leave` ends.

        Args:
            instead: a turn that ends now, of work that goes on when the next one comes.

        Raises:
            QueueFullError: the queue is full, or another address needed the place.
        """
        ticket = self.join(client, resumed=instead is not None)
        if instead:
            self.leave(instead)
        try:
            await asyncio.shield(ticket.turn)
        except asyncio.CancelledError:
            self.leave(ticket)
            raise
        return ticket

    @asynccontextmanager
    async def turn(self, client: Client, wait_seconds: float) -> AsyncIterator[Ticket]:
        """A turn around the work inside.

        Raises:
            QueueFullError: the queue is full, or no turn came in time.
        """
        try:
            async with asyncio.timeout(wait_seconds):
                ticket = await self.acquire(client)
        except TimeoutError:
            raise QueueFullError from None
        try:
            yield ticket
        finally:
            self.leave(ticket)

    def overdue(self) -> Ticket | None:
        """The turn to end first where somebody waits: of the addresses whose end helps, the longest of the busiest."""
        held = self._held()
        full = len(self._working) >= self._concurrency
        help_all = full and any(held[address] < self._per_address for address in self._waiting)
        able = [ticket for ticket in self._working if help_all or ticket.client.address in self._waiting]
        return max(able, key=lambda ticket: held[ticket.client.address], default=None)

    def above_share(self) -> Ticket | None:
        """The longest turn of the address with most, where another one waits that has at least two fewer."""
        held = self._held()
        if not self._waiting or max(held.values()) < min(held[address] for address in self._waiting) + 2:
            return None
        return max(self._working, key=lambda ticket: held[ticket.client.address])

    def place(self, ticket: Ticket) -> int:
        """Of a ticket that waits, from 1; 0 if its turn has come."""
        if ticket.turn.done():
            return 0
        address, session = ticket.client.address, ticket.client.session
        sessions = self._waiting[address]
        before = _ahead([*map(len, sessions.values())], list(sessions).index(session), sessions[session].index(ticket))
        return 1 + _ahead([*map(_count, self._waiting.values())], list(self._waiting).index(address), before)

    def _held(self) -> Counter[str]:
        """Turns of each address."""
        return Counter(ticket.client.address for ticket in self._working)

    def _count_time(self, ended: Ticket) -> None:
        now = time.monotonic()
        for each in (ended.client.address, ended.client):
            self._seconds_had[each] = (self._had(each, now) + now - ended.began, now)
        for each in [each for each in self._seconds_had if self._had(each, now) < LEVEL_SECONDS / 2]:
            del self._seconds_had[each]

    def _had(self, one: str | Client, now: float) -> float:
        """The seconds of the turns of an address or a session, of which older ones count less."""
        seconds, counted = self._seconds_had.get(one, (0.0, now))
        return seconds * 0.5 ** ((now - counted) / HALF_LIFE_SECONDS)

    def _fill(self) -> None:
        """Give the free places away."""
        now = time.monotonic()
        while len(self._working) < self._concurrency:
            held = self._held()
            able = [name for name in self._waiting if held[name] < self._per_address]
            started = {name: [each for each in self._firsts(name) if each.resumed] for name in able}
            many = sum(map(len, started.values())) >= MAX_ALL_STARTED
            ready = [name for name in able if started[name] or not many]
            address = min(ready, key=lambda name: self._had(name, now) // LEVEL_SECONDS, default=None)
            if address is None:
                return
            some = started[address] if many or len(started[address]) >= MAX_STARTED else self._firsts(address)
            ticket = min(some, key=lambda each: self._had(each.client, now) // LEVEL_SECONDS)
            self._remove(ticket)
            self._to_the_end(ticket.client)
            self._working.append(ticket)
            ticket.began = now
            ticket.turn.set_result(None)

    def _firsts(self, address: str) -> list[Ticket]:
        """The next ticket of each session."""
        return [queue[0] for queue in self._waiting[address].values()]

    def _drop(self, newcomer: Client) -> Ticket:
        """Of the address with most waiting, of its session with most, the last.

        If several addresses have, of the newcomer's. If several sessions have, of any: a client can name as many as it
        likes, and they must not keep another visitor of its address out.
        """
        own = newcomer.address
        address = max(reversed(self._waiting), key=lambda name: (_count(self._waiting[name]), name == own))
        queues = self._waiting[address].values()
        ticket = max(queues, key=lambda queue: (len(queue), not queue[-1].resumed, random.random()))[-1]
        self._remove(ticket)
        ticket.turn.set_exception(QueueFullError())
        ticket.turn.exception()  # asyncio would log it where nobody awaits it any more
        return ticket

    def _remove(self, ticket: Ticket) -> None:
        address, session = ticket.client.address, ticket.client.session
        sessions = self._waiting[address]
        sessions[session].remove(ticket)
        self.waiting -= 1
        if not sessions[session]:
            del sessions[session]
        if not sessions:
            del self._waiting[address]

    def _to_the_end(self, client: Client) -> None:
        if sessions := self._waiting.pop(client.address, None):
            self._waiting[client.address] = sessions
            if queue := sessions.pop(client.session, None):
                sessions[client.session] = queue


def _count(sessions: Sessions) -> int:
    return sum(map(len, sessions.values()))


def _ahead(lengths: Sequence[int], own: int, rank: int) -> int:
    """How many have their turn before the one of this rank in its own queue, where queues take turns."""
    return rank + sum(min(length, rank + (i < own)) for i, length in enumerate(lengths) if i != own)


# ---- turns of requests ----


class Turn:
    """The turn of a request, which it gives up after each slice of its work where others wait."""

    def __init__(self, queue: FairQueue, client: Client) -> None:
        self.client = client
        self._queue = queue
        self._loop = asyncio.get_running_loop()
        self._ticket: Ticket | None = None
        self.left = False

    async def begin(self) -> None:
        """Wait for it, or for the next one.

        Raises:
            QueueFullError: the queue is full.
        """
        self._ticket = await self._queue.acquire(self.client, instead=self._ticket)

    def end(self) -> None:
        if self._ticket:
            self._queue.leave(self._ticket)
            self._ticket = None

    def pause(self) -> None:
        """In the thread that works: let others have their turn, and wait for the next one.

        Raises:
            ClientLeftError: the client has disconnected.
            QueueFullError: another address needed the place.
        """
        if self.left:
            raise ClientLeftError
        if self._ticket and self._queue.waiting and time.monotonic() - self._ticket.began > SLICE_SECONDS:
            asyncio.run_coroutine_threadsafe(self.begin(), self._loop).result()


current_turn: ContextVar[Turn | None] = ContextVar("current_turn", default=None)  # of the request at work


def release_turn() -> Client:
    """End this request's turn early, before work that waits in another queue.

    Returns:
        The client, without its session: what programs ask waits for each other.
    """
    turn = current_turn.get()
    if turn is None:
        return Client()
    turn.end()
    return Client(turn.client.address)


def pause_at_each_layer(model: Transformer) -> None:
    """Let requests that use this model give up their turn between two of its layers."""

    def pause(*_: object) -> None:
        if turn := current_turn.get():
            turn.pause()

    for layer in (*model.encoder.layers, *model.decoder.layers):
        layer.register_forward_pre_hook(pause)
