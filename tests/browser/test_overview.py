"""The picture of the whole: a run in one figure, every part of which leads to its tab, and the way back to it."""

import re
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from . import made_up
from .catalogue import t
from .conftest import APP, FRAMES, LAPTOP, PHONE, Visit, move, place, until
from .test_accessible import broken_rules
from .test_places import ROOM

KINDS = ("encoder", "decoder", "cross")
OPENING = {"tab": "overview", "kind": "cross", "layer": 1, "head": 5, "step": 3, "stack": "encoder"}

# The least red in a part of a head's map: its place, and what of its width and height is looked at.
DARKEST = """([place, left, top, right, bottom]) => {
    const canvas = document.querySelector("#overview canvas");
    const box = document.querySelector(`[data-place="${place}"] rect`).getBoundingClientRect();
    const frame = canvas.getBoundingClientRect();
    const part = [
        box.left + box.width * left - frame.left, box.top + box.height * top - frame.top,
        box.width * (right - left), box.height * (bottom - top),
    ].map((px) => (px * canvas.width) / frame.width);
    const { data } = canvas.getContext("2d").getImageData(part[0], part[1], Math.max(1, part[2]), Math.max(1, part[3]));
    const opaque = Array.from({ length: data.length / 4 }, (_, i) => i * 4).filter((at) => data[at + 3]);
    return Math.min(...opaque.map((at) => data[at]));
}"""


def run_of(page: Page) -> dict[str, Any]:
    read = "JSON.parse(JSON.stringify({ ...state.run, heads: null }))"
    return page.evaluate(f"{APP}.then(({{ state }}) => {read})")


def weight(run: dict[str, Any], layer: int, head: int, query: int, key: int) -> float:
    """Of cross-attention."""
    maps = run["attention"]["cross"]
    at = (layer * maps["heads"] + head) * len(maps["queries"]) + query
    return maps["values"][str(at * len(maps["keys"]) + key)]


def name_of(key: str, tab: str, **values: int) -> str:
    return t("overview.opens", place=t(f"overview.{key}", **values), tab=t(f"tab.{tab}"))


@pytest.fixture
def overview(shared: Visit) -> Page:
    """As a bare address opens it."""
    page = shared.page
    if page.url == "about:blank":
        shared.open("")
    else:
        move(page, OPENING)
    page.locator("#overview .part").first.wait_for()
    # The picture that was there is drawn again in the frame after its tab is opened.
    page.evaluate(FRAMES)
    return page


def test_a_bare_address_opens_on_the_picture_whose_every_part_says_what_it_opens(overview: Page) -> None:
    page = overview
    assert place(page)["tab"] == "overview"
    expect(page.get_by_role("tab", selected=True)).to_have_text(t("tab.overview"))
    panel = page.get_by_role("tabpanel", name=t("tab.overview"))
    for kind in KINDS:
        for key, tab, count in ((f"sublayer.{kind}", "inside", 6), (f"head.{kind}", "attention", 48)):
            parts = panel.locator(f"[data-place^='{key}.']")
            expect(parts).to_have_count(count)
            n = {"layer": 6} if tab == "inside" else {"layer": 6, "head": 8}
            expect(parts.last).to_have_accessible_name(name_of(key, tab, **n))
    for stack in ("encoder", "decoder"):
        expect(panel.get_by_role("button", name=name_of(f"layer.{stack}", "inside", layer=6))).to_be_visible()
        expect(panel.get_by_role("button", name=name_of(f"positions.{stack}", "positions"))).to_be_visible()

    # By key, from one part to the next.
    page.locator("[data-place='head.encoder.0.0']").focus()
    page.keyboard.press("Tab")
    expect(page.locator("[data-place='head.encoder.0.1']")).to_be_focused()
    page.keyboard.press("Enter")
    assert place(page) == place(page) | {"tab": "attention", "kind": "encoder", "layer": 0, "head": 1}
    expect(page.locator("#panel-attention")).to_be_focused()
    page.go_back()
    page.locator("[data-place='head.cross.5.7']").press("Enter")
    expect(page.locator("#panel-attention .say")).to_be_in_viewport(ratio=1)
    for part, expected in {
        "layer.decoder.3": {"tab": "inside", "kind": "decoder", "layer": 3},
        "sublayer.cross.1": {"tab": "inside", "kind": "cross", "layer": 1},
        "positions.decoder": {"tab": "positions", "stack": "decoder"},
        "candidates": {"tab": "translate"},
    }.items():
        page.go_back()
        page.locator(f"[data-place='{part}']").click()
        until(partial(lambda wanted: place(page) == place(page) | wanted, expected))


