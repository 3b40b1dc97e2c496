"""Connections have bounds in number, bytes and seconds, over real sockets."""

import asyncio
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import h11
import pytest
import uvicorn

from transformer.web import fair_queue
from transformer.web.server import connections as module
from transformer.web.server.connections import KEEP_ALIVE_SECONDS, MAX_CONNECTIONS, bound_connections, bound_waiting

from ..loop import TIMEOUT, async_test, until

ASK = b"GET / HTTP/1.1\r\nHost: x\r\n\r\n"


@asynccontextmanager
async def served(size: int = 2) -> AsyncIterator[tuple[int, uvicorn.Server]]:
    """The port of a server whose answers have `size` bytes."""

    async def app(scope: Any, receive: Any, send: Any) -> None:
        assert scope["type"] == "http"
        while scope["path"] == "/wait":
            if (await receive())["type"] == "http.disconnect":
                return
        length = size * 5 // 4 if scope["path"] == "/large" else size
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"%d" % length)]})
        await send({"type": "http.response.body", "body": b"0" * length})

    config = uvicorn.Config(app, "127.0.0.1", 0, log_level="error", lifespan="off")
    bound_connections(config)
    server = uvicorn.Server(config)
    task = asyncio.create_task(server._serve())
    await until(lambda: server.started)
    bound_waiting(server.servers[0].sockets)
    try:
        yield server.servers[0].sockets[0].getsockname()[1], server
    finally:
        server.should_exit = server.force_exit = True
        for connection in list(server.server_state.connections):
            connection.transport.abort()
        await task


async def connect(port: int, ask: bytes = b"", address: str = "127.0.0.1") -> Any:
    reader, writer = await asyncio.open_connection("127.0.0.1", port, local_addr=(address, 0))
    writer.write(ask)
    reader.writer = writer  # type: ignore[attr-defined]  # which would close when nobody holds it
    return reader


async def ended(reader: Any, seconds: float = TIMEOUT) -> bool:
    """Whether the server ends a connection within a time."""
    try:
        async with asyncio.timeout(seconds):
            await reader.read()
        return True
    except ConnectionError:
        return True
    except TimeoutError:
        return False


async def is_whole(reader: Any, size: int) -> bool:
    """Whether all of an answer arrives."""
    try:
        await reader.readuntil(b"\r\n\r\n")
        await reader.readexactly(size)
        return True
    except (asyncio.IncompleteReadError, ConnectionError):
        return False


def test_uvicorns_own_limits_are_set() -> None:
    config = uvicorn.Config("nothing")
    bound_connections(config)
    assert config.limit_concurrency
    assert config.limit_concurrency <= 2 * MAX_CONNECTIONS
    assert config.backlog < config.limit_concurrency
    assert config.timeout_keep_alive == KEEP_ALIVE_SECONDS
    assert config.h11_max_incomplete_event_size == module.HEADER_BYTES
    assert not config.proxy_headers


@async_test
async def test_headers_have_a_time_limit() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "HEADER_SECONDS", 0.05)
        async with served() as (port, _):
            for ask in (b"", b"GET / HT", ASK[:-2], ASK + ASK[:-2]):
                assert await ended(await connect(port, ask)), ask
            whole = await connect(port, ASK.replace(b"/ ", b"/wait "))
            assert not await ended(whole, 1)  # s: many times HEADER_SECONDS


@async_test
async def test_a_client_that_does_not_read_its_answer_is_disconnected() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "READ_SECONDS", 0.05)
        async with served(50 * 2**20) as (port, server):
            reader = await connect(port, ASK)
            await until(lambda: server.server_state.connections)
            await until(lambda: not server.server_state.connections)
            assert not await is_whole(reader, 50 * 2**20)


