"""The page beside an earlier version of itself: from a click to its run, and from a cold start to the first figure.

The earlier commit is checked out into a folder of its own; both are served, and the same Chromium visits them in turn.
"""

import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from playwright.sync_api import Page, Playwright, sync_playwright

from tests.browser.chromium import launched
from tests.browser.conftest import LAPTOP, ROOT
from tests.visitors import sentences
from transformer.data import TOY

from .drawing import FIGURE, SEEN
from .ratio import MissingError, Ratio, alternate, percentile, ratio
from .served import served

BEFORE = "3d44c97"  # Gradio's events, a request a module
CLICKS, STARTS = 60, 9
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


def clicks(what: str, checkpoint: str, typed: Sequence[str], pages: list[Page], urls: list[str]) -> Ratio:
    """The same sentences on both pages, in turn; the first pair is not counted."""
    for page, url in zip(pages, urls, strict=True):
        page.goto(f"{url}?checkpoint={checkpoint}&tab=translate")
        page.locator("#translation > *").first.wait_for()
        page.wait_for_load_state("networkidle")
    left = [iter(typed) for _ in pages]

    def click(which: int) -> float:
        ms = pages[which].evaluate(CLICK, next(left[which]))
        pages[which].wait_for_load_state("networkidle")  # the checks of the run
        return float(ms)

    took = alternate(lambda: click(0), lambda: click(1), CLICKS)
    note = "p95 {:.0f} and {:.0f} ms".format(*map(percentile, took))
    return ratio(f"a click to its run, {what}", f"the page of {BEFORE}", 0.5, *took, note=note)


def cold_start(playwright: Playwright, url: str) -> float:
    """ms from the request for the page, in a browser that has just been installed, to the frame with its first map."""
    with launched(playwright) as browser:
        page = browser.new_context(**LAPTOP).new_page()
        page.add_init_script(f"window.seen = ({SEEN})({json.dumps(FIGURE)})")
        page.goto(f"{url}?tab=attention", wait_until="commit")
        return float(page.evaluate("seen"))


def measure() -> Iterator[Ratio]:
    """Measure the three rows, in about three minutes.

    Raises:
        MissingError: as in `checked_out`, before the first measurement.
    """
    stack = ExitStack()
    return _measured(stack, stack.enter_context(checked_out()))


def _measured(stack: ExitStack, before: Path) -> Iterator[Ratio]:
    with stack, sync_playwright() as playwright:
        urls = [stack.enter_context(served(folder=folder)).url for folder in (ROOT, before)]
        with launched(playwright) as browser:
            pages = [browser.new_context(**LAPTOP).new_page() for _ in urls]
            known = [each for each, _ in TOY.pairs] * CLICKS
            yield clicks("the toy, translated before", "toy", known[: CLICKS + 1], pages, urls)
            yield clicks("classroom, each sentence new", "classroom", sentences(CLICKS + 1), pages, urls)
        took = alternate(lambda: cold_start(playwright, urls[0]), lambda: cold_start(playwright, urls[1]), STARTS)
        yield ratio("cold start to the first map", f"the page of {BEFORE}", 0.6, *took)
