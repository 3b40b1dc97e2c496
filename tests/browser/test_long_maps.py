"""Maps of long sentences: painted in the colours of their weights, with words that stay in sight."""

import re
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from .catalogue import matching, t
from .conftest import Visit, module, place
from .test_accessible import AXE, AXE_SAYS, RULES, faults

WORDS = 33
LAYERS, HEADS = 2, 4
LARGEST = [1, 2, 30, 28]  # layer, head, row and column of the largest weight of all, and of the largest change

# A long run, and the same one whose largest weight is missing; `VALUE` is the weight of cell i of the array.
VALUE = "((i * 7919) % 90) / 100"
MADE_UP = f"""async ([words, layers, heads, largest, isChanged]) => {{
    const {{ state, showRun }} = await {module("core/state.js")};
    const named = (name) => Array.from({{ length: words }}, (_, i) => name + i);
    const [source, read] = [named("wort"), ["S", ...named("word").slice(1)]];
    const [layer, head, query, key] = largest;
    const maps = (queries, keys, isCausal, most) => {{
        const values = Float32Array.from({{ length: layers * heads * words * words }}, (_, i) => {VALUE});
        if (most) values[((layer * heads + head) * words + query) * words + key] = most;
        const allowed = queries.map((_, query) => keys.map((_, key) => !isCausal || key <= query));
        return {{ layers, heads, queries, keys, allowed, values }};
    }};
    const run = (most) => ({{
        ...state.run, source, typed: source, decoder_input: read, reference: null,
        steps: read.map(() => state.run.steps[0]), output: [...read.slice(1), "E"],
        attention: {{
            encoder: maps(source, source), decoder: maps(read, read, true, most), cross: maps(read, source),
        }},
    }});
    if (isChanged) showRun({{ ...run(0.01), changes: [{{ do: "remove_mask", kind: "decoder" }}] }}, run(1));
    else showRun(run(1));
}}"""

# The colours of cells as they are painted, and those of the style at their weights; null for a masked cell.
COLOURS = f"""async ([cells]) => {{
    const {{ state }} = await {module("core/state.js")};
    const {{ queries, keys, values, allowed }} = state.run.attention[state.kind];
    const canvas = document.querySelector("#attention .heatmap canvas");
    const pixel = (canvas, x, y) => [...canvas.getContext("2d").getImageData(x, y, 1, 1).data];
    const probe = document.body.appendChild(document.createElement("i"));
    const one = new OffscreenCanvas(1, 1);
    const seen = cells.map(([query, key]) => {{
        const [x, y] = [(key + 0.4) * canvas.width / keys.length, (query + 0.4) * canvas.height / queries.length];
        const value = values[((state.layer * {HEADS} + state.head) * queries.length + query) * keys.length + key];
        probe.style.color = `color-mix(in oklab, var(--accent) ${{Math.round(4 + 96 * value)}}%, var(--surface))`;
        one.getContext("2d").fillStyle = getComputedStyle(probe).color;
        one.getContext("2d").fillRect(0, 0, 1, 1);
        return [pixel(canvas, x, y), allowed[query][key] ? pixel(one, 0, 0) : null];
    }});
    probe.remove();
    return seen;
}}"""

CELLS = [[0, 0], [5, 2], [12, 12], [32, 31], [32, 0], [20, 7]]


def show(page: Page, *, changed: bool = False) -> None:
    page.evaluate(MADE_UP, [WORDS, LAYERS, HEADS, LARGEST, changed])


def go(page: Page, **where: Any) -> None:
    page.evaluate(f"async (where) => (await {module('core/state.js')}).update(where)", where)


def expect_painted(page: Page) -> None:
    for painted, styled in page.evaluate(COLOURS, [CELLS]):
        assert painted == pytest.approx(styled, abs=1)
    masked = {tuple(painted) for painted, _ in page.evaluate(COLOURS, [[[0, 9], [3, 30], [10, 20]]])}
    zero = {tuple(styled) for _, styled in page.evaluate(COLOURS, [CELLS])}
    assert not masked & zero


def is_in_view(part: Locator, frame: Locator) -> bool:
    part.wait_for(state="attached")
    inner, outer = part.bounding_box(), frame.bounding_box()
    assert inner
    assert outer
    return (
        outer["x"] - 1 <= inner["x"]
        and inner["x"] + inner["width"] <= outer["x"] + outer["width"] + 1
        and outer["y"] - 1 <= inner["y"]
        and inner["y"] + inner["height"] <= outer["y"] + outer["height"] + 1
    )


def expect_for_everybody(page: Page) -> None:
    assert faults(page, AXE_SAYS, [RULES, False]) == []


