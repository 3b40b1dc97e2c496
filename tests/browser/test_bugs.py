"""Spot the bug: every exercise is done from its symptom to the lines that cause it, with numbers that are made here."""

import re

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from transformer import Translator
from transformer.data import CORPORA
from transformer.mistakes import MISTAKES, DecodingMistake, Side, Symptom, TrainingMistake

from ..mistakes.test_mistakes import learned
from .catalogue import EN, LOCALES, percent
from .conftest import Visit, visiting

BIER = "Ich möchte ein Bier"
TRAINED = 60_000  # ms
COUNTS = {"words_after_end", "steps", "rows", "columns", "heads", "saved_norm_values", "saved_output_values", "texts"}
DIGITS = {"loss": 3, "entropy": 2, "row_sum_error": 2}


def said(name: str, value: float) -> str:
    """As the page writes it, which rounds a half up."""
    if name in COUNTS:
        return f"{value:,.0f}"
    return f"{value:.{DIGITS[name]}f}" if name in DIGITS else percent(min(1, value * (1 + 1e-9)))


def measured(name: str, checkpoint: str = "toy", sentence: str = BIER) -> Symptom:
    """What the page has to show."""
    mistake = MISTAKES[name]
    if isinstance(mistake, TrainingMistake):
        return learned(name)[1]
    if mistake.shown_on not in (None, checkpoint):
        checkpoint = mistake.shown_on
        sentence = CORPORA[checkpoint].examples[0].sentence
    return mistake.run(Translator.load(checkpoint, device="cpu"), sentence)


def symptom_of(name: str, found: Symptom) -> str:
    """In words."""
    one, *two = found.wrong.text.split(" | ")
    places = {
        **{number: said(number, value) for number, value in found.wrong.numbers.items()},
        **{f"right_{number}": said(number, value) for number, value in found.right.numbers.items()},
        "sentence": found.sentence, "wanted": found.wanted, "text": found.wrong.text, "right_text": found.right.text,
        "one": one, "two": two[0] if two else one, "head": found.head + 1,
        "layer": found.wrong.attention.layer + 1 if found.wrong.attention else 1,
    }  # fmt: skip
    return re.sub(r"\{(\w+)\}", lambda place: str(places[place[1]]), EN[f"bugs.{name}.symptom"])


def enter(visit: Visit, name: str, more: str = "") -> Page:
    page = visit.open(f"?tab=break&part=bugs&exercise={name}{more}")
    expect(page.locator(".exercise h2")).to_contain_text(EN[f"bugs.{name}.title"])
    return page


def see(page: Page, name: str) -> Locator:
    """The symptom, once it is there."""
    if isinstance(MISTAKES[name], TrainingMistake):
        page.locator(".exercise").get_by_role("button", name=EN["bugs.live.start"]).click()
    say = page.locator(".exercise .say")
    say.wait_for(timeout=TRAINED)
    return say


def weights(map_: Locator) -> list[float | None]:
    """Of a heatmap's cells, row by row; None where one is masked."""
    map_.locator("rect[data-query]").first.wait_for()
    return map_.locator("rect[data-query]").evaluate_all(
        "cells => cells.map((c) => 'weight' in c.dataset ? Number(c.dataset.weight) : null)"
    )


def head_of(side: Side, head: int) -> list[float | None]:
    seen = side.attention
    assert seen
    cells = zip(seen.weights[head].ravel().tolist(), seen.allowed.ravel().tolist(), strict=True)
    return [value if open_ else None for value, open_ in cells]


def close(found: list[float | None], expected: list[float | None]) -> None:
    assert [value is None for value in found] == [value is None for value in expected]
    assert [value for value in found if value is not None] == pytest.approx(
        [value for value in expected if value is not None], abs=1e-4
    )


def losses(page: Page) -> dict[str, float]:
    ends = page.locator(".exercise .plot .end:not([visibility=hidden])").all_text_contents()
    return {end.rsplit(" ", 1)[0]: float(end.rsplit(" ", 1)[1]) for end in ends}


