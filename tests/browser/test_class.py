"""A class: a teacher leads by the keys of a remote, students follow and vote, and nobody else changes anything."""

import re
from contextlib import AbstractContextManager
from typing import Any

import httpx
from playwright.sync_api import Browser, Page, Response, expect

from .catalogue import t
from .conftest import OPENED, PHONE, Visit, follow, translate, visiting
from .test_accessible import LOOK, broken_rules, faults
from .wire import answered, question

ALONE = "?tab=lesson&stop=1"
LESSON = f"{ALONE}&present=yes"
PROJECTOR = {"viewport": {"width": 1920, "height": 1080}}
UNCOVERED = """() => {
  const edge = (selector, side) => document.querySelector(selector).getBoundingClientRect()[side];
  return scrollY > 0 && edge("#top", "bottom") <= edge(".class-panel", "top");
}"""  # the run stays above what was scrolled into view
NOTICE_LOSS = """() => new MutationObserver(() => {
  window.tallyWasLost ||= !document.querySelector(".room-tally, #room-over");
}).observe(document.body, { childList: true, subtree: true })"""
LASTING = "causal_mask"  # the longest training, which goes on until all pages have shown it


def start(teacher: Visit, place: str = LESSON) -> str:
    """The code of a class that the teacher opens."""
    page = teacher.open(place)
    page.locator("#lesson .choice").first.wait_for()
    page.locator("#class-start").click()
    expect(page.locator(".room-local")).to_be_visible()  # this server listens on 127.0.0.1 only
    expect(page.locator(".room-way")).not_to_contain_text(t("room.enter"))  # so there is neither address nor code
    code = page.locator("#room-code").inner_text()
    page.keyboard.press("Escape")
    return code


def join(student: Visit, code: str, stop: int) -> Page:
    """A student's page, once it is where the teacher is."""
    student.page.goto(f"{student.url}?room={code}")
    wait_for_stop(student.page, stop)
    return student.page


def wait_for_stop(page: Page, stop: int) -> None:
    here = page.locator("#lesson [aria-current=step]")
    expect(here).to_have_attribute("aria-label", re.compile(rf"{stop}\."))


def expect_votes(page: Page, *counts: int, round_number: int = 1) -> None:
    """For the first choices, in their order."""
    bars = page.locator(f".room-tally .round-{round_number}")
    for at, count in enumerate(counts):
        expect(bars.nth(at)).to_have_attribute("data-votes", str(count))


def expect_answered(lead: Page, answered: int, of: int) -> None:
    expect(lead.locator("#room-answered")).to_have_text(t("room.answered", answered=answered, of=of))


def led(lead: Page, do: str) -> AbstractContextManager[Any]:
    """Until the server has what the teacher does, with no training under way."""

    def is_it(answer: Response) -> bool:
        asked = answer.request.post_data_json if question(answer.request) == "lead_class" else {}
        return asked.get("do") == do and "live=" not in asked.get("place", "")

    return lead.expect_response(is_it)


def expect_no_barriers(*pages: Page) -> None:
    """axe finds nothing, and every text stands out, in the light and in the dark."""
    for page in pages:
        assert broken_rules(page) == []
        for _ in ("light", "dark"):
            assert faults(page, LOOK, "theme") == []
            page.evaluate("document.body.classList.toggle('dark')")


