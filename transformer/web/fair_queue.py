"""Places for work, shared fairly: turns go round by address, and within an address by session.

A client with many requests waits behind itself: a full queue drops what came last from the address that has most
waiting, so that another address always finds a place.
"""

import asyncio
import itertools
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from ..messages import MessageError
from .client import Client

LATER = 2**62  # than any number of a turn


class TryAgainError(MessageError):
    """The server cannot answer now: status 503, after which the page asks again by itself."""

    def __init__(self) -> None:
        super().__init__("error.busy")


class QueueFullError(TryAgainError):
    """Too many wait already."""


@dataclass(eq=False)
class Ticket:
    """A place in the queue. `turn` is done when its turn has come, or with a QueueFullError if it was dropped."""

    client: Client
    number: int
    turn: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


class FairQueue:
    """Places for `concurrency` tasks at a time, of which one address has at most `per_address`; `size` tickets may
    wait. It belongs to one event loop."""

    def __init__(self, concurrency: int, size: int, per_address: int | None = None) -> None:
        self._concurrency, self._size = concurrency, size
        self._per_address = per_address or concurrency
        self._waiting: list[Ticket] = []
        self._working: list[Ticket] = []
        self._numbers = itertools.count()  # of arrivals and of turns
        self._served: dict[str | Client, int] = {}  # the number of the last turn of an address or a client

    def counts(self) -> dict[str, int]:
        return {"working": len(self._working), "waiting": len(self._waiting)}

    def others(self, client: Client) -> int:
        """How many tickets, waiting or at work, are not this client's."""
        return sum(each.client != client for each in (*self._waiting, *self._working))

    def join(self, client: Client) -> Ticket:
        """Wait for a turn; `leave` ends the waiting or the turn. Raises QueueFullError if the queue is full, and no
        other address has more waiting."""
        ticket = Ticket(client, next(self._numbers))
        self._waiting.append(ticket)
        self._fill()
        if len(self._waiting) > self._size and self._drop() is ticket:
            raise QueueFullError
        return ticket

    def leave(self, ticket: Ticket) -> None:
        """End the waiting or the turn, if it has not ended."""
        if ticket in self._working:
            self._working.remove(ticket)
            self._fill()
        elif ticket in self._waiting:
            self._waiting.remove(ticket)
            ticket.turn.cancel()

    @asynccontextmanager
    async def turn(self, client: Client, wait_seconds: float | None = None) -> AsyncIterator[Ticket]:
        """A turn around the work inside. Raises QueueFullError as `join`, also where no turn came in time, or another
        address needed the place."""
        ticket = self.join(client)
        try:
            try:
                async with asyncio.timeout(wait_seconds):
                    await asyncio.shield(ticket.turn)
            except TimeoutError:
                raise QueueFullError from None
            yield ticket
        finally:
            self.leave(ticket)

    def place(self, ticket: Ticket) -> int:
        """A waiting ticket's place, from 1; 0 if its turn has come or it was dropped."""
        left, served = list(self._waiting), dict(self._served)
        for place in range(1, len(left) + 1) if ticket in left else ():
            following = self._next(left, served)
            if following is ticket:
                return place
            left.remove(following)
            served[following.client.address] = served[following.client] = LATER + place
        return 0

    def above_share(self) -> Ticket | None:
        """The longest turn of the address with most, where another one waits that has at least two fewer."""
        held = self._held()
        if not self._waiting or max(held.values()) < min(held[each.client.address] for each in self._waiting) + 2:
            return None
        return max(self._working, key=lambda each: held[each.client.address])

    def _held(self) -> Counter[str]:
        return Counter(each.client.address for each in self._working)

    def _next(self, waiting: list[Ticket], served: dict[str | Client, int]) -> Ticket:
        """The next ticket: of the address whose last turn is longest ago, and there of the session of which that is so.
        A session that never had one counts from its arrival, so that a visitor gains nothing by new names."""

        def last_turns(ticket: Ticket) -> tuple[int, int, int]:
            client, number = ticket.client, ticket.number
            return served.get(client.address, -1), served.get(client, number), number

        return min(waiting, key=last_turns)

    def _fill(self) -> None:
        """Give the free places away."""
        while len(self._working) < self._concurrency:
            held = self._held()
            able = [each for each in self._waiting if held[each.client.address] < self._per_address]
            if not able:
                return
            ticket = self._next(able, self._served)
            self._waiting.remove(ticket)
            self._working.append(ticket)
            ticket.turn.set_result(None)
            for each in (ticket.client.address, ticket.client):
                self._served.pop(each, None)  # the latest stands last
                self._served[each] = next(self._numbers)
            while len(self._served) > 4 * self._size:
                del self._served[next(iter(self._served))]

    def _drop(self) -> Ticket:
        """Drop the last ticket of the address with most waiting, and there of the session with most."""
        ((address, _),) = Counter(each.client.address for each in reversed(self._waiting)).most_common(1)
        theirs = [each.client for each in reversed(self._waiting) if each.client.address == address]
        ((client, _),) = Counter(theirs).most_common(1)
        ticket = next(each for each in reversed(self._waiting) if each.client == client)
        self._waiting.remove(ticket)
        ticket.turn.set_exception(QueueFullError())
        ticket.turn.exception()  # which asyncio would log where nobody awaits it
        return ticket
