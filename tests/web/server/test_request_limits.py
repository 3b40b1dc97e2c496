"""Bodies are bounded at every address; a fault is answered, and logged without what was sent."""

import logging
from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from transformer.web.server.request_limits import RequestLimits

LIMIT = 10_000


async def size(request: Request) -> Response:
    return JSONResponse(len(await request.body()))


async def broken(request: Request) -> Response:
    raise RuntimeError((await request.body()).decode())


@pytest.fixture
def client() -> TestClient:
    routes = [Route(path, size, methods=["POST"]) for path in ("/size", "/unbounded")]
    limits = Middleware(RequestLimits, max_body=lambda path: LIMIT if path != "/unbounded" else None)
    return TestClient(Starlette(routes=[*routes, Route("/broken", broken, methods=["POST"])], middleware=[limits]))


def pieces(size: int) -> Iterator[bytes]:
    """A body without a Content-Length."""
    while size > 0:
        yield b"0" * min(size, 1000)
        size -= 1000


def test_bodies_are_bounded_whether_they_say_their_length_or_not(client: TestClient) -> None:
    for path, length, status in [
        ("/size", LIMIT, 200),
        ("/size", LIMIT + 1, 413),
        ("/unbounded", LIMIT + 1, 200),
        ("/nowhere", LIMIT + 1, 413),
    ]:
        assert client.post(path, content=b"0" * length).status_code == status
        if path != "/nowhere":  # where nothing reads
            answer = client.post(path, content=pieces(length))
            assert (answer.status_code, answer.text) == (status, str(length) if status == 200 else "That is too much.")


def test_no_form_with_files_is_read_and_nothing_is_fetched_from_elsewhere(client: TestClient) -> None:
    for kind in ("multipart/form-data; boundary=x", "Multipart/Mixed", " multipart/form-data"):
        assert client.post("/size", content=b"--x--", headers={"Content-Type": kind}).status_code == 415
    for path in ("/gradio_api/file=https://a.b/c", "/proxy=http://a.b", "/gradio_api/file/http:%2F%2Fa"):
        answer = client.get(path)
        assert (answer.status_code, answer.text) == (404, "Only files of this page are here.")


def test_a_fault_is_answered_and_its_message_kept(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "transformer.actions"):
        answer = client.post("/broken", content="geheim")
    assert answer.status_code == 500
    assert "geheim" not in answer.text + caplog.text
    assert "RuntimeError" in caplog.text
    assert f"{__name__.rsplit('.')[-1]}.py" in caplog.text  # where
