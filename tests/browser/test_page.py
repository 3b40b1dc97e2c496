"""The page as a visitor uses it, with every drawn number held to the model's own."""

import base64
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, expect

from transformer import Translation, Translator, sinusoidal_positions
from transformer.inference.attention_maps import KINDS, AttentionMap, Kind

from .conftest import Visit

BIER, COLA = "Ich möchte ein Bier", "ich mochte ein cola"


def drawn(cells: Locator, shape: tuple[int, int]) -> np.ndarray:
    """The weights that a figure carries, (queries, keys); 0 where a cell carries none."""
    weights = np.zeros(shape)
    script = "all => all.map(cell => [cell.dataset.query, cell.dataset.key, cell.dataset.weight].map(Number))"
    for query, key, weight in cells.evaluate_all(script):
        weights[int(query), int(key)] = weight
    return weights


def expect_drawn(visit: Visit, layer: AttentionMap, head: int) -> None:
    """The large heatmap shows this head: weights, their digits, and which cells are masked."""
    picture = visit.page.locator("#attention .heatmap")
    expect(visit.page.locator("#attention h2").first).to_contain_text(f"Head {head + 1} of layer {layer.layer + 1}")
    np.testing.assert_allclose(
        drawn(picture.locator("[data-weight]"), layer.allowed.shape), layer.weights[head], atol=1e-7
    )
    shown = [f"{weight:.2f}" for weight in layer.weights[head][layer.allowed]]
    assert picture.locator("text.value").all_text_contents() == shown
    assert picture.locator("rect.masked").count() == (~layer.allowed).sum()


@pytest.fixture(scope="module")
def bier() -> Translation:
    return Translator.load("toy", device="cpu").translate(BIER)


def test_it_opens_on_the_finished_translation(visit: Visit, bier: Translation) -> None:
    page = visit.open()
    expect(page.locator("#translation")).to_have_text("i want a beer . E")
    expect(page.locator("#sentence input")).to_have_value(BIER)
    expect(page.locator("#device")).to_contain_text("cpu")
    assert visit.step == bier.output.index("beer")  # where a head looks hardest
    expect(page.locator("#story .say")).to_contain_text("Step 4 of 6: after S i want a the model says beer")


@pytest.mark.parametrize("by", ["button", "enter"])
def test_a_sentence_is_typed_and_translated(visit: Visit, by: str) -> None:
    page = visit.open()
    page.locator("#sentence input").fill(COLA)
    if by == "button":
        page.locator("#translate").click()
    else:
        page.keyboard.press("Enter")
    expect(page.locator("#translation")).to_have_text("i want a coke . E")
    expect(page.locator(".note")).to_contain_text("another German word")


def test_a_sentence_that_was_never_learned_is_called_that(visit: Visit) -> None:
    page = visit.open()
    visit.ask("ein Bier möchte ich")
    expect(page.locator(".note")).to_contain_text("never learned this sentence")
    visit.ask(BIER)
    expect(page.locator(".note")).to_be_hidden()


def test_an_example_is_one_click(visit: Visit) -> None:
    page = visit.open()
    page.get_by_role("button", name="Ich möchte ein Cola").click()
    expect(page.locator("#translation")).to_have_text("i want a coke . E")
    expect(page.locator("#sentence input")).to_have_value("Ich möchte ein Cola")


def test_the_steps_are_walked_by_keyboard(visit: Visit) -> None:
    page = visit.open()
    page.locator("#sentence input").fill(COLA)
    page.keyboard.press("Enter")
    expect(page.locator("#translation")).to_contain_text("coke")
    for key, step in [
        ("Home", 0),
        ("ArrowRight", 1),
        ("ArrowRight", 2),
        ("ArrowLeft", 1),
        ("End", 5),
        ("ArrowRight", 5),
    ]:
        page.keyboard.press(key)
        assert visit.step == step, key
    page.locator("body").click(position={"x": 2, "y": 2})
    page.keyboard.press("Space")  # play, from the start since the end was reached
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    expect(page.locator("#step")).to_have_value("2")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Play")).to_be_visible()


def test_arrow_keys_belong_to_the_text_while_one_types(visit: Visit) -> None:
    page = visit.open()
    before = visit.step
    page.locator("#sentence input").press("ArrowLeft")
    page.locator("#sentence input").press("Home")
    assert visit.step == before


def test_the_buttons_walk_too(visit: Visit) -> None:
    page = visit.open()
    for name, step in [("First step", 0), ("Next step", 1), ("Back", 0), ("Last step", 5)]:
        page.get_by_role("button", name=name, exact=True).click()
        assert visit.step == step, name
    page.locator("#translation button", has_text="want").click()
    assert visit.step == 1


