"""Inside a head: every number drawn is the model's, and what is written before "=" gives what is written after it.

That the server sends the model's numbers is tested in tests/web/api/test_sublayers.py; that shown digits are always
enough for the shown result, in tests/js/numbers.test.js.
"""

import re
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

from .arithmetic import expect_right, near, number
from .catalogue import matching, t
from .conftest import Visit, module, move, place, visiting

SENTENCES = {"toy": "Ich möchte ein Bier", "classroom": "Heute habe ich ein kaltes Bier getrunken"}
STAGES = ("qkv", "scores", "values", "concat", "residual", "ffn", "ffn_residual")
LAST_BITS: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-6}  # more threads add in another order, numbers up to 20


class Look(NamedTuple):
    """What the visitor chose, from 0."""

    checkpoint: str
    kind: Kind
    layer: int
    head: int
    query: int


LOOKS = [
    Look("toy", "encoder", 5, 7, 4),  # the query is the padding
    Look("toy", "decoder", 4, 1, 0),  # attends to itself only
    Look("toy", "cross", 0, 0, 3),
    Look("classroom", "cross", 0, 0, 8),  # the same rows of another model's matrices, of another shape
]


@cache
def translator(checkpoint: str) -> Translator:
    return Translator.load(checkpoint, device="cpu")


@cache
def run(checkpoint: str, sentence: str = "") -> Translation:
    return translator(checkpoint).translate(sentence or SENTENCES[checkpoint])


def inside(look: Look, sentence: str = "") -> SublayerValues:
    return inspect_sublayer(translator(look.checkpoint), run(look.checkpoint, sentence), look.kind, look.layer)


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
        visit.open("?tab=inside")
        yield visit


def press(page: Page, group: str, name: str) -> None:
    page.locator("#inside").get_by_role("group", name=t(group)).get_by_role("button", name=name, exact=True).click()


# Every cell with its value and its text, once all pictures are drawn: of each stage when it comes into view.
DRAWN = """async () => {
  const view = document.querySelector("#inside");
  for (const stage of view.querySelectorAll(".stage")) {
    stage.scrollIntoView();
    const isDrawn = () => stage.querySelector(".cell");
    const isWhole = () => [...stage.querySelectorAll(".fluid")].every((place) => place.querySelector("rect.cell"));
    while (!isDrawn() || !isWhole()) await new Promise(requestAnimationFrame);
  }
  const all = (from, selector) => [...from.querySelectorAll(selector)];
  const read = (cell, text) => [cell.dataset.name, Number(cell.dataset.index), cell.dataset.value, text ?? null];
  return {
    stages: all(view, ".stage").map(({ id }) => id),
    cells: [
      ...all(view, "td .cell").map((cell) => read(cell, cell.textContent)),
      ...all(view, "svg.strips").flatMap((strip) => {
        const texts = all(strip, "text.value");
        return all(strip, ".cell").map((cell, i) => read(cell, texts[i]?.textContent));
      }),
    ],
    firing: Number(view.querySelector("[data-firing]").dataset.firing),
    norms: all(view, "[data-mean]").map(({ dataset: d }) => [d.mean, d.variance, d.after, d.kept].map(Number)),
  };
}"""


def drawn(page: Page, look: Look, sentence: str = "") -> dict[str, Any]:
    """What is drawn, as soon as it is this look; held to the model."""
    data = inside(look, sentence)
    queries = page.locator("#inside .queries button")
    expect(queries).to_have_text(data.queries)
    expect(queries.nth(look.query)).to_have_attribute("aria-pressed", "true")
    place = {"head": look.head + 1, "layer": look.layer + 1, "kind": t(f"inside.kind.{look.kind}")}
    expect(page.locator("#inside .say")).to_have_text(matching("inside.say", word=data.queries[look.query], **place))
    found: dict[str, Any] = page.evaluate(DRAWN)
    expected = rows_of(data, look.head, look.query)
    twice = ("output", "ff_output")  # where they are made, and where they are added
    wanted = Counter({(name, i): 1 + (name in twice) for name, row in expected.items() for i in range(len(row))})
    assert Counter((name, i) for name, i, *_ in found["cells"]) == wanted
    values = [expected[name][i] for name, i, *_ in found["cells"]]
    np.testing.assert_allclose([float(value) for _, _, value, _ in found["cells"]], values, **LAST_BITS)
    return found


