"""Inside a head: the numbers drawn are the model's, and what is written before "=" gives what is written after it.

That the server sends the model's numbers is tested in tests/web/api/test_sublayers.py; that shown digits are always
enough for the shown result, in tests/js/numbers.test.js.
"""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from transformer import Translation, Translator
from transformer.analysis.sublayer import SublayerValues, inspect_sublayer
from transformer.inference.attention_maps import Kind
from transformer.web.api.sublayers import shapes

from ..web.api.endpoints import ask
from .actions import answering, follow
from .arithmetic import expect_right, near, number
from .catalogue import matching, t
from .conftest import FRAMES, Visit, asks_for, visiting

SENTENCES = {"toy": "Ich möchte ein Bier", "classroom": "Heute habe ich ein kaltes Bier getrunken"}
STAGES = ("qkv", "scores", "values", "concat", "residual", "ffn", "ffn_residual")
LAST_BITS: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-6}  # more threads add in another order, numbers up to 20
TITLE, CHOSEN = "#inside .arithmetic-panel h3", "#inside .cell.chosen"


class Look(NamedTuple):
    """What the visitor chose, from 0."""

    checkpoint: str
    kind: Kind
    layer: int
    head: int
    query: int

    @property
    def link(self) -> str:
        at = f"kind={self.kind}&layer={self.layer + 1}&head={self.head + 1}&query={self.query + 1}"
        return f"?checkpoint={self.checkpoint}&sentence={SENTENCES[self.checkpoint]}&tab=inside&{at}"


@cache
def translator(checkpoint: str) -> Translator:
    return Translator.load(checkpoint, device="cpu")


@cache
def run(checkpoint: str, sentence: str = "") -> Translation:
    return translator(checkpoint).translate(sentence or SENTENCES[checkpoint])


def rows_of(data: SublayerValues, head: int, query: int) -> dict[str, np.ndarray]:
    """Every row of cells that is drawn of a head's query, by its name."""
    q, k, v, weights = data.q[head, query], data.k[head], data.v[head], data.weights[head, query]
    names = ("output", "residual", "sum", "norm")
    return {
        "x": data.x[query],
        "q": q,
        "dot": k.astype(float) @ q,
        "score": data.scores[head, query],
        "mask": np.where(data.allowed[query], data.scores[head, query], -np.inf),
        "weight": weights,
        "head_output": data.head_output[head, query],
        "concat": data.head_output[:, query].ravel(),
        "hidden": data.ff_hidden[query],
        **{f"{part}{name}": getattr(data, f"{part}{name}")[query] for part in ("", "ff_") for name in names},
        **{f"k:{j}": key for j, key in enumerate(k)},
        **{f"v:{j}": value for j, value in enumerate(v)},
        **{f"part:{j}": weight * value for j, (weight, value) in enumerate(zip(weights, v, strict=True))},
    }


@pytest.fixture(scope="module")
def wide(browser: Browser, url: str) -> Iterator[Visit]:
    """A page so wide that numbers stand in the cells."""
    with visiting(browser, url, viewport={"width": 1920, "height": 1080}) as visit:
        yield visit


def expect_look(page: Page, look: Look) -> None:
    """What the view says it shows."""
    queries = run(look.checkpoint).attention.of(look.kind)[look.layer].query_tokens
    chosen = page.locator("#inside .queries").get_by_role("button", pressed=True)
    expect(chosen).to_have_text(queries[look.query])
    place = {"head": look.head + 1, "layer": look.layer + 1, "kind": t(f"inside.kind.{look.kind}")}
    expect(page.locator("#inside .say")).to_have_text(matching("inside.say", word=queries[look.query], **place))


def show(visit: Visit, look: Look) -> Page:
    if visit.page.url == "about:blank":
        visit.open(look.link)
    else:
        follow(visit.page, look.link)
    expect_look(visit.page, look)
    visit.draw_stages()
    return visit.page


def press(page: Page, group: str, name: str) -> None:
    page.locator("#inside").get_by_role("group", name=t(group)).get_by_role("button", name=name, exact=True).click()


# ---- numbers

