"""Sentences of 33 words: maps painted in the colours of their weights, and what the page says of them in view."""

import re

from playwright.sync_api import Locator, Page, expect

from transformer.storage.portable import PortableModel

from ..models import of_words
from . import made_up, maps
from .catalogue import matching, t
from .conftest import PHONE, PROJECTOR, Visit, in_menu, move, place, until
from .test_accessible import broken_rules
from .test_handout import downloaded
from .test_places import SMALLEST

WORDS = 33
LAYERS, HEADS = 2, 4
LARGEST = LAYER, HEAD, QUERY, KEY = 1, 2, 30, 28  # where the largest weight of all is, and the largest change


def is_in_view(part: Locator, frame: Locator) -> bool:
    inner, outer = part.bounding_box(), frame.bounding_box()
    if not inner or not outer:
        return False
    left, top = inner["x"] - outer["x"], inner["y"] - outer["y"]
    fits = left + inner["width"] <= outer["width"] + 1 and top + inner["height"] <= outer["height"] + 1
    return fits and left >= -1 and top >= -1


def expect_largest_in_view(frame: Locator) -> None:
    """The words of its row and of its column."""
    row, column = (f".rows-words g[data-query='{QUERY}'] text", f".columns-words g[data-key='{KEY}'] text")
    until(lambda: all(is_in_view(frame.locator(each).first, frame) for each in (row, column)))


def test_a_long_map_is_painted_its_words_stick_and_any_head_opens_from_all_of_them(shared: Visit) -> None:
    page = shared.go(tab="attention", kind="decoder", drawing="all")
    made_up.show(page, LAYERS, HEADS, WORDS, [(*LARGEST, 1)])
    panel = page.get_by_role("tabpanel", name=t("tab.attention"))
    expect(panel.locator(".model-view").get_by_role("button")).to_have_count(LAYERS * HEADS)
    told = panel.locator(".model-view ~ p, p:has(+ .model-view)")
    panel.locator(f"[data-word='query {QUERY}']").hover()
    largest = {"word": f"word{QUERY}", "other": f"word{KEY}", "layer": LAYER + 1, "head": HEAD + 1}
    expect(told).to_have_text(matching("attention.strongest_query", **largest))
    assert broken_rules(page) == []
    strongest = {"from": f"word{QUERY}", "to": f"word{KEY}", "share": "100%"}
    name = t("attention.open_head", layer=LAYER + 1, head=HEAD + 1, **strongest)
    panel.get_by_role("button", name=name).press("Enter")
    seen = place(page)
    assert (seen["drawing"], seen["layer"], seen["head"]) == ("heatmap", LAYER, HEAD)

    canvas = panel.locator(".heatmap canvas")
    colour, light = "canvas => canvas.toDataURL()", canvas.evaluate("canvas => canvas.toDataURL()")
    assert broken_rules(page) == []
    in_menu(page, "#theme")
    until(lambda: canvas.evaluate(colour) != light)

    maps.point_at(panel.locator(".heatmap"), QUERY, KEY)
    expect(panel.locator(".tip")).to_have_text(f"word{QUERY} → word{KEY}: 1.00")
    maps.click(panel.locator(".heatmap"), QUERY, KEY)
    assert shared.step == QUERY
    expect(panel.locator(".say")).to_have_text(matching("row.mostly", word=f"word{KEY}"))

    for _ in range(3):
        panel.locator(".zoom button").last.click()
    scrolling = panel.locator(".map > .scroll")
    expect_largest_in_view(scrolling)
    move(page, {"step": 0})
    move(page, {"step": QUERY})
    expect_largest_in_view(scrolling)

    panel.locator(".heatmap").press("ArrowDown")  # to the first cell
    page.keyboard.press("ArrowDown")
    expect(panel.locator(".tip")).to_have_text(re.compile(r"word1 → S: \d"))
    page.keyboard.press("Enter")
    assert shared.step == 1


def test_each_of_the_three_maps_opens_on_the_largest_change(shared: Visit) -> None:
    page = shared.go(tab="break", part="whatif")
    made_up.show(page, LAYERS, HEADS, WORDS, [(*LARGEST, 0.01)], before=[(*LARGEST, 1)])
    move(page, {"kind": "decoder", "layer": LAYER, "head": HEAD})
    for name in ("original", "difference", "modified"):
        page.locator(f"#whatif [value={name}]").click()
        expect_largest_in_view(page.locator(f"#whatif [data-map={name}] > .scroll"))


# ---- a model whose sentences are long

ON_PAPER = 12  # rows and columns of a map


def expect_named_in_view(page: Page, tab: str, among: str) -> None:
    """The source words that the tab's sentence names, among the elements that show their weights."""
    panel = page.get_by_role("tabpanel", name=t(f"tab.{tab}"))
    words = panel.locator(".say .word.source")
    words.first.wait_for()
    for word in {*words.all_inner_texts()}:
        expect(panel.locator(among).get_by_text(word, exact=True)).to_be_in_viewport(ratio=0.6)


def test_what_the_page_says_of_33_words_is_in_view(visit: Visit) -> None:
    """A random network whose attention is sharp."""
    checkpoint = of_words(WORDS, sharpness=40)
    source, target = checkpoint.src_vocab.words, checkpoint.tgt_vocab.words
    pairs = ((" ".join(source), " ".join(target[1 : WORDS - 1])),)
    page = visit.open("?tab=train")
    with visit.answered():
        visit.bring_model(PortableModel(checkpoint, "long", "own", pairs, {}, "# long\n"))
    current = page.locator("#translation [aria-current=step]")
    for size in (PROJECTOR, PHONE):
        page.set_viewport_size(size)
        for step in (0, 30):
            move(page, {"tab": "translate", "step": step, "layer": 1})
            page.evaluate("scrollTo(0, 0)")
            expect_named_in_view(page, "translate", ".bars li:not(.rest)")
            expect(current).to_be_in_viewport()
            move(page, {"tab": "attention", "kind": "cross", "drawing": "all"})
            page.locator("#attention .word-lines").scroll_into_view_if_needed()
            expect_named_in_view(page, "attention", ".word-line")
            move(page, {"tab": "inside", "kind": "cross", "query": step})
            expect(page.locator("#inside .queries [aria-pressed=true]")).to_be_in_viewport()
            expect_named_in_view(page, "inside", ".attended")

    # The worksheet draws what can be read on paper, and small maps as pictures.
    sheet = downloaded(page.locator("[data-file=handout]")).path().read_text("utf-8")
    assert t("worksheet.others", count=WORDS - ON_PAPER) in sheet
    assert re.search(matching("worksheet.excerpt", rows=ON_PAPER, columns=ON_PAPER), sheet)
    assert '<img src="data:image/png' in sheet

    # The lesson draws what a class can read: a few rows of numbers.
    page.set_viewport_size(PROJECTOR)
    move(page, {"tab": "lesson", "stop": 3})
    page.keyboard.press("f")
    expect(page.locator("#lesson .strips .label")).to_have_count(2 + 2 * 5)
    until(lambda: page.evaluate(SMALLEST) >= 12)
