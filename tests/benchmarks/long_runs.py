"""Long sentences: the work of the page's thread for a switch, beside BertViz's views of the same attention."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from transformer.inference.attention_maps import KINDS
from transformer.inference.translator import Translation
from transformer.storage.checkpoint import Checkpoint
from transformer.storage.portable import PortableModel, save_portable
from transformer.web.api.payload import for_page

from .drawing import (
    BERTVIZ,
    THREAD,
    WORK,
    bertviz,
    browsing,
    fetched,
    folder_served,
    of_words,
    page_served,
    percentile,
    shown_in_page,
    slowest,
)
from .ratio import Ratio, ratio

MODEL_VIEW = "BertViz model view"
WORDS, LONGEST = 40, 128
LONGEST_MS = 33.0  # of a switch: two frames
INSIDE_MS = 50.0  # of a switch in Inside a head
ROUNDS = 3
MINUTES = 5 * 60_000  # ms: BertViz draws a line for each cell


def bound(what: str, most: float, took: list[float]) -> Ratio:
    """The p95 of what took these milliseconds, against its bound."""
    return ratio(f"p95 of {what}", f"{most:.0f} ms", 1.0, [percentile(took)] * 2, [most] * 2, note=THREAD)


def their_page(browser: Browser, folder: Path, at: str, run: Translation, view: str, drawn: str) -> Page:
    (folder / f"{view}.html").write_text(bertviz(run, view), "utf-8")
    page = browser.new_page(viewport={"width": 1280, "height": 800})
    page.goto(f"{at}{view}.html", timeout=MINUTES)
    page.locator(drawn).first.wait_for(state="attached", timeout=MINUTES)
    return page


def longest(ours: Page, theirs: Page) -> Ratio:
    """Another head of 128 words as a heatmap, of one kind only, since each of BertViz's takes long."""
    took: tuple[list[float], list[float]] = ([], [])
    ours.evaluate(WORK, [f"#attention .controls button[value={KINDS[0]}]", "click", None])
    for head in (2, 3, 4, 5, 6, 7, 8, 1):
        took[0].append(ours.evaluate(WORK, [f"#attention .heads button:nth-child({head})", "click", None]))
        took[1].append(theirs.evaluate(WORK, [f"#vis svg > g:last-child > rect:nth-child({head})", "dblclick", None]))
    return ratio(f"switch of head, {LONGEST} words", BERTVIZ, None, *took, note=THREAD)


def every_head(ours: Page, theirs: Page) -> Ratio:
    """All layers × heads of another kind of attention."""
    ours.evaluate(WORK, ["#attention .controls button[value=all]", "click", None])
    took: tuple[list[float], list[float]] = ([], [])
    for n in range(ROUNDS * len(KINDS)):
        which = (n + 1) % len(KINDS)
        took[0].append(ours.evaluate(WORK, [f"#attention .controls button[value={KINDS[which]}]", "click", None]))
        took[1].append(theirs.evaluate(WORK, ["#filter", "change", str(which)]))
    return ratio(f"all heads of another kind, {WORDS} words", MODEL_VIEW, None, *took, note=THREAD)


def inside(browser: Browser, url: str, folder: Path, checkpoint: Checkpoint) -> Ratio:
    """Another head in Inside a head; the server has the model, which is uploaded."""
    pairs = ((" ".join(checkpoint.src_vocab.words), " ".join(checkpoint.tgt_vocab.words[3:WORDS])),)
    save_portable(PortableModel(checkpoint, "long", "own", pairs, {}, "# long\n"), folder / "long.safetensors")
    page = browser.new_context(viewport={"width": 1280, "height": 800}, reduced_motion="reduce").new_page()
    page.goto(f"{url}?tab=train")
    page.locator("#bring-model").set_input_files(folder / "long.safetensors")
    expect(page.locator("#checkpoint option:checked")).to_contain_text("long")
    page.locator("[role=tab][data-tab-id=inside]").click()
    page.locator("#inside .cell").first.wait_for()
    page.wait_for_load_state("networkidle")
    heads = [2, 3, 4, 5, 6, 7, 8, 1] * ROUNDS
    button = '#inside .pickers .pair:nth-child(2) button[value="{}"]'
    took = [page.evaluate(WORK, [button.format(head - 1), "click", None]) for head in heads]
    page.context.close()
    return bound(f"a switch of head in Inside a head, {WORDS} words", INSIDE_MS, took)


def measure() -> Iterator[Ratio]:
    """Measure all rows, which takes some minutes, most of them BertViz's.

    Raises:
        MissingError: as in `fetched`, before the first measurement.
    """
    return _measured(fetched())


def _measured(scripts: tempfile.TemporaryDirectory[str]) -> Iterator[Ratio]:
    with browsing(scripts) as (folder, browser), page_served(folder) as url, folder_served(folder) as at:
        run, checkpoint = of_words(WORDS)
        yield inside(browser, url, folder, checkpoint)
        ours = shown_in_page(browser, url, for_page(run, None, checkpoint))
        theirs = their_page(browser, folder, at, run, "model_view", "svg line")
        yield every_head(ours, theirs)
        theirs.context.close()
        ours.context.close()
        run, checkpoint = of_words(LONGEST)
        ours = shown_in_page(browser, url, for_page(run, None, checkpoint))
        yield from slowest(ours, f"{LONGEST} words", run, LONGEST_MS)
        theirs = their_page(browser, folder, at, run, "head_view", "#attention line")
        yield longest(ours, theirs)
