"""Why this word: the panel in Translate, what each layer of the picture says, and the two stops about both."""

import re

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from transformer.analysis.contribution import integrated_gradients, logit_lens, value_weighted
from transformer.data.classroom.corpus import find

from .catalogue import matching, percent, t
from .conftest import APP, Visit, translate, translator
from .test_accessible import broken_rules
from .wire import answered, answering


def shares(page: Page) -> dict[str, list[float]]:
    """The shares of each measure, read at once: the page may draw the table again."""
    read = "row => [row.dataset.measure, [...row.querySelectorAll('td')].map((cell) => Number(cell.dataset.share))]"
    rows = page.locator(".why-table tbody tr").evaluate_all(f"rows => rows.map({read})")
    return {measure: list(row) for measure, row in rows}


def test_a_word_is_explained_when_somebody_asks(shared: Visit) -> None:
    page, run, model = shared.go("classroom", step=7), translate("classroom"), translator("classroom")
    shared.settle()
    assert "why" not in shared.asked
    page.locator(".why-word summary").click()
    said = page.locator(".why-says")
    expect(said).to_contain_text(t("why.odd.same", removal="bier"))
    expect(page.locator(".why-table thead .word")).to_have_text([*run.source])
    shown = shares(page)
    of_source = integrated_gradients(model, run, 6).source
    assert shown["attribution"] == pytest.approx(of_source / np.abs(of_source).sum(), abs=1e-4)
    score = percent(run.steps[6].probability)
    expect(said).to_contain_text(matching("why.falls", removal="bier", token="beer", score=score))
    assert broken_rules(page) == []

    second = run.steps[6].candidates[1].token
    shared.press(t("why.against", token="beer", other=second))
    expect(said).to_contain_text(second)
    shared.step_slider.fill("3")  # it needs no single word of the source
    expect(said).to_contain_text(matching("why.stays_lead"))
    assert shared.asked.count("why") == 3
    page.locator(".why-word summary").click()
    shared.step_slider.fill("1")
    shared.settle()
    assert shared.asked.count("why") == 3


def test_a_step_that_was_left_while_the_server_was_busy_is_asked_about_again(shared: Visit) -> None:
    page = shared.go("classroom", step=5)
    answering(page, "why", lambda route: route.fulfill(status=503, headers={"Retry-After": "5"}, json={}))
    with answered(page, "why"):
        page.locator(".why-word summary").click()
    for step in "65":
        with answered(page, "why"):
            shared.step_slider.fill(step)
    page.unroute_all()
    token = translate("classroom").output[4]
    expect(page.locator(".why-says")).to_contain_text(matching("why.falls", token=token))


def test_a_panel_that_is_drawn_right_after_the_click_stays_closed(shared: Visit) -> None:
    page = shared.go("classroom", step=7, why="word")
    expect(page.locator(".why-table")).to_be_visible()
    click = (
        f"() => {APP}.then(({{ update }}) => {{ document.querySelector('.why-word summary').click(); update({{}}); }})"
    )
    page.evaluate(click)
    expect(page.locator(".why-word")).not_to_have_attribute("open", re.compile(""))
    expect(page.locator(".why-table")).to_be_hidden()


def test_a_link_opens_the_panel_as_it_was(shared: Visit) -> None:
    page, run = shared.go("classroom", step=7, why="contrast"), translate("classroom")
    second = run.steps[6].candidates[1].token
    contrast = page.get_by_role("button", name=t("why.against", token="beer", other=second))
    expect(contrast).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".why-says")).to_contain_text(second)
    shared.press(t("why.of", token="beer"))
    page.wait_for_url("**&why=word**")
    expect(page.locator(".why-says")).to_contain_text(matching("why.falls", removal="bier", token="beer"))
    page.locator(".why-word summary").click()
    page.wait_for_url(lambda url: "why=" not in url)
    page.locator(".why-word summary").click()
    page.wait_for_url("**&why=word**")
    page.reload()
    expect(page.locator(".why-table")).to_be_visible()