STRIPS = """strips => strips.flatMap((strip) => {
    const [cells, texts] = [".cell", "text.value"].map((each) => [...strip.querySelectorAll(each)]);
    return texts.length ? cells.map((cell, i) => [cell.dataset.value, texts[i].textContent]) : [];
})"""


@pytest.mark.parametrize(
    "look",
    [
        Look("toy", "decoder", 4, 1, 1),  # which does not see all words
        Look("classroom", "cross", 0, 0, 8),  # another model's matrices, of another shape
    ],
    ids=lambda look: f"{look.checkpoint}-{look.kind}",
)
def test_numbers_are_the_models_and_follow_from_those_that_are_shown(wide: Visit, look: Look) -> None:
    page = show(wide, look)
    data = inspect_sublayer(translator(look.checkpoint), run(look.checkpoint), look.kind, look.layer)
    expected = rows_of(data, look.head, look.query)
    assert [stage.get_attribute("id") for stage in page.locator("#inside .stage").all()] == [
        f"stage-{name}" for name in STAGES
    ]
    twice = ("output", "ff_output")  # where they are made, and where they are added
    wanted = Counter({(name, i): 1 + (name in twice) for name, row in expected.items() for i in range(len(row))})
    cells = page.locator("#inside .stage").locator("td .cell, svg.strips .cell")
    expect(cells).to_have_count(wanted.total())
    drawn = cells.evaluate_all("cells => cells.map(({ dataset: d }) => [d.name, Number(d.index), d.value])")
    assert Counter((name, i) for name, i, _ in drawn) == wanted
    np.testing.assert_allclose(
        [float(value) for *_, value in drawn], [expected[name][i] for name, i, _ in drawn], **LAST_BITS
    )
    texts = page.locator("#inside svg.strips").evaluate_all(STRIPS)
    texts += page.locator("#inside td .cell").evaluate_all("all => all.map((c) => [c.dataset.value, c.textContent])")
    assert len(texts) >= 4 * len(data.keys)
    assert all(text == "−∞" if value == "-Infinity" else near(float(value), text) for value, text in texts)
    assert number(page.locator("#inside .look .total").inner_text()) == 1

    masked = np.flatnonzero(~data.allowed[look.query])
    clicks = [(name, 1) for name in expected if name.partition(":")[2] in ("", "1")]
    clicks += [("hidden", int(expected["hidden"].argmax())), ("weight", int(expected["weight"].argmax()))]
    clicks += [("mask", i) for i in masked[:1]] + [("weight", i) for i in masked[-1:]]
    for name, i in clicks:
        before = page.locator(TITLE).inner_text()
        page.locator(f'#inside .cell[data-name="{name}"][data-index="{i}"]').first.dispatch_event("click")
        expect(page.locator(TITLE)).not_to_have_text(before)
        expect(page.locator(CHOSEN).first).to_have_attribute("data-index", str(i))
        lines = page.locator("#inside .worked .arithmetic").all_text_contents()
        sums = sum(expect_right(line) for line in lines)
        assert sums or name in ("x", "residual", "ff_residual", "concat"), (name, lines)
        value, results = float(expected[name][i]), page.locator("#inside .worked .result").all_text_contents()
        if name != "mask":
            assert near(value, (results or lines)[-1], 1e-5 + 1e-6 * abs(value)), (name, i, value, lines)
        if name in ("mask", "weight"):
            assert ("−∞" in lines[2]) == (not data.allowed[look.query][i])


def test_the_latest_question_is_shown(wide: Visit) -> None:
    page, held = show(wide, Look("toy", "cross", 0, 4, 1)), list[Route]()
    page.locator('#inside .cell[data-name="q"]').first.dispatch_event("click")
    expect(page.locator(TITLE)).not_to_have_text(t("inside.arithmetic"))

    def hold_layer_3(route: Route) -> None:
        asked = (route.request.post_data or "").replace(" ", "")
        held.append(route) if '"layer":2' in asked else route.continue_()

    answering(page, "inside", hold_layer_3)
    for layer in "36":
        press(page, "layer", layer)
    look = Look("toy", "cross", 5, 4, 1)
    expect_look(page, look)
    expect(page.locator(TITLE)).to_have_text(t("inside.arithmetic"))  # of the layer before, it is gone
    with page.expect_response(lambda answer: asks_for(answer.request, "inside")):
        held[0].continue_()
    page.evaluate(FRAMES)
    expect_look(page, look)
    page.unroute_all()


