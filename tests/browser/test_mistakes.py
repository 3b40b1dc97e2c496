"""Spot the bug: every exercise is done from its symptom to the lines that cause it."""

import math
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from transformer.live.recordings import recordings
from transformer.mistakes import MISTAKES
from transformer.web.api.mistakes import mistake

from .catalogue import LOCALES, matching, percent, t
from .conftest import TRAINED, Visit, module

COUNTS = {
    "words_after_end",
    "steps",
    "rows",
    "columns",
    "heads",
    "saved_norm_values",
    "saved_output_values",
    "texts",
    "padding",
    "runs",
}
DIGITS = {"loss": 3, "entropy": 2, "row_sum_error": 2}
DECODING = [each.name for each in MISTAKES.values() if each.kind == "decoding"]
TRAINING = [name for name in MISTAKES if name not in DECODING]
LIVE = "output_in_forward"  # the shortest training, and the only one here; tests/mistakes trains each
SLIDES = "one_head"
EXERCISE = ".exercise "


def written(name: str, value: float) -> str:
    """As the page writes it, which rounds a half up."""
    if name in COUNTS:
        return f"{value:,.0f}"
    return f"{value:.{DIGITS[name]}f}" if name in DIGITS else percent(min(1, value * (1 + 1e-9)))


def symptom(name: str, found: dict[str, Any]) -> str:
    """In words."""
    wrong, right = found["wrong"], found["right"]
    one, *two = wrong["text"].split(" | ")
    values = {
        **{number: written(number, value) for number, value in wrong["numbers"].items()},
        **{f"right_{number}": written(number, value) for number, value in right["numbers"].items()},
        "sentence": found["sentence"], "wanted": found["wanted"], "text": wrong["text"], "right_text": right["text"],
        "one": one, "two": two[0] if two else one, "head": found["head"] + 1,
        "layer": wrong["attention"]["layer"] + 1 if wrong["attention"] else 1,
    }  # fmt: skip
    same = "_same" if name == "no_eval" and [one] == two else ""
    return t(f"mistakes.{name}.symptom{same}", **values)


def measured(name: str, checkpoint: str = "toy", sentence: str = "Ich möchte ein Bier") -> dict[str, Any]:
    return mistake({"checkpoint": checkpoint, "sentence": sentence, "name": name})


def choose(page: Page, name: str) -> None:
    exercises = page.locator(".exercises")
    if exercises.get_attribute("open") is None:
        exercises.locator("summary").click()
    exercises.locator(f"button[value={name}]").click()
    expect(page.locator(EXERCISE + "h2")).to_contain_text(t(f"mistakes.{name}.title"))


def see(page: Page, name: str) -> dict[str, Any]:
    """What its symptom shows: measured here, or what the server's trainings came to."""
    if name in DECODING:
        found = measured(name)
    else:
        page.locator(EXERCISE).get_by_role("button", name=t("mistakes.live.start")).click()
        expect(page.locator(EXERCISE + ".say")).to_be_visible(timeout=TRAINED)
        trainings = f"{module('net/mistake-training.js')}"
        found = page.evaluate(f"name => {trainings}.then((module) => module.mistakeTraining(name).symptom)", name)
    expect(page.locator(EXERCISE + ".say")).to_have_text(symptom(name, found))
    return found


def expect_map(picture: Locator, side: dict[str, Any], head: int) -> None:
    """The cells of a heatmap, row by row; None where one is masked."""
    seen = side["attention"]
    picture.locator("rect[data-query]").first.wait_for()
    cells = picture.locator("rect[data-query]").evaluate_all(
        "cells => cells.map((each) => each.dataset.weight ?? null)"
    )
    size = len(seen["queries"]) * len(seen["keys"])
    weights = seen["weights"][head * size : (head + 1) * size]
    allowed = [each for row in seen["allowed"] for each in row]
    assert [cell is not None for cell in cells] == allowed
    expected = [weight for weight, open_ in zip(weights, allowed, strict=True) if open_]
    assert [float(cell) for cell in cells if cell is not None] == pytest.approx(expected, abs=1e-4)


