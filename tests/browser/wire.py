"""How the page asks its server: all that browser tests know of addresses and bodies, so that they speak of questions.

A question has its name in the server's table: "translate" for a run of the sentence at the top, "checks", "heads".
Streams, such as a training, are none.
"""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

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


def answered(page: Page, name: str) -> AbstractContextManager[Any]:
    """Until the page has an answer to this."""
    return page.expect_response(lambda answer: question(answer.request) == name)


def answering(page: Page, name: str, handle: Callable[[Route], object]) -> None:
    """Let a test handle what the page asks under this name, until `page.unroute_all`."""
    page.route("**", lambda route: handle(route) if question(route.request) == name else route.fallback())


class Hold:
    """The first question of this name gets no answer until it is released; those that come later pass."""

    def __init__(self, page: Page, name: str) -> None:
        self._page = page
        self._held: list[Route] = []
        answering(page, name, self._hold)

    def _hold(self, route: Route) -> None:
        route.fallback() if self._held else self._held.append(route)

    def release(self) -> None:
        """As soon as it is asked."""
        for _ in range(1000):
            if self._held:
                break
            self._page.wait_for_timeout(20)
        self._held[0].continue_()


def action(name: str) -> str:
    """The address of what a program can ask."""
    return f"gradio_api/run/{name}"
