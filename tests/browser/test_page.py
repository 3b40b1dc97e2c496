"""The page as a visitor uses it, with every drawn number held to the model's own."""

import base64
import re
from itertools import chain, zip_longest
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from transformer import Translation, Translator, sinusoidal_positions
from transformer.inference.attention_maps import KINDS, AttentionMap

from .catalogue import matching, t
from .conftest import Visit, module, move, place

BIER, COLA = "Ich möchte ein Bier", "ich mochte ein cola"
SAID = {BIER: "i want a beer . E", COLA: "i want a coke . E"}
OPENING = {"kind": "cross", "layer": 1, "head": 5, "step": 3, "drawing": "heatmap", "averaged": True}


@pytest.fixture(scope="module")
def bier() -> Translation:
    return Translator.load("toy", device="cpu").translate(BIER)


def go(visit: Visit, tab: str) -> Page:
    """The place where the page opens, in another tab."""
    page = visit.page
    if page.url == "about:blank":
        visit.open()
    if place(page)["run"] != ["toy", BIER]:
        visit.ask(BIER)
    visit.tab(tab)
    move(page, OPENING)
    return page


# ---- a sentence and its steps


def test_it_opens_on_the_finished_translation(shared: Visit, bier: Translation) -> None:
    page = shared.open()
    expect(page.locator("#translation")).to_have_text(SAID[BIER])
    expect(page.locator("#sentence input")).to_have_value(BIER)
    assert shared.step == bier.output.index("beer")  # of the highest weight
    says = matching("translate.says", step=4, steps=6, before="S i want a", token="beer")
    expect(page.locator("#story .say")).to_have_text(says)
    page.locator("#device summary").click()
    expect(page.locator("#device .popover")).to_have_text(matching("device.asked", device="cpu"))
    page.keyboard.press("Escape")


def test_a_sentence_is_typed_or_clicked(shared: Visit) -> None:
    page = go(shared, "translate")
    box, note = page.locator("#sentence input"), page.locator(".note")
    box.fill(COLA)
    page.keyboard.press("Enter")
    expect(page.locator("#translation")).to_have_text(SAID[COLA])
    expect(note).to_have_text(matching("note.mochte"))
    box.fill("ein Bier möchte ich")
    page.locator("#translate").click()
    expect(note).to_contain_text(t("note.unlearned"))
    page.locator(".examples").get_by_role("button", name="Ich möchte ein Cola").click()
    expect(page.locator("#translation")).to_have_text(SAID[COLA])
    expect(box).to_have_value("Ich möchte ein Cola")
    expect(note).to_be_hidden()
    with shared.answered():  # what is typed before an answer stays
        page.evaluate(
            "() => { document.querySelector('.examples button').click(); "
            "document.querySelector('#sentence input').value = 'Ich möchte'; }"
        )
    expect(page.locator("#translation")).to_have_text(SAID[BIER])
    expect(box).to_have_value("Ich möchte")
    shared.ask("Bier")
    expect(page.locator("#story .say")).to_contain_text(matching("translate.only", word="bier"))


def test_the_steps_are_walked(shared: Visit) -> None:
    page = go(shared, "translate")
    before = shared.step
    for key in ("ArrowLeft", "Home"):  # they belong to the text while one types
        page.locator("#sentence input").press(key)
        assert shared.step == before
    page.locator("#step").focus()
    walk = {"Home": 0, "ArrowRight": 1, "ArrowLeft": 0, "End": 5}
    for key, step in walk.items():
        page.keyboard.press(key)
        assert shared.step == step, key
    page.keyboard.press("ArrowRight")  # there is none after the last
    assert shared.step == 5
    page.locator("body").click(position={"x": 2, "y": 2})
    page.keyboard.press("Space")  # from the start, since the end was reached
    expect(page.get_by_role("button", name=t("run.pause"))).to_be_visible()
    expect(page.locator("#step")).to_have_value(re.compile("[2-5]"))  # none of them stays for long
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name=t("run.play"))).to_be_visible()
    for name, step in (("first", 0), ("next", 1), ("back", 0), ("last", 5)):
        page.get_by_role("button", name=t(f"run.{name}"), exact=True).click()
        assert shared.step == step, name
    page.locator("#translation button", has_text="want").click()
    assert shared.step == 1
    page.locator(".cards button").nth(1).focus()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    assert shared.step == 2
    expect(page.locator(".cards button").nth(1)).to_be_focused()
    shared.tab("attention")
    shared.press("3")
    page.keyboard.press("Space")  # a button that was clicked leaves it to Play
    expect(page.get_by_role("button", name=t("run.pause"))).to_be_visible()
    page.locator("#attention rect[data-query='1']").first.click()  # a visitor who moves stops it
    expect(page.get_by_role("button", name=t("run.play"))).to_be_visible()
    assert shared.step == 1