def expect_curves(page: Page, found: dict[str, Any], **names: str) -> None:
    """With the last loss of each side in the legend."""
    ends = [f"{t(name)} {found[side]['numbers']['loss']:.3f}" for side, name in names.items()]
    expect(page.locator(EXERCISE + ".curves .legendtext")).to_have_text(ends)


def assert_explained(page: Page, name: str) -> None:
    """By its lines of code, and in words."""
    about = [t(f"mistakes.{name}.{part}") for part in ("training", "decoding", "why")]
    expect(page.locator(EXERCISE + ".about-it p")).to_have_text(about)
    code = [text.rstrip("\n") for text in page.locator(EXERCISE + ".code pre").all_text_contents()]
    assert code == [MISTAKES[name].wrong, MISTAKES[name].right]
    assert page.locator(EXERCISE + ".code mark").count() > 0


@pytest.fixture
def exercises(shared: Visit) -> Iterator[Page]:
    if shared.page.url == "about:blank":
        shared.open("?tab=break&part=mistakes")
    yield shared.page
    assert shared.page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0


@pytest.mark.parametrize("name", [LIVE, *DECODING])
def test_an_exercise_from_its_symptom_to_its_lines(exercises: Page, name: str) -> None:
    page, trained = exercises, name == LIVE
    choose(page, name)
    exercise = page.locator(EXERCISE)
    choices = exercise.locator(".choice")
    expect(choices).to_have_count(4)
    assert len(set(choices.all_inner_texts())) == 4
    if trained:
        page.keyboard.press("1")  # there is nothing to guess from yet
        expect(choices.first).to_be_disabled()
    expect(exercise.locator(".curves")).to_be_hidden()
    found = see(page, name)
    if trained:
        expect_curves(page, found, wrong="mistakes.this", right="mistakes.other")  # not which of them is right
    picture = exercise.locator(".symptom .heatmap")
    if found["wrong"]["attention"]:
        for head in range(2) if name == SLIDES else [found["head"]]:
            shown = picture.nth(head) if name == SLIDES else picture
            expect_map(shown, found["wrong"], head)
            expect(shown).to_have_attribute("aria-label", matching("mistakes.map"))
    else:
        expect(picture).to_have_count(0)
    elsewhere = (
        [t("mistakes.elsewhere", model=found["model"], sentence=found["sentence"])] if found.get("elsewhere") else []
    )
    expect(exercise.locator(".symptom > .hint")).to_have_text(elsewhere)

    # Nothing is given away before.
    expect(exercise.locator(".revealed")).to_be_hidden()
    assert t("mistakes.right") not in exercise.inner_text()
    expect(exercise.locator("pre:visible")).to_have_count(0)

    right = choices.evaluate_all("buttons => buttons.map((button) => button.value)").index(name)
    page.keyboard.press(str(right + 1))
    cause = t("mistakes.verdict", cause=t(f"mistakes.{name}.cause"))
    expect(exercise.locator(".reveal")).to_have_text(f"{t('lesson.right')} {cause}")
    expect(exercise.locator(".choice.right")).to_have_count(1)
    if trained:
        expect_curves(page, found, wrong="mistakes.wrong", right="mistakes.right")
    for which in ("wrong", "right"):
        side, shown = found[which], exercise.locator(f".sides .{which}")
        texts = " · ".join(text or t("mistakes.no_output") for text in side["text"].split(" | "))
        expect(shown.locator(".output")).to_have_text(t("mistakes.says", text=texts))
        if side["attention"] and name != SLIDES:
            expect_map(shown.locator("svg.heatmap"), side, found["head"])
        elif side["attention"] and which == "right":
            for head in range(side["attention"]["heads"]):
                expect_map(shown.locator("svg.heatmap").nth(head), side, head)
        cells = exercise.locator(f"td[data-side={which}]")
        expect(cells).to_have_text([written(number, value) for number, value in side["numbers"].items()])
        values = cells.evaluate_all("cells => cells.map((each) => Number(each.dataset.value))")
        assert values == pytest.approx(list(side["numbers"].values()), abs=1e-4)
    one, two = (exercise.locator(f".sides .{side}").bounding_box() for side in ("wrong", "right"))
    assert one
    assert two
    if name != SLIDES:  # whose heads are all large
        assert math.isclose(one["y"], two["y"])
        assert one["x"] + one["width"] <= two["x"]  # side by side
    assert_explained(page, name)
    expect(page.locator(f".exercises button[value={name}] .done")).to_be_visible()


