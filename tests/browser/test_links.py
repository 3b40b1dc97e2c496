"""A link is the visitor's place: what it says comes back exactly, and what it cannot have is told in words."""

import random
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

import pytest
from playwright.sync_api import Browser, Page, expect

from transformer.checkpoint import names
from transformer.corpus import MATERIALS
from transformer.experiments import MISTAKES

from .conftest import ROOT, Visit
from .test_languages import LOCALES, place, visiting

EN = LOCALES["en"]
LINK = f"new URL('gradio_api/file={ROOT}/assets/js/link.js', document.baseURI).href"
FLAGSHIP = "Heute habe ich ein kaltes Bier getrunken"


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
    expect(page.locator("#sentence input")).to_have_value(expected["typed"])
    expect(page.locator("#step")).to_have_value(str(expected["step"] + 1))
    expect(page.locator(f"[data-tab-id={expected['tab']}]")).to_have_attribute("aria-selected", "true")
    assert seen(page) == expected


# ---- what was seen comes back ----


def encoder_as_lines(visit: Visit) -> None:
    visit.tab("Inside a head")
    visit.page.locator("#inside button[value=encoder]").click()
    visit.page.locator("#inside .queries button").nth(2).click()
    visit.tab("Attention")
    for name in ("5", "head 3", "Lines"):
        visit.press(name)
    visit.page.locator("#translation button").nth(4).click()


def one_head_of_another_sentence(visit: Visit) -> None:
    visit.tab("Translate")
    visit.ask("  ein BIER, möchte ich!  ")
    layers, heads = visit.page.locator("#story [role=group]").all()
    layers.get_by_role("button", name="6").click()
    heads.get_by_role("button", name="8").click()
    visit.page.locator("#translation button").first.click()


def gold_in_a_table(visit: Visit) -> None:
    visit.page.locator("#checkpoint").select_option("classroom")
    expect(visit.page.locator(".examples button").first).to_have_text(EN["example.perfect"])
    visit.page.locator(".examples button").first.click()
    expect(visit.page.locator("#translation")).to_contain_text("drunk")
    visit.tab("Attention")
    for name in ("Cross", "gold alignment", "Table"):
        visit.press(name)


def inside_the_decoder(visit: Visit) -> None:
    visit.tab("Inside a head")
    visit.page.locator("#inside button[value=decoder]").click()
    layers, heads = visit.page.locator("#inside .pickers [role=group]").all()
    layers.get_by_role("button", name="2").click()
    heads.get_by_role("button", name="4").click()
    visit.page.locator("#inside .queries button").nth(3).click()


def a_draw(visit: Visit) -> None:
    visit.tab("Break it")
    visit.press("Decoding")
    visit.press("Sampling")
    for name, value in (("temperature", "1.7"), ("top_k", "12"), ("top_p", "0.85"), ("seed", "41")):
        visit.page.locator(f"#road-{name}").fill(value)
    visit.press("Draw again")


def a_slip(visit: Visit) -> None:
    visit.press("Teacher forcing")
    visit.page.locator("#road-slip").select_option("2")
    visit.page.locator("#road-word").select_option(index=1)
    visit.press("Beam search")
    visit.press("5")
    visit.page.locator("#road-alpha").fill("1.3")
    visit.press("Teacher forcing")


def a_stop_in_chinese(visit: Visit) -> None:
    visit.tab("Lesson")
    visit.page.locator("#lesson .stops button").nth(10).click()
    visit.page.locator("#language").select_option("zh-Hant")
    expect(visit.page.locator("html")).to_have_attribute("lang", "zh-Hant")


