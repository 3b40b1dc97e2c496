"""The picture of the whole: a run in one figure, every part of which leads to its tab, and the way back to it."""

import re
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from .catalogue import t
from .conftest import FRAMES, Visit, module, move, place, until
from .test_accessible import AXE, AXE_SAYS, RULES, faults

KINDS = ("encoder", "decoder", "cross")
OPENING = {"tab": "overview", "kind": "cross", "layer": 1, "head": 5, "step": 3, "stack": "encoder"}
STATE = f"{module('core/state.js')}.then(({{ state }}) => state.run)"

# A run of other sizes, whose weights are those of the one that is shown, again and again.
MADE_UP = f"""async ([layers, heads, tokens]) => {{
    const {{ state, showRun, update }} = await {module("core/state.js")};
    const run = state.run;
    const repeat = (all, n = tokens) => Array.from({{ length: n }}, (_, i) => all[i % all.length]);
    const source = repeat(run.source.filter((token) => token !== "P"));
    const read = ["S", ...repeat(run.output.filter((token) => token !== "E"), tokens - 1)];
    const maps = (queries, keys, isCausal) => ({{
        layers, heads, queries, keys,
        allowed: queries.map((_, query) => keys.map((_, key) => !isCausal || key <= query)),
        values: Float32Array.from({{ length: layers * heads * queries.length * keys.length }}, (_, i) => (i % 7) / 10),
    }});
    const attention = {{ encoder: maps(source, source), decoder: maps(read, read, true), cross: maps(read, source) }};
    const steps = repeat(run.steps);
    showRun({{
        ...run, sentence: "made up", source, typed: source, decoder_input: read, steps,
        output: steps.map((each) => each.token), attention, reference: null,
    }});
    update({{ tab: "overview", step: 2 }});
}}"""

# Whether the picture is there, and no wider than this: it is drawn again for another size of the screen.
DRAWN_WITHIN = "most => document.querySelector('#overview .overview > svg')?.getBoundingClientRect().width < most"


def run_of(page: Page) -> dict[str, Any]:
    return page.evaluate(f"{STATE}.then((run) => JSON.parse(JSON.stringify({{ ...run, heads: null }})))")


def weight(run: dict[str, Any], kind: str, layer: int, head: int, query: int, key: int) -> float:
    maps = run["attention"][kind]
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
    expect(page.locator("[role=tab]").first).to_have_attribute("aria-selected", "true")
    run = run_of(page)
    names = page.locator("#overview [role=button][data-place]").evaluate_all(
        "all => Object.fromEntries(all.map((each) => [each.dataset.place, [each.ariaLabel, each.tabIndex]]))"
    )
    for kind in KINDS:
        maps = run["attention"][kind]
        for layer in range(maps["layers"]):
            sublayer = name_of(f"sublayer.{kind}", "inside", layer=layer + 1)
            assert names[f"sublayer.{kind}.{layer}"] == [sublayer, 0]
            for head in range(maps["heads"]):
                label = name_of(f"head.{kind}", "attention", layer=layer + 1, head=head + 1)
                assert names[f"head.{kind}.{layer}.{head}"] == [label, 0]
    for stack in ("encoder", "decoder"):
        for layer in range(run["attention"][stack]["layers"]):
            assert names[f"layer.{stack}.{layer}"] == [name_of(f"layer.{stack}", "inside", layer=layer + 1), 0]
        assert names[f"positions.{stack}"] == [name_of(f"positions.{stack}", "positions"), 0]

    # By key, from one part to the next.
    first = page.locator("[data-place='head.encoder.0.0']")
    first.focus()
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