def test_guesses_and_trainings_outlast_another_language_and_a_reload(exercises: Page) -> None:
    page, done = exercises, exercises.locator(".exercises .done:visible")
    choose(page, LIVE)
    page.locator("#language").select_option("zh-Hant")
    chinese = LOCALES["zh-Hant"]
    expect(page.locator(EXERCISE + ".reveal")).to_contain_text(chinese[f"mistakes.{LIVE}.cause"])
    expect(page.locator(EXERCISE + ".measured")).to_be_visible()
    expect(page.locator(EXERCISE + ".curves .legendtext").first).to_contain_text(chinese["mistakes.wrong"])
    page.locator("#language").select_option("en")
    expect(page.locator("html")).to_have_attribute("lang", "en")
    page.wait_for_url(re.compile(f"exercise={LIVE}.*language=en"))  # the address follows a moment later
    guessed = done.count()
    assert guessed > 0
    page.reload()
    expect(page.locator(EXERCISE + "h2")).to_contain_text(t(f"mistakes.{LIVE}.title"))
    expect(done).to_have_count(guessed)


def test_what_a_training_would_show_is_shown_without_it(exercises: Page) -> None:
    page = exercises
    for name in TRAINING:
        choose(page, name)
        page.get_by_role("button", name=t("mistakes.show")).click()
        assert_explained(page, name)
        expect(page.locator(EXERCISE + ".measured")).to_have_count(0)
        if name != LIVE:  # which was trained above
            expect(page.locator(f".exercises button[value={name}] .done")).to_be_hidden()  # nothing was seen yet


def test_a_training_can_be_stopped_and_is_there_as_it_was_recorded(exercises: Page) -> None:
    page, name = exercises, "teacher_forced_test"
    page.reload()
    choose(page, name)
    live = page.locator(EXERCISE + ".live")
    live.get_by_role("button", name=t("mistakes.live.start")).click()
    expect(live.locator("progress")).to_be_visible()
    expect(live.locator(".left")).not_to_be_empty(timeout=TRAINED)
    live.get_by_role("button", name=t("mistakes.live.stop")).click()
    expect(live.get_by_role("status")).to_have_text(t("mistakes.live.stopped"), timeout=TRAINED)
    live.get_by_role("button", name=t("mistakes.live.recorded")).click()
    expect(live.get_by_role("status")).to_have_text(t("mistakes.live.is_recorded"))
    found = recordings()[name]["symptom"]
    expect(page.locator(EXERCISE + ".say")).to_have_text(symptom(name, dict(found)))
    done = page.locator(f".exercises button[value={name}] .done")
    expect(done).to_be_hidden()
    page.keyboard.press("r")
    expect(done).to_be_visible()