def test_a_clicked_button_leaves_space_to_play(visit: Visit) -> None:
    page = visit.open()
    visit.tab("attention")
    visit.press("3")
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Pause")).to_be_visible()
    page.locator("#attention rect[data-query='1']").first.click()  # a visitor who moves stops the film
    expect(page.get_by_role("button", name="Play")).to_be_visible()
    assert visit.step == 1


def test_a_card_keeps_the_keyboards_focus(visit: Visit) -> None:
    page = visit.open()
    page.locator(".cards button").nth(1).focus()
    page.keyboard.press("Enter")
    page.keyboard.press("ArrowRight")
    assert visit.step == 2
    expect(page.locator(".cards button").nth(1)).to_be_focused()


def test_each_step_shows_the_models_numbers(visit: Visit, bier: Translation) -> None:
    page = visit.open()
    page.get_by_role("group", name="Layer").get_by_role("button", name="6").click()  # heads are averaged
    for t, step in enumerate(bier.steps):
        page.locator("#translation button").nth(t).click()
        bars = page.locator(".bars li").evaluate_all("all => all.map(bar => Number(bar.dataset.weight))")
        np.testing.assert_allclose(bars, bier.attention.cross[5].weights[:, t].mean(axis=0), atol=1e-6)
        words = page.locator(".candidates .word").all_inner_texts()
        shown = page.locator(".candidates li").evaluate_all("all => all.map(bar => Number(bar.dataset.probability))")
        assert words == [candidate.token for candidate in step.candidates[:8]]
        np.testing.assert_allclose(shown, [candidate.probability for candidate in step.candidates[:8]], atol=1e-7)
        expect(page.locator(".cards .now")).to_contain_text(step.token)


