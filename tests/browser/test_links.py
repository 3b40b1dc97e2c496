"""A link is the visitor's place: what it says comes back exactly, and what it cannot have is told in words."""

import re
from itertools import zip_longest
from typing import Any
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from playwright.sync_api import Browser, Page, expect

from transformer.data import CORPORA
from transformer.inference.attention_maps import KINDS
from transformer.inference.interventions import (
    Change,
    DropResidual,
    EditMask,
    ForceWord,
    Interventions,
    Isolate,
    Positions,
    RemoveMask,
    Silence,
    SwapWord,
    Temperature,
)
from transformer.mistakes import MISTAKES
from transformer.storage.checkpoint import available_checkpoints

from .catalogue import EN, LOCALES
from .conftest import Visit, place, script, visiting

LINK = script("core/address.js")
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
    visit.tab("inside")
    visit.page.locator("#inside button[value=encoder]").click()
    visit.page.locator("#inside .queries button").nth(2).click()
    visit.tab("attention")
    for name in ("5", "head 3", "Lines"):
        visit.press(name)
    visit.page.locator("#translation button").nth(4).click()


def one_head_of_another_sentence(visit: Visit) -> None:
    visit.tab("translate")
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
    visit.tab("attention")
    for name in ("Cross", "gold alignment", "Table"):
        visit.press(name)


def inside_the_decoder(visit: Visit) -> None:
    visit.tab("inside")
    visit.page.locator("#inside button[value=decoder]").click()
    layers, heads = visit.page.locator("#inside .pickers [role=group]").all()
    layers.get_by_role("button", name="2").click()
    heads.get_by_role("button", name="4").click()
    visit.page.locator("#inside .queries button").nth(3).click()


def a_draw(visit: Visit) -> None:
    visit.tab("break")
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
    visit.tab("lesson")
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
        "tab": "break", "part": "roads", "strategy": "sampling",
        "temperature": 1.7, "top_k": 12, "top_p": 0.85, "seed": 42,
    },
    a_slip: {"strategy": "forced", "width": 5, "alpha": 1.3},
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
        {"strategy": "beam", "width": 4, "alpha": 0.6, "temperature": 1, "top_k": 0, "top_p": 1, "seed": 0,
         "forcedMistake": None},
    ),
    "a road with one wrong turn": (
        {"part": "roads", "road": "forced", "width": "1", "alpha": "0", "temperature": "0.09", "top_k": "3",
         "top_p": "0.5", "seed": "7", "slip": f"2.{HOSTILE}"},
        ["temperature", "slip"],
        {"strategy": "forced", "width": 1, "alpha": 0, "temperature": 1, "top_k": 3, "top_p": 0.5, "seed": 7,
         "forcedMistake": None},
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
    "changes that are none": (
        {"changes": "silence.cross.1.1*edit_mask.cross.1.1.constructor", "tab": "break", "head": "3"},
        ["changes"],
        {"run": ["toy", "Ich möchte ein Bier"], "tab": "break", "head": 2},
    ),
    "a change into markup": (
        {"changes": f"swap_word.1.{HOSTILE}*force_word.1.{{{{constructor}}}}", "tab": "break", "part": "whatif"},
        ["changes"],
        {"run": ["toy", "Ich möchte ein Bier"], "tab": "break"},
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
ROADS = ["beam", "sampling", "forced"]
DIALS = {"width": (1, 5), "alpha": (0, 2), "temperature": (0.1, 3), "top_k": (0, 999_999), "top_p": (0.05, 1)}
DIALS["seed"] = (0, 999_999_999)
WHOLE = ("width", "top_k", "seed")
ANSWERS = {"mean": "averaged", "gold": "gold"}  # yes or no
OTHERS = ["checkpoint", "sentence", "changes", "language", "present", "slip"]
OURS = [*CHOICES, *COUNTED, "road", *DIALS, *ANSWERS, *OTHERS]
EXAMPLES = {name: CORPORA[name].examples[0].sentence for name in available_checkpoints()}

# How a link writes each change.
FIELDS = {
    "silence": ["kind", "layer", "head"],
    "isolate": ["kind", "layer", "heads"],
    "remove_mask": ["kind"],
    "edit_mask": ["kind", "query", "key", "allowed"],
    "positions": ["stack", "how", "seed"],
    "temperature": ["kind", "temperature"],
    "drop_residual": ["stack", "layer", "sublayer"],
    "swap_word": ["position", "word"],
    "force_word": ["step", "word"],
}
FROM_1 = ["layer", "head", "query", "key", "position", "step"]
NUMBERS = ["seed", "sublayer", "temperature"]


def known(name: str, text: str) -> Any:
    """One value of a change; None where it is none."""
    if name in FROM_1:
        return int(text) - 1 if re.fullmatch("[1-9][0-9]{0,3}", text) else None
    if name in NUMBERS:
        return float(text) if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,4})?", text) else None
    if name == "heads":
        heads = [known("head", each) for each in text.split("-")]
        return None if None in heads else heads
    if name == "allowed":
        return {"open": True, "closed": False}.get(text)
    if re.search("%(?![0-9a-fA-F]{2})", text):
        return None
    try:
        return unquote(text, errors="strict") or None
    except UnicodeDecodeError:
        return None