def show(visit: Visit, look: Look) -> dict[str, Any]:
    visit.choose_model(look.checkpoint)
    if place(visit.page)["run"][1] != SENTENCES[look.checkpoint]:
        visit.ask(SENTENCES[look.checkpoint])
    at = {"tab": "inside", **look._asdict()}
    del at["checkpoint"]
    move(visit.page, at)
    return drawn(visit.page, look)


CLICKED = """async ([name, index]) => {
  const worked = document.querySelector("#inside .worked");
  const told = new Promise((done) => new MutationObserver(done).observe(worked, { childList: true }));
  const cell = document.querySelector(`#inside .cell[data-name="${name}"][data-index="${index}"]`);
  cell.dispatchEvent(new MouseEvent("click", { bubbles: true }));
  await told;
  return {
    isChosen: [...document.querySelectorAll(".cell.chosen")].every((each) => each === cell),
    lines: [...worked.querySelectorAll(".arithmetic")].map((line) => line.textContent),
    result: [...worked.querySelectorAll(".result")].at(-1)?.textContent ?? worked.querySelector(".arithmetic").textContent,
  };
}"""  # noqa: E501


# ---- numbers


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: f"{look.checkpoint}-{look.kind}")
def test_every_number_is_the_models_and_follows_from_those_that_are_shown(wide: Visit, look: Look) -> None:
    found, data = show(wide, look), inside(look)
    page, expected = wide.page, rows_of(data, look.head, look.query)
    assert found["stages"] == [f"stage-{name}" for name in STAGES]
    texts = [(value, text) for *_, value, text in found["cells"] if text is not None]
    assert len(texts) > 4 * len(data.keys) or look.checkpoint != "toy"  # the other's cells may be too narrow
    assert all(text == "−∞" if value == "-Infinity" else near(float(value), text) for value, text in texts)
    assert number(page.locator("#inside .look .total").inner_text()) == 1
    assert found["firing"] == (data.ff_hidden[look.query] > 0).sum()
    for (*moments,), part in zip(found["norms"], ("", "ff_"), strict=True):
        before, after = (expected[f"{part}{name}"].astype(float) for name in ("sum", "norm"))
        assert moments == pytest.approx([before.mean(), before.var(), after.mean(), after.var()], rel=1e-4, abs=1e-5)

    last = len(data.keys) - 1
    cells = [(name, 1) for name in expected if name.partition(":")[2] in ("", "1")]
    cells += [("hidden", int(expected["hidden"].argmax())), ("weight", int(expected["weight"].argmax()))]
    masked = np.flatnonzero(~data.allowed[look.query])
    cells += [("mask", last), ("weight", int(masked[0]) if len(masked) else last)]
    for name, i in cells:
        told = page.evaluate(CLICKED, [name, i])
        assert told["isChosen"]
        value = float(expected[name][i])
        sums = sum(expect_right(line) for line in told["lines"])
        assert sums or name in ("x", "residual", "ff_residual", "concat"), told
        if name != "mask":
            assert near(value, told["result"], 1e-5 + 1e-6 * abs(value)), (name, i, value, told["result"])
        if name in ("mask", "weight"):
            assert ("−∞" in told["lines"][2]) == (not data.allowed[look.query][i])


def test_another_sentence_has_its_own_numbers(wide: Visit) -> None:
    look = Look("toy", "encoder", 0, 2, 0)
    show(wide, look)
    wide.page.evaluate(CLICKED, ["k:3", 0])
    wide.ask("ich möchte ein cola")
    drawn(wide.page, look, "ich möchte ein cola")
    expect(wide.page.locator("#inside .arithmetic-panel h3")).to_have_text(
        t("inside.arithmetic")
    )  # the old one is gone


ANSWERED = f"""async (question) => {{
  const {{ askAboutRun }} = await {module("core/server-cache.js")};
  await askAboutRun("inside", {{}}, question); // was asked already: the page awaits the same answer
  await new Promise(requestAnimationFrame);
}}"""


