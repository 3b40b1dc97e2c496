"""A link is the visitor's place: what it says comes back exactly, and what it cannot have is told in words.

That any address is understood or refused as a whole is tested without a browser, in tests/js.
"""

from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from playwright.sync_api import Browser, Page, expect

from .catalogue import matching, t
from .conftest import BIER, Visit, in_menu, move, place, until, visiting


def seen(page: Page) -> dict[str, Any]:
    """The place, and what shows it."""
    return place(page) | {
        "language": page.locator("html").get_attribute("lang"),
        "opened": page.locator("[role=tab][aria-selected=true]").get_attribute("data-tab-id"),
        "model": page.locator("#checkpoint").input_value(),
        "typed": page.locator("#sentence input").input_value(),
    }


def expect_seen(page: Page, expected: dict[str, Any]) -> None:
    """The address is followed once its run is there."""
    page.locator("#translation .chip").first.wait_for()
    until(lambda: seen(page) == expected)


# ---- what was seen comes back


def test_a_copied_link_opens_what_was_seen(visit: Visit, browser: Browser, url: str) -> None:
    """That every part of a place comes back from its address is tested in tests/js/address.test.ts."""
    visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = visit.open("")
    visit.settle()
    assert (page.url, place(page)["tab"]) == (visit.url, "overview")  # nothing was touched
    visit.choose_model("classroom")
    sentence = "  ein BIER, möchte ich!  "
    visit.ask(sentence)
    page.locator("#language").select_option("zh-Hant")
    expect(page.locator("html")).to_have_attribute("lang", "zh-Hant")
    to = {"tab": "attention", "kind": "encoder", "layer": 1, "head": 2, "drawing": "lines", "query": 2, "step": 3}
    move(page, to)
    before = seen(page)
    assert before == before | to | {"run": ["classroom", sentence], "typed": sentence}
    in_menu(page, "#share")
    expect(page.locator(".share").get_by_role("status")).to_have_text(t("share.copied", "zh-Hant"))
    link = page.evaluate("navigator.clipboard.readText()")
    page.wait_for_url(link)  # the address bar has followed
    with visiting(browser, url) as other:  # who has chosen nothing
        other.open(link.removeprefix(url))
        expect_seen(other.page, before)
        expect(other.message).to_be_hidden()
    page.reload()
    expect_seen(page, before)
    assert page.url == link


# The tabs that are opened.
OPENED = """
    window.opened = [];
    addEventListener("opened", ({ target }) => target.classList.contains("open") && opened.push(target.id), true);
"""


def test_a_link_draws_nothing_of_the_run_that_the_page_has_before(visit: Visit) -> None:
    visit.page.add_init_script(OPENED)
    page = visit.open("?tab=attention&checkpoint=classroom")
    expect(page.locator("#attention .heatmap").first).to_be_visible()
    assert page.evaluate("opened") == ["panel-attention"]


def test_a_link_can_be_copied_without_a_clipboard(shared: Visit) -> None:
    """As on any page that is served over plain http to another machine."""
    page = shared.go()
    page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined, configurable: true })")
    in_menu(page, "#share")
    expect(page.locator(".share").get_by_role("status")).to_have_text(t("share.copy_it"))
    link = page.get_by_label(t("share.link"))
    expect(link).to_be_focused()
    selected = "input => input.value.slice(input.selectionStart, input.selectionEnd)"
    assert link.evaluate(selected) == link.input_value()
    assert parse_qs(urlsplit(link.input_value()).query)["checkpoint"] == ["toy"]
    page.evaluate("delete navigator.clipboard")


def test_a_link_is_copied_at_the_click(shared: Visit) -> None:
    """Safari refuses it later, also when what was clicked unfolds."""
    page = shared.go()
    page.evaluate("() => { navigator.clipboard.writeText = async () => { window.copiedAt = event?.type } }")
    in_menu(page, "#share")
    expect(page.locator(".share").get_by_role("status")).to_have_text(t("share.copied"))
    assert page.evaluate("copiedAt") == "click"
    page.evaluate("delete navigator.clipboard.writeText")


def test_a_presenters_link_hides_what_a_lesson_does_not_need(visit: Visit) -> None:
    visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = visit.open("?tab=lesson&stop=2")
    title = page.locator("#stop-title")
    in_menu(page, "#share")
    page.locator("#share-presenter").click()
    expect(page.locator(".share").get_by_role("status")).to_have_text(t("share.copied_presenter"))
    visit.open(page.evaluate("navigator.clipboard.readText()").removeprefix(visit.url))
    expect(title).to_have_text(matching("lesson.title", n=2))
    hidden = ("#checkpoint", "#menu > summary", ".examples", "[role=tablist]")
    for control in hidden:
        expect(page.locator(control)).to_be_hidden()
    page.locator("#unfold").click()
    for unfolded in ("#sentence input", "#step", *hidden):
        expect(page.locator(unfolded)).to_be_visible()
    for tab in ("overview", "lesson"):  # a choice folds them again
        visit.tab(tab)
        expect(page.locator("[role=tablist]")).to_be_hidden()
        page.locator("#unfold").click()
    page.keyboard.press("PageDown")
    page.wait_for_url("**stop=3**present=yes**")
    page.reload()
    expect(title).to_have_text(matching("lesson.title", n=3))
    expect(page.locator("#checkpoint")).to_be_hidden()
    page.get_by_role("button", name=t("present.leave")).click()
    for control in hidden:
        expect(page.locator(control)).to_be_visible()
    page.keyboard.press("PageDown")
    page.wait_for_url("**stop=4**")
    assert "present" not in parse_qs(urlsplit(page.url).query)


# ---- what cannot come back is told

HOSTILE = "<img src=x onerror=alert(1)>"  # more of it in test_hostile.py


def test_a_broken_link_opens_the_page_and_says_what_was_wrong(visit: Visit) -> None:
    """All values are tried in tests/js; that a change has no place only the server can tell."""
    asked = {"changes": "ablate.cross.9.9", "tab": "break", "head": "3", "layer": "99", "sentence": "ein cola"}
    page = visit.open(f"?{urlencode(asked)}")
    for what in ("changes", "layer"):
        expect(visit.message).to_contain_text(t(f"link.{what}"))
    assert place(page) == place(page) | {"run": ["toy", "ein cola"], "tab": "break", "head": 2}
    page = visit.open(f"?{urlencode({'sentence': HOSTILE, 'kind': HOSTILE})}")
    for said in ("“<img”", t("link.wrong", what=t("link.kind")), t("run.refused", error="", sentence=BIER).strip()):
        expect(visit.message).to_contain_text(said)
    assert page.locator("#top img, #top script, header img").count() == 0


def test_a_link_to_the_lesson_alone_begins_as_its_tab_does(visit: Visit) -> None:
    page = visit.open("?tab=lesson")
    expect(page.locator("#checkpoint")).to_have_value("classroom")
    expect(page.locator("#plan-open")).to_contain_text("11")
