"""Long JSON is compressed for those who can read that; nothing else is."""

import pytest
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from transformer.web.server.compression import LEAST, Compression


@pytest.mark.parametrize(
    ("coding", "response", "is_compressed"),
    [
        ("gzip, br", JSONResponse("x" * LEAST), True),
        ("identity", JSONResponse("x" * LEAST), False),
        ("gzip", JSONResponse("x"), False),
        ("gzip", PlainTextResponse('"' + "x" * LEAST + '"'), False),
    ],
)
def test_only_long_json_is_compressed(coding: str, response: Response, is_compressed: bool) -> None:
    async def answer(_: object) -> Response:
        return response

    client = TestClient(Starlette(routes=[Route("/", answer)], middleware=[Middleware(Compression)]))
    found = client.get("/", headers={"Accept-Encoding": coding})
    assert found.json().strip("x") == ""
    assert (found.headers.get("content-encoding") == "gzip") == is_compressed
    assert (int(found.headers["content-length"]) < LEAST) == (is_compressed or response.body == b'"x"')