def test_each_step_shows_the_models_numbers(shared: Visit, bier: Translation) -> None:
    page = go(shared, "translate")

    def bars() -> list[float]:
        return page.locator(".bars li").evaluate_all("all => all.map(bar => Number(bar.dataset.weight))")

    page.get_by_role("group", name=t("layer")).get_by_role("button", name="6").click()  # heads are averaged
    for i, step in enumerate(bier.steps):
        page.locator("#translation button").nth(i).click()
        np.testing.assert_allclose(bars(), bier.attention.cross[5].weights[:, i].mean(axis=0), atol=1e-6)
        words = page.locator(".candidates .word").all_inner_texts()
        shown = page.locator(".candidates li").evaluate_all("all => all.map(bar => Number(bar.dataset.probability))")
        assert words == [candidate.token for candidate in step.candidates[:8]]
        np.testing.assert_allclose(shown, [candidate.probability for candidate in step.candidates[:8]], atol=1e-7)
        expect(page.locator(".cards .now")).to_contain_text(step.token)
    page.get_by_role("group", name=t("head")).get_by_role("button", name="5").click()
    np.testing.assert_allclose(bars(), bier.attention.cross[5].weights[4, shared.step], atol=1e-7)


# ---- attention


def drawn(cells: Locator, shape: tuple[int, int]) -> np.ndarray:
    """The weights that a figure carries, (queries, keys); 0 where a cell carries none."""
    weights = np.zeros(shape)
    read = "all => all.map(cell => [cell.dataset.query, cell.dataset.key, cell.dataset.weight].map(Number))"
    for query, key, weight in cells.evaluate_all(read):
        weights[int(query), int(key)] = weight
    return weights


def expect_drawn(page: Page, layer: AttentionMap, head: int) -> None:
    """The large heatmap shows this head: weights, their digits, and which cells are masked."""
    picture = page.locator("#attention .heatmap")
    expect(page.locator("#attention h2").first).to_have_text(
        matching("attention.axes", head=head + 1, layer=layer.layer + 1)
    )
    np.testing.assert_allclose(
        drawn(picture.locator("[data-weight]"), layer.allowed.shape), layer.weights[head], atol=1e-7
    )
    shown = [f"{weight:.2f}" for weight in layer.weights[head][layer.allowed]]
    assert picture.locator("text.value").all_text_contents() == shown
    assert picture.locator("rect.masked").count() == (~layer.allowed).sum()


def test_every_map_is_drawn_as_the_model_returned_it_without_the_server(shared: Visit, bier: Translation) -> None:
    page = go(shared, "attention")
    expect(page.locator("#ablation")).not_to_have_text("…")
    shared.settle()
    shared.requests.clear()
    for kind in KINDS:
        shared.press(t(f"kind.{kind}"))
        for layer in bier.attention.of(kind)[::5]:
            shared.press(str(layer.layer + 1))
            for head in (0, 7):
                shared.press(t("head_n", head=head + 1))
                expect_drawn(page, layer, head)
        labels = page.locator("#attention .heatmap g:not(.above) > text.label").all_text_contents()
        said = bier.output if kind != "encoder" else ()
        rows = zip_longest(layer.query_tokens, (f" → {token}" for token in said))
        assert labels == [*filter(None, chain.from_iterable(rows)), *layer.key_tokens]
    shared.press(t("attention.lines"))
    np.testing.assert_allclose(drawn(page.locator(".lines path"), layer.allowed.shape), layer.weights[7], atol=1e-7)
    page.locator(".lines g[data-query='3']").hover()
    expect(page.locator(".lines.isolated path.kept")).to_have_count(4)  # the source words; P is masked
    shared.press(t("attention.table"))
    cells = page.locator("#attention .large tbody td").all_inner_texts()
    weights, allowed = layer.weights[7].ravel(), layer.allowed.ravel()
    assert cells == [f"{w:.3f}" if a else t("masked") for w, a in zip(weights, allowed, strict=True)]
    page.keyboard.press("ArrowLeft")
    shared.tab("translate")
    assert shared.requests == []