def test_one_head_can_be_followed_through_the_story(visit: Visit, bier: Translation) -> None:
    page = visit.open()
    page.get_by_role("group", name="Head").get_by_role("button", name="5").click()
    bars = page.locator(".bars li").evaluate_all("all => all.map(bar => Number(bar.dataset.weight))")
    np.testing.assert_allclose(bars, bier.attention.cross[1].weights[4, visit.step], atol=1e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_every_map_is_drawn_as_the_model_returned_it(visit: Visit, bier: Translation, kind: Kind) -> None:
    page = visit.open()
    visit.tab("attention")
    visit.press(kind.capitalize())
    for layer in bier.attention.of(kind)[::5]:
        visit.press(str(layer.layer + 1))
        for head in (0, 3, 7):
            visit.press(f"head {head + 1}")
            expect_drawn(visit, layer, head)
    labels = page.locator("#attention .heatmap text.label").all_text_contents()
    assert labels == [*layer.query_tokens, *layer.key_tokens]


def test_lines_and_table_show_the_same_numbers(visit: Visit, bier: Translation) -> None:
    page = visit.open()
    visit.tab("attention")
    layer = bier.attention.cross[1]
    visit.press("Lines")
    np.testing.assert_allclose(drawn(page.locator(".lines path"), layer.allowed.shape), layer.weights[5], atol=1e-7)
    visit.press("Table")
    cells = page.locator("#attention tbody td").all_inner_texts()
    allowed = layer.allowed.ravel()
    assert cells == [f"{w:.3f}" if a else "masked" for w, a in zip(layer.weights[5].ravel(), allowed, strict=True)]


def test_hovering_says_who_looks_at_whom(visit: Visit, bier: Translation) -> None:
    page = visit.open()
    visit.tab("attention")
    page.locator("#attention rect[data-query='2'][data-key='1']").hover()
    expect(page.locator(".tip")).to_have_text(f"want → mochte: {bier.attention.cross[1].weights[5, 2, 1]:.2f}")
    page.locator("#attention rect[data-query='2'][data-key='4']").hover()
    expect(page.locator(".tip")).to_have_text("want → P: masked")


def test_a_map_is_saved_as_a_picture_of_its_own(visit: Visit) -> None:
    page = visit.open()
    visit.tab("attention")
    page.locator("#attention .map").hover()
    with page.expect_download() as download:
        page.locator("#attention .map").get_by_role("button", name="Save as SVG").click()
    assert download.value.suggested_filename == "cross-layer-2-head-6.svg"
    svg = Path(download.value.path()).read_text()
    assert "0.97" in svg
    assert "mochte" in svg
    assert not re.search(r"var\(|oklab|color-mix", svg)  # it carries its own colours, as any program reads them


def test_a_word_isolates_its_lines(visit: Visit) -> None:
    page = visit.open()
    visit.tab("attention")
    visit.press("Lines")
    page.locator(".lines g[data-query='3']").hover()
    assert page.locator(".lines.isolated path.kept").count() == 4  # the source words; P is masked


def test_switching_asks_nothing_of_the_server(visit: Visit) -> None:
    page = visit.open()
    visit.tab("attention")
    expect(page.locator("#silenced")).not_to_have_text("…")
    visit.settle()
    visit.requests.clear()
    for name in ("Encoder", "Decoder", "3", "head 2", "Lines", "Table", "Heatmap"):
        visit.press(name)
    page.keyboard.press("ArrowLeft")
    visit.tab("translate")
    assert visit.requests == []


def test_a_new_sentence_keeps_the_visitors_place(visit: Visit) -> None:
    page = visit.open()
    visit.tab("attention")
    for name in ("Decoder", "4", "head 7", "Table"):
        visit.press(name)
    page.locator("#translation button").nth(1).click()
    visit.ask(COLA)
    expect(page.locator("#translation")).to_contain_text("coke")
    assert visit.step == 1
    expect(page.locator("#attention h2").first).to_contain_text("Head 7 of layer 4")
    expect(page.locator("#attention tbody")).to_contain_text("coke")


def values(trace: dict[str, Any]) -> np.ndarray:
    """The numbers of a drawn heatmap, as Plotly holds them."""
    z = trace["z"]
    return np.frombuffer(base64.b64decode(z["bdata"]), z["dtype"]).reshape([int(n) for n in z["shape"].split(",")])


def test_positions_are_the_models_own(visit: Visit, bier: Translation) -> None:
    page = visit.open()
    visit.tab("positions")
    figures = page.locator("#positions .figure")
    expect(figures.nth(3).locator(".heatmaplayer").first).to_be_visible()
    encoding = sinusoidal_positions(50, 64).numpy()
    np.testing.assert_array_equal(values(figures.nth(0).evaluate("node => ({ z: node.data[0].z })")), encoding)

    page.locator("input[name=position]").fill("7")
    page.locator("input[name=dimension]").fill("9")
    expect(page.locator("#positions h2").nth(1)).to_contain_text("Dimension 9 is a cosine")
    page.wait_for_function("document.querySelectorAll('#positions .figure')[2].data?.[0].y[7] > 0.999999")
    curve, alike = (figures.nth(i).evaluate("node => Array.from(node.data[0].y)") for i in (1, 2))
    np.testing.assert_allclose(curve, encoding[:, 9], atol=1e-6)
    np.testing.assert_allclose(alike, encoding @ encoding[7] / 32, atol=1e-5)

    for name, read in (("encoder input", bier.source_input), ("decoder input", bier.target_input)):
        visit.press(name)
        expect(page.get_by_role("button", name=name)).to_have_attribute("aria-pressed", "true")
        expect(page.locator("#positions .card").last).to_contain_text(f"reads {len(read.tokens)} vectors")
        strips = [values(trace) for trace in figures.nth(3).evaluate("node => node.data.map(({ z }) => ({ z }))")]
        for strip, expected in zip(strips, (read.embedding, read.positions, read.input), strict=True):
            np.testing.assert_array_equal(strip, expected)


def test_opening_positions_asks_for_each_figure_once(visit: Visit) -> None:
    page = visit.open()
    visit.settle()
    visit.requests.clear()
    visit.tab("positions")
    expect(page.locator("#positions .figure").nth(3).locator(".heatmaplayer").first).to_be_visible()
    page.wait_for_load_state("networkidle")
    assert sum("component_server" in request for request in visit.requests) == 2


def test_positions_come_back_after_a_failure(visit: Visit) -> None:
    page = visit.open()
    page.route("**/plotly.min.js", lambda route: route.abort())
    visit.tab("positions")
    expect(page.locator("#positions .say")).to_contain_text("could not be loaded")
    page.unroute("**/plotly.min.js")
    visit.tab("translate")
    visit.tab("positions")
    expect(page.locator("#positions .main-svg").first).to_be_visible()
    expect(page.locator("#positions .say")).to_contain_text("Position 10, dimension 4")


def test_the_size_of_the_encoding_is_chosen(visit: Visit) -> None:
    page = visit.open()
    visit.tab("positions")
    page.locator("input[name=length]").fill("120")
    page.locator("select[name=d_model]").select_option("128")
    page.wait_for_function("document.querySelector('#positions .figure').data?.[0].z.shape === '120, 128'")
    drawn = page.locator("#positions .figure").first.evaluate("node => ({ z: node.data[0].z })")
    np.testing.assert_array_equal(values(drawn), sinusoidal_positions(120, 128).numpy())


BAD = {
    "": "no word",
    "   ...  ": "no word",
    "ich trinke wasser": "“trinke”, “wasser”. This model knows ich, mochte, ein, bier, cola",
    "ein " * 50: "50 words",
    "x" * 10_000: "10,000 characters",
    "<img src=x onerror=alert(1)>": "“<img”",
    "<script>alert(1)</script>": "I don't know",
    "{{constructor.constructor('alert(1)')()}} ${alert(1)}": "I don't know",
    "ich \u202emöchte": "U+202E",
    "ich \x07möchte": "U+0007",
}


@pytest.mark.parametrize("sentence", BAD, ids=range(len(BAD)))
def test_a_bad_sentence_gets_help_and_the_last_run_stays(visit: Visit, sentence: str) -> None:
    page = visit.open()
    visit.ask(sentence)
    expect(page.locator(".message")).to_contain_text(BAD[sentence])
    expect(page.locator("#translation")).to_have_text("i want a beer . E")
    assert page.locator("#top img, #top script").count() == 0
    visit.ask(COLA)
    expect(page.locator("#translation")).to_contain_text("coke")
    expect(page.locator(".message")).to_be_hidden()


@pytest.mark.parametrize("width", [390, 1024, 1920])
def test_nothing_scrolls_sideways(visit: Visit, width: int) -> None:
    visit.page.set_viewport_size({"width": width, "height": 900})
    page = visit.open()
    for name in ("Translate", "Attention", "Positions"):
        visit.tab(name)
        page.wait_for_timeout(300)
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, name


def test_one_word_can_look_at_one_word(visit: Visit) -> None:
    page = visit.open()
    visit.ask("Bier")
    expect(page.locator("#story .say")).to_contain_text("able to look at nothing but bier.")


def test_light_and_dark_are_chosen_and_remembered(visit: Visit) -> None:
    page = visit.open()
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    page.get_by_role("button", name="Light or dark").click()
    dark = page.evaluate(ground)
    assert dark != light
    visit.open()
    page.wait_for_function(f"{ground} === '{dark}'")


def test_a_page_without_storage_has_its_header(visit: Visit) -> None:
    forbidden = "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no') } })"
    visit.page.add_init_script(forbidden)
    page = visit.open()
    page.get_by_role("button", name="Light or dark").click()
    expect(page.locator("#device")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_number_in_a_cell_can_be_read(visit: Visit, theme: str) -> None:
    page = visit.open(f"?__theme={theme}")
    visit.tab("attention")
    paint = """cells => cells.map(cell => {
        const ground = cell.previousSibling;
        const canvas = new OffscreenCanvas(1, 1).getContext("2d");
        return [cell, ground].map(each => {
            canvas.fillStyle = getComputedStyle(each).fill;
            canvas.fillRect(0, 0, 1, 1);
            return Array.from(canvas.getImageData(0, 0, 1, 1).data);
        });
    })"""

    def luminance(rgba: list[int]) -> float:
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in (v / 255 for v in rgba[:3])]
        return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))

    seen = 0
    for kind in ("Decoder", "Cross"):
        visit.press(kind)
        for head in range(8):
            visit.press(f"head {head + 1}")
            for pair in page.locator("#attention .heatmap text.value").evaluate_all(paint):
                dark, bright = sorted(map(luminance, pair))
                assert (bright + 0.05) / (dark + 0.05) >= 4.5, pair
                seen += 1
    assert seen == 8 * (21 + 24)


