"""Models of other shapes than the shipped ones: every tab and every stop says what is true of them."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from transformer.live.limits import Limits
from transformer.live.plan import DEFAULTS, plan
from transformer.live.stream import live

from .catalogue import EN, t
from .conftest import Visit
from .test_lesson import HIDE, STOPS

PAIRS = [
    ["Yo bebo agua.", "I drink water."],
    ["Yo bebo leche.", "I drink milk."],
    ["Ella bebe agua.", "She drinks water."],
    ["Ella bebe leche.", "She drinks milk."],
    ["Yo como pan.", "I eat bread."],
]
SHAPES: dict[str, dict[str, Any]] = {
    "bare": {"d_model": 33, "n_heads": 1, "layers": 1, "d_ff": 64, "positional_encoding": False},
    "tied": {"d_model": 32, "tie_weights": True},
    "prenorm": {"d_model": 32, "norm_first": True},
}
TABS = ("translate", "attention", "positions", "inside")  # Train speaks of what can be trained
FALSE = re.compile(r"German|\b1 (?:heads|layers|pairs|times)\b|undefined|NaN|\{\w+\}")  # of any of these models


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A trained model of each shape, as a visitor would bring it."""
    folder = tmp_path_factory.mktemp("models")
    made = {}
    for name, shape in SHAPES.items():
        settings = DEFAULTS["own"]
        asked = {"name": name, "corpus": "own", "pairs": PAIRS, "watch": "", "held_out": 0.0}
        training = settings["training"] | {"steps": 100}
        planned = plan(asked | {"model": settings["model"] | shape, "training": training}, Limits())
        assert planned.job, planned.problems
        made[name] = folder / f"{name}.safetensors"
        *_, last = live(planned.job, made[name])
        assert last["event"] != "error"
    return made


@pytest.fixture
def bring(visit: Visit, files: dict[str, Path]) -> Callable[[str], Page]:
    """Open the page with a model of that shape."""
    console: list[str] = visit.faults

    def brought(name: str, query: str = "?tab=train") -> Page:
        visit.page.on("console", lambda said: said.type == "error" and console.append(f"console: {said.text}"))
        page = visit.open(query)
        page.locator("#bring-model").set_input_files(files[name])
        expect(page.locator("#checkpoint option:checked")).to_contain_text(name)
        expect(page.locator("#translation")).to_contain_text("water")
        return page

    return brought


def open_tab(page: Page, name: str) -> Locator:
    page.locator(f"[role=tab][data-tab-id={name}]").click()
    panel = page.locator(f"#tab-{name}")
    expect(panel).to_be_visible()
    expect(panel).not_to_be_empty()
    return panel


def walk(page: Page) -> dict[str, dict[str, Any]]:
    """Every stop of the lesson, revealed."""
    open_tab(page, "lesson")
    seen = {}
    for n, name in enumerate(STOPS, 1):
        expect(page.locator("#stop-title")).to_contain_text(f"{n} of {len(STOPS)}")
        page.locator("#lesson .lesson-figure").locator("svg, ol, table").first.wait_for()
        choices = page.locator("#lesson .choice").count()
        veiled = page.locator("#lesson .veil").is_visible()
        assert veiled == (name in HIDE and choices > 0)
        page.keyboard.press("r")
        expect(page.locator("#lesson .reveal")).to_be_visible()
        seen[name] = {
            "choices": choices,
            "formula": formulas(page, "#lesson"),
            "text": page.locator("#lesson .lesson-text").inner_text(),
            "question": page.locator("#lesson .question").inner_text(),
        }
        page.keyboard.press("PageDown")
    return seen


def formulas(page: Page, place: str) -> str:
    """As they are written in the code."""
    alternatives = "all => all.map((each) => each.getAttribute('alttext')).join('  ')"
    return str(page.locator(f"{place} .formula math").evaluate_all(alternatives))


def texts(page: Page) -> dict[str, str]:
    """The tabs before the lesson, and Inside a head of each kind."""
    said = {}
    for tab in TABS:
        panel = open_tab(page, tab)
        if tab == "attention":
            expect(panel).to_contain_text(EN["heads.unaligned"])
        if tab == "positions":
            page.locator("#positions .figure .plot-container").nth(3).wait_for()
            expect(panel).to_contain_text("The strips share one scale")
        if tab == "inside":
            page.locator("#stage-ffn_residual .strips").first.wait_for()
            page.locator("#shapes table").wait_for()
        said[tab] = panel.inner_text() + formulas(page, "#inside")
    for kind in ("encoder", "decoder"):
        open_tab(page, "inside")
        page.locator(f"#inside button[value={kind}]").click()
        expect(page.locator("#inside .say")).to_contain_text(f"({kind})")
        said[kind] = page.locator("#inside").inner_text() + formulas(page, "#inside")
    return said


