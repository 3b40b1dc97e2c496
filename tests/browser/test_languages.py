"""Three languages: every text comes from a catalogue, and choosing another one loses nothing of the visitor's place."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from transformer.mistakes import MISTAKES

from . import maps
from .catalogue import matching, t
from .conftest import OPENED, PHONE, Visit, move, place
from .test_accessible import (
    BUG,
    IN_THE_DARK,
    LOOK,
    MAPS,
    PLACES,
    STOP,
    WHAT_IF,
    Doing,
    Place,
    broken_rules,
    clicking,
    faults,
    nothing,
    pressing,
    toggle_theme,
    walk,
)
from .texts import BEGIN, END, mark_texts, strays
from .wire import asking, refuse

NATIVE = {"en": "English", "zh-Hans": "简体中文", "zh-Hant": "繁體中文"}
BIER = "Ich möchte ein Bier"

# ---- text that is in no catalogue

HOVER = "node => Plotly.Fx.hover(node, { xval: 3, yval: node.data[0].z ? 2 : node.data[0].y[3] }, 'xy')"


class Reader:
    """A visitor to a page with marks around its texts, who collects what is said without."""

    def __init__(self, visit: Visit) -> None:
        self.visit, self.page = visit, visit.page
        self.found: set[str] = set()
        mark_texts(visit.page)

    def open(self, query: str = OPENED) -> None:
        self.visit.open(query)
        expect(self.page.locator("#translate")).to_have_text(f"{BEGIN}{t('sentence.translate')}{END}")  # Gradio's

    def look(self) -> None:
        self.found |= {*strays(self.page)}

    def walk(self, places: list[Place]) -> None:
        for _ in walk(self.page, places):
            self.look()

    def read_positions(self) -> None:
        page = self.page
        self.visit.tab("positions")
        figures = page.locator("#positions .figure")
        for stack in ("decoder", "encoder"):
            page.locator(f"#positions button[value={stack}]").click()
            expect(page.locator("#positions .card .hint").last).to_contain_text(matching(f"positions.sum.{stack}"))
            expect(figures.nth(3).locator(".heatmaplayer").first).to_be_visible()
            self.look()
        figures.nth(2).locator(".js-line").wait_for(state="attached")  # of the others, which are asked for apart
        for i in range(4):
            figures.nth(i).evaluate(HOVER)
            expect(figures.nth(i).locator(".hoverlayer text").first).to_be_visible()
        self.look()
        titles = figures.locator(".xtitle, .ytitle, .annotation-text").all_text_contents()
        assert len(titles) >= 6
        assert [title for title in titles if not title.startswith(BEGIN)] == []

    def read_inside(self) -> None:
        page = self.page
        self.visit.tab("inside")
        for kind in ("encoder", "decoder", "cross"):
            page.locator(f"#inside button[value={kind}]").click()
            expect(page.locator("#inside .say")).to_contain_text(t(f"inside.kind.{kind}"))
            self.visit.draw_stages()
            page.locator("#shapes tbody tr").first.wait_for()
            self.look()
        cells = page.locator("#inside .cell")
        kinds = cells.evaluate_all("all => [...new Set(all.map(cell => cell.dataset.name.split(':')[0]))]")
        assert len(kinds) == 20
        title = page.locator("#inside .panel-title h3")
        for name in kinds:
            before = title.inner_text()
            page.locator(f"#inside .cell[data-name^='{name}']").last.dispatch_event("click")  # the last key is padding
            expect(title).not_to_have_text(before)
            self.look()

    def read_changes(self) -> None:
        move(self.page, WHAT_IF)
        self.page.locator(".starters button").first.wait_for()
        change = self.page.locator("#top .change")
        for starter in self.page.locator(".starters button").all():
            starter.click()
            expect(change).to_have_count(1)
            self.look()
            change.click()
            expect(change).to_have_count(0)


def pointing(selector: str) -> Doing:
    return lambda page: page.locator(selector).first.hover()


CELLS = ((3, 0), (3, 4))  # an open one, and a masked one
MAP = "#attention .large .heatmap"
HEATMAP = {**MAPS, "kind": "cross", "drawing": "heatmap"}
# What a visitor sees elsewhere than in the places that test_accessible.py walks through.
MORE: list[Place] = [
    ("presenter", {}, "#share", clicking("#share")),
    ("presenter's link", {}, "#share-presenter", clicking("#share-presenter")),
    ("no popover", {}, "body", pressing("Escape")),
    *(
        (
            f"{side} {n}",
            {"tab": "overview"},
            f"#overview .token.{side}",
            pointing(f"#overview .token.{side} >> nth={n}"),
        )
        for side in ("source", "target")
        for n in (0, -1)
    ),
    *(
        (f"tip of {cell}", HEATMAP, MAP, lambda page, cell=cell: maps.point_at(page.locator(MAP), *cell))
        for cell in CELLS
    ),
    *(
        (name, {**BUG, "exercise": name}, "#mistakes .choice", clicking("#mistakes .choice", "#mistakes .reveal"))
        for name in list(MISTAKES)[4:]  # those of training are read in test_mistakes.py
    ),
    *(
        place
        for n in range(1, 15)
        for place in [
            (f"stop {n}", {"tab": "lesson", "stop": n - 1}, STOP.format(n), pressing("1")),
            (f"stop {n}, answered", {}, "#lesson :is(.reveal, .why):visible", pressing("r")),
            (f"stop {n}, revealed", {}, "#lesson .reveal", nothing),
        ]
    ),
    ("stop 3", {"stop": 2}, ".lesson-figure .cell", clicking(".lesson-figure .cell", "#lesson .arithmetic-box")),
]


@pytest.fixture
def reader(visit: Visit) -> Iterator[Reader]:
    reader = Reader(visit)
    yield reader
    assert not reader.found, "\n".join(sorted(reader.found))


def test_every_text_is_in_the_catalogue(reader: Reader) -> None:
    """Beside what test_accessible.py walks through, with the same marks."""
    visit = reader.visit
    reader.open("?layer=99&tab=nope")
    expect(visit.message).to_contain_text(f"{BEGIN}{t('link.layer')}{END}")
    reader.look()
    for sentence in ("ich trinke wasser", "", "x" * 600, "ein Bier möchte ich", "ich mochte ein cola", BIER):
        visit.ask(sentence)
        reader.look()
    reader.page.keyboard.press("End")
    reader.look()
    reader.read_positions()
    reader.read_inside()
    reader.read_changes()
    reader.walk(MORE)
    visit.choose_model("classroom")
    with visit.answered():
        reader.page.locator(".examples").get_by_role("button").nth(2).click()
    reader.look()


def test_what_the_server_refuses_is_told_in_the_visitors_language(reader: Reader) -> None:
    """Its refusals are for programs, in English; the page has words of its own for them."""
    page = reader.page
    refuse(page, "error.request")
    reader.open()
    page.locator("#checks[data-state='–']").wait_for()
    reader.walk(
        [
            ("the checks", {}, "#checks", clicking("#checks summary")),
            ("take home", {}, "#home", clicking("#home summary")),
            ("a file", {}, "[data-file=csv]", clicking("[data-file=csv]", "#home [role=alert]")),
            ("positions", {"tab": "positions"}, "#positions .hint >> nth=-1", nothing),
            ("inside", {"tab": "inside"}, "#inside .say:not(:empty)", nothing),
            ("lesson", {"tab": "lesson", "stop": 3}, ".lesson-figure .hint", nothing),
        ]
    )


# ---- choosing a language


def choose(page: Page, language: str) -> None:
    page.locator("#language").select_option(language)
    expect_language(page, language)


def expect_language(page: Page, language: str) -> None:
    expect(page.locator("html")).to_have_attribute("lang", language)
    expect(page.locator("#language")).to_have_value(language)
    expect(page.locator("#language option:checked")).to_have_text(NATIVE[language])
    expect(page.get_by_role("tab").first).to_contain_text(t("tab.overview", language))


def test_another_language_is_chosen_at_once_in_every_tab_for_everybody_and_remembered(visit: Visit) -> None:
    """In the dark, on a phone."""
    sentence, found = "Der Hund sieht den Mann", {}
    mark_texts(visit.page, "zh-Hans")
    page = visit.open(f"?checkpoint=classroom&sentence={sentence}&tab=lesson&stop=12&kind=decoder&layer=2&head=3")
    expect(visit.box).to_have_value(sentence)
    expect(page.locator("#stop-title")).to_have_text(matching("lesson.title", n=12))
    visit.words.nth(1).click()
    page.keyboard.press("r")
    expect(page.locator("#lesson .reveal")).to_be_visible()
    visit.box.fill("ich")  # not asked for yet
    before = place(page)
    at = {"tab": "lesson", "stop": 11, "kind": "decoder", "layer": 1, "head": 2, "step": 1}
    assert before == before | at | {"run": ["classroom", sentence]}
    page.evaluate("window.stayed = true")
    for language in ("zh-Hant", "zh-Hans"):
        choose(page, language)
        assert place(page) == before
        expect(visit.box).to_have_attribute("placeholder", re.compile(t("sentence.label", language)))
        expect(visit.box).to_have_value("ich")
    visit.tab("inside")
    page.locator("#shapes table").first.wait_for()  # asked for when it is near: on a phone it is far below
    visit.tab("lesson")
    page.set_viewport_size(PHONE)
    toggle_theme(page)
    for name in walk(page, [each for each in PLACES if each[0] in IN_THE_DARK]):
        found[name] = strays(page) + faults(page, LOOK, "everything")
        if name in ("overview", "translate", "train"):  # what axe asks of the others does not depend on the language
            found[name] += broken_rules(page, whole=name == "translate")
    assert {name: each for name, each in found.items() if each} == {}
    assert page.evaluate("window.stayed")
    page.unroute_all()
    visit.open()
    expect_language(page, "zh-Hans")


def test_choosing_again_and_again_doubles_nothing(visit: Visit) -> None:
    page = visit.open()
    visit.ask("ich trinke wasser")
    expect(visit.message).to_have_text(matching("error.unknown"))
    for language in ("zh-Hans", "zh-Hant", "en"):
        choose(page, language)
        expect(visit.message).to_have_text(matching("error.unknown", language))
        expect(visit.translation).to_have_text("i want a beer . E")
    page.locator("body").click(position={"x": 2, "y": 2})
    for key, step in (("Home", 0), ("ArrowRight", 1), ("ArrowLeft", 0)):
        page.keyboard.press(key)
        assert visit.step == step
    for name in ("pause", "play"):
        page.keyboard.press("Space")
        expect(page.get_by_role("button", name=t(f"run.{name}"))).to_be_visible()
    visit.tab("lesson")
    for stop in (1, 2):
        expect(page.locator("#stop-title")).to_have_text(matching("lesson.title", n=stop))
        page.keyboard.press("PageDown")
    expect(page.locator("#stop-title")).to_have_text(matching("lesson.title", n=3))
    visit.tab("inside")
    page.locator("#shapes tbody tr").first.wait_for()
    visit.draw_stages()
    visit.settle()
    visit.asked.clear()
    with asking(page, "shapes"):  # the last
        visit.ask("ich möchte ein Cola")
    expect(visit.translation).to_contain_text("coke")
    visit.settle()
    assert sorted(visit.asked) == ["checks", "inside", "shapes", "translate"]

    page.route("**/locales/zh-Hans.json", lambda route: route.abort())
    page.reload()
    page.locator("#language").select_option("zh-Hans")  # a catalogue that does not come leaves the page as it is
    expect_language(page, "en")
    choose(page, "zh-Hant")


def test_a_browser_is_answered_in_its_own_language(visit: Visit) -> None:
    page = visit.page
    agent = page.evaluate("navigator.userAgent")
    browser = page.context.new_cdp_session(page)
    for locale, language in (("zh-HK", "zh-Hant"), ("zh-CN", "zh-Hans"), ("de-DE", "en")):
        browser.send("Emulation.setUserAgentOverride", {"userAgent": agent, "acceptLanguage": locale})
        visit.open()
        assert page.evaluate("navigator.languages") == [locale]
        expect_language(page, language)
