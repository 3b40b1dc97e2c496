"""What if: parts are taken away by clicks, and every number beside the unbroken run is of the two runs."""

import json
import re
from functools import cache
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from transformer import Translation, Translator
from transformer.analysis import ablate_every_head, compare
from transformer.data import CORPORA
from transformer.inference.attention_maps import KINDS
from transformer.inference.interventions import Interventions
from transformer.web.api.what_if import MAX_PAIRS

from .conftest import ROOT, Visit

EN = json.loads((ROOT / "assets/locales/en.json").read_text("utf-8"))
BIER, FLAGSHIP = "Ich möchte ein Bier", "Heute habe ich ein kaltes Bier getrunken"
CLASSROOM = f"checkpoint=classroom&sentence={quote(FLAGSHIP)}"
COKE = {"do": "force_word", "step": 3, "word": "coke"}

HELD_OUT = [(pair.source, pair.target) for pair in next(iter(CORPORA["classroom"].held_out.values()))()[:MAX_PAIRS]]


@cache
def translator(checkpoint: str) -> Translator:
    return Translator.load(checkpoint, device="cpu")


def broken(checkpoint: str, sentence: str, *changes: dict[str, Any]) -> Translation:
    return translator(checkpoint).translate(sentence, interventions=Interventions.parse(list(changes)))


def opened(visit: Visit, query: str = "") -> Page:
    page = visit.open(f"?tab=break&{query}")
    page.locator("#whatif [data-map=broken] .heatmap").wait_for()
    return page


def chips(page: Page) -> Locator:
    return page.locator("#top .change")


def said(page: Page) -> str:
    return " ".join(page.locator("#translation button").all_text_contents())


def expect_said(page: Page, run: Translation) -> None:
    expect(page.locator("#translation button")).to_have_text(list(run.output))


def weights(page: Page, name: str) -> np.ndarray:
    """What the cells of a map stand for; 0 where it is masked."""
    cells = page.locator(f"#whatif [data-map={name}] rect[data-query]")
    rows = cells.evaluate_all("cells => cells.map(({ dataset: d }) => [d.query, d.key, d.weight ?? 0].map(Number))")
    shape = tuple(1 + int(max(row[axis] for row in rows)) for axis in (0, 1))
    found = np.zeros(shape)
    for query, key, value in rows:
        found[int(query), int(key)] = value
    return found


def expect_compared(page: Page, whole: Translation, run: Translation, kind: Any, layer: int, head: int) -> None:
    """Left the unbroken run, right the broken one, and the difference: in words and in maps."""
    expect_said(page, run)
    one, other = whole.attention.of(kind)[layer].weights[head], run.attention.of(kind)[layer].weights[head]
    expect(page.locator("#whatif [data-map=broken] rect[data-query]")).to_have_count(other.size)
    np.testing.assert_allclose(weights(page, "whole"), one, atol=1e-5)
    np.testing.assert_allclose(weights(page, "broken"), other, atol=1e-5)
    (difference,) = [m.weights[head] for m in compare(whole, run).maps if (m.kind, m.layer) == (kind, layer)]
    np.testing.assert_allclose(weights(page, "difference"), difference, atol=1e-5)
    rows = page.locator(".steps-beside tbody tr")
    steps = compare(whole, run).steps
    expect(rows).to_have_count(len(steps))
    for row, step in zip(rows.all(), steps, strict=True):
        words = row.locator("td .word").all_text_contents()
        assert words == [each.token for each in (step.baseline, step.modified) if each]
        change = row.get_attribute("data-change")
        if step.kept is None or step.baseline is None:
            assert change is None
        else:
            assert float(str(change)) == pytest.approx(step.kept - step.baseline.probability, abs=1e-6)


# ---- changes by click ----


def test_with_nothing_broken_there_is_one_map_and_things_to_try(visit: Visit) -> None:
    page = opened(visit)
    expect(page.locator("#whatif [data-map]:visible")).to_have_count(1)
    expect(page.locator("#whatif .say")).to_contain_text("Nothing is broken")
    expect(page.locator("#top .changed")).to_have_text(EN["changed.nothing"])
    assert page.locator(".starters button").count() == 6