# ---- choosing: keys, steps, places


def test_arrow_keys_move_through_a_strip_and_not_the_steps(wide: Visit) -> None:
    page = show(wide, Look("toy", "cross", 1, 4, 3))
    title, chosen, step = page.locator(TITLE), page.locator(CHOSEN), wide.step
    keys = page.locator("#stage-qkv svg.strips").nth(2)  # five keys of eight numbers
    keys.locator(".cell").first.click()
    expect(title).to_have_text(t("cell.k", token="ich", n=1))
    keys.focus()
    for key, token, i in [
        ("ArrowRight", 0, 1),
        ("ArrowDown", 1, 1),
        ("End", 1, 7),
        ("Home", 1, 0),
        ("ArrowUp", 0, 0),
        ("ArrowUp", 0, 0),  # no row above, and no step either
    ]:
        page.keyboard.press(key)
        expect(title).to_have_text(t("cell.k", token=run("toy").source[token], n=i + 1))
        expect(chosen).to_have_count(1)
        expect(chosen).to_have_attribute("data-name", f"k:{token}")
    assert wide.step == step
    page.locator("#inside .look .cell").nth(1).click()  # the table has buttons
    expect(chosen).to_have_attribute("data-name", "score")
    expect(title).to_have_text(t("cell.score", **{"from": "a", "to": "ich"}))

    # On a phone the arithmetic lies over the page, until it is closed.
    page.set_viewport_size({"width": 390, "height": 844})
    panel = page.locator("#inside .arithmetic-panel")
    page.locator("#inside rect.cell[data-name=q]").nth(3).click()
    expect(panel).to_be_in_viewport()
    expect(panel.locator(".result")).to_have_count(1)  # of q, no longer those of the score
    panel.get_by_role("button", name=t("close")).click()
    expect(panel).to_be_hidden()
    page.set_viewport_size({"width": 1920, "height": 1080})


def test_steps_move_the_query_of_the_decoder_only(wide: Visit) -> None:
    steps = wide.page.locator("#translation button")
    for look, query, step in ((Look("toy", "encoder", 1, 4, 2), 2, 4), (Look("toy", "decoder", 1, 4, 2), 4, 1)):
        page = show(wide, look)
        steps.nth(4).click()
        expect_look(page, look._replace(query=query))
        page.locator("#inside .queries").get_by_role("button").nth(1).click()
        expect_look(page, look._replace(query=1))
        assert wide.step == step
    press(page, "attention.which", t("kind.encoder"))
    steps.nth(4).click()
    press(page, "attention.which", t("kind.cross"))
    expect_look(page, Look("toy", "cross", 1, 4, 4))  # the query is the step again


def test_the_table_of_shapes_is_the_servers_and_leads_to_each_stage(wide: Visit) -> None:
    page = show(wide, Look("toy", "cross", 0, 0, 3))
    rows = page.locator("#inside .shapes tbody tr")
    sent = ask(shapes, {"checkpoint": "toy", "sentence": SENTENCES["toy"]})["rows"]
    expect(rows).to_have_count(len(sent))
    sizes = [f"({', '.join(map(str, each[size]))})" for each in sent for size in ("here", "paper")]
    assert rows.locator("td").all_text_contents() == sizes
    there = {
        "logits": "tab=lesson*stop=13",
        "target_input": "tab=positions",
        "decoder_attention": "tab=attention*kind=decoder",
        "decoder_hidden": "tab=inside*kind=decoder",
    }
    for stage, address in there.items():
        wide.tab("inside")
        rows.and_(page.locator(f"[data-stage={stage}]")).get_by_role("button").click()
        page.wait_for_url(f"**{address}**")
    expect(page.locator("#stage-ffn h3")).to_be_in_viewport()