# One walk: every place begins where the last one was left.
WALK: dict[Any, dict[str, Any]] = {
    encoder_as_lines: {"kind": "encoder", "layer": 4, "head": 2, "drawing": "lines", "query": 2, "step": 4},
    one_head_of_another_sentence: {
        "tab": "translate", "run": ["toy", "  ein BIER, möchte ich!  "], "layer": 5, "head": 7, "averaged": False,
    },
    gold_in_a_table: {
        "tab": "attention", "run": ["classroom", FLAGSHIP], "kind": "cross", "gold": True, "drawing": "table",
    },
    inside_the_decoder: {"tab": "inside", "kind": "decoder", "layer": 1, "head": 3, "query": 3, "step": 3},
    a_draw: {
        "tab": "break", "part": "roads", "road": "sampling", "temperature": 1.7, "top_k": 12, "top_p": 0.85, "seed": 42,
    },
    a_slip: {"road": "forced", "width": 5, "alpha": 1.3},
    a_stop_in_chinese: {"tab": "lesson", "stop": 10, "language": "zh-Hant", "model": "classroom"},
}  # fmt: skip


def test_a_copied_link_opens_what_was_seen(visit: Visit, browser: Browser, url: str) -> None:
    visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = visit.open()
    visit.settle()
    with visiting(browser, url) as other:  # who has chosen nothing
        for go, expected in WALK.items():
            go(visit)
            before = seen(page)
            assert before == before | expected
            page.locator("#share").click()
            expect(page.locator(".share [role=status]")).to_have_text(LOCALES[before["language"]]["share.copied"])
            link = page.evaluate("navigator.clipboard.readText()")
            page.wait_for_url(link)  # the address bar has followed
            opened = other.open(link.removeprefix(url))
            expect_seen(opened, before)
            expect(opened.locator(".message")).to_be_hidden()
            page.keyboard.press("Escape")
            expect(page.locator(".share .popover")).to_be_hidden()
    page.reload()
    expect_seen(page, before)
    assert page.url == link


def test_an_untouched_page_keeps_its_address(visit: Visit) -> None:
    page = visit.open()
    visit.settle()
    assert page.url == visit.url
    page.keyboard.press("Home")
    page.wait_for_url("**/?*step=1*")


def test_the_address_follows_a_visitor_who_is_quick(visit: Visit) -> None:
    """One move, at once, and then none for long."""
    visit.page.add_init_script(
        "const quick = setInterval(() => { const chip = document.querySelector('#translation button');"
        "if (chip) { clearInterval(quick); chip.click(); } }, 5)"
    )
    page = visit.open()
    page.wait_for_url("**/?*step=1*")