def test_every_starter_breaks_the_run_as_it_says_and_is_undone(visit: Visit) -> None:
    page = opened(visit, CLASSROOM)
    whole = broken("classroom", FLAGSHIP)
    texts = set()
    for i in range(page.locator(".starters button").count()):
        page.locator(".starters button").nth(i).click()
        expect(chips(page)).to_have_count(1)
        texts.add(said(page))
        expect(page.locator("#top .changed")).to_contain_text("today i have drunk a cold beer . E")
        chips(page).click()
        expect(chips(page)).to_have_count(0)
        expect_said(page, whole)
    assert len(texts) > 2  # they are seen in what is said


def test_heads_are_silenced_on_their_map_and_combine(visit: Visit) -> None:
    page = opened(visit, CLASSROOM + "&kind=cross&layer=2&head=1")
    cell = page.locator("#whatif .panel .score")
    changes: list[dict[str, Any]] = []
    for layer, head in ((1, 0), (1, 2), (0, 3)):
        cell.nth(4 * layer + head).click()
        changes.append({"do": "silence", "kind": "cross", "layer": layer, "head": head})
        expect(chips(page)).to_have_count(len(changes))
        expect(cell.nth(4 * layer + head)).to_have_attribute("aria-pressed", "true")
        run = broken("classroom", FLAGSHIP, *changes)
        expect_compared(page, broken("classroom", FLAGSHIP), run, "cross", layer, head)
    page.get_by_role("button", name=re.compile("Undo: .*layer 2: head 1")).click()
    expect_said(page, broken("classroom", FLAGSHIP, *changes[1:]))
    page.get_by_role("button", name=EN["changed.undo_all"]).click()
    expect(chips(page)).to_have_count(0)


def test_a_whole_layer_is_silenced_by_its_name(visit: Visit) -> None:
    page = opened(visit, CLASSROOM)
    name = page.locator("#whatif .score-grid .axis", has_text="layer 2")
    name.click()
    changes = [{"do": "silence", "kind": "cross", "layer": 1, "head": head} for head in range(4)]
    expect(chips(page)).to_have_count(4)
    expect_said(page, broken("classroom", FLAGSHIP, *changes))
    name.click()
    expect(chips(page)).to_have_count(0)


def test_a_head_is_isolated_and_others_join_it(visit: Visit) -> None:
    page = opened(visit, CLASSROOM)
    page.locator("#whatif .panel").get_by_role("button", name=EN["panel.heads.only"]).click()
    cell = page.locator("#whatif .panel .score")
    for head in (1, 3):
        cell.nth(4 + head).click()
        expect(cell.nth(4 + head)).to_have_attribute("aria-pressed", "false")
        expect(cell.nth(4)).to_have_attribute("aria-pressed", "true")
    expect(chips(page)).to_have_text([re.compile("only head 2, head 4")])
    expect_said(page, broken("classroom", FLAGSHIP, {"do": "isolate", "kind": "cross", "layer": 1, "heads": [1, 3]}))


def test_a_cell_of_the_broken_map_is_closed_and_opened(visit: Visit) -> None:
    page = opened(visit, "kind=decoder&layer=1&head=1")
    page.locator("[data-map=broken] rect[data-query='2'][data-key='0']").click()
    change = {"do": "edit_mask", "kind": "decoder", "query": 2, "key": 0, "allowed": False}
    expect(chips(page)).to_have_text([re.compile("want may not look at S")])
    expect_compared(page, broken("toy", BIER), broken("toy", BIER, change), "decoder", 0, 0)
    expect(page.locator("[data-map=broken] rect[data-query='2'][data-key='0']")).to_have_class("masked")
    page.locator("[data-map=broken] rect[data-query='0'][data-key='5']").click()
    expect(chips(page)).to_have_count(2)
    expect(page.locator("#top .note")).to_contain_text("look ahead")
    page.locator("[data-map=broken] rect[data-query='2'][data-key='0']").click()
    expect(chips(page)).to_have_text([re.compile("S may look at")])


