"""Every place has an address and a way back, and what is spoken of is in view: also in front of a class."""

from itertools import chain
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from transformer.mistakes import MISTAKES

from .catalogue import t
from .conftest import FRAMES, LAPTOP, PHONE, Visit, move, place, until

STOPS = 14
ROOM: Any = {"width": 1280, "height": 720}
BIER, COLA = "Ich möchte ein Bier", "ein cola"
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
SMALLEST = """() => {
  const words = document.querySelectorAll(":is(.lesson-figure, .columns) :is(text, td, th, h4, small, .word, .chip)");
  return Math.min(99, ...[...words].filter((each) => each.checkVisibility() && each.textContent).map((each) => {
    const { a, b } = each.getScreenCTM?.() ?? { a: each.getBoundingClientRect().width / each.offsetWidth, b: 0 };
    return parseFloat(getComputedStyle(each).fontSize) * Math.hypot(a, b);
  }));
}"""


def press(page: Page, key: str) -> None:
    """And wait for the frame in which what it changes is scrolled into view."""
    page.keyboard.press(key)
    page.evaluate(FRAMES)


def start_class(page: Page) -> None:
    page.locator("#lesson .choice").first.wait_for()
    page.get_by_role("button", name=t("class.start")).click()
    expect(page.locator("#room-code")).to_be_visible()
    page.keyboard.press("Escape")


def ask_class(page: Page) -> None:
    page.keyboard.press("PageDown")
    expect(page.locator("#room-close")).to_be_visible()


def reveal(page: Page, is_class: bool) -> None:
    if not is_class:
        press(page, "r")
        return
    page.keyboard.press("PageDown")
    expect(page.locator("#room-close")).to_be_hidden()
    page.keyboard.press("PageDown")
    expect(page.locator("#room-tally")).to_be_visible()


@pytest.fixture
def room(visit: Visit) -> Visit:
    """A projector's screen."""
    visit.page.set_viewport_size(ROOM)
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
    page.get_by_role("button", name=t("lesson.start", minutes=45)).click()
    expect(page.locator("#plan-open")).to_have_text(t("lesson.plan", minutes=45, count=8))
    walked.append(here(page))
    page.locator("#stop-next").click()
    walked.append(here(page))
    visit.ask(COLA)  # another run is not another place
    page.locator("#lesson .stops button").nth(5).click()  # cross-attention
    walked.append(here(page))
    expect(page.locator("#stop-title")).to_contain_text(t("lesson.cross"))
    page.keyboard.press("r")
    with visit.answered():
        page.locator("#lesson .question .link").last.click()
    back = page.get_by_role("button", name=t("lesson.return", n=6))
    expect(back).to_be_visible()
    walked.append(here(page))
    assert [each["tab"] for each in walked] == ["translate", "lesson", "lesson", "lesson", "break"]
    page.keyboard.press("f")
    expect_in_view(back)
    page.keyboard.press("Escape")
    page.reload()
    expect(back).to_be_visible()
    page.evaluate("window.unloaded = false")
    visit.tab("train")
    walked.append(here(page))
    for expected in walked[-2::-1]:
        page.go_back()
        until_here(page, expected)
    expect(visit.box).to_have_value(BIER)  # as it was there
    for expected in walked[1:]:
        page.go_forward()
        until_here(page, expected)
    page.go_back()
    back.click()
    until_here(page, walked[3])
    expect(back).to_be_hidden()
    assert page.evaluate("window.unloaded") is False


