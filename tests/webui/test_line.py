"""So many are at work, the others wait in the order they came; who goes makes room; nobody is forgotten."""

import asyncio
import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from transformer.webui import line as module
from transformer.webui.line import AT_ONCE, DEFAULTS, LONGEST, InLine, Line

from .test_workshop import in_a_loop


def runs(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def run() -> None:
        in_a_loop(test())

    run.__name__ = test.__name__
    return run


@runs
async def test_they_come_to_their_turn_in_the_order_they_came() -> None:
    line = Line(at_once=2, longest=9)
    turns = [line.join() for _ in range(5)]
    assert [turn.done() for turn in turns] == [True, True, False, False, False]
    assert (line.working, line.waiting) == (2, 3)
    line.leave(turns[1])
    assert [turn.done() for turn in turns] == [True, True, True, False, False]
    line.leave(turns[3])  # who waits may go
    line.leave(turns[0])
    assert turns[4].done()
    assert (line.working, line.waiting) == (2, 0)
    line.leave(turns[2])
    line.leave(turns[4])
    assert (line.working, line.waiting) == (0, 0)


@runs
async def test_it_is_full_when_so_many_wait() -> None:
    line = Line(at_once=1, longest=2)
    turns = [line.join()]
    assert not line.full
    turns += [line.join(), line.join()]
    assert line.full
    line.leave(turns[0])
    assert not line.full


@runs
async def test_whatever_comes_and_goes_as_many_work_as_may() -> None:
    rng, line = random.Random(0), Line(at_once=3, longest=10)
    here: list[asyncio.Future[None]] = []
    for _ in range(2000):
        if here and (line.full or rng.random() < 0.5):
            line.leave(here.pop(rng.randrange(len(here))))
        else:
            here.append(line.join())
        assert line.working == min(3, len(here)) == sum(turn.done() for turn in here)
        assert line.waiting == len(here) - line.working
        assert [turn.done() for turn in here] == sorted((turn.done() for turn in here), reverse=True)


def test_questions_in_line_hold_so_much_memory_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    line = Line(at_once=1, longest=9)
    monkeypatch.setattr(module, "line", lambda: line)
    monkeypatch.setattr(module, "MOST_HELD", 10)
    held = []

    async def answer(request: Request) -> Response:
        held.append(line.held)
        return Response(await request.body())

    path = "/gradio_api/run/translate"
    app = Starlette(routes=[Route(path, answer, methods=["POST"])], middleware=[Middleware(InLine)])
    with TestClient(app) as client:
        assert client.post(path, content=b"0123456789").content == b"0123456789"
        refused = client.post(path, content=b"0123456789a")
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "2")
        assert client.post(path, content=b"01").content == b"01"
    assert held == [10, 2]
    assert (line.held, line.working) == (0, 0)


def test_the_environment_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Line.from_environment().at_once == DEFAULTS[AT_ONCE]
    monkeypatch.setenv(AT_ONCE, "5")
    monkeypatch.setenv(LONGEST, "7")
    line = Line.from_environment()
    assert (line.at_once, line.longest) == (5, 7)


@pytest.mark.parametrize("value", ["0", "-1", "many", ""])
def test_a_bad_number_is_refused_with_its_variable(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(AT_ONCE, value)
    with pytest.raises(ValueError, match=f"{AT_ONCE}={value!r}"):
        Line.from_environment()