def group(page: Page, name: str) -> Locator:
    place = page.locator(f"#whatif [data-group={name}]")
    if place.get_attribute("open") is None:
        place.locator("summary").click()
    return place


def test_every_other_control_makes_its_change(visit: Visit) -> None:
    page = opened(visit, CLASSROOM)
    made: list[dict[str, Any]] = []

    def expect_made(change: dict[str, Any]) -> None:
        made.append(change)
        expect(chips(page)).to_have_count(len(made))
        expect_said(page, broken("classroom", FLAGSHIP, *made))

    group(page, "masks").get_by_role("button", name=EN["panel.masks.decoder"]).click()
    expect_made({"do": "remove_mask", "kind": "decoder"})
    group(page, "temperature").locator("select").select_option("cross")
    group(page, "temperature").locator("input").fill("7")
    expect_made({"do": "temperature", "kind": "cross", "temperature": 2})
    group(page, "positions").locator(".segmented").first.get_by_role("button", name="shuffled").click()
    expect_made({"do": "positions", "stack": "encoder", "how": "shuffled", "seed": 0})
    group(page, "positions").get_by_role("button", name="again").click()
    made.pop()
    expect_made({"do": "positions", "stack": "encoder", "how": "shuffled", "seed": 1})
    group(page, "words").locator("select").nth(0).select_option("5")
    group(page, "words").locator("select").nth(1).select_option("hund")
    expect_made({"do": "swap_word", "position": 5, "word": "hund"})
    group(page, "residuals").get_by_role("button", name=EN["panel.residuals.ffn"]).first.click()
    expect_made({"do": "drop_residual", "stack": "encoder", "layer": 0, "sublayer": 2})
    assert group(page, "masks").get_by_role("button", name=EN["panel.masks.cross"]).is_disabled()  # no padding here


def test_a_candidate_is_said_instead_and_decoding_goes_on_from_there(visit: Visit) -> None:
    page = visit.open("?tab=translate&step=4")
    page.get_by_role("button", name="What if it had said coke?").click()
    expect(chips(page)).to_have_text([re.compile("step 4 says coke")])
    run = broken("toy", BIER, COKE)
    expect_said(page, run)
    expect(page.locator("#story .say")).to_contain_text("it was made to say coke")
    expect(page.locator("#story .candidates .chosen .word")).to_have_text("coke")
    page.get_by_role("button", name="What if it had said beer?").click()  # what it says by itself
    expect(chips(page)).to_have_count(0)
    expect_said(page, broken("toy", BIER))


# ---- which heads matter ----


@pytest.mark.parametrize("on", ["sentence", "held_out"])
def test_one_click_draws_what_each_head_is_worth(visit: Visit, on: str) -> None:
    page = opened(visit, CLASSROOM)
    page.get_by_role("button", name=EN[f"panel.sweep.{on}"]).click()
    page.get_by_role("button", name=EN["panel.sweep"]).click()
    page.locator("#whatif .score[data-drop]").first.wait_for()
    checkpoint = translator("classroom").checkpoint
    run = broken("classroom", FLAGSHIP)
    expected = ablate_every_head(checkpoint, [(FLAGSHIP, run.text)] if on == "sentence" else HELD_OUT)
    for kind in KINDS:
        page.locator(f"#whatif .panel button[value={kind}]").click()
        drops = page.locator("#whatif .score").evaluate_all("cells => cells.map((each) => Number(each.dataset.drop))")
        np.testing.assert_allclose(drops, expected.drop(kind).ravel(), atol=1e-5)
    best = np.unravel_index(int(expected.drop("cross").argmax()), expected.drop("cross").shape)
    expect(page.locator("#whatif [data-group=heads] .hint")).to_contain_text(f"layer {best[0] + 1} head {best[1] + 1}")


# ---- in every tab, and in a link ----

