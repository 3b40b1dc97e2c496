"""Every place has an address and a way back, and what is spoken of is in view: also in front of a class."""

from itertools import chain
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, Route, expect

from .catalogue import matching, t
from .conftest import BIER, FRAMES, LAPTOP, PHONE, PROJECTOR, Visit, move, place, until
from .test_lesson import LINKS, STOPS

COLA = "ein cola"
EXERCISES = ("softmax_dim", "causal_mask", "teacher_forced_test")  # of maps, of losses, of a training's sentences
PLACES = ("tab", "stop", "part", "exercise")


def in_view(element: Locator) -> bool:
    """Whether all of an element is on the screen: not scrolled away, covered or transparent."""
    return element.evaluate(
        """element => {
          const { left, top, right, bottom } = element.getBoundingClientRect();
          if (left < -1 || top < -1 || right <= left) return false;
          if (right > innerWidth + 1 || bottom > innerHeight + 1) return false;
          if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return false;
          const at = document.elementFromPoint((left + right) / 2, (top + bottom) / 2);
          return element.contains(at) || Boolean(at?.contains(element));
        }"""
    )


def expect_in_view(*elements: Locator) -> None:
    """All at once, soon: a figure is fitted to the screen in the frames after it is drawn."""
    until(lambda: all(in_view(each) for each in elements))


# What is visible of the elements of a selector, by whether all of it is on the screen.
SEEN = """selector => {
  const seen = { on: [], off: [] };
  for (const each of document.querySelectorAll(selector)) {
    const { left, top, right, bottom } = each.getBoundingClientRect();
    const isOn = left > -1 && top > -1 && right < innerWidth + 1 && bottom < innerHeight + 1;
    if (each.checkVisibility()) seen[isOn ? "on" : "off"].push(each.textContent.toLowerCase());
  }
  return seen;
}"""


def texts(page: Page, selector: str) -> tuple[list[str], list[str]]:
    """On the screen, and not."""
    seen = page.evaluate(SEEN, selector)
    return seen["on"], seen["off"]


def unseen(page: Page, named: str, shown: str) -> list[str]:
    """What is said by `named`, of which not every word is on the screen among `shown`."""
    on = texts(page, shown)[0]
    return [each for each in chain(*texts(page, named)) if not set(each.split()) <= set(on)]


# px of the smallest word in the figure of the stop or of the exercise, as it is scaled.
# An element's width before it is scaled is rounded to a pixel, so its scale may be a little more.
SMALLEST = """() => {
  const words = document.querySelectorAll(":is(.lesson-figure, .columns) :is(text, td, th, h4, small, .word, .chip)");
  return Math.min(99, ...[...words].filter((each) => each.checkVisibility() && each.textContent).map((each) => {
    const { width } = each.getBoundingClientRect();
    const { a, b } = each.getScreenCTM?.() ?? { a: width / (each.offsetWidth - 0.5), b: 0 };
    return parseFloat(getComputedStyle(each).fontSize) * Math.hypot(a, b);
  }));
}"""


def press(page: Page, key: str) -> None:
    """And wait for the frame in which what it changes is scrolled into view."""
    page.keyboard.press(key)
    page.evaluate(FRAMES)


@pytest.fixture
def projected(visit: Visit) -> Visit:
    """A projector's screen."""
    visit.page.set_viewport_size(PROJECTOR)
    return visit


def here(page: Page) -> dict[str, Any]:
    seen = place(page)
    return {name: seen[name] for name in PLACES}


def until_here(page: Page, expected: dict[str, Any]) -> None:
    until(lambda: here(page) == expected)
    expect(page.get_by_role("tab", selected=True)).to_have_attribute("data-tab-id", expected["tab"])


def test_back_and_forward_walk_through_places_without_a_reload(visit: Visit) -> None:
    page = visit.open()
    walked = [here(page)]
    with visit.answered():  # by the classroom model, with which the lesson begins
        visit.tab("lesson")
    expect(page.locator("#checkpoint")).to_have_value("classroom")
    walked.append(here(page))
    page.locator("#stop-next").click()
    walked.append(here(page))
    visit.ask(COLA)  # another run is not another place
    page.locator("#lesson .stops button").nth(7).click()  # cross-attention
    walked.append(here(page))
    expect(page.locator("#stop-title")).to_contain_text(t("lesson.cross"))
    page.keyboard.press("r")
    with visit.answered():
        page.locator("#lesson .question .link").last.click()
    back = page.get_by_role("button", name=t("lesson.return", n=8))
    expect(back).to_be_visible()
    walked.append(here(page))
    assert [each["tab"] for each in walked] == ["translate", "lesson", "lesson", "lesson", "break"]
    visit.settle()
    # A reload while the address is written would begin another history; the page writes it after 300 ms.
    page.evaluate("new Promise((done) => setTimeout(done, 400))")
    page.reload()
    expect(back).to_be_visible()
    page.evaluate("window.unloaded = false")
    for expected in walked[-2::-1]:
        page.go_back()
        until_here(page, expected)
    expect(visit.box).to_have_value(BIER)  # as it was there
    for expected in walked[1:]:
        page.go_forward()
        until_here(page, expected)
    back.click()
    until_here(page, walked[3])
    expect(back).to_be_hidden()
    assert page.evaluate("window.unloaded") is False


