"""Turns go round by address and by session; a client that asks for much waits behind itself."""

import asyncio
import random
from typing import Any

import pytest
import torch

from transformer.web import fair_queue as module
from transformer.web.fair_queue import (
    Client,
    ClientLeftError,
    FairQueue,
    QueueFullError,
    Ticket,
    Turn,
    client_of,
    current_turn,
    pause_at_each_layer,
)
from transformer.web.settings import Settings

from ..models import packed
from .loop import async_test, until


def client(name: str) -> Client:
    """Of an address and a session: "a1"."""
    return Client(name[0], name[1:])


class Clock:
    """The module's time, which passes while turns last as long as `seconds` says of their clients."""

    def __init__(self) -> None:
        self.now = 0.0
        self.seconds: dict[str, float] = {}

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


def served(queue: FairQueue, tickets: dict[Ticket, str], clock: Clock | None = None) -> list[str]:
    """The clients in the order of their turns, each of which ends at once, or when its time has passed."""
    order = []
    while at_work := [ticket for ticket in tickets if ticket.turn.done() and ticket in queue._working]:
        for ticket in at_work:
            order.append(tickets[ticket])
            if clock:
                clock.now += clock.seconds[order[-1]]
            queue.leave(ticket)
    return order


def joined(queue: FairQueue, *names: str) -> dict[Ticket, str]:
    return {queue.join(client(name)): name for name in names}


@async_test
async def test_turns_go_round_by_address_and_within_one_by_session() -> None:
    queue = FairQueue(1, 100)
    tickets = joined(queue, "a1", "a1", "a1", "a1", "a2", "a2", "b1", "b1", "c1")
    places = {queue.place(ticket): name for ticket, name in tickets.items()}
    order = served(queue, tickets)
    assert order == ["a1", "b1", "c1", "a2", "b1", "a1", "a2", "a1", "a1"]
    assert [places[n] for n in range(9)] == order


@async_test
async def test_a_newcomer_waits_for_the_turn_at_work_alone() -> None:
    """However much another address has waiting, or how many sessions it says it has."""
    queue = FairQueue(1, 100)
    tickets = joined(queue, *["a1"] * 20, *(f"a{n}" for n in range(30)))
    first = next(iter(tickets))
    tickets |= joined(queue, "b1")
    assert served(queue, tickets)[:2] == [tickets[first], "b1"]


@async_test
async def test_the_address_that_had_less_time_is_next(clock: Clock) -> None:
    """So a stranger's long requests leave the short ones of a class their time, whichever of them are more."""
    clock.seconds = {"a": 0.09, "b": 0.03, "c": 0.03}
    queue = FairQueue(1, 100, by_time=True)
    order = served(queue, joined(queue, *["a"] * 5, *["b"] * 12, *["c"] * 3), clock)
    assert "".join(order) == "abcbcbcabbbabbbabbba"
    clock.now += 20  # what they had counts no longer
    assert served(queue, joined(queue, "c", "a", "b", "a", "b")) == ["c", "a", "b", "a", "b"]


@async_test
async def test_the_session_of_an_address_that_had_less_time_is_next(clock: Clock) -> None:
    clock.seconds = {"a1": 0.2, "a2": 0.05, "a": 0.01}
    queue = FairQueue(1, 100, by_time=True)
    order = served(queue, joined(queue, "a1", "a1", "a2", "a2", "a2", "a2", "a", "a"), clock)
    assert order == ["a1", "a2", "a", "a", "a2", "a2", "a2", "a1"]


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
    assert (queue.waiting, queue.working) == (6, 1)
    queue.join(client("a3"))  # a session that has nothing finds room in its address
    assert (queue.waiting, newcomer.turn.done()) == (6, False)
    for name in "def":
        queue.join(client(name))
    with pytest.raises(QueueFullError):  # each address has one now
        queue.join(client("g"))


@async_test
async def test_sessions_with_one_request_each_do_not_keep_a_visitor_of_their_address_out() -> None:
    queue = FairQueue(1, 20)
    joined(queue, *(f"a{n}" for n in range(21)))
    refused = 0
    for n in range(100):
        try:
            queue.join(client(f"ahonest{n}"))
        except QueueFullError:
            refused += 1
    assert refused < 40  # one of 21 is


@async_test
async def test_an_address_has_a_limited_number_of_turns_at_a_time() -> None:
    queue = FairQueue(3, 10, per_address=2)
    tickets = joined(queue, "a1", "a2", "a3", "b1")
    assert [tickets[ticket] for ticket in queue._working] == ["a1", "a2", "b1"]
    queue.leave([*tickets][3])
    assert (queue.working, queue.waiting) == (2, 1)
    queue.leave(next(iter(tickets)))
    assert [tickets[ticket] for ticket in queue._working] == ["a2", "a3"]