def test_the_picture_says_what_each_layer_would_output(shared: Visit) -> None:
    page, run = shared.go("classroom", tab="overview", step=4), translate("classroom")
    lens = logit_lens(translator("classroom"), run)
    said = page.locator("#overview .said")
    for step in (4, 6):
        shared.step_slider.fill(f"{step}")
        words = [row[step - 1] for row in lens.tokens]
        expect(said).to_have_text([re.compile(re.escape(token)) for token in words])
        shown = percent(lens.probabilities[0, step - 1])
        expect(said.first).to_have_accessible_name(t("overview.lens.layer", layer=1, token=words[0], share=shown))
        expect(page.locator("#overview .said.turn")).to_have_count(1)
    counts = [f"{round(share * len(run.output))}" for share in lens.agreement]
    legend = page.locator("#overview .overview-legend").first
    for layer, count in enumerate(counts, 1):
        expect(legend).to_contain_text(t("overview.lens.agrees", layer=layer, steps=count))
    assert broken_rules(page) == []
    shared.go("toy", tab="overview")
    assert (logit_lens(translator("toy"), translate("toy")).agreement == 1).all()
    expect(legend).to_contain_text(t("overview.lens.agree_equally", layer=1, last=6, steps=6))


SENTENCE = "Den Hund sieht der Lehrer"


def test_the_lesson_asks_when_the_model_knows(shared: Visit) -> None:
    page = shared.go("classroom", SENTENCE, tab="lesson", stop=18, step=5)
    run = translate("classroom", sentence=SENTENCE)
    said = [row[4] for row in logit_lens(translator("classroom"), run).tokens]
    turn = next(layer for layer in range(len(said)) if set(said[layer:]) == {said[-1]})
    rows = page.locator("#lesson .lens tbody tr")
    expect(rows).to_have_count(len(run.output))
    expect(rows.nth(4).locator("td")).to_have_text(["?"] * len(said))  # the others are evidence
    page.keyboard.press(f"{turn + 1}")
    expect(page.locator("#lesson .reveal")).to_contain_text(t("lesson.right"))
    expect(rows.nth(4).locator("td .word")).to_have_text(said)
    expect(rows.nth(4).locator(".turn .word")).to_have_text(run.output[4])


def test_the_lesson_asks_which_measure_agrees_with_the_alignment(shared: Visit) -> None:
    """What each measure points to is drawn as under Translate."""
    page = shared.go("classroom", SENTENCE, tab="lesson", stop=19, step=5)
    run = translate("classroom", sentence=SENTENCE)
    pair = find(" ".join(run.source))
    assert pair
    expect(page.locator("#lesson .why-table .gold")).to_have_text("hund")
    page.locator("#lesson .choice").first.wait_for()
    page.keyboard.press("r")
    linked = [{run.source[key] for key in keys} for keys in pair.gold.sure if keys]
    rows = page.locator("#lesson .two-ways tbody tr")
    expect(rows).to_have_count(len(linked))
    words = "rows => rows.map((row) => [...row.querySelectorAll('td')].slice(1).map((cell) => cell.innerText))"
    pointed = rows.evaluate_all(words)
    right = [sum(map(set.__contains__, linked, measure)) for measure in zip(*pointed, strict=True)]
    expect(page.locator("#lesson .two-ways tfoot td")).to_have_text([str(len(linked)), *map(str, right)])
    best = [i for i, count in enumerate(right) if count == max(right)]
    answer = page.locator("#lesson .choice").nth(best[0] if len(best) == 1 else len(right))
    expect(answer).to_have_class(re.compile("right"))
    assert broken_rules(page) == []


