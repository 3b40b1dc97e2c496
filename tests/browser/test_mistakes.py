"""Spot the bug: every exercise is done from its symptom to the lines that cause it."""

import re
from itertools import pairwise

import pytest
from playwright.sync_api import Locator, Page, expect

from transformer.mistakes import MISTAKES
from transformer.web.api.mistakes import mistake

from ..web.api.endpoints import ask
from .catalogue import LOCALES, matching, percent, t
from .conftest import PROJECTOR, TRAINED, Visit
from .wire import asking

DECODING = [each.name for each in MISTAKES.values() if each.kind == "decoding"]
LIVE = "output_in_forward"  # the shortest training, and the only one here; tests/mistakes trains each
OPEN = "?tab=break&part=mistakes"


def symptom(name: str) -> re.Pattern[str]:
    """In words, with any numbers; of two runs that differ, or do not."""
    keys = ("symptom", "symptom_same") if name == "no_eval" else ("symptom",)
    return re.compile("|".join(f"^{matching(f'mistakes.{name}.{key}').pattern}$" for key in keys), re.DOTALL)


def open_exercises(visit: Visit) -> Page:
    return visit.go(tab="break", part="mistakes")


def choose(page: Page, name: str) -> Locator:
    """Its exercise."""
    exercises = page.locator(".exercises")
    if exercises.get_attribute("open") is None:
        exercises.locator("summary").click()
    exercises.locator(f"button[value={name}]").click()
    expect(page.locator(".exercise h2")).to_contain_text(t(f"mistakes.{name}.title"))
    return page.locator(".exercise")


def done(page: Page, name: str = "") -> Locator:
    """The marks of exercises that were done."""
    return page.locator(f".exercises button{f'[value={name}]' if name else ''} .done:visible")


def guess_right(page: Page, name: str) -> None:
    """By its number, and nothing was given away before."""
    exercise = page.locator(".exercise")
    choices = exercise.locator(".choice")
    expect(choices).to_have_count(4)
    values = choices.evaluate_all("buttons => buttons.map((button) => button.value)")
    expect(exercise.locator(".revealed, pre:visible").filter(visible=True)).to_have_count(0)
    page.keyboard.press(str(values.index(name) + 1))
    cause = t("mistakes.verdict", cause=t(f"mistakes.{name}.cause"))
    expect(exercise.locator(".reveal")).to_have_text(f"{t('lesson.right')} {cause}")
    expect(exercise.locator(".choice.right")).to_have_attribute("value", name)
    expect(done(page, name)).to_be_visible()
    expect_explained(page, name)


def expect_explained(page: Page, name: str) -> None:
    """By its lines of code."""
    code = [text.rstrip("\n") for text in page.locator(".exercise .code pre").all_text_contents()]
    assert code == [MISTAKES[name].wrong, MISTAKES[name].right]


@pytest.mark.parametrize("name", DECODING)
def test_an_exercise_from_its_symptom_to_its_lines(shared: Visit, name: str) -> None:
    page = open_exercises(shared)
    exercise = choose(page, name)
    expect(exercise.locator(".say")).to_have_text(symptom(name))
    guess_right(page, name)
    for which in ("wrong", "right"):
        expect(exercise.locator(f".sides .{which} .output")).not_to_be_empty()


def test_a_mistake_is_trained_before_ones_eyes_and_outlasts_another_language_and_a_reload(visit: Visit) -> None:
    page = visit.open(OPEN)
    exercise = choose(page, LIVE)
    page.keyboard.press("1")  # there is nothing to guess from yet
    expect(exercise.locator(".choice").first).to_be_disabled()
    exercise.get_by_role("button", name=t("mistakes.live.start")).click()
    expect(exercise.locator(".say")).to_have_text(matching(f"mistakes.{LIVE}.symptom"), timeout=TRAINED)
    legend = exercise.locator(".curves .legendtext")
    expect(legend).to_contain_text([t("mistakes.this"), t("mistakes.other")])  # not which of them is right
    guess_right(page, LIVE)
    page.locator("#language").select_option("zh-Hant")
    expect(exercise.locator(".reveal")).to_contain_text(LOCALES["zh-Hant"][f"mistakes.{LIVE}.cause"])
    expect(legend.first).to_contain_text(LOCALES["zh-Hant"]["mistakes.wrong"])
    page.wait_for_url(re.compile(f"exercise={LIVE}.*language=zh-Hant"))  # the address follows a moment later
    page.reload()
    expect(exercise.locator("h2")).to_contain_text(LOCALES["zh-Hant"][f"mistakes.{LIVE}.title"])
    expect(done(page)).to_have_count(1)


