"""A model of another shape than the shipped ones: every tab and every stop says what is true of it."""

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from transformer.live.form import DEFAULTS
from transformer.live.limits import Limits
from transformer.live.plan import plan
from transformer.live.stream import live

from .catalogue import EN, matching, t
from .conftest import Visit, follow, move, until
from .test_handout import downloaded
from .test_lesson import ALL, HIDE, LINKS, STOPS
from .test_train import SPANISH

PAIRS = [[*SPANISH[i]] for i in (0, 1, 4, 5, 6)]
NAME = "other"
SHAPE: dict[str, Any] = {"d_model": 33, "n_heads": 1, "layers": 1, "d_ff": 64, "positional_encoding": False}
SHAPE |= {"tie_weights": True, "norm_first": True}
NOT_IN_THE_FORM: dict[str, Any] = {"activation": "gelu"}  # as a file may have it
FALSE = re.compile(r"German|\b1 (?:heads|layers|pairs|times)\b|undefined|NaN|\{\w+[,}]")  # of this model
TRUE: dict[str, list[str | re.Pattern[str]]] = {
    "translate": [EN["translate.one_layer"], EN["translate.one_head"]],
    "attention": [EN["heads.unaligned"]],
    "positions": [EN["positions.none"], matching("positions.bare.encoder")],
    "inside": [matching("inside.ffn.smooth", activation="GELU"), EN["inside.residual_first"], "y + FFN(ŷ)", "K = X̂"],
    "tokens": [EN["lesson.tokens.text_tied"]],
    "positions of the lesson": [EN["lesson.positions.text_bare"], EN["lesson.positions.reveal_bare"]],
    "heads": [matching("lesson.heads.question_alone"), matching("lesson.heads.text_alone")],
    "residual": [EN["lesson.residual.text_first"], "x̂ = LayerNorm(x),  o = Attention(x̂),  y = x + o"],
    "ffn": [t("lesson.ffn.question", activation="GELU"), "ŷ = LayerNorm(y),  FFN(ŷ) = GELU(ŷ W"],
    "stack": [EN["lesson.stack.more_norm"], matching("lesson.stack.text_one_layer")],
    "logits": [matching("lesson.logits.text_tied")],
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a trained model, as a visitor would bring it."""
    settings = DEFAULTS["own"]
    asked = {"name": NAME, "corpus": "own", "pairs": PAIRS, "watch": "", "held_out": 0.0}
    training = settings["training"] | {"steps": 100}
    planned = plan(asked | {"model": settings["model"] | SHAPE, "training": training}, Limits())
    assert planned.job, planned.problems
    made = tmp_path_factory.mktemp("models") / f"{NAME}.safetensors"
    *_, last = live(replace(planned.job, model=planned.job.model | NOT_IN_THE_FORM), made)
    assert last["event"] != "error"
    return made


def formulas(visit: Visit, place: str) -> str:
    """As they are written in the code."""
    alternatives = "all => all.map((each) => each.getAttribute('alttext')).join('  ')"
    return str(visit.page.locator(f"{place} .formula math").evaluate_all(alternatives))


def texts(visit: Visit) -> dict[str, str]:
    """What the tabs that show the model say, and every stop, revealed."""
    page, said = visit.page, {}
    for tab in ("translate", "attention", "positions"):
        visit.tab(tab)
        if tab == "positions":
            page.locator("#positions .figure canvas").nth(3).wait_for()
            expect(page.locator("#positions")).to_contain_text("±")
        visit.settle()
        said[tab] = page.locator(f"#panel-{tab}").inner_text()
    visit.tab("inside")
    page.locator("#inside button[value=encoder]").click()
    expect(page.locator("#inside .say")).to_contain_text(t("inside.kind.encoder"))
    visit.draw_stages()
    said["inside"] = page.locator("#panel-inside").inner_text() + formulas(visit, "#inside")
    for n, (name, link) in enumerate(zip(STOPS, LINKS, strict=True), 1):
        move(page, {"tab": "lesson", "stop": link})
        expect(page.locator("#stop-title")).to_have_text(matching("lesson.title", n=n, of=ALL))
        page.locator("#lesson .lesson-figure").locator("svg, ol, table").first.wait_for()
        choices = page.locator("#lesson .choice").count()
        assert page.locator("#lesson .veil").is_visible() == (name in HIDE and choices > 0)
        page.keyboard.press("r")
        expect(page.locator("#lesson .reveal")).to_be_visible()
        where = "positions of the lesson" if name in said else name
        said[where] = page.locator("#lesson").inner_text() + formulas(visit, "#lesson")
    return said


def test_one_layer_one_head_an_odd_width_no_positions_one_vocabulary_and_layer_norm_first(
    visit: Visit, file: Path
) -> None:
    page = visit.open("?tab=train")
    page.locator("#bring-model").set_input_files(file)
    expect(page.locator("#checkpoint option:checked")).to_contain_text(NAME)
    expect(visit.translation).to_contain_text("water")
    said = texts(visit)
    for where, true in TRUE.items():
        for each in true:
            assert re.search(re.escape(each) if isinstance(each, str) else each, said[where]), (where, each)
    assert {where: found for where, text in said.items() if (found := FALSE.findall(text))} == {}

    # The handout has how it was trained.
    text = downloaded(page.locator("[data-file=handout]")).path().read_text("utf-8")
    assert t("handout.trained", pairs=len(PAIRS), steps=100) in text
    assert t("handout.setting", name=t("train.set.d_model"), value="33") in text

    # Without a residual connection its formulas are others again.
    changes = "changes=drop_residual.decoder.1.1*drop_residual.decoder.1.3"
    follow(page, re.sub("tab=[a-z]+", "tab=inside", f"{page.url}&{changes}"))
    page.locator("#inside button[value=decoder]").click()
    page.locator("#stage-residual").scroll_into_view_if_needed()  # only stages in view are drawn
    until(lambda: formulas(visit, "#stage-residual") == "x̂ = LayerNorm(x),  o = Attention(x̂),  y = o")
