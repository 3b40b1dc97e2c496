"""The badge in the header: four checks of the run that is shown, with their largest errors, or a plain warning."""

from playwright.sync_api import Route, expect

from .catalogue import t
from .conftest import Visit, in_menu
from .wire import answering

NAMES = ["rows", "masked", "cached", "torch"]


def test_every_run_is_checked_once_and_a_check_that_fails_or_cannot_be_made_is_no_success(shared: Visit) -> None:
    page = shared.go()
    badge, summary = page.locator("#checks"), page.locator("#checks summary")
    shared.settle()
    expect(summary).to_have_text(f"✓ {t('checks')}")
    in_menu(page, "#checks summary")
    expect(badge.locator(".unfolded > p")).to_have_text(t("checks.right"))
    expect(badge.locator("[data-check] th")).to_have_text([f"✓ {t(f'checks.{name}')}" for name in NAMES])
    shared.asked.clear()
    shared.ask("ich möchte ein Cola")
    shared.settle()
    assert shared.asked.count("checks") == 1

    def fail(route: Route) -> None:
        answer = route.fetch().json()
        answer[-1] |= {"ok": False, "error": 0.00025}
        route.fulfill(json=answer)

    answering(page, "checks", fail)
    shared.go("toy", "mochte ein cola ich")
    expect(summary).to_have_text(f"✗ {t('checks')}")
    expect(badge.locator("[data-check] th").last).to_have_text(f"✗ {t('checks.torch')}")
    expect(badge.locator("[data-check] td").nth(-2)).to_have_text("2.5 × 10⁻⁴")
    page.unroute_all(behavior="wait")
    answering(page, "checks", lambda route: route.fulfill(json={"error": "no"}))
    shared.ask("Cola Bier")
    expect(summary).to_have_text(f"– {t('checks')}")
    expect(badge.locator(".unfolded")).to_have_text(t("checks.failed"))
