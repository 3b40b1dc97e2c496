"""A question is read once, waits for a turn, and is answered or refused in one form; streams end with their client."""

import asyncio
import gzip
import json
import threading
from collections.abc import AsyncGenerator, Iterator
from typing import Any

import pytest
from starlette.applications import Starlette
from starlette.testclient import TestClient

from transformer.messages import MessageError, catalogues
from transformer.web.access_log import LOG
from transformer.web.api import turns
from transformer.web.api.question import Question
from transformer.web.api.table import QUESTIONS
from transformer.web.client import Client
from transformer.web.fair_queue import FairQueue
from transformer.web.schema import CheckpointRequest, RunRequest
from transformer.web.server import page_routes
from transformer.web.server.page_routes import routes

from ..caller import Caller
from ..loop import TIMEOUT, async_test, until

SECRET = "geheim"
LONG = "x" * page_routes.COMPRESSED_BYTES
BEER = {"checkpoint": "toy", "sentence": "Ich möchte ein Bier"}
go, begun = threading.Event(), list[str]()


def echo(request: RunRequest) -> dict[str, str]:
    return {"said": request.sentence}


def fail(request: RunRequest) -> str:
    raise RuntimeError(request.sentence)


def hold(request: RunRequest) -> str:
    begun.append(request.sentence)
    assert go.wait(TIMEOUT)
    return request.sentence


async def quick(request: CheckpointRequest, client: Client) -> str:
    return client.session


async def count(request: RunRequest, client: Client) -> AsyncGenerator[dict[str, Any]]:
    if request.sentence == "refused":
        raise MessageError("error.no_held_out")
    try:
        for n in range(len(request.sentence)):
            yield {"event": "n", "n": n}
        if request.sentence == "broken":
            raise MessageError("error.no_held_out")
        if request.sentence == "forever":
            await asyncio.Event().wait()
    finally:
        begun.append("ended")


TABLE = {function.__name__: Question(function.__name__, function) for function in (echo, fail, hold, quick, count)}
TABLE["hold_long"] = Question("hold_long", hold, is_slow=True)
APP = Starlette(routes=routes(TABLE))


@pytest.fixture(autouse=True)
def queues(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[FairQueue, FairQueue]]:
    small, large = FairQueue(2, 2, 1), FairQueue(2, 2, 1)
    monkeypatch.setattr(turns, "_lanes", lambda: (small, large))
    begun.clear()
    go.clear()
    yield small, large
    go.set()


@pytest.fixture
def client() -> Iterator[TestClient]:
    with TestClient(APP, raise_server_exceptions=False) as client:
        yield client


def refusal(answer: Any, status: int) -> str:
    """Its key."""
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/json"
    error = answer.json()["error"]
    assert error.keys() == {"key", "english", "values"}
    assert error["key"] in catalogues()["en"]
    assert SECRET not in answer.text
    return str(error["key"])


def test_every_question_has_a_route() -> None:
    assert [route.path for route in routes(QUESTIONS)] == [f"/api/{name}" for name in QUESTIONS]


def test_a_question_is_answered_or_refused(client: TestClient) -> None:
    assert client.post("/api/echo", json=BEER).json() == {"said": BEER["sentence"]}
    assert client.post("/api/quick", json={"checkpoint": "toy"}, headers={"Session": "me"}).json() == "me"
    assert refusal(client.post("/api/echo", json={"checkpoint": "toy", "sentence": 5}), 422) == "field.text"
    assert refusal(client.post("/api/fail", json={**BEER, "sentence": SECRET}), 500) == "error.fault"
    assert client.get("/api/echo").status_code == 405


BODIES = [b"", b"{", b"nul", b"[{}]", b'"x"', b"5", b"null", b"{}", b"\xff\xfe", b"\0", b"NaN", b'{"checkpoint": 1}']
BODIES += [b"[" * 100_001, b'{"a":' * 100_000, b'{"checkpoint": "x", "sentence": ' + b"[" * 50_000, b"1" * 5000]


def test_a_body_that_is_no_request_is_refused(client: TestClient) -> None:
    for body in BODIES:
        for name in ("echo", "count", "quick"):
            assert refusal(client.post(f"/api/{name}", content=body), 422).startswith(("error.", "field."))


def test_long_answers_are_compressed_for_those_who_can_read_that(client: TestClient) -> None:
    for coding, sentence, is_compressed in (("gzip", LONG, True), ("gzip", "short", False), ("identity", LONG, False)):
        with client.stream(
            "POST", "/api/echo", json={**BEER, "sentence": sentence}, headers={"Accept-Encoding": coding}
        ) as answer:
            body = b"".join(answer.iter_raw())
        assert (answer.headers.get("content-encoding") == "gzip") == is_compressed
        assert json.loads(gzip.decompress(body) if is_compressed else body) == {"said": sentence}


