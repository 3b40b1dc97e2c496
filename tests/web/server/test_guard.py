"""What neither the page nor a program sends is refused before anything reads it."""

import socket
from collections.abc import Iterator

import pytest
from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.testclient import TestClient

from transformer.web.server import guard as module
from transformer.web.server.guard import Guard, foreign, known_host
from transformer.web.settings import Settings

MAX = 1000
SECRET = "geheim"


async def size(request: Request) -> Response:
    return PlainTextResponse(str(len(await request.body())))


async def fail(_: Request) -> Response:
    raise RuntimeError(SECRET)


@pytest.fixture(scope="module")
def client() -> Iterator[TestClient]:
    own = Middleware(Guard, own=("/size", "/file", "/fail"), max_body=lambda path: None if path == "/file" else MAX)
    paths = ("/size", "/file", "/gradio_api/run/x", "/gradio_api/upload", "/config")
    routes = [Route(path, size, methods=["GET", "POST"]) for path in paths]
    with TestClient(Starlette(routes=[*routes, Route("/fail", fail)], middleware=[own])) as client:
        yield client


def test_bodies_are_bounded_whether_they_say_their_length_or_not(client: TestClient) -> None:
    for body in (b"x" * (MAX + 1), iter([b"x" * MAX, b"x"])):
        answer = client.post("/size", content=body)
        assert (answer.status_code, answer.text) == (413, module.TOO_LARGE)
    for path, length in (("/size", MAX), ("/file", 9 * MAX)):
        assert client.post(path, content=b"x" * length).text == str(length)
    assert client.request("GET", "/size", content=b"x").status_code == 413  # it changes nothing, so it has no body


def test_of_gradios_addresses_those_are_there_that_something_uses(client: TestClient) -> None:
    assert client.get("/config").status_code == client.post("/gradio_api/run/x").status_code == 200
    for method, path in (
        *(("POST", path) for path in ("/gradio_api/upload", "/config", "/gradio_api/process_recording")),
        *(("GET", path) for path in ("/pwa_icon/9", "/gradio_api/file=https://evil.example/x", "/docs", "/gradio_api")),
        ("DELETE", "/gradio_api/run/x"),
    ):
        assert client.request(method, path).status_code == 404, path


def test_no_form_with_files_is_read(client: TestClient) -> None:
    answer = client.post("/gradio_api/run/x", files={"files": b"x"})
    assert (answer.status_code, answer.text) == (415, module.NO_FILES)


def test_a_fault_is_answered_and_its_message_kept(client: TestClient, caplog: pytest.LogCaptureFixture) -> None:
    answer = client.get("/fail")
    assert (answer.status_code, answer.text) == (500, module.FAULT)
    logged = caplog.records[-1].__dict__["logged"]
    assert (logged["error"], logged["where"][-1].split(":")[0]) == ("RuntimeError", "test_guard.py")
    assert SECRET not in caplog.text


@pytest.mark.parametrize(
    ("headers", "refused"),
    [
        ({}, False),  # a program
        ({"sec-fetch-site": "same-origin"}, False),
        ({"sec-fetch-site": "cross-site"}, True),
        ({"sec-fetch-site": "same-site"}, True),  # another port of this machine
        ({"sec-fetch-site": "cross-site", "origin": "http://here:7860"}, True),
        ({"origin": "http://here:7860"}, False),
        ({"origin": "https://HERE:7860"}, False),
        ({"origin": "null"}, True),
        ({"origin": "http://[::1"}, True),
        ({"origin": "https://there", "x-forwarded-host": "there, inner"}, False),
        ({"origin": "https://evil", "x-forwarded-host": "there"}, True),
    ],
)
def test_a_page_of_another_origin_is_foreign(headers: dict[str, str], refused: bool) -> None:
    assert foreign(Headers({"host": "here:7860"} | headers)) == refused


@pytest.mark.parametrize(
    ("host", "known"),
    [
        ("", True),  # a program that speaks HTTP/1.0
        ("127.0.0.1:7860", True),
        ("[fe80::1]:7860", True),
        ("[::ffff:10.0.0.1]", True),
        ("classroom-pc", True),
        (f"{socket.gethostname()}.local:7860", True),
        ("Page.School.example:80", True),
        ("evil.example", False),
        ("127.0.0.1.evil.example", False),
        ("127.0.0.1@evil.example", False),
        ("[", False),
    ],
)
def test_a_request_has_to_name_this_server(host: str, known: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "settings", lambda: Settings(hosts="a.example, page.school.example"))
    assert known_host(host) == known


def test_behind_a_proxy_any_name_will_do_unless_some_are_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "settings", lambda: Settings(proxies=1))
    assert known_host("page.hf.space")
    monkeypatch.setattr(module, "settings", lambda: Settings(proxies=1, hosts="school.example"))
    assert not known_host("page.hf.space")


def test_another_sites_page_can_neither_act_nor_lead_its_name_here(client: TestClient) -> None:
    for headers, why in (
        ({"Sec-Fetch-Site": "cross-site"}, module.FOREIGN),
        ({"Host": "evil.example", "Origin": "http://evil.example"}, module.UNKNOWN_HOST),
    ):
        answer = client.post("/size", headers=headers)
        assert (answer.status_code, answer.text) == (403, why)
    assert client.get("/size", headers={"Host": "evil.example"}).status_code == 403
