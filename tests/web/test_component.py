"""The page comes with what it opens on, and with all of its modules in one answer."""

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.responses import HTMLResponse, PlainTextResponse
from starlette.routing import Route
from starlette.testclient import TestClient

from transformer.web.component import ASSETS, modules
from transformer.web.server.front_page import FrontPage

PAGE = "<html><head><title>ü</title></head><body>&lt;/head></body></html>"


def served() -> TestClient:
    async def page(_: object) -> HTMLResponse:
        return HTMLResponse(PAGE)

    async def other(_: object) -> PlainTextResponse:
        return PlainTextResponse(PAGE)

    routes = [Route("/", page), Route("/other", other), Route("/modules", modules)]
    return TestClient(Starlette(routes=routes, middleware=[Middleware(FrontPage, head="<i>ä</i>")]))


def test_every_module_comes_in_one_answer_once() -> None:
    client = served()
    answer = client.get("/modules")
    expected = {path.relative_to(ASSETS / "js").as_posix(): path.read_text("utf-8") for path in ASSETS.rglob("*.js")}
    assert answer.json() == expected
    assert client.get("/modules", headers={"If-None-Match": answer.headers["etag"]}).status_code == 304


def test_the_page_has_its_head_and_is_compressed_for_those_who_can_read_it() -> None:
    client = served()
    whole = PAGE.replace("</head>", "<i>ä</i></head>", 1)
    for coding in ("gzip, br", "identity"):
        answer = client.get("/", headers={"Accept-Encoding": coding})
        assert answer.text == whole
        assert answer.headers.get("content-encoding") == ("gzip" if "gzip" in coding else None)
    assert client.get("/other").text == PAGE