def test_an_answer_that_comes_late_is_not_shown(wide: Visit) -> None:
    """What is shown is what was asked for last."""
    page, held = wide.page, list[Route]()
    show(wide, Look("toy", "cross", 0, 4, 1))

    def hold(route: Route) -> None:
        asked = (route.request.post_data or "").replace(" ", "")
        held.append(route) if '"layer":2' in asked else route.continue_()

    page.route(re.compile("/component_server"), hold)
    press(page, "layer", "3")
    press(page, "layer", "6")
    look = Look("toy", "cross", 5, 4, 1)
    drawn(page, look)
    (route,) = held
    route.continue_()
    page.evaluate(ANSWERED, {"kind": "cross", "layer": 2})
    drawn(page, look)
    page.unroute_all()


# ---- choosing: keys, steps, places


def test_arrow_keys_move_through_a_strip_and_not_the_steps(wide: Visit) -> None:
    show(wide, Look("toy", "cross", 1, 4, 3))
    page = wide.page
    title, chosen = page.locator("#inside .arithmetic-panel h3"), page.locator(".cell.chosen")
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
        expect(chosen).to_have_attribute("data-index", str(i))
    assert wide.step == 3
    page.locator("#inside .look .cell").nth(1).click()  # the table has buttons
    expect(chosen).to_have_attribute("data-name", "score")
    expect(title).to_have_text(t("cell.score", **{"from": "a", "to": "ich"}))


def test_steps_move_the_query_of_the_decoder_only(wide: Visit) -> None:
    page = wide.page
    chips = page.locator("#translation button")
    for look, query, step in ((Look("toy", "encoder", 1, 4, 2), 2, 4), (Look("toy", "decoder", 1, 4, 2), 4, 1)):
        show(wide, look)
        chips.nth(4).click()
        drawn(page, look._replace(query=query))
        page.locator("#inside .queries button").nth(1).click()
        drawn(page, look._replace(query=1))
        assert wide.step == step
    press(page, "attention.which", t("kind.encoder"))
    chips.nth(4).click()
    press(page, "attention.which", t("kind.cross"))
    drawn(page, Look("toy", "cross", 1, 4, 4))  # the query is the step again


def test_on_a_phone_a_cell_opens_its_arithmetic_and_close_closes_it(wide: Visit) -> None:
    show(wide, LOOKS[0])
    page = wide.page
    page.set_viewport_size({"width": 390, "height": 844})
    panel, cells = page.locator("#inside .arithmetic-panel"), page.locator("#inside rect.cell[data-name=q]")
    expect(cells).to_have_count(8)
    expect(panel).to_be_hidden()
    cells.nth(3).click()
    expect(panel).to_be_in_viewport()
    expect(panel.locator(".result")).to_be_visible()
    assert page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    panel.get_by_role("button", name=t("close")).click()
    expect(panel).to_be_hidden()
    page.set_viewport_size({"width": 1920, "height": 1080})


# ---- shapes


def test_the_table_of_shapes_is_the_servers_and_leads_to_each_stage(wide: Visit) -> None:
    page = wide.page
    show(wide, LOOKS[2])
    expected = [
        [each["stage"], *(f"({', '.join(map(str, each[size]))})" for size in ("here", "paper"))]
        for each in shapes({"checkpoint": "toy", "sentence": SENTENCES["toy"]})["rows"]
    ]
    rows = page.locator("#inside .shapes tbody tr")
    expect(rows).to_have_count(len(expected))
    read = (
        "rows => rows.map((row) => [row.dataset.stage, ...[...row.querySelectorAll('td')].map((c) => c.textContent)])"
    )
    assert rows.evaluate_all(read) == expected
    places: dict[str, dict[str, Any]] = {
        "logits": {"tab": "lesson", "stop": 12},
        "source_input": {"tab": "positions", "stack": "encoder"},
        "encoder_attention": {"tab": "attention", "kind": "encoder"},
        "decoder_hidden": {"tab": "inside", "kind": "decoder"},
    }
    for stage, there in places.items():
        wide.tab("inside")
        page.locator(f"#inside [data-stage={stage}]").get_by_role("button").click()
        expect(page.locator(f"[role=tab][data-tab-id={there['tab']}]")).to_have_attribute("aria-selected", "true")
        wide.page.wait_for_function(
            f"there => {module('core/state.js')}.then(({{ state }}) =>"
            " Object.entries(there).every(([name, value]) => state[name] === value))",
            arg=there,
        )
    expect(page.locator("#stage-ffn h3")).to_be_in_viewport()