@pytest.mark.parametrize("name", MISTAKES)
def test_an_exercise_from_its_symptom_to_its_lines(visit: Visit, name: str) -> None:
    mistake, found = MISTAKES[name], measured(name)
    page = enter(visit, name)
    exercise = page.locator(".exercise")
    choices = exercise.locator(".choice")
    expect(choices).to_have_count(4)
    assert len(set(choices.all_inner_texts())) == 4
    if isinstance(mistake, TrainingMistake):
        expect(choices.first).to_be_disabled()  # there is nothing to guess from yet
        expect(exercise.locator(".plot")).to_be_hidden()
    assert see(page, name).inner_text() == symptom_of(name, found)
    curves = losses(page)
    assert set(curves) <= {"this model", "another model"}  # nobody knows which of them is right
    assert ("this model" in curves) is isinstance(mistake, TrainingMistake)
    if found.wrong.attention:
        close(weights(exercise.locator(".symptom svg.heatmap")), head_of(found.wrong, found.head))
        expect(exercise.locator(".symptom svg.heatmap")).to_have_attribute("aria-label", re.compile("%"))
    else:
        assert exercise.locator(".symptom svg.heatmap").count() == 0

    # Nothing is given away before.
    expect(exercise.locator(".revealed")).to_be_hidden()
    assert "done right" not in exercise.inner_text()
    assert exercise.locator("pre").count() == 0

    right = choices.evaluate_all("buttons => buttons.map((button) => button.value)").index(name)
    page.keyboard.press(str(right + 1))
    expect(exercise.locator(".reveal")).to_have_text(f"Right. {EN[f'bugs.{name}.cause']}.")
    expect(exercise.locator(".choice.right")).to_have_count(1)
    if len(curves) == 2:  # else it is one model, with a mistake in how it is measured
        revealed = {"this model": "with the mistake", "another model": "done right"}
        curves = {revealed[curve]: loss for curve, loss in curves.items()}
    assert losses(page) == curves
    codes = exercise.locator(".code pre")
    assert [text.rstrip("\n") for text in codes.all_text_contents()] == [mistake.wrong, mistake.right]
    assert exercise.locator(".code mark").count() > 0
    for which, side in (("wrong", found.wrong), ("right", found.right)):
        shown = exercise.locator(f".sides .{which}")
        texts = [text or EN["bugs.silent"] for text in side.text.split(" | ")]
        assert shown.locator(".said").inner_text() == f"It says: {' · '.join(texts)}"
        if side.attention:
            close(weights(shown.locator("svg.heatmap")), head_of(side, found.head))
        for number, value in side.numbers.items():
            cell = exercise.locator(f"td[data-side={which}][data-number={number}]")
            assert float(cell.get_attribute("data-value") or "nan") == pytest.approx(value, abs=1e-4)
            assert cell.inner_text() == said(number, value)
    one, two = (exercise.locator(f".sides .{side}").bounding_box() for side in ("wrong", "right"))
    assert one
    assert two
    assert (one["y"], one["x"] + one["width"] <= two["x"]) == (two["y"], True)  # side by side
    assert exercise.locator(".about-it p").all_inner_texts() == [
        EN[f"bugs.{name}.{part}"] for part in ("training", "decoding", "why")
    ]
    expect(page.locator(f".exercises button[value={name}] .done")).to_be_visible()
    assert page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0


def test_a_wrong_guess_is_told_and_so_is_the_answer(visit: Visit) -> None:
    page = enter(visit, "never_stops")
    see(page, "never_stops")
    page.locator(".exercise .choice[value=causal_mask]").click()
    expect(page.locator(".exercise .reveal")).to_have_text(f"Not this time. {EN['bugs.never_stops.cause']}.")
    expect(page.locator(".exercise .choice.wrong")).to_have_attribute("value", "causal_mask")
    expect(page.locator(".exercise .choice.right")).to_have_attribute("value", "never_stops")
    page.keyboard.press("n")
    expect(page.locator(".exercise h2")).to_contain_text("9 of 14")
    expect(page.locator(".exercise .revealed")).to_be_hidden()
    see(page, "unscaled")
    page.keyboard.press("r")
    expect(page.locator(".exercise .reveal")).to_have_text(f"{EN['bugs.unscaled.cause']}.")
    page.keyboard.press("b")
    expect(page.locator(".exercise .revealed")).to_be_visible()  # it was guessed before
    page.locator(".exercises button[value=one_head]").click()
    expect(page.locator(".exercise h2")).to_be_focused()
    page.wait_for_url("**exercise=one_head**")
    assert page.locator(".exercises .done:visible").count() == 2
    page.reload()
    expect(page.locator(".exercise h2")).to_contain_text(EN["bugs.one_head.title"])
    assert page.locator(".exercises .done:visible").count() == 2


