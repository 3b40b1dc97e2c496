"""Every place has an address and a way back, and what is spoken of is in view: also in front of a class."""

from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from transformer.mistakes import MISTAKES

from .catalogue import t
from .conftest import FRAMES, LAPTOP, Visit, module, move, place, until

STOPS = 14
ROOM: Any = {"width": 1280, "height": 720}
PHONE: Any = {"width": 390, "height": 844}
BIER, COLA = "Ich möchte ein Bier", "ein cola"
PLACES = ("tab", "stop", "part", "exercise")


def in_view(page: Page, element: Locator) -> bool:
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


def expect_in_view(page: Page, *elements: Locator) -> None:
    """All at once, soon: a figure is fitted to the screen in the frames after it is drawn."""
    until(lambda: all(in_view(page, each) for each in elements))


# The words that the question and its reveal name, and the marked rows of the figure, of which none is on the screen.
UNSEEN = """() => {
  const isSeen = (element) => {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    return right > left && left > -1 && top > -1 && right < innerWidth + 1 && bottom < innerHeight + 1;
  };
  const all = (selector) => [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility());
  const named = all("#lesson .question .word").flatMap((each) => each.textContent.split(" "));
  const shown = all("#lesson .lesson-figure :is(text, .word, .chip), #top .chip").filter(isSeen);
  const words = new Set(shown.map((each) => each.textContent.toLowerCase()));
  const rows = all("#lesson .lesson-figure :is(tr.marked, rect.marked, figure)").filter((each) => !isSeen(each));
  return [...named.filter((word) => !words.has(word.toLowerCase())), ...rows.map((row) => row.outerHTML.slice(0, 80))];
}"""


# The words that the open tab's sentence names of which none is on the screen beside it.
UNSEEN_OF_TAB = """() => {
  const isSeen = (element) => {
    const { left, top, right, bottom } = element.getBoundingClientRect();
    return right > left && left > -1 && top > -1 && right < innerWidth + 1 && bottom < innerHeight + 1;
  };
  const all = (selector) => [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility());
  const [say] = all("[role=tabpanel].open .say");
  const parts = all("[role=tabpanel].open :is(text, .word, .chip), #top .chip").filter((each) => !say.contains(each));
  const shown = new Set(parts.filter(isSeen).map((each) => each.textContent.toLowerCase()));
  const named = [...say.querySelectorAll(".word")].map((each) => each.textContent.toLowerCase());
  const words = named.filter((word) => !word.includes(" "));
  return { named: words.length, unseen: isSeen(say) ? words.filter((word) => !shown.has(word)) : ["the sentence"] };
}"""


# The words of the exercise's figure, and of what is asked and told beside it, that are not all on the screen.
UNSEEN_OF_EXERCISE = """() => {
  const words = document.querySelectorAll(".exercise .columns :is(text, .word, .chip, .choice, .reveal)");
  return [...words].filter((each) => {
    const { left, top, right, bottom } = each.getBoundingClientRect();
    const isSeen = left > -1 && top > -1 && right < innerWidth + 1 && bottom < innerHeight + 1;
    return each.checkVisibility() && !isSeen;
  }).map((each) => each.textContent);
}"""


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


def open_class(page: Page) -> None:
    page.locator("#lesson .choice").first.wait_for()
    page.locator("#class-start").click()
    expect(page.locator("#room-code")).to_be_visible()
    page.keyboard.press("Escape")


def ask_class(page: Page) -> None:
    page.keyboard.press("PageDown")
    expect(page.locator("#room-close")).to_be_visible()


def reveal_to_class(page: Page) -> None:
    page.keyboard.press("PageDown")
    expect(page.locator("#room-close")).to_be_hidden()
    page.keyboard.press("PageDown")
    expect(page.locator("#room-tally")).to_be_visible()


def here(page: Page) -> dict[str, Any]:
    seen = place(page)
    return {name: seen[name] for name in PLACES}


