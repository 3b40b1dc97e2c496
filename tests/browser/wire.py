"""How the page asks its server: all that browser tests know of addresses and bodies, so that they speak of questions.

A question has its name in the server's table: "translate" for a run of the sentence at the top, "checks", "heads".
Streams, such as a training, are none.
"""

import re
from contextlib import AbstractContextManager
from typing import Any

import httpx
from playwright.sync_api import Page, Request, Route

from transformer.web.api.table import QUESTIONS as TABLE

QUESTIONS = re.compile(r"/api/(\w+)$")


def question(request: Request) -> str:
    """The name of what a request asks, or "" where it is no question."""
    found = QUESTIONS.search(request.url)
    return found[1] if found and not TABLE[found[1]].streams else ""


def asking(page: Page, name: str) -> AbstractContextManager[Any]:
    """Until the page asks this."""
    return page.expect_request(lambda request: question(request) == name)


class Hold:
    """Questions of this name get no answer until they are released; those that come later pass."""

    def __init__(self, page: Page, name: str) -> None:
        self._name, self._page = name, page
        self._held: list[Route] = []
        page.route(QUESTIONS, self._hold)

    def _hold(self, route: Route) -> None:
        self._held.append(route) if question(route.request) == self._name else route.fallback()

    def release(self) -> None:
        self._page.unroute(QUESTIONS, self._hold)
        for route in self._held:
            route.continue_()


def refuse(page: Page, key: str) -> None:
    """Refuse all that a tab asks, by a message of this key."""
    error = {"key": key, "values": {}, "english": "No such thing, said the server."}
    page.route(
        QUESTIONS,
        lambda route: (
            route.fallback() if question(route.request) == "translate" else route.fulfill(json={"error": error})
        ),
    )


def busy(page: Page, waiting: int) -> None:
    """The server says that this many wait in its queue."""
    page.route("**/health", lambda route: route.fulfill(json={"queue": {"working": 2, "waiting": waiting}}))


def full(page: Page) -> None:
    """The queue takes no question, and says when to ask again, until `page.unroute_all`."""
    page.route(QUESTIONS, lambda route: route.fulfill(status=503, headers={"Retry-After": "1"}, json={}))


def action(name: str) -> str:
    """The address of what a program can ask."""
    return f"gradio_api/run/{name}"


def act(url: str, name: str, *values: Any) -> httpx.Response:
    """Ask it as a program does."""
    return httpx.post(url + action(name), json={"data": list(values)}, timeout=60, trust_env=False)