def test_what_is_drawn_is_the_run_and_follows_step_and_word(shared: Visit, overview: Page) -> None:
    page, run = overview, run_of(overview)
    cross = run["attention"]["cross"]
    heads = [(layer, head) for layer in range(cross["layers"]) for head in range(cross["heads"])]
    page.locator("#overview .overview").evaluate("(element) => { window.drawn = element; }")
    shared.step_slider.fill("1")
    expect(page.locator("#overview .word-out .label")).to_have_text(run["steps"][0]["token"])
    shared.step_slider.fill("4")
    expect(page.locator("#overview .word-out .label")).to_have_text(run["steps"][3]["token"])
    expect(page.locator("#overview .token[aria-current=step]")).to_have_text(run["decoder_input"][3])
    candidate = run["steps"][3]["candidates"][0]
    likeliest = page.locator("#overview .candidate").first
    expect(likeliest.locator(".label")).to_have_text(candidate["token"])
    expect(likeliest).to_have_attribute("data-probability", str(candidate["probability"]))
    chips, bier = page.locator("#overview .token.source"), run["source"].index("bier")
    paid = float(chips.nth(bier).get_attribute("data-weight") or "nan")
    assert paid == pytest.approx(sum(weight(run, *each, 3, bier) for each in heads) / len(heads))
    chips.nth(bier).hover()
    layer, head = max(heads, key=lambda each: weight(run, each[0], each[1], 3, bier))
    told = page.locator("#overview .say")
    expect(told).to_contain_text(f"layer {layer + 1}, head {head + 1}: {weight(run, layer, head, 3, bier):.0%}")
    assert page.locator("#overview path.path.source").evaluate_all(
        "all => all.map((each) => [each.dataset.kind, Boolean(each.getAttribute('d'))])"
    ) == [[kind, kind != "decoder"] for kind in ["encoder"] * 6 + ["decoder", "cross"] * 6]
    page.locator("#overview .token.target").first.focus()
    expect(told).to_contain_text(t("overview.follow.target", n=1, word="S"))
    assert page.evaluate("document.querySelector('#overview .overview') === window.drawn")  # built once
    shared.step_slider.fill("6")  # a word that ends a sentence is not read again
    expect(page.locator("#overview .word-out")).to_contain_text(t("overview.ends"))
    expect(page.locator("#overview .return")).to_be_hidden()

    with page.expect_download() as download:
        page.locator("#overview").get_by_role("button", name="SVG").click()
    saved = download.value.path().read_text("utf-8")
    assert re.search(r'<image [^>]*href="data:image/png;base64,', saved)
    assert all(f">{token}<" in saved for token in run["source"])


def test_one_is_always_told_where_one_is(shared: Visit, overview: Page) -> None:
    page = overview
    page.set_viewport_size(ROOM)
    lit = {
        "translate": t("overview.candidates"),
        "attention": t("overview.head.cross", layer=2, head=6),
        "positions": t("overview.positions.encoder"),
        "inside": t("overview.head.cross", layer=2, head=6),
        "train": t("overview.whole"),
        "break": t("overview.whole"),
    }
    for tab, where in lit.items():
        shared.tab(tab)
        page.get_by_role("button", name=t("overview.here", place=where)).click()
        assert place(page)["tab"] == "overview"
        if tab not in ("train", "break"):
            marked = page.locator("#overview [aria-current=location]")
            expect(marked).to_be_focused()
            expect(marked).to_be_in_viewport()
    here = page.locator("#lesson .here")
    for stop in range(14):
        move(page, {"tab": "lesson", "stop": stop})
        expect(here).to_be_in_viewport()
        expect(here).not_to_have_accessible_name(t("overview.here", place=t("overview.whole")))
    here.click()
    assert place(page)["tab"] == "overview"


def test_long_sentences_name_the_strongest_words_and_show_single_weights(overview: Page) -> None:
    page = overview
    page.set_viewport_size(ROOM)
    strong = [(0, 0, 2, 40, 0.4), (0, 0, 2, 90, 0.4), (0, 0, 2, 41, 0.1), (0, 0, 100, 100, 1)]
    made_up.show(page, 2, 4, 128, strong, below=0.001)
    move(page, {"step": 2})
    named = page.locator("#overview .token.slim.source.named")
    expect(named).to_have_text(["wort40", "wort90"])
    page.locator("#overview .token.source").nth(41).hover()
    expect(named).to_have_text(["wort41", "wort90"])
    page.evaluate(FRAMES)
    assert page.evaluate(DARKEST, ["head.cross.0.0", 0, 0.7, 1, 0.9]) < 120  # else the mean of many cells is painted
    assert page.evaluate(DARKEST, ["head.cross.0.0", 0, 0.3, 1, 0.6]) > 180


@pytest.mark.parametrize(("layers", "heads", "tokens"), [(2, 1, 4), (12, 16, 128)])
def test_it_draws_few_heads_and_many(overview: Page, layers: int, heads: int, tokens: int) -> None:
    page = overview
    made_up.show(page, layers, heads, tokens)
    folds = page.locator("#overview .folded")
    expect(folds).to_have_count(2 if layers > 6 else 0)
    if layers > 6:
        folds.first.press("Enter")
    expect(folds).to_have_count(0)
    expect(page.locator("#overview .part.head")).to_have_count(3 * layers * heads)
    expect(page.locator("#overview .token")).to_have_count(2 * tokens)
    for size in (LAPTOP["viewport"], PHONE):  # it is drawn again for another size of the screen
        page.set_viewport_size(size)
        drawn = "most => document.querySelector('#overview .overview > svg')?.getBoundingClientRect().width < most"
        page.wait_for_function(drawn, arg=size["width"])
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_a_changed_run_is_drawn_and_told_as_it_is(shared: Visit) -> None:
    page = shared.page
    page.set_viewport_size(LAPTOP["viewport"])
    changes = "ablate.cross.2.6*positions.encoder.removed.0*drop_residual.decoder.3.2"
    shared.open(f"?tab=overview&step=4&changes={changes}")
    silenced = t("overview.silenced", opens=name_of("head.cross", "attention", layer=2, head=6))
    expect(page.get_by_role("button", name=silenced)).to_be_visible()
    run = run_of(page)
    keys = range(len(run["source"]))
    working = [(layer, head) for layer in range(6) for head in range(8) if (layer, head) != (1, 5)]
    largest, layer, head = max((weight(run, *each, 3, key), *each) for each in working for key in keys)
    expect(page.locator("#overview .say")).to_contain_text(f"head {head + 1} of layer {layer + 1}, puts {largest:.0%}")
    expect(page.locator("#overview .part.positions")).to_have_text(
        [t("overview.input_bare"), t("overview.input")], use_inner_text=False
    )
    expect(page.locator("#overview .gap")).to_have_count(1)
    assert broken_rules(page) == []
