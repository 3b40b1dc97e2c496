"""What several files do to a page: go to a link without a load, and answer or hold what it asks the server."""

from collections.abc import Callable

from playwright.sync_api import Page, Route

from .conftest import asks_for


def follow(page: Page, link: str) -> None:
    """Go to a link's place as the browser's Back does, without loading the page."""
    back = "(link) => { history.pushState(null, '', link); dispatchEvent(new PopStateEvent('popstate')); }"
    page.evaluate(back, link)


def answering(page: Page, name: str, handle: Callable[[Route], object]) -> None:
    """Let a test handle what the page asks under this name, until `page.unroute_all`."""
    page.route("**", lambda route: handle(route) if asks_for(route.request, name) else route.fallback())
