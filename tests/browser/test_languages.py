"""Three languages: every text comes from a catalogue, and choosing another one loses nothing of the visitor's place."""

import json
import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from transformer.inference.translator import Translator
from transformer.mistakes import MISTAKES
from transformer.storage.checkpoint import available_checkpoints

from .catalogue import LOCALES, matching, t
from .conftest import LAPTOP, OPENED, PHONE, Visit, move, place
from .test_accessible import BUG, MAPS, PLACES, STOP, WHAT_IF, Doing, Place, clicking, nothing, pressing, walk
from .wire import asking, refuse

NATIVE = {"en": "English", "zh-Hans": "简体中文", "zh-Hant": "繁體中文"}
BIER = "Ich möchte ein Bier"

# ---- text that is in no catalogue

# Everything that a visitor can see or hear, less what stands in ⟦ ⟧, which may open in one node and close in another.
STRAYS = r"""() => {
    const { tokens, names, outputs } = window.known;
    const [words, usual, either] = [new Set(tokens), new Set(names), new Set(outputs)];
    const own = "#language option, .word, .chip, .formula, svg .label.source, svg .label.target, dt, dd, .token-ids, " +
        "#sentence input, #sentence textarea, .share input, .example-list button"; // whole sentences, shortened
    // Where tokens of either language stand among other text.
    const spoken = ".choice, .tip, .lines, .strips, .ytick, .figure, .overview, #setting-mistake, .target select, " +
        "#whatif select";
    const never = "script, style, noscript, .visually-hidden[aria-hidden=true], code"; // PyTorch has one language, too
    const told = ["aria-label", "aria-valuetext", "title", "placeholder", "alt", "data-title"];
    const plain = (word) => word.toLowerCase().normalize("NFD").replace(/\u0308/g, "").replaceAll("ß", "ss");
    const seen = (element) => element.tagName === "OPTION" ? seen(element.parentElement)
        : element.checkVisibility({ visibilityProperty: true }) && element.getClientRects().length > 0;
    const isStrange = (text, element) => {
        const all = window.unusual; // asked again at every look
        if (!all.has(text)) all.set(text, (text.match(/\p{L}[\p{L}\p{N}_]*/gu) ?? [])
            .filter((word) => !usual.has(word) && !words.has(plain(word))));
        return all.get(text).some((word) => !(either.has(word) && element.closest(spoken)));
    };
    const isBroken = (text, element) => /undefined|\[object|\{\w+\}/.test(text) ||
        (/NaN/.test(text) && !element.closest("#mistakes")); // one of which is about it
    const found = [];
    let depth = 0;
    const read = (how, text, element, isOwn = false) => {
        let left = "";
        for (const char of text) {
            if (char === "⟦") depth++;
            else if (char === "⟧") depth--;
            else if (depth === 0) left += char;
        }
        if (!(isBroken(text, element) || (!isOwn && isStrange(left, element))) || !seen(element)) return;
        const [id, kind] = [element.closest("[id]")?.id, element.getAttribute("class")];
        found.push(`${how} in #${id} ${element.tagName.toLowerCase()}.${kind}: ${text.trim()}`);
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const [text, element] = [walker.currentNode.data, walker.currentNode.parentElement];
        if (/[\p{L}⟦⟧]/u.test(text) && !element.closest(never)) read("text", text, element, element.closest(own));
    }
    if (depth) found.push(`brackets do not match: ${depth}`);
    for (const element of document.body.querySelectorAll(told.map((name) => `[${name}]`).join())) {
        for (const name of told) {
            depth = 0;
            read(name, element.getAttribute(name) ?? "", element);
        }
    }
    return found;
}"""

NAMES = ["S", "E", "P", "Q", "K", "V", "SVG", "PNG", "cpu", "Attention", "bitte"]
SYMBOLS = ["softmax", "max", "e", "z", "t", "Σ"]  # in arithmetic and shapes: mathematics has one language
HOVER = "node => Plotly.Fx.hover(node, { xval: 3, yval: node.data[0].z ? 2 : node.data[0].y[3] }, 'xy')"


class Reader:
    """A visitor to a page whose English catalogue says everything in ⟦ ⟧, who collects what is said without."""

    def __init__(self, visit: Visit) -> None:
        self.visit, self.page = visit, visit.page
        self.found: set[str] = set()
        checkpoints = [Translator.load(name, device="cpu").checkpoint for name in available_checkpoints()]
        known = {
            "tokens": [word for each in checkpoints for word in each.src_vocab.words],
            "outputs": [word for each in checkpoints for word in each.tgt_vocab.words],
            "names": [*NAMES, *SYMBOLS, *available_checkpoints()],
        }
        self.page.add_init_script(
            f"window.known = {json.dumps(known)}; window.unusual = new Map(); window.strays = {STRAYS}"
        )
        marked = {key: f"⟦{text}⟧" for key, text in LOCALES["en"].items()}
        self.page.route("**/locales/en.json", lambda route: route.fulfill(json=marked))

    def open(self, query: str = OPENED) -> None:
        self.visit.open(query)
        expect(self.page.locator("#translate")).to_have_text(f"⟦{t('sentence.translate')}⟧")  # Gradio's own part

    def look(self) -> None:
        self.found |= set(self.page.evaluate("strays()"))

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
        assert [title for title in titles if not title.startswith("⟦")] == []

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