@pytest.mark.parametrize("name", SHAPES)
def test_every_tab_and_stop_says_what_is_true_of_the_model(
    visit: Visit, bring: Callable[[str], Page], name: str
) -> None:
    page = bring(name)
    said, stops = texts(page), walk(page)
    everything = "\n".join([*said.values(), *(text for stop in stops.values() for text in map(str, stop.values()))])
    assert FALSE.findall(everything) == []
    expect(page.locator("#positions [name=d_model]")).to_have_value(str(SHAPES[name]["d_model"]))
    {"bare": expect_bare, "tied": expect_tied, "prenorm": expect_prenorm}[name](said, stops)


def expect_bare(said: dict[str, str], stops: dict[str, dict[str, Any]]) -> None:
    """One layer, one head, an odd width, no positions."""
    assert EN["translate.one_layer"] in said["translate"]
    assert EN["translate.one_head"] in said["translate"]
    assert EN["positions.none"] in said["positions"]
    assert "0 is added" in said["positions"]
    assert "pattern of its position" not in said["positions"]
    assert EN["shapes.bare_encoder"] in said["inside"]
    assert EN["inside.concat_alone"] in said["inside"]
    for name in ("heads", "stack"):  # one answer is no question
        assert stops[name]["choices"] == 0
        assert stops[name]["question"].startswith(EN["lesson.alone"].strip())
        assert "this model has one" in stops[name]["text"].lower()
    assert EN["lesson.positions.text_bare"] in stops["positions"]["text"]
    assert EN["lesson.positions.reveal_bare"] in stops["positions"]["question"]
    assert "there is one head" in stops["qkv"]["question"]
    assert EN["lesson.ffn.most"] not in stops["ffn"]["text"]  # 2 · 33 · 64 < 4 · 33²


def expect_tied(said: dict[str, str], stops: dict[str, dict[str, Any]]) -> None:
    """One vocabulary on both sides."""
    assert EN["lesson.tokens.text_tied"] in stops["tokens"]["text"]
    assert "lists of their own" not in stops["tokens"]["text"]
    assert "target tokens" not in stops["logits"]["text"]
    assert "source words among them" in stops["logits"]["text"]
    assert "pattern of its position" in said["positions"]


def expect_prenorm(said: dict[str, str], stops: dict[str, dict[str, Any]]) -> None:
    """x + Sublayer(LayerNorm(x))."""
    assert "LayerNorm then brings" not in stops["residual"]["text"]
    assert stops["residual"]["formula"] == "x̂ = LayerNorm(x),  o = Attention(x̂),  y = x + o"
    assert stops["ffn"]["formula"].startswith("ŷ = LayerNorm(y),  FFN(ŷ) = max(0, ŷ W")
    assert EN["lesson.stack.norm"] in stops["stack"]["text"]
    for kind in ("inside", "encoder", "decoder"):
        assert "ŷ = LayerNorm(y),  y + FFN(ŷ)" in said[kind]
        assert EN["inside.residual_first"] in said[kind]
        assert not re.search(r"LayerNorm\((x \+ o|y \+ FFN)", said[kind])
    assert ("K = X̂" in said["encoder"], "K = X̂" in said["inside"]) == (True, False)  # cross reads the encoder's output
    assert (EN["inside.between"] in said["decoder"], EN["inside.between"] in said["encoder"]) == (True, False)


def test_another_language_behind_an_open_tab_draws_nothing_without_a_width(bring: Callable[[str], Page]) -> None:
    page = bring("bare")
    for language in ("zh-Hans", "en"):
        page.locator("#language").select_option(language)
        expect(page.locator("html")).to_have_attribute("lang", language)
    open_tab(page, "attention")
    expect(page.locator("#attention .large svg")).to_be_visible()  # and the console has no fault to tell


def test_the_handout_of_an_own_model_tells_how_it_was_trained(bring: Callable[[str], Page]) -> None:
    page = bring("prenorm")
    page.locator("#home summary").click()
    with page.expect_download() as download:
        page.locator("[data-file=handout]").click()
    text = Path(download.value.path()).read_text("utf-8")
    assert t("handout.trained", pairs=len(PAIRS), steps=100) in text
    for name, value in (("d_model", "32"), ("norm_first", "before"), ("tie_weights", "off"), ("schedule", "one cycle")):
        assert t("handout.setting", name=EN[f"train.set.{name}"], value=value) in text


def test_escape_closes_the_checks(visit: Visit) -> None:
    page = visit.open()
    page.locator("#checks summary").click()
    expect(page.locator("#checks .popover")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#checks .popover")).to_be_hidden()
    expect(page.locator("#checks summary")).to_be_focused()
