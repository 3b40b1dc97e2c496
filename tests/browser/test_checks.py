"""The badge in the header: four checks of the run that is shown, with their largest errors, or a plain warning."""

from typing import Any

from playwright.sync_api import Page, Route, expect

from .actions import answering
from .catalogue import t
from .conftest import Visit

NAMES = ["rows", "masked", "cached", "torch"]
COLA = "ich mochte ein cola"


def checked(page: Page, failing: str = "") -> list[dict[str, Any]]:
    """The server's answers as they come, in which one of the checks may fail."""
    answers: list[dict[str, Any]] = []

    def answer(route: Route) -> None:
        answers.append(route.fetch().json())
        for each in answers[-1]["checks"]:
            each |= {"ok": False, "error": 0.25} if each["name"] == failing else {}
        route.fulfill(json=answers[-1])

    answering(page, "checks", answer)
    return answers


RAISED = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")


def number(text: str) -> float:
    """1.8 × 10⁻⁷, read back."""
    digits, _, power = text.partition(" × 10")
    return float(digits) * 10 ** int(power.translate(RAISED) or 0)


def expect_badge(page: Page, answer: dict[str, Any]) -> None:
    """It tells what the server measured, and is right if all four are."""
    right = all(each["ok"] for each in answer["checks"])
    badge = page.locator("#checks")
    expect(badge.locator("summary")).to_have_text(f"{'✓' if right else '✗'} {t('checks')}")
    expect(badge.locator(".popover > p")).to_have_text(t("checks.right" if right else "checks.wrong"))
    rows = badge.locator("[data-check]")
    assert [each["name"] for each in answer["checks"]] == NAMES
    for row, each in zip(rows.all(), answer["checks"], strict=True):
        expect(row.locator("th")).to_have_text(f"{'✓' if each['ok'] else '✗'} {t('checks.' + each['name'])}")
        for text, value in zip(row.locator("td").all_text_contents(), (each["error"], each["limit"]), strict=True):
            assert abs(number(text) - value) <= 0.06 * value


def test_every_run_is_checked_once(visit: Visit) -> None:
    answers = checked(visit.page)
    page = visit.open()
    expect(page.locator("#checks .popover")).to_be_hidden()
    page.locator("#checks summary").click()
    expect(page.locator("#checks .popover")).to_be_visible()
    for n, ask in enumerate((lambda: None, lambda: visit.ask(COLA), lambda: visit.choose_model("classroom")), 1):
        ask()
        visit.settle()
        assert len(answers) == n
        expect_badge(page, answers[-1])
        assert all(each["ok"] for each in answers[-1]["checks"])


def test_a_check_that_fails_or_cannot_be_made_is_no_success(visit: Visit) -> None:
    page = visit.page
    answers = checked(page, failing="torch")
    visit.open()
    visit.settle()
    expect_badge(page, answers[-1])
    page.unroute_all(behavior="wait")

    answering(page, "checks", lambda route: route.fulfill(json={"error": "no"}))
    visit.ask(COLA)
    expect(page.locator("#checks summary")).to_have_text(f"– {t('checks')}")
    expect(page.locator("#checks [data-check]")).to_have_count(0)
    page.locator("#checks summary").click()
    expect(page.locator("#checks .popover")).to_have_text(t("checks.failed"))
    page.unroute_all(behavior="wait")

    answering(page, "checks", lambda route: None)  # never answered
    visit.ask("ein Bier")
    expect(page.locator("#checks summary")).to_have_text(f"… {t('checks')}")  # no verdict of the run before stays
    page.unroute_all(behavior="ignoreErrors")
