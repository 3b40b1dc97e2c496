"""The page comes with what it opens on."""

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient
from transformer.web.server.front_page import FrontPage

PAGE = "<html><head><title>ü</title></head><body>&lt;/head></body></html>"


def served() -> TestClient:
    async def page(_: object) -> HTMLResponse:
        return HTMLResponse(PAGE)

    async def other(_: object) -> PlainTextResponse:
        return PlainTextResponse(PAGE)

    routes = [Route("/", page), Route("/other", other)]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(FrontPage, head="<i>ä</i>")]))


def test_the_page_has_its_head_and_is_compressed_for_those_who_can_read_it() -> None:
    client = served()
    whole = PAGE.replace("</head>", "<i>ä</i></head>", 1)
    for coding in ("gzip, br", "identity"):
        answer = client.get("/", headers={"Accept-Encoding": coding})
        assert answer.text == whole
        assert answer.headers.get("content-encoding") == ("gzip" if "gzip" in coding else None)
    assert client.get("/other").text == PAGE