def test_a_cell_is_read(shared: Visit, bier: Translation) -> None:
    page = go(shared, "attention")
    page.locator("#attention rect[data-query='2'][data-key='1']").hover()
    expect(page.locator(".tip")).to_have_text(f"want → mochte: {bier.attention.cross[1].weights[5, 2, 1]:.2f}")
    page.locator("#attention rect[data-query='2'][data-key='4']").hover()
    expect(page.locator(".tip")).to_have_text(f"want → P: {t('masked')}")


def test_a_new_sentence_keeps_the_visitors_place(shared: Visit) -> None:
    page = go(shared, "attention")
    for name in (t("kind.decoder"), "4", t("head_n", head=7), t("attention.table")):
        shared.press(name)
    page.locator("#translation button").nth(1).click()
    shared.ask(COLA)
    expect(page.locator("#translation")).to_have_text(SAID[COLA])
    assert shared.step == 1
    expect(page.locator("#attention h2").first).to_have_text(matching("attention.axes", head=7, layer=4))
    expect(page.locator("#attention .large tbody")).to_contain_text("coke")


# ---- positions


def values(trace: dict[str, Any]) -> np.ndarray:
    """The numbers of a drawn heatmap, as Plotly holds them."""
    z = trace["z"]
    return np.frombuffer(base64.b64decode(z["bdata"]), z["dtype"]).reshape([int(n) for n in z["shape"].split(",")])


def test_positions_are_the_models_own(visit: Visit, bier: Translation) -> None:
    page = visit.open()
    visit.settle()
    page.route("**/plotly.min.js", lambda route: route.abort())
    visit.tab("positions")
    for failed in (page.locator("#positions .say"), page.locator("#positions .card .hint").last):
        expect(failed).to_have_text(t("positions.failed"))
    page.unroute("**/plotly.min.js")
    visit.tab("translate")
    visit.tab("positions")
    figures = page.locator("#positions .figure")
    expect(figures.nth(3).locator(".heatmaplayer").first).to_be_visible()
    expect(page.locator("#positions .say")).to_have_text(matching("positions.say", position=10, dimension=4))

    def z(figure: Locator) -> list[np.ndarray]:
        return [values(trace) for trace in figure.evaluate("node => node.data.map(({ z }) => ({ z }))")]

    encoding = sinusoidal_positions(50, 64).numpy()
    np.testing.assert_array_equal(z(figures.first), [encoding])
    page.locator("input[name=position]").fill("7")
    page.locator("input[name=dimension]").fill("9")
    turn = matching("positions.turn", dimension=9, wave=t("positions.cosine"))
    expect(page.locator("#positions h2").nth(1)).to_have_text(turn)
    for figure, at in ((1, 0), (2, 7)):  # of the last of the two moves
        page.wait_for_function(
            f"document.querySelectorAll('#positions .figure')[{figure}].data?.[0].y[{at}] > 0.999999"
        )
    curve, similarity = (figures.nth(i).evaluate("node => Array.from(node.data[0].y)") for i in (1, 2))
    np.testing.assert_allclose(curve, encoding[:, 9], atol=1e-6)
    np.testing.assert_allclose(similarity, encoding @ encoding[7] / 32, atol=1e-5)
    for stack, read in (("encoder", bier.source_input), ("decoder", bier.target_input)):
        visit.press(t(f"positions.{stack}"))
        summed = matching(f"positions.sum.{stack}", count=len(read.tokens), d_model=64)
        expect(page.locator("#positions .card .hint").last).to_have_text(summed)
        for strip, expected in zip(z(figures.nth(3)), (read.embedding, read.positions, read.input), strict=True):
            np.testing.assert_array_equal(strip, expected)

    page.locator("input[name=length]").fill("120")
    page.locator("select[name=d_model]").select_option("128")
    page.wait_for_function("document.querySelector('#positions .figure').data?.[0].z.shape === '120, 128'")
    np.testing.assert_array_equal(z(figures.first), [sinusoidal_positions(120, 128).numpy()])
    visit.tab("translate")
    page.set_viewport_size({"width": 390, "height": 844})
    visit.tab("positions")
    page.wait_for_function("""[...document.querySelectorAll('#positions .figure')].every(
        each => each.querySelector('.main-svg').getBoundingClientRect().width <= each.clientWidth + 1)""")