def test_back_and_forward_walk_through_places_without_a_reload(visit: Visit) -> None:
    page = visit.open()
    page.evaluate("window.unloaded = false")
    walked = [here(page)]
    page.locator("#start-lesson").click()
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
    expect(page.locator("#return")).to_be_visible()
    walked.append(here(page))
    assert [each["tab"] for each in walked] == ["translate", "lesson", "lesson", "lesson", "break"]
    back = page.locator("#return")
    expect(back).to_have_text(t("lesson.return", n=6))
    page.keyboard.press("f")
    expect_in_view(page, back)
    page.keyboard.press("Escape")
    page.reload()
    expect(back).to_be_visible()
    page.evaluate("window.unloaded = false")
    visit.tab("train")
    walked.append(here(page))
    for expected in walked[-2::-1]:
        page.go_back()
        until_here(page, expected)
    expect(page.locator("#sentence input")).to_have_value(BIER)  # as it was there
    for expected in walked[1:]:
        page.go_forward()
        until_here(page, expected)
    page.go_back()
    back.click()
    until_here(page, walked[3])
    expect(back).to_be_hidden()
    assert page.evaluate("window.unloaded") is False


def until_here(page: Page, expected: dict[str, Any]) -> None:
    until(lambda: here(page) == expected)
    expect(page.locator(f"[data-tab-id={expected['tab']}]")).to_have_attribute("aria-selected", "true")


@pytest.mark.parametrize("is_class", [False, True])
@pytest.mark.parametrize("checkpoint", ["toy", "classroom"])
def test_a_room_sees_every_stop_and_its_answer_without_scrolling(visit: Visit, checkpoint: str, is_class: bool) -> None:
    page = visit.page
    page.set_viewport_size(ROOM)
    visit.open(f"?tab=lesson&stop=1&present=yes&checkpoint={checkpoint}")
    if is_class:
        open_class(page)
    for stop in range(1, STOPS + 1):
        expect(page.locator("#stop-title")).to_contain_text(t("lesson.title", n=stop, of=STOPS, name="").strip())
        page.locator(".lesson-figure > *").first.wait_for()
        choices = page.locator("#lesson .choice")
        if choices.count() and is_class:
            ask_class(page)
            expect_in_view(page, choices.last, page.locator("#room-answered"))
            reveal_to_class(page)
            expect_in_view(page, page.locator("#room-tally"))
        elif choices.count():
            expect_in_view(page, choices.last)
            expect(page.locator("#lesson .shape")).to_be_hidden()  # of some stops it is the answer
            press(page, "1")
            why = page.locator("#lesson .why")
            if why.is_visible():
                expect_in_view(page, why)
            press(page, "r")
        reveal = page.locator("#lesson .reveal")
        expect(reveal).to_be_visible()
        expect_in_view(page, page.locator("#stop-title"), reveal, page.locator("#translation [aria-current=step]"))
        until(lambda: page.evaluate(UNSEEN) == [] and page.evaluate(SMALLEST) >= 14)
        assert reveal.evaluate("element => parseFloat(getComputedStyle(element).fontSize)") >= 24
        page.keyboard.press("n")


@pytest.mark.parametrize("is_class", [False, True])
def test_a_room_sees_every_exercise_and_its_answer_without_scrolling(visit: Visit, is_class: bool) -> None:
    page = visit.page
    page.set_viewport_size(ROOM)
    visit.open("?tab=lesson&stop=1&present=yes&checkpoint=classroom")
    if is_class:
        open_class(page)
    for name in MISTAKES:
        move(page, {"tab": "break", "part": "mistakes", "exercise": name})
        expect(page.locator(".exercise h2")).to_contain_text(t(f"mistakes.{name}.title"))
        recorded = page.locator(".exercise").get_by_role("button", name=t("mistakes.live.recorded"))
        if recorded.is_visible():
            recorded.click()
        expect(page.locator(".exercise .say")).to_be_visible()
        if is_class:
            ask_class(page)
        figure = page.locator(".exercise .columns :is(text, .chip):visible").first
        for step in ("asked", "revealed"):
            expect(figure).to_be_visible()
            until(lambda: page.evaluate(UNSEEN_OF_EXERCISE) == [] and page.evaluate(SMALLEST) >= 12)
            if step == "asked" and is_class:
                reveal_to_class(page)
            elif step == "asked":
                press(page, "r")
        expect_in_view(page, page.locator(".exercise .reveal"))