@pytest.mark.parametrize(("checkpoint", "is_class"), [("toy", False), ("classroom", False), ("classroom", True)])
def test_a_room_sees_every_stop_and_its_answer_without_scrolling(room: Visit, checkpoint: str, is_class: bool) -> None:
    page = room.open(f"?tab=lesson&stop=1&present=yes&checkpoint={checkpoint}")
    figure = "#lesson .lesson-figure"
    if is_class:
        start_class(page)
    for stop in range(1, STOPS + 1):
        expect(page.locator("#stop-title")).to_contain_text(t("lesson.title", n=stop, of=STOPS, name="").strip())
        page.locator(f"{figure} > *").first.wait_for()
        choices = page.locator("#lesson .choice")
        if choices.count() and is_class:
            ask_class(page)
            expect_in_view(choices.last, page.locator("#room-answered"))
            reveal(page, is_class)
            expect_in_view(page.locator("#room-tally"))
        elif choices.count():
            expect_in_view(choices.last)
            expect(page.locator("#lesson .shape")).to_be_hidden()  # of some stops it is the answer
            press(page, "1")
            why = page.locator("#lesson .why")
            if why.is_visible():
                expect_in_view(why)
            reveal(page, is_class)
        told = page.locator("#lesson .reveal")
        expect(told).to_be_visible()
        expect_in_view(page.locator("#stop-title"), told, page.locator("#translation [aria-current=step]"))
        until(lambda: unseen(page, "#lesson .question .word", f"{figure} :is(text, .word, .chip), #top .chip") == [])
        until(lambda: texts(page, f"{figure} :is(tr.marked, rect.marked, figure)")[1] == [])
        until(lambda: page.evaluate(SMALLEST) >= 14)
        assert told.evaluate("element => parseFloat(getComputedStyle(element).fontSize)") >= 24
        page.keyboard.press("n")


@pytest.mark.parametrize("is_class", [False, True])
def test_a_room_sees_every_exercise_and_its_answer_without_scrolling(room: Visit, is_class: bool) -> None:
    page = room.open("?tab=lesson&stop=1&present=yes&checkpoint=classroom")
    if is_class:
        start_class(page)
    for name in MISTAKES:
        move(page, {"tab": "break", "part": "mistakes", "exercise": name})
        expect(page.locator(".exercise h2")).to_contain_text(t(f"mistakes.{name}.title"))
        recorded = page.locator(".exercise").get_by_role("button", name=t("mistakes.live.recorded"))
        if recorded.is_visible():
            recorded.click()
        expect(page.locator(".exercise .say")).to_be_visible()
        if is_class:
            ask_class(page)
        for step in ("asked", "revealed"):
            expect(page.locator(".exercise .columns :is(text, .chip):visible").first).to_be_visible()
            until(lambda: texts(page, ".exercise .columns :is(text, .word, .chip, .choice, .reveal)")[1] == [])
            until(lambda: page.evaluate(SMALLEST) >= 12)
            if step == "asked":
                reveal(page, is_class)
        expect_in_view(page.locator(".exercise .reveal"))


@pytest.mark.parametrize(("language", "is_class"), [("en", True), ("zh-Hans", False)])
def test_a_room_sees_the_whole_alignment_grid(room: Visit, language: str, is_class: bool) -> None:
    page = room.open("?tab=lesson&stops=12,15&stop=15&present=yes&checkpoint=classroom&language=" + language)
    if is_class:
        start_class(page)
        room.settle()  # a key is for the question that stands there
        ask_class(page)
    grid = page.locator(".alignment-grid")
    for step in ("asked", "revealed"):
        assert all(in_view(word) for word in grid.locator("th .word").all())
        cut = "grid => [grid.parentElement, ...grid.querySelectorAll('th span')].some((each) => "
        assert not grid.evaluate(f"{cut}each.scrollHeight > each.clientHeight + 1)")
        assert grid.evaluate("({ parentElement: box }) => box.scrollWidth <= box.clientWidth + 1")
        assert page.evaluate(SMALLEST) >= 14
        if step == "asked":
            reveal(page, is_class)
    assert in_view(page.locator("#lesson .reveal"))
    assert in_view(page.locator(".alignment .say"))