def test_a_place_opens_where_the_browser_refuses_it_an_entry(shared: Visit) -> None:
    """As Safari does for some seconds after 100 entries, while an arrow key is held."""
    page = shared.go(tab="translate")
    page.evaluate("() => { history.pushState = () => { throw new DOMException('', 'SecurityError') } }")
    page.locator("#tab-positions").click()
    expect(page.locator("#panel-positions .figure").first).to_be_visible()
    page.evaluate("delete history.pushState")
    page.wait_for_url(lambda url: "tab=positions" in url)  # in place of the last one


def test_a_class_sees_every_stop_and_its_answer_without_scrolling(projected: Visit) -> None:
    page = projected.open("?tab=lesson&stop=1&present=yes&checkpoint=classroom")
    figure = "#lesson .lesson-figure"
    for n, stop in enumerate(LINKS, 1):
        move(page, {"stop": stop})
        expect(page.locator("#stop-title")).to_have_text(matching("lesson.title", n=n))
        page.locator(f"{figure} > :not(:empty)").first.wait_for()
        expect_in_view(page.locator("#lesson .choice").last)
        press(page, "r")
        expect_answer_in_view(page)
        until(lambda: texts(page, f"{figure} :is(tr.marked, rect.marked, figure)")[1] == [])
    projected.go(
        "classroom", "Der alte Mann liest am Abend im Garten ein neues Buch", tab="lesson", stop=15, present="yes"
    )
    cells = page.locator(".alignment-grid td[role=gridcell]")
    expect_in_view(cells.first, cells.last)


def expect_answer_in_view(page: Page) -> None:
    told, figure = page.locator("#lesson .reveal"), "#lesson .lesson-figure"
    expect(told).to_be_visible()
    expect_in_view(page.locator("#stop-title"), told, page.locator("#translation [aria-current=step]"))
    until(lambda: unseen(page, "#lesson .question .word", f"{figure} :is(text, .word, .chip), #top .chip") == [])
    until(lambda: page.evaluate(SMALLEST) >= 14)
    assert told.evaluate("element => parseFloat(getComputedStyle(element).fontSize)") >= 24


def ask_class(page: Page) -> None:
    page.keyboard.press("PageDown")
    expect(page.locator("#room-close")).to_be_visible()


def reveal_to_class(page: Page) -> None:
    page.keyboard.press("PageDown")
    expect(page.locator("#room-close")).to_be_hidden()
    page.keyboard.press("PageDown")
    expect(page.locator(".room-tally:visible")).to_be_visible()


def test_a_class_sees_questions_votes_and_answers_without_scrolling(projected: Visit) -> None:
    """They take more space than the same without a class: of a stop of the lesson, and of exercises of each kind."""
    page = projected.open("?tab=lesson&stop=9&present=yes&checkpoint=classroom")
    page.locator("#lesson .choice").first.wait_for()
    page.get_by_role("button", name=t("class.start")).click()
    expect(page.locator(".room-local")).to_be_visible()  # in a dialog, which takes the keys as long as it is open
    page.keyboard.press("Escape")
    expect(page.locator(".room-local")).to_be_hidden()
    for stop in ("ffn", "cross"):  # a wide figure, and one beside the text
        move(page, {"stop": STOPS.index(stop)})
        expect(page.locator("#stop-title")).to_contain_text(t(f"lesson.{stop}"))
        ask_class(page)
        expect_in_view(page.locator("#lesson .choice").last, page.locator("#room-answered"))
        reveal_to_class(page)
        expect_in_view(page.locator(".room-tally"), page.locator(".lesson-text"))
        expect_answer_in_view(page)
    for name in EXERCISES:
        move(page, {"tab": "break", "part": "mistakes", "exercise": name})
        expect(page.locator(".exercise h2")).to_contain_text(t(f"mistakes.{name}.title"))
        recorded = page.locator(".exercise").get_by_role("button", name=t("mistakes.live.recorded"))
        if recorded.is_visible():
            recorded.click()
        expect(page.locator(".exercise .say")).to_be_visible()
        ask_class(page)
        for step in (reveal_to_class, None):
            expect(page.locator(".exercise .columns :is(text, .chip):visible").first).to_be_visible()
            until(lambda: texts(page, ".exercise .columns :is(text, .word, .chip, .choice, .reveal)")[1] == [])
            until(lambda: page.evaluate(SMALLEST) >= 12)
            if step:
                step(page)
        expect_in_view(page.locator(".exercise .room-tally .right"), page.locator(".exercise .codes"))