def test_a_wrong_guess_is_told_and_keys_walk_on(exercises: Page) -> None:
    page = exercises
    page.reload()
    choose(page, "never_stops")
    expect(page.locator(EXERCISE + "h2")).to_be_focused()
    page.locator(EXERCISE + ".choice[value=causal_mask]").click()
    why = [t("lesson.wrong"), t("mistakes.causal_mask.telltale"), t("mistakes.never_stops.clue"), t("mistakes.again")]
    expect(page.locator(EXERCISE + ".reveal")).to_have_text(" ".join(why))
    expect(page.locator(EXERCISE + ".reveal")).to_be_in_viewport(ratio=1)
    wrong = page.locator(EXERCISE + ".choice.wrong")
    expect(wrong).to_have_attribute("value", "causal_mask")
    expect(wrong).to_be_disabled()
    expect(page.locator(EXERCISE + ".revealed")).to_be_hidden()  # one may guess again
    page.locator(EXERCISE + ".choice[value=never_stops]").click()
    cause = t("mistakes.verdict", cause=t("mistakes.never_stops.cause"))
    expect(page.locator(EXERCISE + ".reveal")).to_have_text(f"{t('lesson.right')} {cause}")
    expect(page.locator(EXERCISE + ".choice.right")).to_have_attribute("value", "never_stops")
    page.keyboard.press("n")
    expect(page.locator(EXERCISE + "h2")).to_contain_text(t("mistakes.unscaled.title"))
    expect(page.locator(EXERCISE + ".revealed")).to_be_hidden()
    see(page, "unscaled")
    page.keyboard.press("r")
    expect(page.locator(EXERCISE + ".reveal")).to_have_text(t("mistakes.verdict", cause=t("mistakes.unscaled.cause")))
    page.keyboard.press("b")
    expect(page.locator(EXERCISE + ".revealed")).to_be_visible()  # it was guessed before


def test_another_run_shows_its_own_numbers_and_asks_no_guess_again(exercises: Page, shared: Visit) -> None:
    page, sentence = exercises, "Die Lehrer machen die Fenster auf"
    choose(page, "cross_padding")
    page.keyboard.press("r")
    shared.choose_model("classroom")
    shared.ask(sentence)
    found = measured("cross_padding", "classroom", sentence)
    expect(page.locator(EXERCISE + ".say")).to_have_text(symptom("cross_padding", found))
    expect(page.locator(EXERCISE + ".revealed")).to_be_visible()
    share = percent(found["wrong"]["numbers"]["weight_on_padding"])
    expect(page.locator("td[data-side=wrong][data-number=weight_on_padding]")).to_have_text(share)
    choose(page, "no_eval")  # which the toy shows on this model
    expect(page.locator(EXERCISE + ".say")).to_be_visible()
    expect(page.locator(EXERCISE + ".symptom > .hint")).to_have_count(0)


def test_a_closed_part_asks_nothing(exercises: Page, shared: Visit) -> None:
    page = exercises
    choose(page, "never_stops")
    page.locator("#breakit button[value=whatif]").click()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.post_data or ""))
    shared.ask("Heute sieht der Lehrer den Hund")
    shared.settle()
    assert not [text for text in asked if "never_stops" in text]
    with page.expect_request(lambda request: "never_stops" in (request.post_data or "")):
        page.locator("#breakit button[value=mistakes]").click()
    shared.settle()
    assert len([text for text in asked if "never_stops" in text]) == 1


def test_on_a_phone_nothing_scrolls_sideways(exercises: Page) -> None:
    page = exercises
    page.set_viewport_size({"width": 390, "height": 844})
    expect(page.locator(".exercises ol")).to_be_hidden()
    cut_off = (
        "[...document.querySelectorAll('.mistakes *')].filter((each) => !each.closest('pre, svg, .visually-hidden')"
        " && each.getBoundingClientRect().right > innerWidth + 0.5).map((each) => each.className)"
    )
    for name in DECODING:
        choose(page, name)
        expect(page.locator(".exercises ol")).to_be_hidden()
        expect(page.locator(EXERCISE + ".say")).to_be_visible()
        page.keyboard.press("r")
        page.locator(EXERCISE + ".measured").wait_for()
        assert page.evaluate(cut_off) == []
        assert page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0