CELLS = ("rect[data-weight]", "rect.masked[data-look]")
HEATMAP = {**MAPS, "kind": "cross", "drawing": "heatmap"}
# What a visitor sees elsewhere than in the places that test_accessible.py walks through.
MORE: list[Place] = [
    ("presenter", {}, "#share", clicking("#share")),
    ("presenter's link", {}, "#share-presenter", clicking("#share-presenter")),
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
    *((f"tip of {cell}", HEATMAP, f".large {cell}", pointing(f".large {cell}")) for cell in CELLS),
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


def test_every_text_of_the_toys_page_is_in_the_catalogue(reader: Reader) -> None:
    reader.open("?layer=99&tab=nope")
    expect(reader.visit.message).to_contain_text(f"⟦{t('link.layer')}⟧")
    reader.look()
    for sentence in ("ich trinke wasser", "", "x" * 600, "ein Bier möchte ich", "ich mochte ein cola", BIER):
        reader.visit.ask(sentence)
        reader.look()
    reader.page.locator("#story [role=group]").last.get_by_role("button", name="2").click()
    reader.page.keyboard.press("End")
    reader.look()
    reader.walk([place for place in PLACES if not place[0].startswith("lesson")])
    reader.page.keyboard.press("Escape")
    reader.read_positions()
    reader.read_inside()
    reader.read_changes()
    reader.walk(MORE)


def test_every_text_of_the_classrooms_page_is_in_the_catalogue(reader: Reader) -> None:
    """Where it differs from the toy's: there are gold links, held-out sentences, named examples and a longer list."""
    page = reader.page
    page.set_viewport_size(PHONE)
    reader.open("?checkpoint=classroom&language=xx")
    tabs = page.get_by_role("tab", name=re.compile("^⟦.+⟧$"))  # which are pictures here
    expect(tabs).to_have_count(len(IN_TABS))
    page.set_viewport_size(LAPTOP["viewport"])
    expect(reader.visit.translation).to_contain_text("drunk")
    reader.visit.ask("Heute habe ich ein Bier getrunkn")
    reader.look()
    example = page.locator(".examples button").nth(2)
    example.click()
    expect(reader.visit.box).to_have_value(example.get_attribute("data-sentence") or "")
    reader.look()
    reader.walk([place for place in PLACES if place[0] in ("the word list", "attention, gold")])


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
    expect(page.get_by_role("tab").first).to_have_text(t("tab.overview", language))


# In every tab some texts, and where they stand.
IN_TABS = {
    "overview": {"#overview .stack-name": "overview.encoder", "#overview .hint": "overview.legend"},
    "translate": {"#story h2": "translate.output", "#story .hint": "translate.loop", "#story .pair": "layer"},
    "attention": {"#attention h2": "attention.axes", "#heads h2": "heads.title", "#ablation": "ablation.all"},
    "positions": {"#positions h2": "positions.rows", "#positions .xtitle": "figure.dimension"},
    "inside": {"#inside h3": "inside.qkv", "#inside .say": "inside.say", "#shapes h2": "shapes.title"},
    "train": {"#train h2": "models.title"},
    "break": {"#whatif h2": "whatif.steps", "#whatif h3": "panel.heads", "#breakit .lead": "break.whatif.about"},
    "lesson": {
        "#stop-title": "lesson.cross",
        "#lesson h3": "lesson.cross.question",
        "#lesson .reveal": "lesson.cross.reveal",
    },
}


def test_another_language_is_chosen_at_once_and_remembered(visit: Visit) -> None:
    sentence = "Der Hund sieht den Mann"
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
        assert page.get_by_role("tab").all_inner_texts() == [t(f"tab.{name}", language) for name in IN_TABS]
        expect(visit.box).to_have_attribute("placeholder", t("sentence.label", language))
        expect(visit.box).to_have_value("ich")
    for tab, texts in IN_TABS.items():
        visit.tab(tab)
        for where, key in texts.items():
            expect(page.locator(where).filter(has_text=matching(key, language)).first).to_be_visible()
    visit.tab("lesson")
    assert place(page) == before
    assert page.evaluate("window.stayed")

    visit.open()
    expect_language(page, language)


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
