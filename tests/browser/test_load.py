"""A class of thirty clicks through the whole page at once: every answer is right, and nobody gets another's.

How fast that is, `make load` tells.
"""

import asyncio
import itertools
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from ..benchmarks.load import Record
from ..visitors import Connection, Page, Visitor, right, sentences
from .conftest import Server

VISITORS, CLICKS = 30, 4  # each, beside two translations


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(log=Path(os.devnull))
    server.wait()
    yield server
    server.end()


async def clicks(visitor: Visitor, record: Record, port: int, places: Iterator[int]) -> None:
    connection = Connection(port)
    if visitor.rng.random() < 0.5:
        await record.ask(connection, visitor.choose())
    await record.ask(connection, visitor.translate())
    names = sorted(visitor.others())
    for _ in range(CLICKS):
        await record.ask(connection, visitor.others()[names[next(places) % len(names)]]())
    await record.ask(connection, visitor.translate())
    connection.close()


async def a_class(port: int) -> tuple[Record, set[str]]:
    page, record, known, places = await Page.load(port), Record(), sentences(20), itertools.count()
    visitors = [Visitor(page, seed, known) for seed in range(VISITORS)]
    await asyncio.gather(*(clicks(visitor, record, port, places) for visitor in visitors))
    return record, set(visitors[0].others())


def test_every_answer_is_right_and_nobody_gets_anothers(server: Server) -> None:
    with ThreadPoolExecutor(1) as own:  # in this thread Playwright may have a loop of its own
        record, actions = own.submit(lambda: asyncio.run(a_class(server.port))).result()
    assert record.errors == {}
    assert record.refused == {}
    assert actions | {"translate"} <= record.took.keys()  # all that there is
    assert sum(map(len, record.took.values())) >= VISITORS * (CLICKS + 2)
    with ThreadPoolExecutor(1) as own:  # what is computed here may want a loop too
        wrong = own.submit(
            lambda: [question for question, answer in record.answers.values() if not right(question, answer)]
        ).result()
    assert wrong == []
    health = httpx.get(f"{server.url}health", trust_env=False).json()
    assert health["line"] == {"working": 0, "waiting": 0}
