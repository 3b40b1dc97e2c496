"""A class of thirty clicks through the whole page at once: every answer is right, and nobody gets another's.

How fast that is, `make load` tells.
"""

import asyncio
import itertools
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from transformer.web.server.routes import ROUTES

from ..benchmarks.load import Record, hear
from ..visitors import Connection, Page, Question, Visitor, right, sentences, train
from ..web.loop import in_a_loop
from .conftest import Server

VISITORS, CLICKS = 30, 4  # each, beside two translations
STEPS = 1000  # of a training that is stopped at once
APART = {"POST /mistake"}  # a process of its own for some seconds, in `make load` and in test_mistakes.py


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server(log=Path(os.devnull))
    server.wait()
    yield server
    server.end()


async def clicks(visitor: Visitor, record: Record, port: int, places: Iterator[int]) -> None:
    async with Connection(port) as connection:

        async def ask(question: Question) -> Any:
            return await record.ask(connection, question)

        if visitor.rng.random() < 0.5:
            await ask(visitor.choose())
        await ask(visitor.translate())
        names = visitor.names()
        for _ in range(CLICKS):
            await visitor.do(names[next(places) % len(names)], ask)
        await ask(visitor.translate())


async def a_class(port: int, config: dict[str, Any]) -> Record:
    page, record, known, places = Page(config), Record(), sentences(20), itertools.count()
    visitors = [Visitor(page, seed, known) for seed in range(VISITORS)]
    await asyncio.gather(*(clicks(visitor, record, port, places) for visitor in visitors))
    await hear(port, record, train("trainer", STEPS, "toy"), {"ended by stop", "trained"})  # a process waits for it
    return record


def reachable(config: dict[str, Any]) -> set[str]:
    """All of the server that a page or a program can ask (see Question.reaches)."""
    found = {f"{method} {route.path}" for route in ROUTES for method in route.methods - {"HEAD"}}
    for component in config["components"]:
        found |= {f"function {name}" for name in component["props"].get("server_fns") or ()}
    for each in config["dependencies"]:
        if each["backend_fn"]:  # else it is a line of script in the page
            address = f"POST /gradio_api/run/{each['api_name']}"
            found.add(f"event {each['id']}" if each["api_visibility"] == "private" else address)
    return found


def test_every_answer_is_right_and_nobody_gets_anothers(server: Server) -> None:
    config = httpx.get(f"{server.url}config", trust_env=False).json()
    record, there = in_a_loop(a_class(server.port, config)), reachable(config)
    assert record.errors == {}
    assert record.refused == {}
    assert there - record.reached == APART
    assert {"event 1", "function pairs", "POST /gradio_api/run/translate", "DELETE /models/{key}"} <= there
    assert sum(map(len, record.took.values())) >= VISITORS * (CLICKS + 2)
    with ThreadPoolExecutor(1) as own:  # what is computed here may want a loop, and Playwright may have one
        checks = own.map(lambda asked: right(*asked), record.answers.values())
        wrong = [question for (question, _), ok in zip(record.answers.values(), checks, strict=True) if not ok]
    assert wrong == []
    health = httpx.get(f"{server.url}health", trust_env=False).json()
    assert health["line"] == {"working": 0, "waiting": 0}
    assert health["training"] == {"running": 0, "waiting": 0}