# ---- what a visitor may type


BAD: dict[str, str | re.Pattern[str]] = {
    "": matching("error.empty"),
    "ich trinke wasser": "“trinke” and “wasser”",
    "x" * 10_000: "10,000",
    "<img src=x onerror=alert(1)>": "“<img”",
    "{{constructor.constructor('alert(1)')()}} ${alert(1)}": "“{{constructor",
    "ich \x07möchte": "U+0007",
}


def test_a_bad_sentence_gets_help_and_the_last_run_stays(shared: Visit) -> None:
    page = go(shared, "translate")
    for sentence, help_ in BAD.items():
        shared.ask(sentence)
        expect(page.locator(".message")).to_contain_text(help_)
        expect(page.locator("#translation")).to_have_text(SAID[BIER])
        assert page.locator("#top img, #top script").count() == 0
    shared.ask(COLA)
    expect(page.locator("#translation")).to_have_text(SAID[COLA])
    expect(page.locator(".message")).to_be_hidden()


# ---- the page itself


def test_light_and_dark_are_remembered(visit: Visit) -> None:
    page = visit.open("?__theme=light")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name=t("header.theme")).click()
    dark = page.evaluate(ground)
    assert dark != light
    visit.open()
    page.wait_for_function(f"{ground} === '{dark}'")


def test_a_page_without_storage_has_its_header(visit: Visit) -> None:
    visit.page.add_init_script(
        "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no') } })"
    )
    page = visit.open()
    page.get_by_role("button", name=t("header.theme")).click()
    expect(page.locator("#device")).to_be_visible()


# Wherever a visitor may look, one place after another, each of them drawn.
WANDER = f"""async (round) => {{
  const {{ update }} = await {module("core/state.js")};
  for (const tab of ["inside", "translate", "attention", "break", "lesson", "positions"]) {{
    update({{ tab, kind: ["encoder", "decoder", "cross"][round % 3], head: round % 8, step: round % 5 }});
    for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
  }}
}}"""


def test_many_interactions_leave_nothing_behind(visit: Visit) -> None:
    page = visit.open()
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def footprint(rounds: int) -> tuple[float, float]:
        """Nodes, and MB of objects, after this number of sentences."""
        for i in range(rounds):
            visit.ask((BIER, COLA)[i % 2])
            page.evaluate(WANDER, i)
            page.locator("input[name=position]").fill(str(i))
        page.wait_for_load_state("networkidle")
        for _ in range(2):
            session.send("HeapProfiler.collectGarbage")
        metrics = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
        return metrics["Nodes"], metrics["JSHeapUsedSize"] / 2**20

    nodes, heap = footprint(2)  # what is loaded once is loaded now, or on a slow machine in the next rounds
    for _ in range(3):
        (nodes_before, heap_before), (nodes, heap) = (nodes, heap), footprint(2)
        if nodes <= nodes_before * 1.1 and heap <= heap_before + 2:
            break
    assert nodes <= nodes_before * 1.1
    assert heap <= heap_before + 2