EVERYTHING = (
    {"do": "silence", "kind": "cross", "layer": 1, "head": 5},
    {"do": "isolate", "kind": "encoder", "layer": 0, "heads": [0, 2]},
    {"do": "edit_mask", "kind": "cross", "query": 1, "key": 0, "allowed": False},
    {"do": "positions", "stack": "decoder", "how": "shuffled", "seed": 4},
    {"do": "temperature", "kind": "cross", "temperature": 0.5},
    {"do": "drop_residual", "stack": "decoder", "layer": 1, "sublayer": 2},
    {"do": "swap_word", "position": 3, "word": "cola"},
    {"do": "force_word", "step": 4, "word": "."},
)
WRITTEN = (
    "silence.cross.2.6*isolate.encoder.1.1-3*edit_mask.cross.2.1.closed*positions.decoder.shuffled.4"
    "*temperature.cross.0.5*drop_residual.decoder.2.2*swap_word.4.cola*force_word.5.."
)


def test_a_link_restores_every_change_and_says_them_again(visit: Visit) -> None:
    page = opened(visit, f"changes={quote(WRITTEN)}&kind=cross&layer=2&head=6")
    expect(chips(page)).to_have_count(len(EVERYTHING))
    run = broken("toy", BIER, *EVERYTHING)
    expect_compared(page, broken("toy", BIER), run, "cross", 1, 5)
    expect(page).to_have_url(re.compile("changes="))
    assert parse_qs(urlsplit(page.url).query)["changes"] == [WRITTEN]
    expect(page.locator("#checks")).to_have_attribute("data-state", "✓")


@pytest.mark.parametrize(
    "changes",
    [
        "silence.cross.2", "silence.cross.0.1", "silence.cross.9.9", "nothing", "*", "force_word.1.wasser",
        "temperature.all.NaN", "temperature.all.1e3", "__proto__.1", "swap_word.4.%E0%A4", "edit_mask.cross.1.1.maybe",
        "isolate.cross.1.", "silence.cross.1.1*" * 3, "<img src=x onerror=alert(1)>", "force_word.1.${alert(1)}",
    ],
)  # fmt: skip
def test_changes_that_cannot_be_are_told_and_the_rest_of_a_link_is_followed(visit: Visit, changes: str) -> None:
    page = visit.open(f"?tab=attention&sentence={quote('ich mochte ein cola')}&changes={quote(changes)}")
    expect(page.locator("#top .message")).to_contain_text(EN["link.changes"])
    expect_said(page, broken("toy", "ich mochte ein cola"))
    expect(chips(page)).to_have_count(0)
    expect(page.locator("[data-tab-id=attention]")).to_have_attribute("aria-selected", "true")


def test_attention_and_inside_show_the_broken_run(visit: Visit) -> None:
    changes = "silence.cross.2.6*temperature.cross.2*drop_residual.decoder.2.2"
    page = visit.open(f"?tab=attention&kind=cross&layer=2&head=6&step=1&changes={changes}")
    run = broken("toy", BIER, EVERYTHING[0], {"do": "temperature", "kind": "cross", "temperature": 2}, EVERYTHING[5])
    expect_said(page, run)
    cells = page.locator("#attention .large rect[data-weight]")
    expect(cells).to_have_count(4 * len(run.output))
    found = cells.evaluate_all("cells => cells.map((each) => Number(each.dataset.weight))")
    np.testing.assert_allclose(found, run.attention.cross[1].weights[5][:, :4].ravel(), atol=1e-5)
    visit.tab("inside")
    page.locator("#stage-scores .cell[data-name=score]").first.click()
    expect(page.locator(".arithmetic-panel")).to_contain_text("÷ √8 ÷ 2 =")
    dot, score = (
        float(page.locator(f"#stage-scores .cell[data-name={name}]").first.get_attribute("data-value") or "nan")
        for name in ("dot", "score")
    )
    assert score == pytest.approx(dot / 8**0.5 / 2, abs=1e-5)
    expect(page.locator("#stage-values")).to_contain_text(EN["inside.silent"])
    expect(page.locator("#stage-residual")).to_contain_text(EN["inside.row.dropped"])


def test_a_new_sentence_keeps_what_is_broken_in_the_network_and_lets_go_of_words(visit: Visit) -> None:
    page = opened(visit, f"changes={quote('temperature.all.3*force_word.4.coke')}")
    expect(chips(page)).to_have_count(2)
    visit.ask("ich mochte ein cola")
    hot = {"do": "temperature", "kind": "all", "temperature": 3}
    expect_said(page, broken("toy", "ich mochte ein cola", hot))
    expect(chips(page)).to_have_count(1)
    page.locator("#checkpoint").select_option("classroom")
    expect(chips(page)).to_have_count(0)