def test_what_a_tab_says_is_in_view(visit: Visit) -> None:
    page = visit.page
    places: list[dict[str, Any]] = [
        {"tab": "overview"},
        {"tab": "translate"},
        *({"tab": "attention", "kind": kind, "drawing": "heatmap"} for kind in ("encoder", "decoder", "cross")),
        *({"tab": "attention", "kind": "cross", "drawing": drawing} for drawing in ("lines", "table")),
        {"tab": "inside"},
    ]
    in_a_room = [*places, {"tab": "break", "part": "decoding", "strategy": "sampling"}]
    panel = "[role=tabpanel].open"
    shown = f"{panel} :is(text, .word, .chip):not(.say *), #top .chip"
    for size, query, walked in (
        (ROOM, "&checkpoint=classroom&present=yes", in_a_room),
        (ROOM, "", places),
        (PHONE, "&checkpoint=classroom", places),
    ):
        page.set_viewport_size(size)
        visit.open(f"?tab=translate&step=2{query}")
        expect(visit.step_slider).to_have_value("2")
        for where in walked:
            move(page, where)
            say = page.locator(f"{panel} .say:visible").first
            say.locator(".word").first.wait_for()
            expect_in_view(say)
            # A list of words, such as all that was read, stands in the frame in parts.
            until(lambda: [each for each in unseen(page, f"{panel} .say .word", shown) if " " not in each] == [])


def test_a_phone_sees_the_tabs_and_the_one_that_is_open(visit: Visit) -> None:
    page = visit.page
    page.set_viewport_size(PHONE)
    visit.open("?kind=cross")  # which names no tab: the frame is whole
    visit.ask(COLA)
    tabs = page.get_by_role("tablist", name=t("tabs"))
    assert tabs.evaluate("list => list.getBoundingClientRect().top") < 120
    page.locator("#unfold").click()
    expect(visit.box).to_be_visible()
    visit.open("?tab=lesson&stop=11&checkpoint=classroom")
    until(lambda: tabs.evaluate("list => list.getBoundingClientRect().top") < 120)  # once the frame is folded
    rows = page.locator("#lesson .lesson-figure text.output")
    expect(rows).to_have_count(9)  # each is named
    assert all(row.is_visible() for row in rows.all())
    page.evaluate("scrollTo(0, 700)")
    lesson, before = (page.get_by_role("tab", name=t(f"tab.{name}")) for name in ("lesson", "break"))
    expect_in_view(lesson)
    lesson.press("ArrowLeft")
    expect(before).to_be_focused()
    expect_in_view(before)


def test_an_opening_page_shifts_nothing_and_asks_little(visit: Visit) -> None:
    """From a link, too."""
    page = visit.page
    page.add_init_script(
        "window.shifted = 0; new PerformanceObserver((list) => { for (const each of list.getEntries()) "
        "if (!each.hadRecentInput) shifted += each.value; }).observe({ type: 'layout-shift', buffered: true })"
    )
    for size, query in (
        (LAPTOP["viewport"], ""),
        (LAPTOP["viewport"], "?checkpoint=classroom&tab=attention"),
        (LAPTOP["viewport"], "?checkpoint=classroom&tab=lesson&stop=12"),
        (PHONE, "?checkpoint=classroom&tab=attention"),
        (PHONE, "?checkpoint=classroom&tab=inside"),
        (PHONE, "?checkpoint=classroom&tab=positions"),
        (PHONE, "?checkpoint=classroom&tab=train"),
        (PHONE, "?checkpoint=classroom&tab=break&part=decoding&strategy=sampling"),
        (PHONE, "?tab=attention&sentence=Das Wasser ist kalt"),  # which the toy refuses
    ):
        visit.requests.clear()
        page.set_viewport_size(size)
        visit.open(query)
        visit.settle()
        assert page.evaluate("shifted") <= 0.05, query
        if not query:
            assert len([each for each in visit.requests if each.startswith("http")]) < 40
    page.emulate_media(reduced_motion="no-preference")
    hide = "view => { document.body.classList.add('opening'); return getComputedStyle(view).visibility; }"
    assert page.locator(".tab-panel.open .view").first.evaluate(hide) == "hidden"  # at once, not after a transition
