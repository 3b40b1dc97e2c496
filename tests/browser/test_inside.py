"""Inside a head: what is written before "=" gives what is written after it, and the weights are the run's.

That the server sends the model's numbers is tested in tests/js/engine.test.ts; that shown digits are always
enough for the shown result, in tests/js/numbers.test.ts.
"""

from typing import Any, NamedTuple

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from transformer.inference.attention_maps import Kind

from .arithmetic import expect_right, near
from .catalogue import matching, t
from .conftest import FRAMES, PHONE, Visit, translate
from .test_accessible import broken_rules
from .wire import Hold, answered

STAGES = ("qkv", "scores", "values", "concat", "residual", "ffn", "ffn_residual")
TITLE, CHOSEN = "#inside .arithmetic-panel h3", "#inside .cell.chosen"


class Look(NamedTuple):
    """What the visitor chose, from 0, of the toy's run."""

    kind: Kind
    layer: int
    head: int
    query: int


@pytest.fixture
def wide(shared: Visit) -> Visit:
    """Numbers stand in the cells."""
    shared.page.set_viewport_size({"width": 1920, "height": 1080})
    return shared


def test_a_panel_that_scrolls_is_reached_from_the_keyboard(visit: Visit) -> None:
    page = visit.open("?checkpoint=classroom&sentence=Der+Hund+sieht+die+Katze&tab=inside")
    expect(page.locator(".arithmetic-panel")).to_have_attribute("tabindex", "0")
    assert broken_rules(page) == []


def expect_look(page: Page, look: Look) -> None:
    """What the view says it shows."""
    queries = translate("toy").attention.of(look.kind)[look.layer].query_tokens
    chosen = page.locator("#inside .queries").get_by_role("button", pressed=True)
    expect(chosen).to_have_text(queries[look.query])
    place = {"head": look.head + 1, "layer": look.layer + 1, "kind": t(f"inside.kind.{look.kind}")}
    expect(page.locator("#inside .say")).to_have_text(matching("inside.say", word=queries[look.query], **place))


def show(visit: Visit, look: Look) -> Page:
    at: dict[str, Any] = {"layer": look.layer + 1, "head": look.head + 1, "query": look.query + 1}
    page = visit.go(tab="inside", kind=look.kind, **at)
    expect_look(page, look)
    visit.draw_stages()
    return page


def test_every_number_follows_from_those_that_are_shown(wide: Visit) -> None:
    look = Look("decoder", 4, 1, 1)  # which does not see all words
    page = show(wide, look)
    wide.settle()  # the page explains a first number by itself
    layer = translate("toy").attention.decoder[look.layer]
    stages = page.locator("#inside .stage").evaluate_all("all => all.map((each) => each.id)")
    assert stages == [f"stage-{name}" for name in STAGES]
    weights = page.locator("#stage-scores .cell[data-name=weight]").evaluate_all(
        "all => all.map((c) => c.dataset.value)"
    )
    np.testing.assert_allclose([float(each) for each in weights], layer.weights[look.head, look.query], atol=1e-5)

    cells = page.locator("#inside .stage").locator("td .cell, svg.strips .cell")
    names = cells.evaluate_all("all => [...new Set(all.map(({ dataset }) => dataset.name))]")
    assert len({name.partition(":")[0] for name in names}) == 23
    (masked,) = np.flatnonzero(~layer.allowed[look.query])[:1]
    clicks = [(name, 1) for name in names if name.partition(":")[2] in ("", "1")]
    for name, i in [*clicks, ("weight", int(masked))]:
        before = page.locator(TITLE).inner_text()
        cell = page.locator(f'#inside .cell[data-name="{name}"][data-index="{i}"]').first
        cell.dispatch_event("click")
        expect(page.locator(TITLE)).not_to_have_text(before)
        expect(page.locator(CHOSEN).first).to_have_attribute("data-index", str(i))
        lines = page.locator("#inside .worked .arithmetic").all_text_contents()
        sums = sum(expect_right(line) for line in lines)
        assert sums or name in ("x", "residual", "ff_residual", "concat"), (name, lines)
        if name == "weight":
            assert ("−∞" in lines[2]) == (not layer.allowed[look.query][i])
        if name != "mask":
            value, results = float(cell.get_attribute("data-value") or "nan"), page.locator("#inside .worked .result")
            assert near(value, (results.all_text_contents() or lines)[-1], 1e-5 + 1e-6 * abs(value)), (name, i, lines)