def test_what_is_drawn_is_the_run_and_follows_step_and_word(overview: Page) -> None:
    page = overview
    run = run_of(page)
    canvas = page.locator("#overview canvas")
    read_pixel = """(canvas, [place, across, down]) => {
        const box = document.querySelector(`[data-place="${place}"] rect`).getBoundingClientRect();
        const { left, top, width } = canvas.getBoundingClientRect();
        const sharp = canvas.width / width;
        const at = [box.left + box.width * across - left, box.top + box.height * down - top];
        return [...canvas.getContext("2d").getImageData(at[0] * sharp, at[1] * sharp, 1, 1).data].slice(0, 3);
    }"""
    darkness = {}  # of a head's cells, by weight
    keys, queries = len(run["source"]), len(run["decoder_input"])
    for query in range(queries):
        for key in range(keys - 1):  # the last is padding
            at = ["head.cross.1.5", (key + 0.5) / keys, (query + 0.5) / queries]
            darkness[weight(run, "cross", 1, 5, query, key)] = -sum(canvas.evaluate(read_pixel, at))
    assert [darkness[each] for each in sorted(darkness)] == sorted(darkness.values())

    page.locator("#overview .overview").evaluate("(element) => { window.drawn = element; }")
    for step in (0, 3):
        page.locator("#step").fill(str(step + 1))
        output = run["steps"][step]
        shown = page.locator("#overview .candidate:visible")
        candidates = [[each["token"], each["probability"]] for each in output["candidates"]][: shown.count()]
        drawn = shown.evaluate_all(
            "all => all.map((each) => [each.querySelector('.label').textContent, Number(each.dataset.probability)])"
        )
        assert drawn == candidates
        expect(page.locator("#overview .word-out .label")).to_have_text(output["token"])
        expect(page.locator("#overview .token[aria-current=step]")).to_have_text(run["decoder_input"][step])
        cross = run["attention"]["cross"]
        everyone = [(layer, head) for layer in range(cross["layers"]) for head in range(cross["heads"])]
        means = [
            sum(weight(run, "cross", *each, step, key) for each in everyone) / len(everyone) for key in range(keys)
        ]
        chips = page.locator("#overview .token.source")
        paid = chips.evaluate_all("all => all.map((each) => Number(each.dataset.weight))")
        assert paid == pytest.approx(means)
    bier = run["source"].index("bier")
    chips.nth(bier).hover()
    highest = max(weight(run, "cross", *each, 3, bier) for each in everyone)
    layer, head = next(each for each in everyone if weight(run, "cross", *each, 3, bier) == highest)
    told = page.locator("#overview .say")
    said = f"layer {layer + 1}, head {head + 1}: {highest:.0%}"
    expect(told).to_contain_text(said)
    assert page.locator("#overview path.path.source").evaluate_all(
        "all => all.map((each) => [each.dataset.kind, Boolean(each.getAttribute('d'))])"
    ) == [[kind, kind != "decoder"] for kind in ["encoder"] * 6 + ["decoder", "cross"] * 6]
    page.locator("#overview .token.target").first.focus()
    expect(told).to_contain_text(t("overview.follow.target", n=1, word="S"))
    assert page.evaluate("document.querySelector('#overview .overview') === window.drawn")  # built once

    with page.expect_download() as download:
        page.locator("#overview .saves button").first.click()
    saved = download.value.path().read_text("utf-8")
    assert re.search(r'<image [^>]*href="data:image/png;base64,', saved)
    assert all(f">{token}<" in saved for token in run["source"])


def test_one_is_always_told_where_one_is(shared: Visit, overview: Page) -> None:
    page = overview
    page.set_viewport_size({"width": 1280, "height": 720})
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
        here = page.locator(".here:visible")
        expect(here).to_have_count(1)
        expect(here).to_have_attribute("aria-label", t("overview.here", place=where))
        here.click()
        assert place(page)["tab"] == "overview"
        if tab not in ("train", "break"):
            marked = page.locator("#overview [aria-current=location]")
            expect(marked).to_be_focused()
            expect(marked).to_be_in_viewport()
    here = page.locator("#lesson .here")
    for stop in range(14):
        move(page, {"tab": "lesson", "stop": stop})
        expect(here).to_be_in_viewport()
        expect(here).not_to_have_attribute("aria-label", t("overview.here", place=t("overview.whole")))
    here.click()
    assert place(page)["tab"] == "overview"


def test_a_word_that_ends_a_sentence_is_not_read_again(overview: Page) -> None:
    page = overview
    back = page.locator("#overview .return")
    expect(back).to_be_visible()
    page.locator("#step").fill("6")
    expect(page.locator("#overview .word-out")).to_contain_text(t("overview.ends"))
    expect(back).to_be_hidden()


