"""The page without a server: how soon it is there, beside the served one; how long a sentence takes in the browser."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, sync_playwright

from tests.browser.chromium import launched
from tests.browser.conftest import LAPTOP, hosted
from transformer.web.site import write

from .drawing import FIGURE, SEEN
from .ratio import Ratio, alternate, bound, ratio
from .served import served

VISITS, SENTENCES = 15, 100
ANSWER_MS = 15.0
TWELVE = "Heute habe ich ein kaltes Bier getrunken, weil ich gestern gearbeitet habe"

# ms from each question to its answer, through the worker; "!" makes another sentence of the same words.
ASKED = """async ([checkpoint, sentence, count]) => {
  const { api } = await import(document.querySelector("script[type=module]").textContent.match(/"(.*app[.]js)"/)[1]);
  const took = [];
  for (let i = 0; i < count; i++) {
    const begin = performance.now();
    await api.translate({ checkpoint, sentence: sentence + "!".repeat(i), changes: [] });
    took.push(performance.now() - begin);
  }
  return took;
}"""


def first_figure(browser: Browser, url: str) -> float:
    """ms from the request of somebody who comes for the first time to the first map."""
    context = browser.new_context(**LAPTOP, service_workers="block")
    page = context.new_page()
    page.add_init_script(f"window.seen = ({SEEN})('{FIGURE}')")
    page.goto(f"{url}?tab=attention", wait_until="commit")
    took: float = page.evaluate("seen")
    context.close()
    return took


def answers(browser: Browser, url: str, checkpoint: str, sentence: str) -> list[float]:
    context = browser.new_context(**LAPTOP)
    page = context.new_page()
    page.goto(url)
    page.locator("#translation .chip").first.wait_for()  # the page has said who answers it
    page.evaluate(ASKED, [checkpoint, sentence, 5])  # which load the weights
    took: list[float] = page.evaluate(ASKED, [checkpoint, f"{sentence}?", SENTENCES])
    context.close()
    return took


def measure() -> Iterator[Ratio]:
    """Measure all rows, in a minute."""
    with tempfile.TemporaryDirectory() as name, sync_playwright() as playwright, launched(playwright) as browser:
        write(Path(name))
        with hosted(Path(name)) as site, served() as server:
            took = alternate(lambda: first_figure(browser, site), lambda: first_figure(browser, server.url), VISITS)
            yield ratio("first map of the page without a server", "of the served page", 0.6, *took)
            for what, *asked in (("the toy", "toy", "Ich möchte ein Bier"), ("12 words", "classroom", TWELVE)):
                took_each = answers(browser, site, asked[0], asked[1])
                yield bound(f"a sentence in the browser, {what}", ANSWER_MS, took_each, "question to answer")
