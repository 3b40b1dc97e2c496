"""Turns go round by address and by session; a client that asks for much waits behind itself."""

import asyncio
import random

import pytest

from transformer.web.client import Client
from transformer.web.fair_queue import FairQueue, QueueFullError, Ticket

from .loop import async_test, until


def client(name: str) -> Client:
    """An address and a session: "a1"."""
    return Client(name[0], name[1:])


def joined(queue: FairQueue, *names: str) -> dict[Ticket, str]:
    return {queue.join(client(name)): name for name in names}


def has_turn(ticket: Ticket) -> bool:
    return ticket.turn.done() and not ticket.turn.cancelled() and not ticket.turn.exception()


def served(queue: FairQueue, tickets: dict[Ticket, str]) -> list[str]:
    """The clients in the order of their turns, each of which ends immediately."""
    order: list[str] = []
    left = dict(tickets)
    while ready := [ticket for ticket in left if has_turn(ticket)]:
        for ticket in ready:
            order.append(left.pop(ticket))
            queue.leave(ticket)
    return order


@async_test
async def test_turns_go_round_by_address_and_within_one_by_session() -> None:
    queue = FairQueue(1, 100)
    tickets = joined(queue, "a1", "a1", "a1", "a1", "a2", "a2", "b1", "b1", "c1")
    places = {queue.place(ticket): name for ticket, name in tickets.items()}
    order = served(queue, tickets)
    assert order == ["a1", "b1", "c1", "a1", "b1", "a2", "a1", "a2", "a1"]
    assert [places[n] for n in range(9)] == order


@async_test
async def test_a_visitor_alone_waits_for_nobody_else() -> None:
    queue = FairQueue(1, 100)
    joined(queue, "a1", "a1", "a1")
    assert (queue.others(client("a1")), queue.others(client("b1"))) == (0, 3)


@async_test
async def test_new_names_gain_nothing() -> None:
    """A visitor who invents a session for every request is served as often as the others of that address."""
    queue = FairQueue(1, 10)
    left, order = joined(queue, "ahonest", "ainvented"), list[str]()
    for n in range(40):
        ticket = next(ticket for ticket in left if has_turn(ticket))
        order.append(left.pop(ticket))
        left |= joined(queue, "ahonest" if order[-1] == "ahonest" else f"ainvented{n}")
        queue.leave(ticket)
    assert 15 <= order.count("ahonest") <= 25


@async_test
async def test_a_full_queue_drops_the_last_of_the_largest_holder() -> None:
    queue = FairQueue(1, 6)
    tickets = joined(queue, "w", "a1", "a1", "a1", "a2", "b1", "b1")
    with pytest.raises(QueueFullError):
        queue.join(client("a1"))
    newcomer = queue.join(client("c1"))
    dropped = [ticket for ticket in tickets if ticket.turn.done() and ticket.turn.exception()]
    assert [tickets[ticket] for ticket in dropped] == ["a1"]
    assert dropped == [[*tickets][3]]  # its last
    queue.leave(dropped[0])  # nothing is left to end
    assert queue.counts() == {"working": 1, "waiting": 6}
    assert not newcomer.turn.done()
    for name in "def":
        queue.join(client(name))
    with pytest.raises(QueueFullError):  # each address has one now
        queue.join(client("g"))
    assert queue.counts()["waiting"] == 6
    assert queue.place(newcomer)


@async_test
async def test_an_address_has_a_limited_number_of_turns_at_a_time() -> None:
    queue = FairQueue(3, 10, per_address=2)
    tickets = joined(queue, "a1", "a2", "a3", "b1")
    assert [name for ticket, name in tickets.items() if has_turn(ticket)] == ["a1", "a2", "b1"]
    queue.leave([*tickets][3])
    assert queue.counts() == {"working": 2, "waiting": 1}
    queue.leave(next(iter(tickets)))
    assert queue.counts() == {"working": 2, "waiting": 0}


@async_test
async def test_the_turn_above_its_share_is_the_longest_of_the_busiest_address() -> None:
    queue = FairQueue(3, 10)
    tickets = joined(queue, "a1", "a2", "b1")
    assert queue.above_share() is None  # nobody waits
    queue.join(client("b2"))
    assert queue.above_share() is None  # b has one, a two
    queue.join(client("c1"))
    found = queue.above_share()
    assert found
    assert tickets[found] == "a1"


@async_test
async def test_no_place_is_lost_when_clients_leave() -> None:
    rng, queue = random.Random(0), FairQueue(3, 10)
    here: list[tuple[asyncio.Task[None], asyncio.Event]] = []

    async def work(done: asyncio.Event) -> None:
        async with queue.turn(client(rng.choice("abc") + rng.choice("123")), 60):
            await done.wait()

    for _ in range(500):
        if here and rng.random() < 0.5:
            task, done = here.pop(rng.randrange(len(here)))
            task.cancel() if rng.random() < 0.5 else done.set()
        else:
            done = asyncio.Event()
            here.append((asyncio.create_task(work(done)), done))
        for _ in range(rng.randrange(5)):
            await asyncio.sleep(0)
        counts = queue.counts()
        assert counts["working"] <= 3
        assert counts["waiting"] == 0 or counts["working"] == 3
        assert counts["waiting"] <= 10
    for task, _ in here:
        task.cancel()
    await asyncio.wait([task for task, _ in here])
    await until(lambda: queue.counts() == {"working": 0, "waiting": 0})  # those that were told to end just before
    with pytest.raises(QueueFullError):  # no turn comes in time
        async with FairQueue(0, 1).turn(Client(), 0.001):
            pass
