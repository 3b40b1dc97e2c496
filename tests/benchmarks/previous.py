"""The page beside an earlier version of itself: from a click to its run, and from a cold start to the first figure.

The earlier commit is checked out into a folder of its own; both are served, and the same Chromium visits them in turn.
"""

import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from playwright.sync_api import Page, Playwright, sync_playwright

from tests.browser.chromium import find
from tests.browser.conftest import LAPTOP, QUIET, ROOT, Server
from tests.visitors import sentences

from .drawing import SEEN
from .ratio import MissingError, Ratio, ratio

BEFORE = "3d44c97"  # Gradio's events, a request a module
CLICKS, STARTS = 60, 9
FIGURE = "#attention .large > .heatmap"
# ms from a click on Translate until the page has its run, which it draws before it says so.
CLICK = """(sentence) => new Promise((done) => {
  document.querySelector("#sentence input").value = sentence;
  const begin = performance.now();
  document.addEventListener("translate:answered", () => done(performance.now() - begin), { once: true });
  document.querySelector("#translate").click();
})"""


@contextmanager
def checked_out() -> Iterator[Path]:
    """A folder with the earlier version.

    Raises:
        MissingError: this repository lacks its commit.
    """
    git = ("git", "-C", str(ROOT), "worktree")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "before"
        if subprocess.run([*git, "add", "--quiet", "--detach", folder, BEFORE], check=False).returncode:
            raise MissingError(f"the commit {BEFORE} in this repository, to compare with")
        try:
            yield folder
        finally:
            subprocess.run([*git, "remove", "--force", folder], check=True)


def clicks(pages: tuple[Page, Page], urls: tuple[str, str]) -> Ratio:
    """Every sentence is new to both servers."""
    new = sentences(CLICKS + 1)
    for page, url in zip(pages, urls, strict=True):
        page.goto(f"{url}?checkpoint=classroom&tab=translate")
        page.locator("#translation > *").first.wait_for()
        page.wait_for_load_state("networkidle")
    took: tuple[list[float], list[float]] = ([], [])
    for n, sentence in enumerate(new):
        for which in (0, 1) if n % 2 else (1, 0):
            ms = pages[which].evaluate(CLICK, sentence)
            pages[which].wait_for_load_state("networkidle")  # the checks of the run
            if n:
                took[which].append(ms)
    slow = [sorted(each)[int(0.95 * CLICKS)] for each in took]
    note = f"p95 {slow[0]:.0f} and {slow[1]:.0f} ms"
    return ratio("a click to its run, classroom", f"the page of {BEFORE}", 0.5, *took, note=note)


def cold_start(playwright: Playwright, url: str) -> float:
    """ms from the request for the page, in a browser that has just been installed, to the frame with its first map."""
    browser = playwright.chromium.launch(executable_path=find(playwright), args=QUIET.split())
    try:
        page = browser.new_context(**LAPTOP).new_page()
        page.add_init_script(f"window.seen = ({SEEN})({json.dumps(FIGURE)})")
        page.goto(f"{url}?tab=attention", wait_until="commit")
        return float(page.evaluate("seen"))
    finally:
        browser.close()


def cold_starts(playwright: Playwright, urls: tuple[str, str]) -> Ratio:
    took: tuple[list[float], list[float]] = ([], [])
    for n in range(-1, STARTS):
        for which in (0, 1) if n % 2 else (1, 0):
            ms = cold_start(playwright, urls[which])
            if n >= 0:
                took[which].append(ms)
    return ratio("cold start to the first map", f"the page of {BEFORE}", 0.6, *took)


def measure() -> Iterator[Ratio]:
    """Measure both rows, in about two minutes.

    Raises:
        MissingError: as in `checked_out`, before the first measurement.
    """
    stack = ExitStack()
    return _measured(stack, stack.enter_context(checked_out()))


def _measured(stack: ExitStack, before: Path) -> Iterator[Ratio]:
    with stack:
        log = before.parent / "log"
        servers = [
            Server(ROOT, log, TRANSFORMER_CLASSES=str(before.parent / "classes")),
            Server(before, log),
        ]
        for server in servers:
            stack.callback(server.end)
        for server in servers:
            server.wait()
        urls = (servers[0].url, servers[1].url)
        playwright = stack.enter_context(sync_playwright())
        browser = playwright.chromium.launch(executable_path=find(playwright), args=QUIET.split())
        yield clicks((browser.new_context(**LAPTOP).new_page(), browser.new_context(**LAPTOP).new_page()), urls)
        browser.close()
        yield cold_starts(playwright, urls)