def test_the_latest_question_is_shown(wide: Visit) -> None:
    page = show(wide, Look("cross", 0, 4, 1))
    page.locator('#inside .cell[data-name="q"]').first.dispatch_event("click")
    panel = page.locator("#inside .worked")
    expect(panel.locator(".arithmetic").first).to_be_visible()
    before = panel.inner_text()
    held = Hold(page, "inside")
    layers = page.locator("#inside").get_by_role("group", name=t("layer"))
    for layer in "36":
        layers.get_by_role("button", name=layer, exact=True).click()
    look = Look("cross", 5, 4, 1)
    expect_look(page, look)
    expect(panel).not_to_have_text(before)  # it was of the layer before
    with answered(page, "inside"):
        held.release()
    page.evaluate(FRAMES)
    expect_look(page, look)


# ---- choosing: keys, steps, places


def test_arrow_keys_move_through_a_strip_and_not_the_steps(wide: Visit) -> None:
    page = show(wide, Look("cross", 1, 4, 3))
    title, chosen, step = page.locator(TITLE), page.locator(CHOSEN), wide.step
    keys = page.locator("#stage-qkv svg.strips").nth(2)  # five keys of eight numbers
    keys.locator(".cell").first.click()
    expect(title).to_have_text(t("cell.k", token="ich", n=1))
    keys.focus()
    moves = {"ArrowRight": (0, 1), "ArrowDown": (1, 1), "End": (1, 7), "Home": (1, 0), "ArrowUp": (0, 0)}
    for key, (token, i) in [*moves.items(), ("ArrowUp", (0, 0))]:  # no row above, and no step either
        page.keyboard.press(key)
        expect(title).to_have_text(t("cell.k", token=("ich", "mochte")[token], n=i + 1))
        expect(chosen).to_have_attribute("data-name", f"k:{token}")
    assert wide.step == step

    # On a phone the arithmetic lies over the page, until it is closed.
    page.set_viewport_size(PHONE)
    panel = page.locator("#inside .arithmetic-panel")
    expect(panel).to_be_in_viewport()
    panel.get_by_role("button", name=t("close")).click()
    expect(panel).to_be_hidden()


def test_steps_move_the_query_of_the_decoder_only(wide: Visit) -> None:
    for look, query in ((Look("encoder", 1, 4, 2), 2), (Look("decoder", 1, 4, 2), 4)):
        page = show(wide, look)
        wide.words.nth(4).click()
        expect_look(page, look._replace(query=query))
    page.locator("#inside .queries").get_by_role("button").nth(1).click()
    expect_look(page, look._replace(query=1))
    assert wide.step == 1


def test_the_table_of_shapes_leads_to_each_stage(wide: Visit) -> None:
    page = show(wide, Look("cross", 0, 0, 3))
    rows = page.locator("#inside .shapes tbody tr")
    expect(rows.and_(page.locator("[data-stage=cross_attention]")).locator("td").first).to_have_text("(1, 8, 6, 5)")
    there = {
        "logits": "tab=lesson*stop=13",
        "target_input": "tab=positions",
        "decoder_attention": "tab=attention*kind=decoder",
        "decoder_hidden": "tab=inside*kind=decoder",
    }
    for stage, address in there.items():
        wide.tab("inside")
        opener = rows.and_(page.locator(f"[data-stage={stage}]")).get_by_role("button")
        wide.settle()  # an answer that comes during a click moves what is clicked
        opener.scroll_into_view_if_needed()
        wide.settle()  # and so do stages that are drawn because they have come near the screen
        opener.click()
        page.wait_for_url(f"**{address}**")
    expect(page.locator("#stage-ffn h3")).to_be_in_viewport()