def test_what_a_tab_says_is_in_view(visit: Visit) -> None:
    """On a phone, and in front of a class, where the type is larger than on a laptop."""
    page, panel = visit.page, "[role=tabpanel].open"
    places: list[dict[str, Any]] = [
        {"tab": "overview"},
        {"tab": "translate"},
        *({"tab": "attention", "kind": kind, "drawing": "heatmap"} for kind in ("encoder", "cross")),
        {"tab": "attention", "kind": "cross", "drawing": "table"},
        {"tab": "inside"},
    ]
    shown = f"{panel} :is(text, .word, .chip):not(.say *), #top .chip"
    for size, query, walked in (
        (PROJECTOR, "&present=yes", [*places, {"tab": "break", "part": "decoding", "strategy": "sampling"}]),
        (PHONE, "", places),
    ):
        page.set_viewport_size(size)
        visit.open(f"?tab=translate&step=2&checkpoint=classroom{query}")
        expect(visit.step_slider).to_have_value("2")
        for where in walked:
            move(page, where)
            say = page.locator(f"{panel} .say:visible").first
            say.locator(".word").first.wait_for()
            expect_in_view(say)
            # A list of words, such as all that was read, stands in the frame in parts.
            until(lambda: [each for each in unseen(page, f"{panel} .say .word", shown) if " " not in each] == [])
        page.evaluate("scrollTo(0, document.body.scrollHeight)")  # the run stays in sight
        expect(page.locator("#translation [aria-current=step]")).to_be_in_viewport()


def test_a_phone_sees_the_tabs_and_the_one_that_is_open(visit: Visit) -> None:
    page = visit.page
    page.set_viewport_size(PHONE)
    visit.open("?tab=lesson&stop=11&checkpoint=classroom")
    tabs = page.get_by_role("tablist", name=t("tabs"))
    until(lambda: tabs.evaluate("list => list.getBoundingClientRect().top") < 120)  # once the frame is folded
    page.locator("#unfold").click()
    expect(visit.box).to_be_visible()
    page.evaluate("scrollTo(0, 700)")
    lesson, before = (page.get_by_role("tab", name=t(f"tab.{name}")) for name in ("lesson", "break"))
    expect_in_view(lesson)
    lesson.press("ArrowLeft")
    expect(before).to_be_focused()
    expect_in_view(before)


def test_gradios_loader_is_not_drawn_over_the_page(visit: Visit) -> None:
    """It waits for parts of Gradio that nobody sees, such as the small one behind the actions for programs."""
    held: list[Route] = []

    def hold(route: Route) -> None:
        answer = route.fetch()
        held.append(route) if len(answer.body()) < 1000 else route.fulfill(response=answer)

    visit.page.route("**/assets/Index-*.js", hold)
    page = visit.open()
    until(lambda: bool(page.title()) and bool(held))  # asked something, Playwright hears of requests
    expect(page.get_by_text("Loading...")).to_be_hidden()
    for each in held:
        each.continue_()


def test_an_opening_page_shifts_nothing_and_asks_little(visit: Visit) -> None:
    """With the run that every page brings along: that of a link may come late, and need another line."""
    page = visit.page
    page.add_init_script(
        "window.shifts = []; new PerformanceObserver((list) => { for (const each of list.getEntries()) "
        "if (!each.hadRecentInput) shifts.push([each.value, ...each.sources.map(({ node }) => node?.outerHTML)]); })"
        ".observe({ type: 'layout-shift', buffered: true })"
    )
    for size, query in (
        (LAPTOP["viewport"], ""),
        (LAPTOP["viewport"], "?tab=lesson&stop=12"),
        *((PHONE, f"?tab={tab}") for tab in ("attention", "positions", "train")),
    ):
        visit.requests.clear()
        page.set_viewport_size(size)
        visit.open(query)
        visit.settle()
        shifts = page.evaluate("shifts")
        assert sum(value for value, *_ in shifts) <= 0.05, (query, shifts)
        if not query:
            assert len([each for each in visit.requests if each.startswith("http")]) < 40
