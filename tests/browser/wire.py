"""How the page asks its server: all that browser tests know of addresses and bodies, so that they speak of questions.

A question has a name: "translate" for a run of the sentence at the top, that of a server function ("checks", "heads"),
or that of a stream ("train").
"""

import json
import re
from collections.abc import Iterable
from contextlib import AbstractContextManager
from typing import Any

import httpx
from playwright.sync_api import Page, Request, Route

RUN, FUNCTION = "/gradio_api/run/predict", "/gradio_api/component_server"
STREAMS = ("train", "mistake", "load")
ASKED = re.compile("/gradio_api/|/(train|mistake|load)$")  # among these addresses are all questions


def question(request: Request) -> str:
    """What a request asks, or "" where it asks for a file."""
    if request.method != "POST":
        return ""
    path = request.url.partition("?")[0].rstrip("/")
    if path.endswith(RUN):
        return "translate"
    if path.endswith(FUNCTION):
        name: str = json.loads(request.post_data or "{}")["fn_name"]
        return name
    return path.rpartition("/")[2] if path.endswith(STREAMS) else ""


def is_answered_at_once(request: Request) -> bool:
    """Whether it is a question, and no stream."""
    return question(request) not in ("", *STREAMS)


def asking(page: Page, name: str) -> AbstractContextManager[Any]:
    """Until the page asks this."""
    return page.expect_request(lambda request: question(request) == name)


def answering(page: Page, name: str, **options: Any) -> AbstractContextManager[Any]:
    """Until the page is answered this."""
    return page.expect_response(lambda response: question(response.request) == name, **options)


class Hold:
    """Questions of a page that get no answer until they are released; those that come later pass.

    Attributes:
        held: the questions that wait.
    """

    def __init__(self, page: Page, names: Iterable[str], at_most: int | None = None) -> None:
        self.held: list[Route] = []
        self._names, self._left = set(names), at_most
        page.route(ASKED, self._hold)

    def _hold(self, route: Route) -> None:
        if question(route.request) not in self._names or self._left == 0:
            route.fallback()
            return
        if self._left is not None:
            self._left -= 1
        self.held.append(route)

    def release(self) -> None:
        self._left = 0
        for route in self.held:
            route.continue_()
        self.held.clear()


def hold(page: Page, *names: str, at_most: int | None = None) -> Hold:
    """Hold these questions, or the first of them."""
    return Hold(page, names, at_most)


def _instead(page: Page, names: tuple[str, ...], answer: Any) -> None:
    def route(route: Route) -> None:
        asked = question(route.request)
        is_meant = asked in names if names else is_answered_at_once(route.request) and asked != "translate"
        answer(route) if is_meant else route.fallback()

    page.route(ASKED, route)


def refuse(page: Page, key: str, *names: str) -> None:
    """Refuse these questions, or all that a tab asks, by a message of this key."""
    error = {"key": key, "values": {}, "english": "No such thing, said the server."}
    _instead(page, names, lambda route: route.fulfill(json={"error": error}))


def fail(page: Page, *names: str) -> None:
    """These questions, or all that a tab asks, do not reach the server."""
    _instead(page, names, lambda route: route.abort())


def busy(page: Page, waiting: int) -> None:
    """The server says that this many wait in its queue."""
    page.route("**/health", lambda route: route.fulfill(json={"queue": {"working": 2, "waiting": waiting}}))


def full(page: Page, name: str) -> None:
    """The queue takes this question no longer, and says when to ask again."""
    _instead(page, (name,), lambda route: route.fulfill(status=503, headers={"Retry-After": "1"}, json={}))


def let_through(page: Page) -> None:
    """All of these end."""
    page.unroute_all()


def action(name: str) -> str:
    """The address of what a program can ask."""
    return f"gradio_api/run/{name}"


def act(url: str, name: str, *values: Any) -> httpx.Response:
    """Ask it as a program does."""
    return httpx.post(url + action(name), json={"data": list(values)}, timeout=60, trust_env=False)