# One weight of 1 among 128 × 128 cells, and words that stand in no other's way.
LONG = f"""async () => {{
    const {{ state, showRun, update }} = await {module("core/state.js")};
    const {{ attention }} = state.run;
    const {{ cross }} = attention;
    const values = new Float32Array(cross.values.length).fill(0.001);
    const at = (query, key) => ((0 * cross.heads + 0) * cross.queries.length + query) * cross.keys.length + key;
    values[at(2, 40)] = values[at(2, 90)] = 0.4;
    values[at(2, 41)] = 0.1;
    values[at(100, 100)] = 1;
    showRun({{ ...state.run, attention: {{ ...attention, cross: {{ ...cross, values }} }} }});
    update({{ tab: "overview", step: 2 }});
}}"""


def test_long_sentences_name_the_strongest_words_and_show_single_weights(overview: Page) -> None:
    page = overview
    page.set_viewport_size({"width": 1280, "height": 720})
    page.evaluate(MADE_UP, [2, 4, 128])
    page.evaluate(LONG)
    run = run_of(page)
    named = page.locator("#overview .token.slim.source.named")
    expect(named).to_have_text([run["source"][40], run["source"][90]])
    page.locator("#overview .token.source").nth(41).hover()
    expect(named).to_have_text([run["source"][41], run["source"][90]])
    darkest = page.locator("#overview canvas").evaluate("""(canvas) => {
        const box = document.querySelector("[data-place='head.cross.0.0'] rect").getBoundingClientRect();
        const { left, top, width } = canvas.getBoundingClientRect();
        const sharp = canvas.width / width;
        const place = [box.left - left, box.top + box.height * 0.7 - top, box.width, box.height * 0.2];
        const { data } = canvas.getContext("2d").getImageData(...place.map((px) => px * sharp));
        return Math.min(...Array.from({ length: data.length / 4 }, (_, i) => data[4 * i]));
    }""")
    assert darkest < 120  # else the mean of many cells is painted


@pytest.mark.parametrize(("layers", "heads", "tokens"), [(2, 1, 4), (12, 16, 128)])
def test_it_draws_few_heads_and_many(overview: Page, layers: int, heads: int, tokens: int) -> None:
    page = overview
    page.evaluate(MADE_UP, [layers, heads, tokens])
    folds = page.locator("#overview .folded")
    expect(folds).to_have_count(2 if layers > 6 else 0)
    if layers > 6:
        folds.first.press("Enter")
    expect(folds).to_have_count(0)
    expect(page.locator("#overview .part.head")).to_have_count(3 * layers * heads)
    expect(page.locator("#overview .token")).to_have_count(2 * tokens)
    for width in (1280, 390):
        page.set_viewport_size({"width": width, "height": 720})
        page.wait_for_function(DRAWN_WITHIN, arg=width)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0


def test_a_changed_run_is_drawn_and_told_as_it_is(visit: Visit) -> None:
    changes = "ablate.cross.2.6*positions.encoder.removed.0*drop_residual.decoder.3.2"
    page = visit.open(f"?tab=overview&step=4&changes={changes}")
    silenced = page.locator("#overview .silenced")
    expect(silenced).to_have_attribute(
        "aria-label", t("overview.silenced", opens=name_of("head.cross", "attention", layer=2, head=6))
    )
    run = run_of(page)
    cross = run["attention"]["cross"]
    working = [(layer, head) for layer in range(6) for head in range(8) if (layer, head) != (1, 5)]
    heads = [max(weight(run, "cross", *each, 3, key) for key in range(len(cross["keys"]))) for each in working]
    layer, head = working[heads.index(max(heads))]
    expect(page.locator("#overview .say")).to_contain_text(
        f"head {head + 1} of layer {layer + 1}, puts {max(heads):.0%}"
    )
    expect(page.locator("#overview .part.positions")).to_have_text(
        [t("overview.input_bare"), t("overview.input")], use_inner_text=False
    )
    expect(page.locator("#overview .gap")).to_have_count(1)
    page.evaluate(f"{AXE}; 0")
    assert faults(page, AXE_SAYS, [RULES, False]) == []