def test_the_compare_link_leads_here_from_any_tab(visit: Visit) -> None:
    page = visit.open("?tab=translate&changes=remove_mask.decoder")
    page.get_by_role("button", name=EN["changed.compare"]).click()
    expect(page.locator("#whatif [data-map=difference]")).to_be_visible()
    expect(page.get_by_role("button", name=EN["changed.compare"])).to_be_hidden()


def test_the_lesson_leads_here(visit: Visit) -> None:
    page = visit.open(f"?tab=lesson&stop=3&{CLASSROOM}")
    page.locator("#lesson .question h3").wait_for()
    page.keyboard.press("r")
    page.get_by_role("button", name=EN["lesson.try.positions"]).click()
    expect(chips(page)).to_have_text([EN["change.positions.removed"].replace("{stack}", "encoder") + " ×"])
    expect(page.locator("#whatif [data-map=difference]")).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1024])
def test_nothing_scrolls_sideways(visit: Visit, width: int, theme: str) -> None:
    visit.page.set_viewport_size({"width": width, "height": 800})
    page = opened(
        visit, f"__theme={theme}&{CLASSROOM}&changes={quote('positions.encoder.removed.0*remove_mask.decoder')}"
    )
    for name in ("masks", "temperature", "positions", "words", "residuals"):
        group(page, name)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_it_speaks_the_visitors_language(visit: Visit) -> None:
    changes = "*".join([WRITTEN, "remove_mask.decoder"])
    page = opened(visit, f"language=zh-Hant&changes={quote(changes)}")
    expect(chips(page)).to_have_count(len(EVERYTHING) + 1)
    words = " ".join(page.locator("#top .changed, #whatif").all_inner_texts())
    known = {"ich", "mochte", "ein", "bier", "cola", "want", "beer", "coke", "SVG", "PNG"}
    english = set(re.findall(r"[A-Za-z]{3,}", words)) - known
    assert english == set()


# ---- what is asked while an answer is on its way ----


def test_quick_clicks_are_all_heard(visit: Visit) -> None:
    page = opened(visit, CLASSROOM)
    page.evaluate("document.querySelectorAll('#whatif .panel .score').forEach((each) => each.click())")
    expect(chips(page)).to_have_count(8)
    silent = [{"do": "silence", "kind": "cross", "layer": layer, "head": head} for layer in (0, 1) for head in range(4)]
    expect_said(page, broken("classroom", FLAGSHIP, *silent))


def test_the_slider_and_the_run_agree_however_quickly_it_is_moved(visit: Visit) -> None:
    page = opened(visit)
    slider = group(page, "temperature").locator("input")
    slider.focus()
    for _ in range(4):
        page.keyboard.press("ArrowRight")
    expect(chips(page)).to_have_text([re.compile("÷ 5")])
    assert slider.input_value() == "9"


def test_a_sentence_that_is_asked_for_after_a_change_takes_it_along(visit: Visit) -> None:
    page = opened(visit)
    page.evaluate(
        "document.querySelectorAll('#whatif .panel .score')[3].click();"
        "document.dispatchEvent(new CustomEvent('translate:wanted', { detail: 'ein bier' }))"
    )
    change = {"do": "silence", "kind": "cross", "layer": 0, "head": 3}
    expect(page.locator("#top .tokens .source").first).to_have_text("ein")
    expect(chips(page)).to_have_count(1)
    expect_said(page, broken("toy", "ein bier", change))


def test_undoing_at_once_undoes(visit: Visit) -> None:
    page = opened(visit, "changes=temperature.all.2")
    expect(chips(page)).to_have_count(1)
    page.evaluate(
        "document.querySelectorAll('#whatif .panel .score')[3].click();"
        "document.querySelector('#top .changed li:last-child button').click()"
    )
    expect(chips(page)).to_have_count(0)
    expect_said(page, broken("toy", BIER))