@async_test
async def test_unread_answers_take_a_bounded_amount_of_memory() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "UNREAD_BYTES", 60 * 2**20)
        async with served(25 * 2**20) as (port, server):
            readers = [await connect(port, ASK) for _ in range(6)]
            await until(lambda: server.server_state.total_requests == 6)
            await asyncio.sleep(0.05)
            left = [each.transport.get_write_buffer_size() for each in server.server_state.connections]
            assert sum(left) <= 60 * 2**20
            assert len(left) < len(readers)


@async_test
async def test_the_address_with_most_unread_loses_an_answer_not_the_one_with_the_largest() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "UNREAD_BYTES", 60 * 2**20)
        async with served(25 * 2**20) as (port, server):
            here = server.server_state.connections
            noisy = [await connect(port, ASK) for _ in range(2)]
            await until(lambda: sum(each.transport.get_write_buffer_size() > 0 for each in here) == 2)
            other = await connect(port, ASK.replace(b"/ ", b"/large "), "127.0.0.2")
            await until(lambda: server.server_state.total_requests == 3 and len(here) == 2)
            assert {each._address for each in here} == {"127.0.0.1", "127.0.0.2"}
            assert sorted([await is_whole(each, 25 * 2**20) for each in noisy]) == [False, True]
            assert await is_whole(other, 25 * 2**20 * 5 // 4)


@async_test
async def test_behind_a_proxy_the_visitor_with_most_connections_makes_room() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CONNECTIONS_A_SECOND", 10**6)  # requests are read at once
        patch.setattr(fair_queue, "settings", lambda: SimpleNamespace(proxies=1))
        async with served() as (port, server):
            here = server.server_state.connections
            patch.setattr(server.config.http, "max_connections", 4)
            headers = b"Host: x\r\nX-Forwarded-For: %b\r\nContent-Length: 9\r\n\r\n1"
            honest = await connect(port, b"POST /wait HTTP/1.1\r\n" + headers % b"1.1.1.1")
            noisy = []
            for number in range(6):
                await until(lambda number=number: [each.cycle is None for each in here] == [False] * min(number + 1, 4))  # type: ignore[misc]
                noisy.append(await connect(port, b"POST /wait HTTP/1.1\r\n" + headers % b"2.2.2.2"))
            await until(lambda: sum(reader.at_eof() or reader.exception() is not None for reader in noisy) == 3)
            await until(lambda: all(each.cycle for each in here))
            assert sorted(each._address for each in here) == ["1.1.1.1", *["2.2.2.2"] * 3]
            assert not honest.at_eof()


@async_test
async def test_the_address_with_most_connections_makes_room() -> None:
    """First with what asks nothing, then with what has not asked fully, and then it gets no further ones."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CONNECTIONS_A_SECOND", 10**6)  # requests are read at once
        async with served() as (port, server):
            here = server.server_state.connections

            async def count(number: int) -> None:
                await until(lambda: len(here) == number)

            def closed(reader: Any) -> bool:
                return reader.at_eof() or reader.exception() is not None

            wait = ASK.replace(b"/ ", b"/wait ")
            patch.setattr(server.config.http, "max_connections", 4)
            quiet = await connect(port, wait, "127.0.0.2")
            idle = await connect(port)
            posting = await connect(port, b"POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n1")
            asking = await connect(port, wait)
            await count(4)
            for loser in (idle, posting):
                late = await connect(port, wait)
                await until(lambda loser=loser: closed(loser))  # type: ignore[misc]
                await count(4)
            refused = await connect(port)
            await until(lambda: closed(refused))
            other = await connect(port, wait, "127.0.0.2")  # from where there are fewer
            await until(lambda: closed(late))
            assert not any(map(closed, (quiet, asking, other)))


def read_sizes(patch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of the pieces that are read from now on."""
    sizes = list[int]()
    receive = h11.Connection.receive_data

    def count(self: h11.Connection, data: bytes) -> None:
        sizes.append(len(data))
        receive(self, data)

    patch.setattr(h11.Connection, "receive_data", count)
    return sizes


@async_test
async def test_a_body_is_not_read_on_after_its_answer() -> None:
    """A small rest is, so that the connection can be kept."""
    head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "LEFT_SECONDS", 0.05)
        async with served() as (port, _):
            kept = await connect(port, head % 10_000)
            assert (await kept.readuntil(b"\r\n\r\n00")).startswith(b"HTTP/1.1 200")
            kept.writer.write(b"0" * 10_000 + ASK)
            assert (await kept.readuntil(b"\r\n\r\n00")).startswith(b"HTTP/1.1 200")
            refused = await connect(port, head % 10**9)
            assert (await refused.readuntil(b"\r\n\r\n00")).startswith(b"HTTP/1.1 200")
            sizes = read_sizes(patch)
            refused.writer.write(b"0" * 10**8)
            assert await ended(refused)
            assert sum(sizes) < 10**6


