"""So many are at work, the others wait in the order they came; who goes makes room; nobody is forgotten."""

import asyncio
import json
import random
from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from types import SimpleNamespace
from typing import Any

import gradio as gr
import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.testclient import TestClient

from transformer.web.server import request_queue as module
from transformer.web.server.gradio_internals import Blocks
from transformer.web.server.request_queue import (
    AT_ONCE,
    DEFAULTS,
    LONGEST,
    RETRAINS,
    Line,
    QueueFullError,
    QueueMiddleware,
    turn,
)
from transformer.web.sessions.model_store import OWN_MODEL_PREFIX

from ..sessions.test_training_queue import in_a_loop


def runs(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def run(*given: Any, **named: Any) -> None:
        in_a_loop(test(*given, **named))

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
    monkeypatch.setattr(module, "line", lambda own=False: line)
    monkeypatch.setattr(module, "MAX_HELD", 10)
    monkeypatch.setattr(module, "MAX_CALL", 3)
    held = []

    async def answer(request: Request) -> Response:
        held.append(line.held)
        return Response(await request.body())

    path = "/gradio_api/run/translate"
    app = Starlette(routes=[Route(path, answer, methods=["POST"])], middleware=[Middleware(QueueMiddleware)])
    with TestClient(app) as client:
        assert client.post(path, content=b"0123456789").content == b"0123456789"
        refused = client.post(path, content=b"0123456789a")
        assert (refused.status_code, refused.headers["Retry-After"]) == (503, "2")
        assert client.post(path, content=b"01").content == b"01"
        line.held += 10  # as if others were here
        assert client.post(path, content=b"0123").status_code == 503
        assert client.post(path, content=b"012").content == b"012"
        line.held -= 10
    assert held == [10, 2, 13]
    assert (line.held, line.working) == (0, 0)


def test_the_environment_says_how_many(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Line.from_environment().at_once == DEFAULTS[AT_ONCE]
    monkeypatch.setenv(AT_ONCE, "5")
    monkeypatch.setenv(LONGEST, "7")
    line = Line.from_environment()
    assert (line.at_once, line.longest) == (5, 7)


def test_a_server_has_two() -> None:
    assert module.line() is module.line(False) is module.line(own=False)
    assert module.line(True) is module.line(own=True) is not module.line()


@pytest.mark.parametrize("value", ["0", "-1", "many", ""])
def test_a_bad_number_is_refused_with_its_variable(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(AT_ONCE, value)
    with pytest.raises(ValueError, match=f"{AT_ONCE}={value!r}"):
        Line.from_environment()


# ---- what is answered, and by which road it came ----

PATH = "/gradio_api/run/translate"


@pytest.fixture
def here(monkeypatch: pytest.MonkeyPatch) -> Line:
    """The line of a server with one place."""
    lines = {own: Line(at_once=1, longest=1) for own in (False, True)}
    monkeypatch.setattr(module, "line", lambda own=False: lines[own])
    return lines[False]


def served(endpoint: Callable[[Request], Awaitable[Response]]) -> TestClient:
    return TestClient(
        Starlette(routes=[Route(PATH, endpoint, methods=["POST"])], middleware=[Middleware(QueueMiddleware)])
    )


@pytest.mark.parametrize(("action", "working"), [("translate", 1), (RETRAINS, 0)])
def test_a_question_has_one_place_and_a_training_none(here: Line, action: str, working: int) -> None:
    """Whatever address it came to: a body can name another action than its address does."""

    async def answer(_: Request) -> Response:
        async with turn(action, {}):
            return Response(str(here.working))

    with served(answer) as client:
        assert client.post(PATH, content=b"{}").text == str(working)
    assert (here.working, here.waiting, here.held) == (0, 0, 0)


@runs
async def test_what_comes_by_another_road_waits_in_the_same_line(here: Line) -> None:
    done: list[int] = []

    async def work(number: int) -> None:
        async with turn("translate", {}):
            done.append(number)

    before = here.join()
    waits = asyncio.create_task(work(1))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert (here.waiting, done) == (1, [])
    with pytest.raises(QueueFullError, match="Too many are asking"):
        await work(2)
    with pytest.raises(gr.Error, match="Too many are asking"):
        await Blocks().process_api(SimpleNamespace(name="translate"), [])
    async with turn(RETRAINS, {}):  # has the line of the trainings
        assert here.waiting == 1
    here.leave(before)
    await waits
    assert (here.working, here.waiting, done) == (0, 0, [1])


@runs
async def test_who_goes_while_waiting_leaves_no_gap(here: Line) -> None:
    async def work() -> None:
        async with turn("translate", {}):
            pass

    before = here.join()
    waits = asyncio.create_task(work())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    waits.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waits
    assert (here.working, here.waiting) == (1, 0)
    here.leave(before)
    await work()
    assert here.working == 0


def test_a_long_name_of_a_session_is_refused_because_gradio_keeps_it(here: Line) -> None:
    async def answer(_: Request) -> Response:
        return Response("taken")

    with served(answer) as client:
        for body, status in [
            ({"session_hash": "x" * 65}, 400),
            ({"session_hash": ["x" * 65]}, 400),
            ({"data": "x" * 65, "session_hash": "x" * 64}, 200),
            ({"data": "x" * 65}, 200),
            (["x" * 65], 200),  # Gradio will say what it is
        ]:
            assert client.post(PATH, json=body).status_code == status
        spelled = json.dumps({"session_hash": "x" * 65}).replace("session", r"\u0073ession")
        assert client.post(PATH, content=spelled).status_code == 400
        assert client.post(PATH, content=b"[" * 100_000).status_code == 200
    assert (here.working, here.held) == (0, 0)


def test_a_question_that_does_not_arrive_is_given_up(here: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "READ_SECONDS", 0.05)
    sent: list[Any] = []

    async def app(*_: Any) -> None:
        raise AssertionError

    async def ask() -> None:
        pieces = iter([{"type": "http.request", "body": b"{", "more_body": True}])

        async def receive() -> Any:
            return next(pieces, None) or await asyncio.sleep(60)

        async def send(message: Any) -> None:
            sent.append(message)

        await QueueMiddleware(app)({"type": "http", "method": "POST", "path": PATH}, receive, send)

    in_a_loop(ask())
    assert sent[0]["status"] == 408
    assert b"did not arrive in time" in sent[1]["body"]
    assert (here.working, here.held) == (0, 0)


@runs
async def test_a_visits_own_model_keeps_nobody_else_waiting(here: Line) -> None:
    """It may be as large as the paper's, and take seconds."""
    own = module.line(own=True)
    async with turn("sweep", {"data": [f"{OWN_MODEL_PREFIX}abc"]}):
        assert (own.working, here.working) == (1, 0)
        async with turn("translate", ["Ich möchte ein Bier", "toy"]):
            assert (own.working, here.working) == (1, 1)
    assert (own.working, here.working) == (0, 0)


@pytest.mark.parametrize("spelled", ["own-abc", r"\u006fwn-abc"])
def test_a_question_about_an_own_model_is_known_however_it_is_spelled(here: Line, spelled: str) -> None:
    async def answer(_: Request) -> Response:
        return Response(f"{here.working} {module.line(own=True).working}")

    with served(answer) as client:
        assert client.post(PATH, content=f'{{"event_data": {{"checkpoint": "{spelled}"}}}}').text == "0 1"
        assert client.post(PATH, content='{"event_data": {"checkpoint": "toy"}}').text == "1 0"
    assert (here.working, module.line(own=True).working, here.held) == (0, 0, 0)