def test_a_repeated_word_is_named_with_its_place(shared: Visit) -> None:
    sentence = "ich ich ich"
    page, run = shared.go("toy", sentence, step=2, why="word"), translate("toy", sentence=sentence)
    said = t("why.still", attention="ich (1)", attribution="ich (2)")
    expect(page.locator(".why-says")).to_contain_text(said)
    expect(page.locator(".why-table thead .word")).to_have_text(["ich (1)", "ich (2)", "ich (3)"])

    weighted = value_weighted(translator("toy"), run).maps.cross
    weights, added = (np.stack([m.weights for m in maps]) for maps in (run.attention.cross, weighted))
    attended, most = weights.argmax(axis=-1), added.argmax(axis=-1)
    layer, head, row = np.argwhere(attended != most)[0]
    place = {"kind": "cross", "layer": layer + 1, "head": head + 1, "step": row + 1}
    page = shared.go("toy", sentence, tab="attention", measure="contribution", **place)
    words = {name: f"ich ({of[layer, head, row] + 1})" for name, of in {"word": attended, "other": most}.items()}
    expect(page.locator("#attention .say")).to_contain_text(matching("contribution.other", **words))

    sentence = "Die Frau sieht die Katze"
    run = translate("classroom", sentence=sentence)
    weights = np.stack([m.weights for m in run.attention.cross])
    layer, head, row, key = next(at for at in np.argwhere(weights > 0.6) if run.source[at[3]] == "die")
    shared.go("classroom", sentence, tab="attention", kind="cross", layer=layer + 1, head=head + 1, step=row + 1)
    expect(page.locator("#attention .say")).to_contain_text(matching("row.mostly", word=f"die ({key + 1})"))


def test_no_measure_is_said_to_point_where_nothing_is_attended_to(shared: Visit) -> None:
    masked = "*".join(f"edit_mask.cross.2.{key}.closed" for key in range(1, 8))  # step 2 attends to no word
    page = shared.go("classroom", step=2, why="word", changes=masked)
    said = matching("why.falls", removal="heute")
    expect(page.locator(".why-says")).to_have_text(re.compile(f"^{said.pattern}$"))  # and no more


def test_a_forced_word_has_odds_and_shares_that_can_be_read(shared: Visit) -> None:
    page = shared.go("classroom", step=9, why="contrast", changes="force_word.9.cat")
    expect(page.locator(".why-says")).to_contain_text(re.compile(r"at 1\s:\s[1-9][\d,]* or more"))
    shared.go("classroom", step=9, why="word", changes="force_word.9.cat")
    expect(page.locator(".why-says")).to_contain_text(t("why.stays_forced", token="cat", share="20%"))
    shared.go("classroom", step=3, why="word", changes="force_word.3.cat")  # less than 0.01% with or without a word
    expect(page.locator(".why-says")).to_have_text(t("why.odd.same", removal="habe"))


def test_a_mask_that_lets_a_step_read_later_words_is_said(shared: Visit) -> None:
    page = shared.go(step=2, why="word", changes="remove_mask.decoder")
    expect(page.locator(".why-content")).to_contain_text(t("why.ahead"))
    shared.step_slider.fill("6")  # the last
    shared.settle()
    expect(page.locator(".why-content")).not_to_contain_text(t("why.ahead"))


def test_a_word_alone_is_not_said_to_cost_nothing(shared: Visit) -> None:
    page = shared.go("toy", "Ein", tab="lesson", stop=19, step=4)
    expect(page.locator("#lesson .question")).to_contain_text(t("lesson.explains.one_word"))


def test_what_a_dash_and_red_mean_is_said(shared: Visit) -> None:
    page = shared.go("toy", tab="lesson", stop=19, step=4)
    expect(page.locator("#lesson .stop-figure")).to_contain_text(t("lesson.explains.measures"))
    page.locator("#lesson .choice").first.wait_for()
    page.keyboard.press("r")
    expect(page.locator("#lesson .two-ways")).to_contain_text("–")
    expect(page.locator("#lesson .stop-figure")).to_contain_text(t("lesson.explains.none", share="20%"))