@async_test
async def test_the_longest_turn_of_the_busiest_address_ends_first_where_that_helps() -> None:
    queue = FairQueue(4, 10, per_address=2)
    tickets = joined(queue, "c1", "a1", "b1")
    assert queue.overdue() is None
    tickets |= joined(queue, "a2")
    assert queue.overdue() is None  # nobody waits
    third = queue.join(client("a3"))
    assert tickets[queue.overdue()] == "a1"  # no other's place would be theirs
    queue.leave(third)
    queue.join(client("d1"))
    assert tickets[queue.overdue()] == "a1"
    queue.leave([*tickets][1])
    assert queue.overdue() is None


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
        assert queue.working <= 3
        assert queue.waiting == 0 or queue.working == 3
        assert queue.waiting <= 10
    for task, _ in here:
        task.cancel()
    await asyncio.wait([task for task, _ in here])
    await until(lambda: not queue.working)  # those that were told to end just before
    assert (queue.working, queue.waiting, queue._waiting) == (0, 0, {})
    with pytest.raises(QueueFullError):
        async with FairQueue(0, 1).turn(Client(), 0.001):
            pass


# Slices


@async_test
async def test_work_rests_between_its_layers_while_others_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SLICE_SECONDS", 0)
    queue, order, go = FairQueue(1, 10), list[str](), asyncio.Event()
    model = packed().checkpoint.model
    pause_at_each_layer(model)

    def compute(name: str) -> None:
        model(torch.tensor([[3]]), torch.tensor([[3]]))
        order.append(name)

    async def ask(name: str, passes: int) -> None:
        turn = Turn(queue, client(name[0]))
        current_turn.set(turn)
        await turn.begin()
        await go.wait()
        for _ in range(passes):
            await asyncio.to_thread(compute, name)
        turn.end()

    tasks = [asyncio.create_task(ask(name, passes)) for name, passes in (("a", 3), ("a later", 1), ("b", 1))]
    await until(lambda: queue.waiting == 2)
    go.set()
    await asyncio.gather(*tasks)
    assert order == ["a", "b", "a", "a", "a later"]  # layer by layer, a and b in turns
    assert (queue.working, queue.waiting) == (0, 0)


@async_test
async def test_what_an_address_has_begun_is_bounded() -> None:
    """Each keeps in memory what it has computed."""
    queue = FairQueue(1, 100)
    last = queue.join(client("a"))
    for n in range(module.MAX_STARTED):
        queue.join(client(f"a{n}"), resumed=True)
    others = [queue.join(client(f"a{n + 50}")) for n in range(3)]
    for _ in range(20):
        queue.leave(last)
        (last,) = queue._working
        queue.join(last.client, resumed=True)
    assert not any(ticket.turn.done() for ticket in others)


@async_test
async def test_few_tasks_of_all_addresses_are_started_at_a_time() -> None:
    """Each has a thread while it pauses."""
    queue = FairQueue(1, 100)
    last = queue.join(client("z"))
    started = {f"10.0.0.{n}" for n in range(module.MAX_ALL_STARTED)}
    for address in started:
        queue.join(Client(address), resumed=True)
    others = [queue.join(Client(f"10.1.0.{n}")) for n in range(3)]
    for _ in range(40):
        queue.leave(last)
        (last,) = queue._working
        assert last.client.address in started
        queue.join(last.client, resumed=True)
    queue.leave(last)
    while not any(ticket.turn.done() for ticket in others):
        (last,) = queue._working
        queue.leave(last)
    assert queue.waiting > len(started) - 3


@async_test
async def test_the_work_of_a_client_that_left_ends() -> None:
    model, turn = packed().checkpoint.model, Turn(FairQueue(1, 1), Client())
    pause_at_each_layer(model)
    current_turn.set(turn)
    ids = torch.tensor([[3]])
    model(ids, ids)
    turn.left = True
    with pytest.raises(ClientLeftError):
        model(ids, ids)
    current_turn.set(None)


# Addresses


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, ["9.9.9.9"], "1.2.3.4"),
        (1, [], "1.2.3.4"),
        (1, ["8.8.8.8, 9.9.9.9"], "9.9.9.9"),
        (1, ["8.8.8.8", "9.9.9.9"], "9.9.9.9"),
        (2, ["7.7.7.7, 8.8.8.8, 9.9.9.9"], "8.8.8.8"),
        (2, ["9.9.9.9"], "9.9.9.9"),
        (1, ["::ffff:9.9.9.9"], "9.9.9.9"),
        (1, ["2001:db8:1:2:3:4:5:6"], "2001:db8:1:2::"),
        (1, ["2001:db8:1:2::9"], "2001:db8:1:2::"),
        (1, ["x" * 1000], "x" * 64),
        (1, [" , "], "1.2.3.4"),
        (1, ["9.9.9.9:5678"], "9.9.9.9"),
        (1, ["[2001:db8:1:2::9]:80"], "2001:db8:1:2::"),
        (1, ["[2001:db8:1:2::9]"], "2001:db8:1:2::"),
        (1, ["::1"], "::"),
    ],
)
def test_the_address_is_the_peers_or_counted_from_the_end_of_the_forwarded_ones(
    monkeypatch: pytest.MonkeyPatch, proxies: int, forwarded: list[str], address: str
) -> None:
    monkeypatch.setattr(module, "settings", lambda: Settings(proxies=proxies))
    scope: dict[str, Any] = {"type": "http", "client": ("1.2.3.4", 5), "headers": []}
    scope["headers"] = [(b"x-forwarded-for", value.encode()) for value in forwarded]
    assert client_of(scope, "s") == Client(address, "s")
    assert client_of({"type": "http", "headers": []}) == Client()