def test_figures_fit_after_a_resize_elsewhere(visit: Visit) -> None:
    page = visit.open()
    visit.tab("positions")
    expect(page.locator("#positions .figure").nth(3).locator(".heatmaplayer").first).to_be_visible()
    visit.tab("translate")
    page.set_viewport_size({"width": 390, "height": 844})
    visit.tab("positions")
    page.wait_for_function("""[...document.querySelectorAll('#positions .figure')].every(
        each => each.querySelector('.main-svg').getBoundingClientRect().width <= each.clientWidth + 1)""")


def test_the_device_is_explained(visit: Visit) -> None:
    page = visit.open()
    page.locator("#device summary").click()
    expect(page.locator("#device")).to_contain_text(re.compile("Runs on cpu"))


def test_a_hundred_interactions_leave_nothing_behind(visit: Visit) -> None:
    page = visit.open()
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def interact(times: int) -> None:
        for i in range(times):
            name = ("Translate", "Attention", "Positions")[i % 3]
            visit.tab(name)
            if name == "Attention":
                visit.press(("Encoder", "Decoder", "Cross")[i % 9 // 3])
                visit.press(f"head {i % 8 + 1}")
            elif name == "Positions":
                page.locator("input[name=position]").fill(str(i % 50))
            page.keyboard.press("ArrowRight" if i % 2 else "Home")
            if i % 10 == 0:
                visit.ask((BIER, COLA)[i // 10 % 2])

    def footprint() -> tuple[float, float]:
        page.wait_for_timeout(500)
        for _ in range(2):
            session.send("HeapProfiler.collectGarbage")
        metrics = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
        return metrics["Nodes"], metrics["JSHeapUsedSize"] / 2**20

    interact(12)  # what is loaded once is loaded now
    nodes, heap = footprint()
    interact(100)
    more_nodes, more_heap = footprint()
    assert more_nodes <= nodes * 1.1
    assert more_heap <= heap + 2
