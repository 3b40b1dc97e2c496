"""Bodies are bounded whatever they come to; a fault is answered, and said without what was sent."""

import logging
from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from transformer.web.server.request_limits import MAX_BODY, MAX_CALL, UNBOUNDED, WITH_TABLES, RequestLimits
from transformer.web.server.routes import ROUTES

JOIN = "/gradio_api/queue/join"


async def size(request: Request) -> Response:
    return JSONResponse(len(await request.body()))


async def broken(request: Request) -> Response:
    raise RuntimeError((await request.body()).decode())


@pytest.fixture
def client() -> Iterator[TestClient]:
    routes = [Route(path, size, methods=["POST"]) for path in ("/size", UNBOUNDED, WITH_TABLES, JOIN)]
    app = Starlette(
        routes=[*routes, Route("/broken", broken, methods=["POST"])],
        middleware=[Middleware(RequestLimits)],
    )
    with TestClient(app) as client:
        yield client


def pieces(size: int) -> Iterator[bytes]:
    """Of a body that does not say how long it is."""
    while size > 0:
        yield b"0" * min(size, 2**20)
        size -= 2**20


def test_what_is_no_larger_than_a_question_passes(client: TestClient) -> None:
    assert client.post("/size", content=b"0" * MAX_BODY).json() == MAX_BODY
    assert client.post("/size", content=pieces(MAX_BODY)).json() == MAX_BODY


def test_what_is_larger_is_refused_said_or_not(client: TestClient) -> None:
    assert client.post("/size", content=b"0" * (MAX_BODY + 1)).status_code == 413
    assert client.post("/size", content=pieces(MAX_BODY + 1)).status_code == 413


def test_a_call_is_shorter_because_gradio_keeps_it(client: TestClient) -> None:
    assert client.post(JOIN, content=b"0" * MAX_CALL).json() == MAX_CALL
    assert client.post(JOIN, content=pieces(MAX_CALL + 1)).status_code == 413
    assert client.post(WITH_TABLES, content=b"0" * MAX_BODY).json() == MAX_BODY


@pytest.mark.parametrize(
    "path", ["/gradio_api/file=https://a.b/c", "/proxy=http://a.b", "/gradio_api/file/http:%2F%2Fa"]
)
def test_nothing_is_fetched_from_elsewhere(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert (answer.status_code, answer.text) == (404, "Only files of this page are here.")


def test_the_one_address_without_this_bound_has_its_own(client: TestClient) -> None:
    assert client.post(UNBOUNDED, content=pieces(MAX_BODY + 1)).json() == MAX_BODY + 1
    assert UNBOUNDED in [route.path for route in ROUTES]  # test_routes.py tries its bound


@pytest.mark.parametrize("kind", ["multipart/form-data; boundary=x", "Multipart/Mixed", " multipart/form-data"])
def test_no_form_with_files_is_read(client: TestClient, kind: str) -> None:
    assert client.post("/size", content=b"--x--", headers={"Content-Type": kind}).status_code == 415


def test_a_fault_is_answered_and_its_message_kept(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "transformer.actions"):
        answer = client.post("/broken", content="geheim")
    assert answer.status_code == 500
    assert "geheim" not in answer.text + caplog.text
    assert "RuntimeError" in caplog.text
    assert "test_guard.py" in caplog.text  # where