def test_the_answer_can_be_seen_without_a_training(visit: Visit) -> None:
    page = enter(visit, "output_in_forward")
    page.keyboard.press("1")  # nothing to guess from yet
    expect(page.locator(".exercise .revealed")).to_be_hidden()
    page.get_by_role("button", name=EN["bugs.show"]).click()
    assert page.locator(".exercise .code").count() == 2
    assert page.locator(".exercise .measured").count() == 0
    see(page, "output_in_forward")
    expect(page.locator(".exercise .measured")).to_be_visible()


def test_another_run_shows_its_own_numbers_and_asks_no_guess_again(visit: Visit) -> None:
    page = enter(visit, "cross_padding", "&checkpoint=classroom&sentence=Den+Hund+sieht+der+Lehrer")
    see(page, "cross_padding")
    page.keyboard.press("r")
    sentence = "Die Lehrer machen die Fenster auf"
    visit.ask(sentence)
    expected = symptom_of("cross_padding", measured("cross_padding", "classroom", sentence))
    expect(page.locator(".exercise .say")).to_have_text(expected)
    expect(page.locator(".exercise .revealed")).to_be_visible()
    value = measured("cross_padding", "classroom", sentence).wrong.numbers["weight_on_padding"]
    cell = page.locator("td[data-side=wrong][data-number=weight_on_padding]")
    expect(cell).to_have_text(percent(value))


def test_what_a_model_hides_is_shown_on_another_and_said_so(visit: Visit) -> None:
    page = enter(visit, "no_eval")
    see(page, "no_eval")
    expect(page.locator(".exercise .symptom .hint")).to_contain_text("Shown on the model classroom")
    page = enter(visit, "no_eval", "&checkpoint=classroom")
    see(page, "no_eval")
    assert page.locator(".exercise .symptom .hint").count() == 0


def test_a_link_that_asks_for_no_exercise_says_so(visit: Visit) -> None:
    page = visit.open("?tab=break&part=bugs&exercise=nonesuch")
    expect(page.locator("#top .message")).to_contain_text("exercise")
    expect(page.locator(".exercise h2")).to_contain_text(EN[f"bugs.{next(iter(MISTAKES))}.title"])


def test_another_language_keeps_what_was_trained_and_guessed(visit: Visit) -> None:
    page = enter(visit, "rank_collapse")
    see(page, "rank_collapse")
    page.keyboard.press("r")
    page.locator("#language").select_option("zh-Hant")
    chinese = LOCALES["zh-Hant"]
    expect(page.locator(".exercise .reveal")).to_have_text(f"{chinese['bugs.rank_collapse.cause']}。")
    expect(page.locator(".exercise .measured")).to_be_visible()
    expect(page.locator(".exercise .plot .end").first).to_contain_text(chinese["bugs.wrong"])


def test_nothing_is_asked_while_it_is_not_open(visit: Visit) -> None:
    page = visit.open("?tab=break&part=whatif&exercise=never_stops")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.post_data or ""))
    visit.ask("Ich möchte ein Cola")
    visit.settle()
    assert not [text for text in asked if "never_stops" in text]
    page.locator("#breakit button[value=bugs]").click()
    page.locator(".exercise .say").wait_for()
    assert len([text for text in asked if "never_stops" in text]) == 1


def test_on_a_telephone_nothing_scrolls_sideways(browser: Browser, url: str) -> None:
    with visiting(browser, url) as visit:
        visit.page.set_viewport_size({"width": 390, "height": 844})
        for name in (each.name for each in MISTAKES.values() if isinstance(each, DecodingMistake)):
            page = enter(visit, name, "&checkpoint=classroom")
            see(page, name)
            page.get_by_role("button", name=EN["bugs.show"]).click()
            page.locator(".exercise .measured").wait_for()
            wide = page.evaluate(
                "[...document.querySelectorAll('.bugs *')].filter((each) => !each.closest('pre, svg, .visually-hidden')"
                " && each.getBoundingClientRect().right > innerWidth + 0.5).map((each) => each.className)"
            )
            assert wide == []
            assert page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0
        page.locator(".exercises summary").click()
        page.locator(".exercises button[value=padding_rows]").click()
        expect(page.locator(".exercise h2")).to_contain_text(EN["bugs.padding_rows.title"])
        expect(page.locator(".exercises ol")).to_be_hidden()