@async_test
async def test_bodies_of_an_address_have_a_rate_in_bytes_and_pieces() -> None:
    head = b"POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "BODY_BYTES_A_SECOND", 10**6)
        async with served() as (port, server):
            large, small = [await connect(port, head) for _ in range(2)]
            await until(lambda: [each.cycle is not None for each in server.server_state.connections] == [True] * 2)
            sizes = read_sizes(patch)
            large.writer.write(b"0" * 300_000)
            began = asyncio.get_running_loop().time()
            for _ in range(200):
                small.writer.write(b"0")
                await asyncio.sleep(0)
            await until(lambda: sum(sizes) == 300_200)
            assert asyncio.get_running_loop().time() - began > 0.15  # s: the last piece is read before its time is over
            assert len(sizes) < 100
            assert "127.0.0.1" in server.config.http.pieces


@async_test
async def test_a_body_in_tiny_chunks_ends_its_connection() -> None:
    head = b"POST /wait HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
    tiny, large = b"1\r\na\r\n" * 100, b"800\r\n" + bytes(range(256)) * 8 + b"\r\n"  # with ends of lines in it
    async with served() as (port, server):
        kept = [await connect(port, head + body) for body in (b"1\r\na\r\n" * 9, large * 30)]
        kept.append(
            await connect(port, b"POST /wait HTTP/1.1\r\nHost: x\r\nContent-Length: 900\r\n\r\n" + b"\r\n" * 400)
        )
        await until(lambda: len(server.server_state.tasks) == 3)
        assert all([await ended(await connect(port, before + head + tiny)) for before in (b"", ASK)])
        late = await connect(port, head)
        await until(lambda: len(server.server_state.tasks) == 4)
        late.writer.write(tiny)
        assert await ended(late)
        assert len(server.server_state.connections) == len(kept)


@async_test
async def test_the_system_keeps_connections_that_wait() -> None:
    """More than asyncio accepts in a turn of its loop."""
    async with served() as (port, server):
        waiting = []
        try:
            for _ in range(4 * module.ACCEPTED):  # no turn of the loop comes in between
                waiting.append(socket.create_connection(("127.0.0.1", port), timeout=0.5))
            await until(lambda: len(server.server_state.connections) == len(waiting))
        finally:
            for each in waiting:
                each.close()


@async_test
async def test_many_connections_of_an_address_are_read_one_after_the_other() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "CONNECTIONS_A_SECOND", 0.01)
        async with served() as (port, server):
            first, second = [await connect(port, ASK) for _ in range(2)]
            other = await connect(port, ASK, "127.0.0.2")
            for reader in (first, other):
                await reader.readuntil(b"\r\n\r\n00")
            await until(lambda: len(server.server_state.connections) == 3)
            reading = [(each._address, each.transport.is_reading()) for each in server.server_state.connections]
            assert sorted(reading) == [("127.0.0.1", False), ("127.0.0.1", True), ("127.0.0.2", True)]
            assert not await ended(second, 0)  # it waits