def test_a_class_follows_votes_and_sees_the_answer(browser: Browser, url: str) -> None:
    with (
        visiting(browser, url, **PROJECTOR) as teacher,
        visiting(browser, url, viewport=PHONE, has_touch=True) as ann,
        visiting(browser, url) as ben,
    ):
        code = start(teacher)
        ann.open(ALONE).locator("#lesson .show button").click()
        expect(ann.page.locator("#lesson .reveal")).to_be_visible()
        lead, phone, laptop = teacher.page, join(ann, code, 1), join(ben, code, 1)
        expect(lead.locator("#room-students")).to_contain_text("2")
        assert code not in lead.url
        assert "secret" not in lead.url

        answer = [phone.locator(f"#lesson {own}").first for own in (".choice", ".show", ".reveal")]
        for each in answer:  # nobody sees it before the vote, nor who has found it alone
            expect(each).to_be_hidden()
        phone.locator("#room-follow").click()  # nor does who looks around alone, and may go ahead
        expect(phone.locator("#lesson .choice").first).to_be_hidden()
        phone.keyboard.press("n")
        wait_for_stop(phone, 2)
        phone.keyboard.press("r")
        for each in answer:
            expect(each).to_be_hidden()
        phone.locator("#room-follow").click()
        wait_for_stop(phone, 1)
        laptop.keyboard.press("r")
        expect(laptop.locator("#lesson .reveal")).to_be_hidden()
        expect(laptop.locator("#lesson .keys")).to_be_hidden()  # as none of them does anything here
        expect(phone.locator(".class-panel")).to_contain_text(t("room.wait"))
        lead.keyboard.press("PageDown")  # ask
        choices = phone.locator(".room-choice")
        expect(choices).to_have_count(lead.locator("#lesson .choice").count())
        expect(laptop.locator(".room-choice").first).to_be_enabled()  # each page hears of the question by itself
        for choice in (0, 1):  # a change does not count twice
            with answered(phone, "vote"):  # the page shows a vote before the server has it
                choices.nth(choice).click()
            expect_answered(lead, 1, of=2)
        with answered(laptop, "vote"):
            laptop.keyboard.press("1")
        phone.reload()
        expect(phone.locator(".room-choice").nth(1)).to_have_attribute("aria-pressed", "true")
        expect(lead.locator(".room-tally")).to_have_count(0)  # the projector shows no bars yet
        expect_answered(lead, 2, of=2)
        lead.locator("#room-more summary").click()
        lead.context.route("**/follow_class", lambda route: route.abort())  # what the notes show at first
        with lead.expect_popup() as opened:
            lead.locator("#room-notes").click()
        expect(opened.value.locator(".speaker-notes .right")).to_have_text(str(len(translate("toy").source)))
        expect_votes(opened.value, 1, 1)
        opened.value.close()
        lead.context.unroute_all()
        expect_no_barriers(lead, phone)
        laptop.evaluate("window.setInterval = () => 0")  # else it may load itself again later, at any time
        laptop.context.set_offline(True)
        laptop.evaluate("stop()")  # breaks its stream, which the line above does not
        expect(laptop.locator(".class-panel")).to_contain_text(t("room.broken"))

        lead.keyboard.press("PageDown")  # close
        expect(phone.locator(".room-choice").first).to_be_disabled()
        expect(lead.locator("#room-close")).to_be_hidden()
        lead.keyboard.press("v")  # vote again
        expect(phone.locator(".room-choice").first).to_be_enabled()
        phone.locator(".room-choice").nth(1).click()
        expect_answered(lead, 1, of=1)
        lead.reload()  # the secret stays in the browser
        expect_answered(lead, 1, of=1)
        lead.locator("#lesson .choice").first.wait_for()
        lead.keyboard.press("PageDown")  # close
        expect(lead.locator("#room-close")).to_be_hidden()
        lead.keyboard.press("PageDown")  # reveal
        laptop.context.set_offline(False)
        for page in (lead, phone, laptop):
            expect_votes(page, 1, 1)
            expect_votes(page, 0, 1, round_number=2)
            expect(page.locator(".room-tally .right")).to_have_count(1)
            expect(page.locator("#lesson .reveal")).to_be_visible()
        phone.wait_for_function(UNCOVERED)
        expect_no_barriers(lead, phone)
        lead.keyboard.press("PageDown")  # the next stop
        for page in (lead, phone, laptop):
            wait_for_stop(page, 2)
        laptop.reload()  # as for who joins now, the answer of the stop before is past
        wait_for_stop(laptop, 2)
        expect(laptop.locator(".class-panel")).to_contain_text(t("room.wait"))

        laptop.locator("#room-follow").click()  # leave following
        lead.keyboard.press("PageUp")
        wait_for_stop(phone, 1)
        wait_for_stop(laptop, 2)
        laptop.locator("#room-follow").click()
        wait_for_stop(laptop, 1)
        laptop.locator("[data-tab-id=attention]").click()  # exploring moves nobody else
        lead.locator("#room-address").click()
        expect_no_barriers(lead)
        late: Any = {"json": {"code": code, "student": "late"}, "timeout": 60, "trust_env": False}
        with httpx.stream("POST", f"{url}api/follow_class", **late):
            expect(lead.locator("#room-students")).to_contain_text("3")
        expect(lead.locator("dialog[open] .room-letters")).to_be_visible()  # the panel was drawn again beside it
        lead.keyboard.press("Escape")
        expect(lead.locator("#lesson")).to_be_visible()

        # A mistake: its question can be put while its run goes on, which is one for the whole class.
        follow(lead, f"?tab=break&part=mistakes&exercise={LASTING}")
        lead.locator(".exercise .go").click()
        expect(phone.locator(".exercise .question h3")).to_be_visible()
        expect(phone.locator(".exercise .question > .link")).to_be_hidden()  # nor is the cause told before the vote
        expect(lead.locator(".exercise .going")).to_be_visible()
        lead.keyboard.press("PageDown")
        expect(phone.locator(".room-choice")).to_have_count(4)
        expect(phone.locator(".exercise .going")).to_be_visible()
        expect(lead.locator("#room-reveal")).to_be_visible()
        with led(lead, "reveal"):
            lead.keyboard.press("r")  # ends the vote, as the button does
        expect(phone.locator(".room-tally .right")).to_have_count(1)
        phone.evaluate(NOTICE_LOSS)
        with led(lead, "show"):  # the end of the training, which is no other place
            lead.locator(".exercise .going .pill").click()

        lead.locator("#room-end").dispatch_event("click")
        for page in (phone, laptop, lead):
            expect(page.locator("#room-over")).to_be_visible()
        assert not phone.evaluate("window.tallyWasLost")


def test_speaker_notes_open_in_the_language_of_their_teacher(visit: Visit) -> None:
    start(visit, f"{LESSON}&language=zh-Hans")
    page = visit.page
    page.locator("#room-more summary").click()
    with page.expect_popup() as opened:
        page.locator("#room-notes").click()
    expect(opened.value.locator(".speaker-notes h2")).to_have_text(t("lesson.tokens", "zh-Hans"))
    page.locator("#room-more summary").click()
    page.locator("#room-end").click()
    expect(page.locator("#room-over")).to_be_visible()


def test_a_wrong_code_answers_in_a_sentence(shared: Visit) -> None:
    page = shared.open(f"{OPENED}&room=AAAA")
    expect(page.locator("#room-over")).to_contain_text("AAAA")
    page.locator("#room-dismiss").click()  # other tests share this page