def test_events_come_one_a_line(client: TestClient) -> None:
    answer = client.post("/api/count", json={**BEER, "sentence": "abc"})
    assert answer.headers["content-type"].startswith("application/x-ndjson")
    assert (answer.headers["cache-control"], answer.headers["x-accel-buffering"]) == ("no-store", "no")
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert lines == [{"event": "n", "n": 0}, {"event": "n", "n": 1}, {"event": "n", "n": 2}]
    assert refusal(client.post("/api/count", json={**BEER, "sentence": "refused"}), 200) == "error.no_held_out"
    last = json.loads(client.post("/api/count", json={**BEER, "sentence": "broken"}).text.splitlines()[-1])
    assert (last["event"], last["message"]["key"]) == ("error", "error.no_held_out")


def asks(name: str, sentence: str, address: str = "1.1.1.1", session: str = "", **request: str) -> Caller:
    body = json.dumps({**BEER, "sentence": sentence, **request}).encode()
    return Caller(APP, f"/api/{name}", body, address=address, session=session)


@async_test
async def test_requests_wait_by_address_and_a_client_that_leaves_makes_way(queues: tuple[FairQueue, FairQueue]) -> None:
    small, _ = queues
    first, second, other = asks("hold", "a"), asks("hold", "b"), asks("hold", "c", "2.2.2.2")
    tasks = [asyncio.create_task(each.call()) for each in (first, second, other)]
    await until(lambda: len(begun) == 2 and turns.counts() == {"working": 2, "waiting": 1})
    assert sorted(begun) == ["a", "c"]  # an address has one of the two places; either thread may begin first
    third = asks("hold", "d", session="x")
    tasks.append(asyncio.create_task(third.call()))
    await until(lambda: small.counts()["waiting"] == 2)
    refused = asks("hold", "e", session="x")  # the queue is full
    await refused.call()
    assert (refused.status, dict(refused.answer[0]["headers"])[b"retry-after"]) == (503, b"2")
    second.gone.set()
    await until(lambda: small.counts()["waiting"] == 1)
    go.set()
    await until(lambda: turns.counts() == {"working": 0, "waiting": 0})
    await asyncio.wait(tasks)
    assert sorted(begun) == ["a", "c", "d"]  # nobody waited for b
    assert first.status == other.status == third.status == 200


def test_files_with_a_model_or_every_number_are_slow() -> None:
    assert {name for name, each in QUESTIONS.items() if each.is_slow} == {"notebook", "interactive"}


@pytest.mark.parametrize(("name", "checkpoint"), [("hold", "own-x"), ("hold_long", "toy")])
@async_test
async def test_large_models_and_slow_questions_delay_nobody_else(
    queues: tuple[FairQueue, FairQueue], name: str, checkpoint: str
) -> None:
    long, small = asks(name, "long", checkpoint=checkpoint), asks("echo", "a")
    task = asyncio.create_task(long.call())
    await until(lambda: begun == ["long"])
    await small.call()
    assert small.status == 200
    assert [each.counts()["working"] for each in queues] == [0, 1]
    go.set()
    await task


@async_test
async def test_a_stream_ends_with_its_client() -> None:
    caller = asks("count", "forever")
    task = asyncio.create_task(caller.call())
    await until(lambda: len(caller.answer) > len("forever"))
    caller.gone.set()
    await task
    assert begun == ["ended"]


def test_each_question_is_logged_without_a_visitors_words(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("INFO", LOG.name):
        client.post("/api/echo", json=BEER)
        client.post("/api/echo", json={"checkpoint": f"own-{SECRET}", "sentence": SECRET})
        client.post("/api/echo", json={"checkpoint": SECRET, "sentence": 5})
        client.post("/api/fail", json={"checkpoint": SECRET, "sentence": SECRET})
        client.post("/api/count", json={**BEER, "sentence": "broken"})
    logged = [record.__dict__["logged"] for record in caplog.records if record.name == LOG.name]
    lines = [line for line in logged if "outcome" in line]
    assert [(line["action"], line["checkpoint"], line["characters"], line["outcome"]) for line in lines] == [
        ("echo", "toy", 19, "ok"),
        ("echo", "own", 6, "ok"),
        ("echo", None, None, "field.text"),
        ("fail", None, 6, "fault"),
        ("count", "toy", 6, "error.no_held_out"),
    ]
    assert SECRET not in json.dumps(logged) + caplog.text