def known_changes(text: str) -> list[dict[str, Any]] | None:
    changes = []
    for each in text.split("*") if text else []:
        do, *rest = each.split(".")
        if do not in FIELDS:
            return None
        last = len(FIELDS[do]) - 1
        texts = [*rest[:last], ".".join(rest[last:])]
        values = {name: known(name, text) for name, text in zip_longest(FIELDS[do], texts, fillvalue="")}
        if None in values.values():
            return None
        changes.append({"do": do} | values)
    return changes


def units(text: str) -> int:
    """As JavaScript counts characters."""
    return len(text.encode("utf-16-le")) // 2


def valid(name: str, value: str) -> dict[str, Any] | None:
    """What a value changes of the place; None for a value that cannot be."""
    if name in CHOICES or name == "road":
        field = "strategy" if name == "road" else name
        return {field: value} if value in CHOICES.get(name, ROADS) else None
    if name in COUNTED:
        return {name: int(value) - 1} if re.fullmatch("[1-9][0-9]{0,3}", value) else None
    if name in DIALS:
        form = "[0-9]{1,9}" if name in WHOLE else r"[0-9](\.[0-9]{1,2})?"
        least, most = DIALS[name]
        return {name: float(value)} if re.fullmatch(form, value) and least <= float(value) <= most else None
    if name in ANSWERS:
        return {ANSWERS[name]: value == "yes"} if value in ("yes", "no") else None
    if name == "slip":
        step, _, word = value.partition(".")
        fits = re.fullmatch("[1-9][0-9]{0,3}", step) and 1 <= units(word) <= 100
        return {"forcedMistake": {"step": int(step) - 1, "word": word}} if fits else None
    allowed = {"language": LOCALES, "present": ["yes"], "checkpoint": EXAMPLES}
    return {} if name not in allowed or value in allowed[name] else None


def expected(asked: list[list[str]]) -> dict[str, Any]:
    """What an address that asks for this, in this order, is to be understood as."""
    first: dict[str, str] = {}
    for name, value in asked:
        first.setdefault(name, value)
    judged = {name: valid(name, value) for name, value in first.items() if name in OURS}
    wrong = {name for name, found in judged.items() if found is None}
    place = {key: value for found in judged.values() if found for key, value in found.items()}
    if "checkpoint" in wrong:  # layers, heads and places were another model's
        gone = [*COUNTED[:-1], "forcedMistake"]
        place = {name: value for name, value in place.items() if name not in gone}
        return {"run": None, "place": place, "wrong": wrong}
    checkpoint, sentence = first.get("checkpoint", "toy"), first.get("sentence")
    if sentence is not None and units(sentence) > 500:
        wrong.add("sentence")
        sentence = None
    changes = known_changes(first.get("changes", ""))
    if changes is None:
        wrong.add("changes")
    if sentence is None and ("checkpoint" in first or changes):
        sentence = EXAMPLES[checkpoint]
    run = None if sentence is None else {"checkpoint": checkpoint, "sentence": sentence, "changes": changes or []}
    return {"run": run, "place": place, "wrong": wrong}


# Values that mean something somewhere, most of them not where they stand.
GOOD = {
    **CHOICES,
    **{name: ["1", "2", "12", "9999"] for name in (*COUNTED, *FROM_1)},
    **{name: ["1", "5" if name in WHOLE else "0.1"] for name in DIALS},
    **{name: ["yes", "no"] for name in ANSWERS},
    **{name: ["0", "1", "0.25"] for name in NUMBERS},
    "road": ROADS,
    "slip": ["3.beer", "1.1.a b", f"2.{'x' * 100}", f"2.{'x' * 101}"],
    "language": list(LOCALES),
    "present": ["yes"],
    "checkpoint": list(EXAMPLES),
    "sentence": ["ein Bier", "x" * 500, "x" * 501],
    "kind": ["encoder", "decoder", "cross", "all"],
    "allowed": ["open", "closed"],
    "heads": ["1", "1-2", "3-3-1"],
    "stack": ["encoder", "decoder"],
    "how": ["removed", "shuffled"],
    "word": ["beer", ".", "100%25", "%2A"],
}
usual = {name: st.sampled_from(good) for name, good in GOOD.items()}
NUMBER = st.integers(-1, 10_001).map(str) | st.sampled_from(["0.05", "1.", "01", "1000000000"]) | st.floats().map(str)
MEANT = st.sampled_from(sorted({value for good in GOOD.values() for value in good}))
OBJECT = st.sampled_from(["__proto__", "constructor", "toString", "then", "null", "undefined"])
MARKUP = st.sampled_from(
    [HOSTILE, "${alert(1)}", "{{x}}", "javascript:alert(1)", "\0", "\u202e", "../../etc", "own:toy"]
)
STRANGE = OBJECT | MARKUP | MEANT | NUMBER | st.text(max_size=12)