def test_a_long_map_is_painted_its_words_stick_and_any_head_opens_from_all_of_them(visit: Visit) -> None:
    page = visit.open("?tab=attention&kind=decoder&drawing=all")
    show(page)
    heads = page.locator("#attention .model-view button")
    expect(heads).to_have_count(LAYERS * HEADS)
    page.evaluate(f"{AXE}; 0")
    expect_for_everybody(page)
    layer, head, query, key = LARGEST
    told = page.locator("#attention .model-view ~ p, #attention p:has(+ .model-view)")
    page.locator(f"#attention [data-word='query {query}']").hover()
    largest = {"word": f"word{query}", "other": f"word{key}", "layer": layer + 1, "head": head + 1}
    expect(told).to_have_text(matching("attention.strongest_query", **largest))
    page.locator("#attention [data-word='key 0']").focus()
    page.keyboard.press("ArrowRight")
    expect(told).to_have_text(matching("attention.strongest_key", word="word1"))
    expect_for_everybody(page)
    opened = heads.nth(layer * HEADS + head)
    expect(opened).to_have_attribute(
        "aria-label",
        t(
            "attention.open_head",
            layer=layer + 1,
            head=head + 1,
            to=f"word{key}",
            share="100%",
            **{"from": f"word{query}"},
        ),
    )
    opened.focus()
    page.keyboard.press("Enter")
    seen = place(page)
    assert (seen["drawing"], seen["layer"], seen["head"]) == ("heatmap", layer, head)

    expect_painted(page)
    for drawing in ("heatmap", "lines", "table"):
        go(page, drawing=drawing)
        expect_for_everybody(page)
    go(page, drawing="heatmap")
    page.get_by_role("button", name=t("header.theme")).click()
    expect_painted(page)

    canvas = page.locator("#attention .heatmap canvas")
    box = canvas.bounding_box()
    assert box
    at: Any = {"x": (key + 0.4) * box["width"] / WORDS, "y": (query + 0.4) * box["height"] / WORDS}
    canvas.hover(position=at)
    expect(page.locator("#attention .tip")).to_have_text(f"word{query} → word{key}: 1.00")
    canvas.click(position=at)
    assert place(page)["step"] == query
    expect(page.locator("#attention .say")).to_have_text(matching("row.mostly", word=f"word{key}"))

    for _ in range(3):
        page.locator("#attention .zoom button").last.click()
    scrolling = page.locator("#attention .map > .scroll")
    row = page.locator(f"#attention .rows-words g[data-query='{query}'] text").first
    column = page.locator(f"#attention .columns-words g[data-key='{key}'] text")
    assert is_in_view(row, scrolling)
    assert is_in_view(column, scrolling)
    scrolling.evaluate("(place) => place.scrollTo(0, 0)")
    assert not is_in_view(row, scrolling)
    go(page, step=0)
    go(page, step=query)
    assert is_in_view(row, scrolling)
    assert is_in_view(column, scrolling)

    page.locator("#attention .heatmap").focus()
    page.keyboard.press("ArrowDown")  # to the first cell
    page.keyboard.press("ArrowDown")
    expect(page.locator("#attention .tip")).to_have_text(re.compile(r"word1 → S: \d"))
    page.keyboard.press("Enter")
    assert place(page)["step"] == 1


# A modified run that outputs longer words: those of its map, and of the difference, take more room.
LONGER = f"""async () => {{
    const {{ state, showRun }} = await {module("core/state.js")};
    const {{ run, baseline }} = state;
    const words = run.decoder_input.map((word) => word + "longer");
    const decoder = {{ ...run.attention.decoder, queries: words, keys: words }};
    const cross = {{ ...run.attention.cross, queries: words }};
    showRun({{ ...run, decoder_input: words, attention: {{ ...run.attention, decoder, cross }} }}, baseline);
}}"""


def test_the_three_maps_scroll_together_from_the_largest_change(visit: Visit) -> None:
    page = visit.open("?tab=break&part=whatif")
    show(page, changed=True)
    layer, head, query, key = LARGEST
    go(page, kind="decoder", layer=layer, head=head)
    maps = page.locator("#whatif [data-map] > .scroll")
    for n in range(3):
        frame = maps.nth(n)
        assert is_in_view(frame.locator(f".rows-words g[data-query='{query}'] text").first, frame)
        assert is_in_view(frame.locator(f".columns-words g[data-key='{key}'] text"), frame)
    page.evaluate(f"{AXE}; 0")
    expect_for_everybody(page)
    zoom = page.locator("#whatif .zoom button")
    zoom.nth(1).click()  # to fit
    assert maps.evaluate_all("all => all.every((each) => each.scrollWidth <= each.clientWidth)")
    zoom.last.click()
    zoom.last.click()
    maps.first.evaluate("(place) => place.scrollTo(7, 0)")
    page.wait_for_function(
        "() => [...document.querySelectorAll('#whatif [data-map] > .scroll')].every((each) => each.scrollLeft === 7)"
    )
    page.evaluate(LONGER)
    sizes = maps.locator(".body").evaluate_all("all => all.map((each) => each.getBoundingClientRect().toJSON())")
    assert len({(round(each["top"]), round(each["width"]), round(each["height"])) for each in sizes}) == 1