@pytest.mark.parametrize(("language", "is_class"), [("en", True), ("zh-Hans", False)])
def test_a_room_sees_the_whole_alignment_grid(visit: Visit, language: str, is_class: bool) -> None:
    page = visit.page
    page.set_viewport_size(ROOM)
    visit.open("?tab=lesson&stops=12,15&stop=15&present=yes&checkpoint=classroom&language=" + language)
    if is_class:
        open_class(page)
        visit.settle()  # a key is for the question that stands there
        ask_class(page)
    grid = page.locator(".alignment-grid")
    for step in ("asked", "revealed"):
        for word in grid.locator("th .word").all():
            assert in_view(page, word)
        cut = "grid => [grid.parentElement, ...grid.querySelectorAll('th span')].some((each) => "
        assert not grid.evaluate(f"{cut}each.scrollHeight > each.clientHeight + 1)")
        assert grid.evaluate("({ parentElement: box }) => box.scrollWidth <= box.clientWidth + 1")
        assert page.evaluate(SMALLEST) >= 14
        if step == "asked" and is_class:
            reveal_to_class(page)
        elif step == "asked":
            press(page, "r")
    assert in_view(page, page.locator("#lesson .reveal"))
    assert in_view(page, page.locator(".alignment .say"))


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
    go = f"async (where) => (await {module('core/state.js')}).update(where)"
    for size, query, walked in (
        (ROOM, "&checkpoint=classroom&present=yes", in_a_room),
        (ROOM, "", places),
        (PHONE, "&checkpoint=classroom", places),
    ):
        page.set_viewport_size(size)
        visit.open(f"?tab=translate&step=2{query}")
        expect(page.locator("#step")).to_have_value("2")
        for where in walked:
            page.evaluate(go, where)
            page.locator("[role=tabpanel].open .say:visible .word").first.wait_for()
            until(lambda: page.evaluate(UNSEEN_OF_TAB)["unseen"] == [])
            assert page.evaluate(UNSEEN_OF_TAB)["named"], where


def test_a_phone_sees_the_tabs_and_the_one_that_is_open(visit: Visit) -> None:
    page = visit.page
    page.set_viewport_size(PHONE)
    visit.open()
    visit.ask(COLA)
    tabs = page.locator("[role=tablist]")
    assert tabs.evaluate("list => list.getBoundingClientRect().top") < 120
    page.locator("#unfold").click()
    expect(page.locator("#sentence input")).to_be_visible()
    visit.open("?tab=lesson")
    until(lambda: tabs.evaluate("list => list.getBoundingClientRect().top") < 120)  # once the frame is folded
    expect(page.locator("#lesson .choice").first).to_be_attached()
    page.evaluate("scrollTo(0, 700)")
    expect_in_view(page, page.locator("#tab-lesson"))
    page.locator("#tab-lesson").press("ArrowLeft")
    expect(page.locator("#tab-break")).to_be_focused()
    expect_in_view(page, page.locator("#tab-break"))


def test_a_phone_names_every_row_of_a_short_map(visit: Visit) -> None:
    page = visit.page
    page.set_viewport_size(PHONE)
    visit.open("?tab=lesson&stop=11&checkpoint=classroom")
    rows = page.locator("#lesson .lesson-figure text.output")
    expect(rows).to_have_count(9)
    for row in rows.all():
        expect(row).to_be_visible()


def test_the_keyboard_gets_past_the_frame_and_out_of_every_popup(visit: Visit) -> None:
    page = visit.open()
    page.locator(".skip").wait_for(state="attached")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text(t("skip"))
    page.keyboard.press("Enter")
    expect(page.locator("#panel-translate")).to_be_focused()
    for opener, popup in (
        ("#device summary", "#device .popover"),
        ("#checks summary", "#checks .popover"),
        ("#home summary", "#home .popover"),
        ("#share", ".share .popover"),
    ):
        page.locator(opener).click()
        expect(page.locator(popup)).to_be_visible()
        box = page.locator(popup).bounding_box()
        assert box is not None
        assert box["width"] > 200
        assert box["height"] < 700
        page.keyboard.press("Escape")
        expect(page.locator(popup)).to_be_hidden()
    page.keyboard.press("f")
    expect(page.locator("#leave")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator("#leave")).to_be_hidden()


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