@st.composite
def change(draw: st.DrawFn) -> str:
    """As a link writes it, or with one part that is something else."""
    do = draw(st.sampled_from(sorted(FIELDS)))
    parts = [do, *(draw(usual[name]) for name in FIELDS[do])]
    if draw(st.integers(0, 3)) == 3:
        parts[draw(st.integers(0, len(parts) - 1))] = draw(STRANGE)
    return ".".join(parts)


CHANGES = st.lists(change(), min_size=1, max_size=3).map("*".join)
NAME = st.sampled_from(OURS) | st.just("changes") | OBJECT | st.text(max_size=5)
usual["changes"] = CHANGES


@st.composite
def pair(draw: st.DrawFn) -> tuple[str, str]:
    name = draw(NAME)
    return name, draw(usual[name] if name in usual and draw(st.booleans()) else STRANGE)


PAIRS = st.lists(pair(), min_size=2, max_size=9)  # a name may come twice
FORMLESS = st.text("%&=+?.*#a1Fz\u00e9", max_size=30) | st.text(max_size=30)
QUERY = PAIRS.map(lambda pairs: urlencode(pairs, quote_via=quote))
QUERY |= st.tuples(PAIRS.map(lambda pairs: "&".join(map("=".join, pairs))), FORMLESS).map("&".join)


def test_whatever_an_address_asks_for_is_had_or_told(visit: Visit) -> None:
    page = visit.open()
    understand = f"""(query) => import({LINK}).then(({{ parseAddress }}) => ({{
        asked: [...new URLSearchParams(query)],
        understood: parseAddress(query),
        polluted: Object.keys(Object.prototype),
    }}))"""
    heard: set[str] = set()

    @settings(max_examples=500)
    @given(QUERY)
    @example("changes=edit_mask.cross.1.1.constructor")  # what every object has
    @example("changes=__proto__.cross&head=3&head=4&changes=silence.cross.1.1")
    def of_any(query: str) -> None:
        each = page.evaluate(understand, f"?{query}")
        understood, wrong = each["understood"], each["understood"]["wrong"]
        assert len(set(wrong)) == len(wrong)
        assert {f"link.{name}" for name in wrong} <= set(EN)
        assert understood | {"wrong": set(wrong)} == expected(each["asked"])
        assert each["polluted"] == []
        heard.update(wrong or ["nothing"])
        heard.update(change["do"] for change in (understood["run"] or {}).get("changes", ()))

    of_any()
    assert {"nothing", "changes", "language", "checkpoint"} <= heard, heard  # of either kind there were some
    assert len(heard) > 25, heard


WORD = st.text(min_size=1, max_size=40)
PLACE = st.integers(0, 9998)
KIND, STACK = st.sampled_from(KINDS), st.sampled_from(["encoder", "decoder"])
CHANGE = st.one_of(
    st.builds(Silence, KIND, PLACE, PLACE),
    st.builds(Isolate, KIND, PLACE, st.lists(PLACE, min_size=1, max_size=4).map(tuple)),
    st.builds(RemoveMask, KIND),
    st.builds(EditMask, KIND, PLACE, PLACE, st.booleans()),
    st.builds(Positions, STACK, st.sampled_from(["removed", "shuffled"]), st.integers(0, 999_999_999)),
    st.builds(
        Temperature, KIND | st.just("all"), temperature=st.integers(1, 10_000).map(lambda hundredths: hundredths / 100)
    ),
    st.builds(DropResidual, STACK, PLACE, st.integers(1, 3)),
    st.builds(SwapWord, PLACE, WORD),
    st.builds(ForceWord, PLACE, WORD),
)


def test_whatever_is_changed_comes_back_from_its_link(visit: Visit) -> None:
    page = visit.open()
    there_and_back = f"""async (changes) => {{
        const {{ formatChanges }} = await import({LINK.replace("address.js", "changes.js")});
        const {{ parseAddress }} = await import({LINK});
        return parseAddress("?" + new URLSearchParams({{ sentence: "ein", changes: formatChanges(changes) }}));
    }}"""

    @given(st.lists(CHANGE, max_size=4, unique_by=lambda change: change.place))
    def of_any(changes: list[Change]) -> None:
        run = Interventions(tuple(changes))
        back = page.evaluate(there_and_back, run.to_json())
        assert back["wrong"] == []
        assert Interventions.parse(back["run"]["changes"]) == run

    of_any()