def test_without_a_clipboard_the_link_is_there_to_be_copied(visit: Visit) -> None:
    """As on any page that is served over plain http to another machine."""
    visit.page.add_init_script("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
    page = visit.open()
    page.locator("#share").click()
    expect(page.locator(".share [role=status]")).to_have_text(EN["share.copy_it"])
    link = page.get_by_label(EN["share.link"])
    expect(link).to_be_focused()
    selected = "input => input.value.slice(input.selectionStart, input.selectionEnd)"
    assert link.evaluate(selected) == link.input_value()
    assert parse_qs(urlsplit(link.input_value()).query)["checkpoint"] == ["toy"]


def test_a_presenters_link_hides_what_a_lesson_does_not_need(visit: Visit) -> None:
    visit.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = visit.open("?tab=lesson&stop=2")
    page.locator("#share").click()
    page.locator("#share-presenter").click()
    expect(page.locator(".share [role=status]")).to_have_text(EN["share.copied_presenter"])
    visit.open(page.evaluate("navigator.clipboard.readText()").removeprefix(visit.url))
    expect(page.locator("#stop-title")).to_contain_text("2 of 14")
    hidden = ("#checkpoint", "#device", "#home", ".examples", "[role=tablist]")
    for control in (*hidden, ".lesson .saves >> nth=0"):
        expect(page.locator(control)).to_be_hidden()
    for kept in ("#sentence input", "#translate", "#step", "#translation", "#lesson .question", "#stop-next"):
        expect(page.locator(kept)).to_be_visible()
    page.keyboard.press("PageDown")
    expect(page.locator("#stop-title")).to_contain_text("3 of 14")
    page.wait_for_url("**stop=3**present=yes**")
    page.reload()
    expect(page.locator("#stop-title")).to_contain_text("3 of 14")
    expect(page.locator("#checkpoint")).to_be_hidden()
    page.get_by_role("button", name=EN["share.leave"]).click()
    for control in hidden:
        expect(page.locator(control)).to_be_visible()
    expect(page.locator("#leave")).to_be_hidden()
    page.keyboard.press("PageDown")
    page.wait_for_url("**stop=4**")
    assert "present" not in parse_qs(urlsplit(page.url).query)


# ---- what cannot come back is told ----

HOSTILE = "<img src=x onerror=alert(1)>"
# What a link asks for, what of it is named as wrong, and what of it still holds.
BROKEN: dict[str, tuple[dict[str, str], list[str], dict[str, Any]]] = {
    "nothing that is there": (
        {"layer": "99", "head": "abc", "step": "1e9", "tab": "nope", "kind": HOSTILE, "drawing": "__proto__",
         "gold": "1", "mean": "true", "present": "maybe", "stop": "3"},
        ["tab", "kind", "drawing", "head", "step", "mean", "gold", "present", "layer"],
        {"tab": "translate", "kind": "cross", "drawing": "heatmap", "averaged": True, "gold": False, "stop": 2},
    ),
    "numbers that are none": (
        {"layer": "-1", "head": "0", "step": "3.0", "stop": "0", "query": "٣", "tab": "lesson", "kind": "encoder"},
        ["layer", "head", "query", "step", "stop"],
        {"tab": "lesson", "kind": "encoder", "stop": 0},
    ),
    "numbers that are too large": (
        {"head": "9", "step": "7", "stop": "15", "query": "9999", "tab": "attention", "drawing": "lines", "layer": "3"},
        ["head", "query", "step", "stop"],
        {"tab": "attention", "drawing": "lines", "layer": 2},
    ),
    "roads that lead nowhere": (
        {"tab": "break", "part": "roads", "road": "__proto__", "width": "6", "alpha": "2.1", "temperature": "1e1",
         "top_k": "-1", "top_p": "0", "seed": "9999999999", "slip": "1.nobody"},
        ["road", "width", "alpha", "temperature", "top_k", "top_p", "seed", "slip"],
        {"road": "beam", "width": 4, "alpha": 0.6, "temperature": 1, "top_k": 0, "top_p": 1, "seed": 0, "slip": None},
    ),
    "a road with one wrong turn": (
        {"part": "roads", "road": "forced", "width": "1", "alpha": "0", "temperature": "0.09", "top_k": "3",
         "top_p": "0.5", "seed": "7", "slip": f"2.{HOSTILE}"},
        ["temperature", "slip"],
        {"road": "forced", "width": 1, "alpha": 0, "temperature": 1, "top_k": 3, "top_p": 0.5, "seed": 7, "slip": None},
    ),
    "a path for a model": (
        {"checkpoint": "../../etc", "tab": "lesson", "stop": "3"},
        ["checkpoint"],
        {"run": ["toy", "Ich möchte ein Bier"], "tab": "lesson", "stop": 2},
    ),
    "a model that every object has": (
        {"checkpoint": "__proto__", "sentence": "ich", "tab": "positions"},
        ["checkpoint"],
        {"run": ["toy", "Ich möchte ein Bier"], "tab": "positions"},
    ),
    "a sentence that is too long": (
        {"checkpoint": "classroom", "sentence": "x" * 10_000, "tab": "inside", "kind": "decoder"},
        ["sentence"],
        {"run": ["classroom", FLAGSHIP], "tab": "inside", "kind": "decoder"},
    ),
    "a sentence of the other model": (
        {"checkpoint": "classroom", "sentence": f"{HOSTILE} {{{{constructor}}}}", "tab": "lesson", "stop": "4"},
        ["sentence"],
        {"run": ["classroom", FLAGSHIP], "tab": "lesson", "stop": 3},
    ),
}  # fmt: skip


def expect_nothing_ran(page: Page) -> None:
    """Visit holds dialogs and errors; this, what a sentence may have left in the page."""
    assert page.locator("#top img, #top script, header img").count() == 0


def expect_place(page: Page, expected: dict[str, Any]) -> None:
    assert place(page) == place(page) | expected


def test_a_broken_link_opens_the_page_and_says_what_was_wrong(visit: Visit) -> None:
    for name, (asked, wrong, held) in BROKEN.items():
        page = visit.open(f"?{urlencode(asked)}")
        what = EN["list.comma"].join(EN[f"link.{each}"] for each in wrong)
        message = EN["link.wrong"].format(what=what)
        expect(page.locator(".message"), name).to_have_text(message)
        expect_place(page, held)
        expect_nothing_ran(page)


@pytest.mark.parametrize("language", ["xx", "constructor"])  # a name that every object of JavaScript has
def test_a_language_that_nobody_speaks_is_told_in_one_that_is(visit: Visit, language: str) -> None:
    page = visit.open(f"?language={language}&head=3")
    expect(page.locator(".message")).to_have_text(EN["link.wrong"].format(what=EN["link.language"]))
    expect(page.locator("html")).to_have_attribute("lang", "en")
    expect_place(page, {"head": 2})


REFUSED = {
    "ich trinke wasser": "I don't know “trinke”, “wasser”.",
    HOSTILE: "I don't know “<img”",
    "{{constructor.constructor('alert(1)')()}} ${alert(1)}": "I don't know",
    "ich\0möchte": "U+0000",
    "": "There is no word to translate yet.",
    "ein " * 100: "That is 100 words",
}


def test_a_sentence_that_cannot_be_taken_is_told_as_usual(visit: Visit) -> None:
    for sentence, error in REFUSED.items():
        page = visit.open(f"?{urlencode({'sentence': sentence, 'tab': 'lesson', 'stop': 3, 'head': 99})}")
        expect(page.locator(".message")).to_contain_text(error)
        expect(page.locator(".message")).to_contain_text(EN["link.wrong"].format(what="head"))
        expect(page.locator(".message")).to_contain_text(
            EN["run.refused"].format(error="", sentence="Ich möchte ein Bier").strip()
        )
        expect_place(page, {"tab": "lesson", "stop": 2, "run": ["toy", "Ich möchte ein Bier"]})
        expect_nothing_ran(page)


def test_an_address_that_is_not_well_formed_opens(visit: Visit) -> None:
    for query, name in (("step=%zz", "step"), ("tab=%E0%A4%A", "tab"), ("stop=%00", "lesson stop"), ("=&&%=&", None)):
        page = visit.open(f"?{query}&head=3")
        expect_place(page, {"head": 2, "tab": "translate", "stop": 0})
        expect(page.locator(".message")).to_have_text(EN["link.wrong"].format(what=name) if name else "")
    page = visit.open("?layer=2&head=3&layer=99")  # asked twice, the first one counts
    expect_place(page, {"head": 2, "layer": 1})
    expect(page.locator(".message")).to_be_hidden()


# ---- whatever an address says ----

CHOICES = {
    "exercise": list(MISTAKES),
    "tab": ["translate", "attention", "positions", "inside", "train", "break", "lesson"],
    "part": ["whatif", "bugs", "roads"],
    "kind": ["encoder", "decoder", "cross"],
    "drawing": ["heatmap", "lines", "table"],
}
COUNTED = ["layer", "head", "query", "step", "stop"]
ANYTHING = [
    "", "0", "1", "2", "6", "9999", "10000", "-1", "1.5", "1e3", "0x10", " 3", "٣", "NaN", "Infinity", "yes", "no",
    "zh-Hans", "EN", "toy", "classroom", "Toy", "__proto__", "constructor", "toString", "encoder", "lesson", "lines",
    HOSTILE, "${alert(1)}", "{{x}}", "\0", "\u202e", "x" * 501, "null", "undefined", "[object Object]", "../../etc",
    "a&b", "true", "en", "own:", "own:toy", "own-x",
]  # fmt: skip
ROADS = ["beam", "sampling", "forced"]
DIALS = {"width": (1, 5), "alpha": (0, 2), "temperature": (0.1, 3), "top_k": (0, 999_999), "top_p": (0.05, 1)}
DIALS["seed"] = (0, 999_999_999)
NUMBERS = ["0", "1", "2", "6", "9999", "10000"]  # of the above, and these with a fraction
FRACTIONS = {"1.5", "0.05", "0.1"}
GOOD = CHOICES | {name: ["1", "6"] for name in COUNTED} | {"road": ROADS, "slip": ["3.beer", "1.1.a b"]}
GOOD |= {name: ["1", "0.1" if name in ("alpha", "temperature", "top_p") else "5"] for name in DIALS}
GOOD |= {"language": ["en"], "present": ["yes"], "checkpoint": ["toy"]}


def hostile(pick: random.Random) -> list[tuple[str, str]]:
    every = [*CHOICES, *COUNTED, "checkpoint", "sentence", "mean", "gold", "language", "present", "__proto__", "x"]
    every += ["road", *DIALS, "slip"]
    asked = pick.sample(every, pick.randint(1, 6))
    asked += asked[: pick.randint(0, 1)]
    return [(name, pick.choice(pick.choice([ANYTHING, GOOD.get(name, ["no"])]))) for name in asked]


def dialled(name: str, value: str) -> float | None:
    """What a dial is set to by this text, None where it cannot be."""
    whole = name in ("width", "top_k", "seed")
    if value not in [*NUMBERS, "5"] and (whole or value not in FRACTIONS):
        return None
    least, most = DIALS[name]
    return float(value) if least <= float(value) <= most else None


def test_whatever_an_address_asks_for_is_had_or_told(visit: Visit) -> None:
    page = visit.open()
    pick = random.Random(0)
    asked = [hostile(pick) for _ in range(400)]
    examples = {name: MATERIALS[name].examples[0].sentence for name in names()}
    read = f"(queries) => import({LINK}).then(({{ read }}) => queries.map((query) => read(query)))"
    answers = page.evaluate(read, ["?" + urlencode(query, quote_via=quote) for query in asked])
    for query, answer in zip(asked, answers, strict=True):
        first: dict[str, str] = {}
        for name, value in query:
            first.setdefault(name, value)
        had, wrong, run = answer["place"], answer["wrong"], answer["run"]
        assert set(answer) == {"run", "place", "wrong"}, query
        assert len(set(wrong)) == len(wrong), query
        assert {f"link.{name}" for name in wrong} <= set(EN), query
        checkpoint = first.get("checkpoint", "toy")
        assert (checkpoint not in examples) == ("checkpoint" in wrong), query
        if run is not None:
            assert run["checkpoint"] == checkpoint, query
            assert run["sentence"] == first.get("sentence", examples[checkpoint]), query
            assert len(run["sentence"]) <= 500, query
        expected: dict[str, Any] = {}
        for name, value in first.items():
            if name in CHOICES and value in CHOICES[name]:
                expected[name] = value
            elif name in COUNTED and value in ("1", "2", "6", "9999"):
                expected[name] = int(value) - 1
            elif name in ("mean", "gold") and value in ("yes", "no"):
                expected[{"mean": "averaged"}.get(name, name)] = value == "yes"
            elif name == "road" and value in ROADS:
                expected[name] = value
            elif name in DIALS and dialled(name, value) is not None:
                expected[name] = dialled(name, value)
            elif name == "slip" and value in GOOD["slip"]:
                step, word = value.split(".", 1)
                expected[name] = {"step": int(step) - 1, "word": word}
            elif name in [*CHOICES, *COUNTED, *DIALS, "mean", "gold", "road", "slip"]:
                assert name in wrong, query
        if "checkpoint" in wrong:  # layers, heads and places were another model's
            expected = {name: value for name, value in expected.items() if name not in [*COUNTED[:-1], "slip"]}
        assert had == expected, query
        assert ("language" in wrong) == (first.get("language", "en") not in LOCALES), query
        assert ("present" in wrong) == (first.get("present", "yes") != "yes"), query
    assert sum(not answer["wrong"] for answer in answers) > 20  # of either kind there were some
