"""A model of another shape than the shipped ones: every tab and every stop says what is true of it."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import ConsoleMessage, Locator, Page, expect

from transformer.live.form import DEFAULTS
from transformer.live.limits import Limits
from transformer.live.plan import plan
from transformer.live.stream import live

from .actions import follow
from .catalogue import EN, matching, t
from .conftest import Visit, until
from .test_lesson import HIDE, STOPS

PAIRS = [
    ["Yo bebo agua.", "I drink water."],
    ["Yo bebo leche.", "I drink milk."],
    ["Ella bebe agua.", "She drinks water."],
    ["Ella bebe leche.", "She drinks milk."],
    ["Yo como pan.", "I eat bread."],
]
NAME = "other"
SHAPE: dict[str, Any] = {"d_model": 33, "n_heads": 1, "layers": 1, "d_ff": 64, "positional_encoding": False}
SHAPE |= {"tie_weights": True, "norm_first": True}
NOT_IN_THE_FORM: dict[str, Any] = {"activation": "gelu"}  # as a file may have it
FALSE = re.compile(r"German|\b1 (?:heads|layers|pairs|times)\b|undefined|NaN|\{\w+[,}]")  # of this model


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a trained model, as a visitor would bring it."""
    settings = DEFAULTS["own"]
    asked = {"name": NAME, "corpus": "own", "pairs": PAIRS, "watch": "", "held_out": 0.0}
    training = settings["training"] | {"steps": 100}
    planned = plan(asked | {"model": settings["model"] | SHAPE, "training": training}, Limits())
    assert planned.job, planned.problems
    made = tmp_path_factory.mktemp("models") / f"{NAME}.safetensors"
    *_, last = live(replace(planned.job, model=planned.job.model | NOT_IN_THE_FORM), made)
    assert last["event"] != "error"
    return made


def open_tab(visit: Visit, name: str) -> Locator:
    visit.tab(name)
    panel = visit.page.locator(f"#panel-{name}")
    expect(panel).to_be_visible()
    expect(panel).not_to_be_empty()
    return panel


def walk(visit: Visit) -> dict[str, dict[str, Any]]:
    """Every stop of the lesson, revealed."""
    page = visit.page
    open_tab(visit, "lesson").locator(".stops button").first.click()
    seen = {}
    for n, name in enumerate(STOPS, 1):
        expect(page.locator("#stop-title")).to_have_text(matching("lesson.title", n=n, of=len(STOPS)))
        page.locator("#lesson .lesson-figure").locator("svg, ol, table").first.wait_for()
        choices = page.locator("#lesson .choice").count()
        assert page.locator("#lesson .veil").is_visible() == (name in HIDE and choices > 0)
        page.keyboard.press("r")
        expect(page.locator("#lesson .reveal")).to_be_visible()
        parts = {part: page.locator(f"#lesson .{part}").inner_text() for part in ("lesson-text", "question")}
        seen[name] = {"choices": choices, "formula": formulas(page, "#lesson"), **parts}
        page.keyboard.press("PageDown")
    return seen


def formulas(page: Page, place: str) -> str:
    """As they are written in the code."""
    alternatives = "all => all.map((each) => each.getAttribute('alttext')).join('  ')"
    return str(page.locator(f"{place} .formula math").evaluate_all(alternatives))


def texts(visit: Visit) -> dict[str, str]:
    """The tabs before the lesson, and Inside a head of each kind."""
    page, said = visit.page, {}
    for tab in ("translate", "attention", "positions", "inside"):  # Train speaks of what can be trained
        panel = open_tab(visit, tab)
        if tab == "attention":
            expect(panel).to_contain_text(t("heads.unaligned"))
        if tab == "positions":
            page.locator("#positions .figure .plot-container").nth(3).wait_for()
            expect(panel).to_contain_text("±")
        if tab == "inside":
            page.locator("#inside button[value=cross]").click()
            visit.draw_stages()
            page.locator("#shapes table").wait_for()
        said[tab] = panel.inner_text() + formulas(page, "#inside")
    for kind in ("encoder", "decoder"):
        page.locator(f"#inside button[value={kind}]").click()
        expect(page.locator("#inside .say")).to_contain_text(f"({kind})")
        visit.draw_stages()
        said[kind] = page.locator("#inside").inner_text() + formulas(page, "#inside")
    assert FALSE.findall("\n".join(said.values())) == []
    return said


