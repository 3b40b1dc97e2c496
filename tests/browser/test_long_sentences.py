"""A sentence of 33 words: what the page says of it is in view, and only what is in view is drawn."""

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from playwright.sync_api import Page, expect

from tests.networks import network
from transformer import Vocabulary
from transformer.storage.checkpoint import Checkpoint
from transformer.storage.portable import PortableModel, save_portable

from .catalogue import matching, t
from .conftest import Visit, module, until
from .test_places import SMALLEST

WORDS = 33
ON_PAPER = 12  # rows and columns of a map
MAX_ELEMENTS = 2_000  # of Inside a head; a switch of 12,000 took a second
SIZES = [(1280, 720), (390, 844)]


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random network whose attention is sharp."""
    source = Vocabulary(("P", *(f"wort{n}" for n in range(WORDS))), folds=True)
    target = Vocabulary(("P", "S", "E", *(f"word{n}" for n in range(WORDS))), folds=True)
    sizes = {"src_vocab_size": len(source), "tgt_vocab_size": len(target), "max_len": WORDS + 1, "d_model": 64}
    model = network(**sizes)
    with torch.no_grad():
        for name, weight in model.named_parameters():
            if name.endswith("q_proj.weight"):
                weight.mul_(40)
    checkpoint = Checkpoint(model, source, target, source_length=WORDS, output_limit=WORDS)
    pairs = ((" ".join(source.words), " ".join(target.words[1 : WORDS - 1])),)
    made = tmp_path_factory.mktemp("long") / "long.safetensors"
    save_portable(PortableModel(checkpoint, "long", "own", pairs, {}, "# long\n"), made)
    return made


def show(page: Page, **place: Any) -> None:
    page.evaluate(f"(place) => {module('core/state.js')}.then(({{ update }}) => update(place))", place)


def expect_named_in_view(page: Page, tab: str, among: str) -> None:
    """The source words that the tab's sentence names, among the elements that show their weights."""
    words = page.locator(f"#panel-{tab} .say .word.source")
    words.first.wait_for()
    for word in {*words.all_inner_texts()}:
        expect(page.locator(f"#panel-{tab} {among}").get_by_text(word, exact=True)).to_be_in_viewport(ratio=0.6)


def test_what_the_page_says_of_33_words_is_in_view(visit: Visit, file: Path) -> None:
    visit.open("?tab=train")
    page = visit.page
    with visit.answered():
        page.locator("#bring-model").set_input_files(file)
    for width, height in SIZES:
        page.set_viewport_size({"width": width, "height": height})
        for step in (0, 30):
            show(page, tab="translate", step=step, layer=1)
            page.evaluate("scrollTo(0, 0)")
            expect_named_in_view(page, "translate", ".bars li:not(.rest)")
            expect(page.locator("#translation [aria-current=step]")).to_be_in_viewport()
            show(page, tab="attention", kind="cross", drawing="all")
            page.locator("#attention .word-lines").scroll_into_view_if_needed()
            expect_named_in_view(page, "attention", ".word-line")
            show(page, tab="inside", kind="cross", query=step)
            expect(page.locator("#inside .queries [aria-pressed=true]")).to_be_in_viewport()
            expect_named_in_view(page, "inside", ".attended")
    folded = page.locator("#stage-qkv .foldable").first
    bars = page.locator("#panel-translate .bars li")
    assert 0.99 < sum(map(float, bars.evaluate_all("all => all.map((b) => b.dataset.weight ?? b.dataset.rest)"))) < 1.01

    assert page.locator("#inside *").count() < MAX_ELEMENTS
    last = page.locator("#stage-ffn_residual")
    assert last.locator(".strips").count() == 0
    expect(last.locator("h3")).to_be_attached()  # for those who listen to the page
    page.locator("#inside .stage-index button").last.click()
    expect(last).to_be_in_viewport()
    expect(last.locator(".strips").first).to_be_in_viewport()
    page.locator("#inside .stage-index button").first.click()
    expect(folded.locator(".label")).to_have_count(8)
    folded.get_by_role("button", name=t("inside.show_more", count=WORDS - 8)).click()
    expect(folded.locator(".label")).to_have_count(WORDS)

    # The worksheet draws what can be read on paper, and small maps as pictures.
    with page.expect_download() as download:
        page.locator("[data-file=handout]").dispatch_event("click")
    sheet = Path(download.value.path()).read_text("utf-8")
    assert t("worksheet.others", count=WORDS - ON_PAPER) in sheet
    assert re.search(matching("worksheet.excerpt", rows=ON_PAPER, columns=ON_PAPER), sheet)
    assert '<img class="painted" src="data:image/png' in sheet

    # The lesson draws what a room can read: a few rows of numbers, and small maps without words.
    show(page, tab="lesson", stop=1)
    labels = page.locator("#lesson .strips .label")
    expect(labels).to_have_count(8)
    page.locator("#lesson").get_by_role("button", name=t("inside.show_more", count=WORDS - 8)).click()
    expect(labels).to_have_count(WORDS)
    show(page, tab="lesson", stop=6)
    expect(page.locator("#lesson .heads [role=img] canvas").first).to_be_visible()
    expect(page.locator("#lesson .heads .label")).to_have_count(0)
    show(page, tab="lesson", stop=3)
    page.set_viewport_size({"width": 1280, "height": 720})
    page.keyboard.press("f")
    expect(page.locator("#lesson .strips .label")).to_have_count(2 + 2 * 5)
    for step in (0, 30, 15):
        show(page, step=step)
        expect(page.locator("#translation [aria-current=step]")).to_be_in_viewport(ratio=0.6)
    until(lambda: page.evaluate(SMALLEST) >= 12)
