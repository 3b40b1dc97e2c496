"""Three languages: every text comes from a catalogue, and choosing another one loses nothing of the visitor's place."""

import re
from functools import partial

from playwright.sync_api import Page, expect

from transformer.mistakes import MISTAKES
from transformer.mistakes.mistake import DecodingMistake

from . import maps
from .catalogue import matching, t
from .conftest import PHONE, Visit, in_menu, place
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
    choosing,
    clicking,
    faults,
    pressing,
    type_sentence,
    walk,
)
from .texts import BEGIN, END, mark_texts, strays
from .wire import asking

NATIVE = {"en": "English", "zh-Hans": "简体中文", "zh-Hant": "繁體中文"}

# ---- text that is in no catalogue

CELLS = ((3, 0), (3, 4))  # an open one, and a masked one
MAP = "#attention .large .heatmap"
REVEALED = "#mistakes .reveal"
HEATMAP = {**MAPS, "kind": "cross", "drawing": "heatmap"}


def pointing(selector: str) -> Doing:
    return lambda page: page.locator(selector).first.hover()


def point_at_positions(page: Page) -> None:
    figures = page.locator("#positions .figure")
    figures.nth(3).locator("canvas").first.wait_for()
    figures.nth(2).locator(".curve").wait_for(state="attached")  # of the others, which are asked for apart
    for figure in figures.all():
        figure.locator(".number-chart").first.hover()
        expect(figure.locator(".pointed-number").first).to_be_visible()


# What a visitor sees elsewhere than in the places that test_accessible.py walks through.
MORE: list[Place] = [
    *(
        (f"a refusal of {sentence[:9]}", {"tab": "translate"}, "#sentence", partial(type_sentence, sentence=sentence))
        for sentence in ("", "x" * 600, "ein Bier möchte ich")
    ),
    ("an example", {}, ".examples button", clicking(".examples button")),
    ("presenter", {}, "#menu", choosing("#share")),
    ("presenter's link", {}, "#share-presenter", clicking("#share-presenter")),
    ("no popover", {}, "body", pressing("Escape")),
    *(
        (f"a {side} token", {"tab": "overview"}, f"#overview .{side}", pointing(f"#overview .token.{side}"))
        for side in ("source", "target")
    ),
    *(
        (f"tip of {cell}", HEATMAP, MAP, lambda page, cell=cell: maps.point_at(page.locator(MAP), *cell))
        for cell in CELLS
    ),
    ("a change", WHAT_IF, ".starters button", clicking(".starters button", ".change")),
    ("no change", {}, ".changed", clicking(".changed .link")),
    *(
        (name, {**BUG, "exercise": name}, "#mistakes .choice", clicking("#mistakes .choice:enabled", REVEALED))
        for name, mistake in MISTAKES.items()
        if isinstance(mistake, DecodingMistake)  # those of training are read in test_mistakes.py
    ),
    *(
        place
        for n, stop in enumerate((*range(13), 17, 18, 13), 1)
        for place in [
            (f"stop {n}, answered", {"tab": "lesson", "stop": stop}, STOP.format(n), pressing("1")),
            (f"stop {n}, revealed", {}, "#lesson :is(.reveal, .why):visible", pressing("r")),
        ]
    ),
    ("positions", {"tab": "positions", "stack": "decoder"}, "#positions .figure", point_at_positions),
]


def test_every_text_is_in_the_catalogue(visit: Visit) -> None:
    """Beside what test_accessible.py walks through, with the same marks."""
    mark_texts(visit.page)
    page = visit.open("?layer=99&tab=nope")
    expect(visit.message).to_contain_text(f"{BEGIN}{t('link.layer')}{END}")
    found = {stray for _ in walk(page, MORE) for stray in strays(page)}

    visit.tab("inside")
    cells, title = page.locator("#inside .cell"), page.locator("#inside .panel-title h3")
    for kind in ("encoder", "cross"):
        page.locator(f"#inside button[value={kind}]").click()
        expect(page.locator("#inside .say")).to_contain_text(t(f"inside.kind.{kind}"))
        visit.draw_stages()
        found |= {*strays(page)}
    for name in cells.evaluate_all("all => [...new Set(all.map(cell => cell.dataset.name.split(':')[0]))]"):
        before = title.inner_text()
        page.locator(f"#inside .cell[data-name^='{name}']").last.dispatch_event("click")  # the last key is padding
        expect(title).not_to_have_text(before)
        found |= {*strays(page)}
    assert not found, "\n".join(sorted(found))


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
    in_menu(page, "#theme")
    page.keyboard.press("Escape")
    page.set_viewport_size(PHONE)
    for name in walk(page, [each for each in PLACES if each[0] in IN_THE_DARK]):
        found[name] = strays(page) + faults(page, LOOK, "everything")
        if name == "translate":  # what axe asks of the others does not depend on the language
            found[name] += broken_rules(page, whole=True)
    assert {name: each for name, each in found.items() if each} == {}
    assert page.evaluate("window.stayed")
    page.unroute_all()
    visit.open()
    expect_language(page, "zh-Hans")
    expect(page.locator("body")).to_have_class(re.compile("dark"))


def test_choosing_again_and_again_doubles_nothing(visit: Visit) -> None:
    page = visit.open()
    visit.ask("ich trinke qwxyz")
    for language in ("zh-Hans", "zh-Hant", "en"):
        choose(page, language)
        expect(visit.message).to_have_text(matching("error.unknown", language))
    page.locator("body").click(position={"x": 2, "y": 2})
    for key, step in (("Home", 0), ("ArrowRight", 1), ("ArrowLeft", 0)):
        page.keyboard.press(key)
        assert visit.step == step
    visit.tab("inside")
    page.locator("#shapes tbody tr").first.wait_for()
    visit.draw_stages()
    visit.settle()
    visit.asked.clear()
    with asking(page, "inside"):
        visit.ask("ich möchte ein Cola")
    visit.settle()
    assert sorted(visit.asked) == ["checks", "inside", "translate"]
