"""The picture of the whole: a run in one figure, every part of which leads to its tab, and the way back to it."""

from functools import partial

import pytest
from playwright.sync_api import Page, expect

from . import made_up
from .catalogue import t
from .conftest import FRAMES, PROJECTOR, Visit, move, place, translate, until
from .test_accessible import broken_rules
from .test_handout import downloaded
from .wire import Hold


def name_of(key: str, tab: str, **values: int) -> str:
    return t("overview.opens", place=t(f"overview.{key}", **values), tab=t(f"tab.{tab}"))


@pytest.fixture
def overview(shared: Visit) -> Page:
    """As a bare address opens it."""
    page = shared.go(tab="overview", layer=2, head=6, step=4)
    move(page, {"stack": "encoder"})  # which no address has
    page.locator("#overview .part").first.wait_for()
    # The picture that was there is drawn again in the frame after its tab is opened.
    page.evaluate(FRAMES)
    return page


def test_every_part_says_what_it_opens_and_opens_it(overview: Page) -> None:
    page = overview
    page.reload()  # which forgets the answers that it has
    panel = page.get_by_role("tabpanel", name=t("tab.overview"))
    for key, tab, count in (("sublayer.cross", "inside", 6), ("head.encoder", "attention", 48)):
        parts = panel.locator(f"[data-place^='{key}.']")
        expect(parts).to_have_count(count)
        n = {"layer": 6} if tab == "inside" else {"layer": 6, "head": 8}
        expect(parts.last).to_have_accessible_name(name_of(key, tab, **n))

    page.locator("[data-place='head.encoder.0.0']").focus()
    page.keyboard.press("Tab")  # by key, from one part to the next
    expect(page.locator("[data-place='head.encoder.0.1']")).to_be_focused()
    page.keyboard.press("Enter")
    assert place(page) == place(page) | {"tab": "attention", "kind": "encoder", "layer": 0, "head": 1}
    expect(page.locator("#panel-attention")).to_be_focused()
    for part, expected in {
        "layer.decoder.3": {"tab": "inside", "kind": "decoder", "layer": 3},
        "ffn.encoder.2": {"tab": "inside", "kind": "encoder", "layer": 2},
        "sublayer.cross.1": {"tab": "inside", "kind": "cross", "layer": 1},
        "positions.decoder": {"tab": "positions", "stack": "decoder"},
        "candidates": {"tab": "translate"},
    }.items():
        page.go_back()
        held = Hold(page, "inside") if part == "ffn.encoder.2" else None
        page.locator(f"[data-place='{part}']").click()
        until(partial(lambda wanted: place(page) == place(page) | wanted, expected))
        if held:
            page.evaluate(FRAMES)  # the tab is seen before its answer is there
            held.release()
            expect(page.locator("#stage-ffn")).to_be_focused()


def test_what_is_drawn_is_the_run_and_follows_step_and_word(shared: Visit, overview: Page) -> None:
    page, run = overview, translate("toy")
    for step in (1, 4):
        shared.step_slider.fill(f"{step}")
        expect(page.locator("#overview .word-out .label")).to_have_text(run.output[step - 1])
    expect(page.locator("#overview .token[aria-current=step]")).to_have_text(run.decoder_input[3])
    likeliest = page.locator("#overview .candidate").first
    expect(likeliest.locator(".label")).to_have_text(run.output[3])
    probability = float(likeliest.get_attribute("data-probability") or "nan")
    assert probability == pytest.approx(run.steps[3].probability, abs=1e-5)
    told = page.locator("#overview .say")
    page.locator("#overview .token.source", has_text="bier").hover()
    expect(told).to_contain_text("bier")
    page.locator("#overview .token.target").first.focus()
    expect(told).to_contain_text(t("overview.follow.target", n=1, word="S"))
    shared.step_slider.fill("6")  # a word that ends a sentence is not read again
    expect(page.locator("#overview .word-out")).to_contain_text(t("overview.ends"))
    expect(page.locator("#overview .return")).to_be_hidden()
    page.locator("#pictures summary").click()
    saved = downloaded(page.get_by_role("button", name="SVG")).path().read_text("utf-8")
    assert all(f">{token}<" in saved for token in run.source)


def test_one_is_always_told_where_one_is(shared: Visit, overview: Page) -> None:
    page = overview
    page.set_viewport_size(PROJECTOR)
    for tab, where in (
        ("attention", t("overview.head.cross", layer=2, head=6)),
        ("positions", t("overview.positions.encoder")),
        ("train", t("overview.whole")),
    ):
        shared.tab(tab)
        page.get_by_role("button", name=t("overview.here", place=where)).click()
        assert place(page)["tab"] == "overview"
        if tab != "train":
            marked = page.locator("#overview [aria-current=location]")
            expect(marked).to_be_focused()
            expect(marked).to_be_in_viewport()
    move(page, {"tab": "lesson", "stop": 6})
    expect(page.locator("#lesson .here")).to_be_in_viewport()


def test_a_changed_run_and_a_large_one_are_drawn_as_they_are(shared: Visit) -> None:
    """Where its parts stand in any size is tested in tests/js/overview-layout.test.ts."""
    changes = "ablate.cross.2.6*positions.encoder.removed.0*drop_residual.decoder.3.2"
    page = shared.go(tab="overview", step=4, changes=changes)
    silenced = t("overview.silenced", opens=name_of("head.cross", "attention", layer=2, head=6))
    expect(page.get_by_role("button", name=silenced)).to_be_visible()
    expect(page.locator("#overview .gap")).to_have_count(1)
    assert broken_rules(page) == []
    made_up.show(page, 12, 16, 128)
    folds = page.locator("#overview .folded")
    expect(folds).to_have_count(2)
    folds.first.press("Enter")
    expect(page.locator("#overview .part.head")).to_have_count(3 * 12 * 16)