def test_a_training_can_be_stopped_skipped_and_is_there_as_it_was_recorded(visit: Visit) -> None:
    page, name = visit.open(OPEN), "causal_mask"  # the longest training, which goes on until it is stopped
    choose(page, "teacher_forced_test")
    page.get_by_role("button", name=t("mistakes.show")).click()
    expect_explained(page, "teacher_forced_test")
    expect(done(page)).to_have_count(0)  # nothing was seen yet

    live = choose(page, name).locator(".live")
    live.get_by_role("button", name=t("mistakes.live.start")).click()
    expect(live.locator("progress")).to_be_visible()
    expect(live.locator(".left")).not_to_be_empty(timeout=TRAINED)
    live.get_by_role("button", name=t("mistakes.live.stop")).click()
    expect(live.get_by_role("status")).to_have_text(t("mistakes.live.stopped"), timeout=TRAINED)
    live.get_by_role("button", name=t("mistakes.live.recorded")).click()
    expect(live.get_by_role("status")).to_have_text(t("mistakes.live.is_recorded"))
    expect(page.locator(".exercise .say")).to_have_text(symptom(name))
    page.keyboard.press("r")
    expect(done(page, name)).to_be_visible()


def test_a_wrong_guess_is_told_and_keys_walk_on(visit: Visit) -> None:
    page = visit.open(OPEN)
    exercise = choose(page, "no_eval")
    reveal, revealed = exercise.locator(".reveal"), exercise.locator(".revealed")
    expect(exercise.locator("h2")).to_be_focused()
    exercise.locator(".choice[value=causal_mask]").click()
    why = [t("lesson.wrong"), t("mistakes.causal_mask.telltale"), t("mistakes.no_eval.clue"), t("mistakes.again")]
    expect(reveal).to_have_text(" ".join(why))
    expect(exercise.locator(".choice.wrong")).to_be_disabled()
    expect(revealed).to_be_hidden()  # one may guess again
    exercise.locator(".choice[value=no_eval]").click()
    expect(reveal).to_contain_text(t("lesson.right"))
    page.keyboard.press("n")
    expect(exercise.locator("h2")).to_contain_text(t("mistakes.softmax_dim.title"))
    expect(revealed).to_be_hidden()
    page.keyboard.press("b")
    expect(revealed).to_be_visible()  # it was guessed before


def test_another_run_shows_its_own_numbers_and_a_closed_part_asks_nothing(visit: Visit) -> None:
    page, sentence = open_exercises(visit), "Die Lehrer machen die Fenster auf"
    exercise = choose(page, "cross_padding")
    expect(exercise.locator(".say")).to_be_visible()
    page.keyboard.press("r")
    visit.choose_model("classroom")
    visit.ask(sentence)
    found = ask(mistake, {"checkpoint": "classroom", "sentence": sentence, "name": "cross_padding"})
    share = percent(found["wrong"]["numbers"]["weight_on_padding"])
    expect(page.locator("td[data-side=wrong][data-number=weight_on_padding]")).to_have_text(share)
    expect(exercise.locator(".revealed")).to_be_visible()  # no guess is asked for again

    page.locator("#breakit button[value=whatif]").click()
    visit.settle()
    visit.asked.clear()
    visit.ask("Heute sieht der Lehrer den Hund")
    visit.settle()
    assert "mistake" not in visit.asked
    with asking(page, "mistake"):
        page.locator("#breakit button[value=mistakes]").click()
    visit.settle()
    assert visit.asked.count("mistake") == 1


@pytest.mark.parametrize("name", ["inverted_mask", "padding_rows"])  # the longest code, the most rows
def test_a_class_sees_the_symptom_and_its_lines_on_one_screen(visit: Visit, name: str) -> None:
    visit.page.set_viewport_size(PROJECTOR)
    page = visit.open(f"{OPEN}&exercise={name}&present=yes")
    page.locator(".symptom .heatmap").wait_for()
    page.keyboard.press("r")
    for shown in (".say", ".symptom .large", ".codes", ".reveal"):
        expect(page.locator(f".exercise {shown}")).to_be_in_viewport(ratio=1)
    rows = page.locator(".symptom .large g[data-query]").evaluate_all(
        "all => all.map((each) => each.getBoundingClientRect()).map(({ top, bottom }) => [top, bottom])"
    )
    assert len(rows) > 1
    assert all(above[1] <= below[0] + 1 for above, below in pairwise(rows)), "words of two rows collide"