def test_one_layer_one_head_an_odd_width_no_positions_one_vocabulary_and_layer_norm_first(
    visit: Visit, file: Path
) -> None:
    page = visit.page

    def hear(log: ConsoleMessage) -> None:
        if log.type == "error":
            visit.faults.append(f"console: {log.text}")

    page.on("console", hear)
    visit.open("?tab=train")
    page.locator("#bring-model").set_input_files(file)
    expect(page.locator("#checkpoint option:checked")).to_contain_text(NAME)
    expect(page.locator("#translation")).to_contain_text("water")

    said, stops = texts(visit), walk(visit)
    expect(page.locator("#positions [name=d_model]")).to_have_value("33")
    for key in ("translate.one_layer", "translate.one_head"):
        assert EN[key] in said["translate"]
    assert EN["positions.none"] in said["positions"]
    assert matching("positions.bare.encoder").search(said["positions"])
    for key in ("shapes.bare_encoder", "inside.concat_alone"):
        assert EN[key] in said["inside"]
    for kind in ("inside", "encoder", "decoder"):
        assert matching("inside.ffn.smooth", activation="GELU").search(said[kind])
        assert "ŷ = LayerNorm(y),  y + FFN(ŷ)" in said[kind]
        assert EN["inside.residual_first"] in said[kind]
        assert not re.search(r"LayerNorm\((x \+ o|y \+ FFN)", said[kind])
    assert ("K = X̂" in said["encoder"], "K = X̂" in said["inside"]) == (True, False)  # cross reads the encoder's output
    assert (EN["inside.between"] in said["decoder"], EN["inside.between"] in said["encoder"]) == (True, False)

    assert EN["lesson.tokens.text_tied"] in stops["tokens"]["lesson-text"]
    assert EN["lesson.positions.text_bare"] in stops["positions"]["lesson-text"]
    assert EN["lesson.positions.reveal_bare"] in stops["positions"]["question"]
    assert t("lesson.qkv.question_alone", d_model=33) in stops["qkv"]["question"]
    assert matching("lesson.heads.question_alone").search(stops["heads"]["question"])
    assert matching("lesson.heads.text_alone").search(stops["heads"]["lesson-text"])
    assert matching("lesson.stack.text_one_layer").search(stops["stack"]["lesson-text"])
    assert EN["lesson.residual.text_first"] in stops["residual"]["lesson-text"]
    assert stops["residual"]["formula"] == "x̂ = LayerNorm(x),  o = Attention(x̂),  y = x + o"
    assert stops["ffn"]["formula"].startswith("ŷ = LayerNorm(y),  FFN(ŷ) = GELU(ŷ W")
    assert t("lesson.ffn.question", activation="GELU") in stops["ffn"]["question"]
    assert "ReLU" not in stops["ffn"]["question"]
    assert EN["lesson.ffn.most"] not in stops["ffn"]["lesson-text"]  # 2 · 33 · 64 < 4 · 33²
    assert EN["lesson.stack.more_norm"] in stops["stack"]["lesson-text"]
    assert matching("lesson.logits.text_tied").search(stops["logits"]["lesson-text"])
    assert FALSE.findall(str(stops)) == []

    # Another language behind an open tab draws nothing without a width: the console would have an error.
    for language in ("zh-Hans", "en"):
        page.locator("#language").select_option(language)
        expect(page.locator("html")).to_have_attribute("lang", language)
    open_tab(visit, "attention")
    expect(page.locator("#attention .large svg")).to_be_visible()

    # The handout has how it was trained.
    page.locator("#home summary").click()
    with page.expect_download() as download:
        page.locator("[data-file=handout]").click()
    page.keyboard.press("Escape")
    text = Path(download.value.path()).read_text("utf-8")
    assert t("handout.trained", pairs=len(PAIRS), steps=100) in text
    for name, value in (("d_model", "33"), ("norm_first", "before"), ("tie_weights", "on"), ("schedule", "one-cycle")):
        value = EN.get(f"train.choice.{value}", value)
        assert t("handout.setting", name=t(f"train.set.{name}"), value=value) in text

    # Without a residual connection its formulas are others again.
    changes = "changes=drop_residual.decoder.1.1*drop_residual.decoder.1.3"
    follow(page, re.sub("tab=[a-z]+", "tab=inside", f"{page.url}&{changes}"))
    page.locator("#inside button[value=decoder]").click()
    page.locator("#stage-residual").scroll_into_view_if_needed()  # only stages in view are drawn
    expect(page.locator("#stage-residual")).to_contain_text(matching("inside.residual_dropped.about"))
    assert formulas(page, "#stage-residual") == "x̂ = LayerNorm(x),  o = Attention(x̂),  y = o"
    page.locator("#stage-ffn_residual").scroll_into_view_if_needed()
    until(lambda: formulas(page, "#stage-ffn_residual") == "ŷ = LayerNorm(y),  FFN(ŷ)")
