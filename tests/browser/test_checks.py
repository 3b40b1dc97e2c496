"""The badge in the header: four checks of the run that is shown, with their largest errors, or a plain warning."""

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from transformer.web.api.checks import checks

from .catalogue import t
from .conftest import Visit, asks_for

NAMES = ["rows", "masked", "cached", "torch"]
BIER, COLA = "Ich möchte ein Bier", "ich mochte ein cola"


def expect_checked(page: Page, checkpoint: str, sentence: str, answers: list[dict[str, Any]]) -> None:
    """The badge tells what the server measured of this run, which is what anybody measures of it."""
    expect(page.locator("#checks")).to_have_attribute("data-state", "✓")
    expect(page.locator("#checks summary")).to_have_text(f"✓ {t('checks')}")
    expect(page.locator("#checks .popover > p")).to_have_text(t("checks.right"))
    told = answers[-1]["checks"]
    mine = checks({"checkpoint": checkpoint, "sentence": sentence})["checks"]
    assert [each["name"] for each in told] == NAMES
    for each, other in zip(told, mine, strict=True):
        assert (each["name"], each["limit"], True) == (other["name"], other["limit"], other["ok"])
        assert abs(each["error"] - other["error"]) < 2e-6  # another number of threads adds up in another order
    rows = page.locator("#checks [data-check]")
    shown = rows.evaluate_all("all => all.map(row => [row.dataset.check, Number(row.dataset.error)])")
    assert shown == [[each["name"], each["error"]] for each in told]
    for row, each in zip(rows.all(), told, strict=True):
        assert row.locator("th").text_content() == f"✓ {t('checks.' + each['name'])}"
        assert [number(text) for text in row.locator("td").all_text_contents()] == [
            pytest.approx(each[name], rel=0.06) for name in ("error", "limit")
        ]


RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def number(text: str) -> float:
    """1.8 × 10⁻⁷, read back."""
    digits, _, power = text.partition(" × 10")
    return float(digits) * 10 ** int(power.translate(RAISED) or 0)


def answering(page: Page, change: Callable[[dict[str, Any]], dict[str, Any]] = lambda answer: answer) -> list[Any]:
    """The server's answers of the checks as they come, changed on their way."""
    answers = []

    def answer(route: Route) -> None:
        if not asks_for(route.request, "checks"):
            return route.fallback()
        answers.append(change(route.fetch().json()))
        return route.fulfill(json=answers[-1])

    page.route("**/component_server/", answer)
    return answers


def test_every_run_is_checked(visit: Visit) -> None:
    answers = answering(visit.page)
    page = visit.open()
    expect_checked(page, "toy", BIER, answers)
    expect(page.locator("#checks .popover")).to_be_hidden()
    page.locator("#checks summary").click()
    expect(page.locator("#checks .popover")).to_be_visible()
    visit.ask("ein Bier möchte ich")
    visit.settle()
    expect_checked(page, "toy", "ein Bier möchte ich", answers)
    page.locator("#checkpoint").select_option("classroom")
    expect(page.locator("#translation")).to_contain_text("would")
    visit.settle()
    assert len(answers) == 3  # one a run
    expect_checked(page, "classroom", "ein Bier möchte ich", answers)


def test_a_check_that_fails_is_shown(visit: Visit) -> None:
    failing = ""

    def fail(answer: dict[str, Any]) -> dict[str, Any]:
        for each in answer["checks"]:
            each |= {"ok": False, "error": 0.25} if each["name"] == failing else {}
        return answer

    answering(visit.page, fail)
    page = visit.open()
    for failing, sentence in (("rows", COLA), ("torch", "ein Bier")):
        visit.ask(sentence)
        visit.settle()
        expect(page.locator("#checks")).to_have_attribute("data-state", "✗")
        expect(page.locator("#checks summary")).to_have_text(f"✗ {t('checks')}")
        expect(page.locator("#checks .popover > p")).to_have_text(t("checks.wrong"))
        marks = page.locator("#checks [data-check] th").evaluate_all("all => all.map(each => each.textContent[0])")
        assert marks == ["✗" if name == failing else "✓" for name in NAMES]
        row = page.locator(f"#checks [data-check={failing}]")
        expect(row).to_have_attribute("data-error", "0.25")
        assert number(row.locator("td").first.text_content() or "") == 0.25


def test_checks_that_cannot_be_made_are_no_success(visit: Visit) -> None:
    answering(visit.page, lambda answer: {"error": "no"})
    page = visit.open()
    expect(page.locator("#checks summary")).to_have_text(f"– {t('checks')}")
    page.locator("#checks summary").click()
    expect(page.locator("#checks .popover")).to_have_text(t("checks.failed"))
    assert page.locator("#checks [data-check]").count() == 0
    page.unroute_all(behavior="wait")
    answers = answering(page)
    visit.ask(COLA)
    visit.settle()
    expect_checked(page, "toy", COLA, answers)
    page.route("**/component_server/", lambda route: None)  # never answered
    visit.ask(BIER)
    expect(page.locator("#checks summary")).to_have_text(f"… {t('checks')}")  # no verdict of the run before stays
    assert page.locator("#checks [data-check]").count() == 0
    page.unroute_all(behavior="ignoreErrors")
