"""Three languages: every text comes from a catalogue, and choosing another one loses nothing of the visitor's place."""

import json

import pytest
from playwright.sync_api import Page, Route, expect

from transformer.inference.translator import Translator
from transformer.storage.checkpoint import available_checkpoints

from .catalogue import LOCALES, matching, t
from .conftest import OPENED, Visit, asks_for, place

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
    const unusual = (text) => (text.match(/\p{L}[\p{L}\p{N}_]*/gu) ?? [])
        .filter((word) => !usual.has(word) && !words.has(plain(word)));
    const strange = (text, element) => {
        if (!window.unusual.has(text)) window.unusual.set(text, unusual(text)); // asked again at every look
        return window.unusual.get(text).some((word) => !(either.has(word) && element.closest(spoken)));
    };
    const found = [];
    const note = (how, text, element) => {
        const [room, kind] = [element.closest("[id]")?.id, element.getAttribute("class")];
        found.push(`${how} in #${room} ${element.tagName.toLowerCase()}.${kind}: ${text.trim()}`);
    };
    const broken = (text, element) => /undefined|\[object|\{\w+\}/.test(text) ||
        (/NaN/.test(text) && !element.closest("#mistakes")); // one of which is about it
    let depth = 0;
    const outside = (text) => {
        let left = "";
        for (const char of text) {
            if (char === "⟦") depth++;
            else if (char === "⟧") depth--;
            else if (depth === 0) left += char;
        }
        return left;
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const [text, element] = [walker.currentNode.data, walker.currentNode.parentElement];
        if (!/[\p{L}⟦⟧]/u.test(text) || element.closest(never)) continue;
        const left = outside(text);
        if (broken(text, element) && seen(element)) note("text", text, element);
        else if (!element.closest(own) && strange(left, element) && seen(element)) note("text", left, element);
    }
    if (depth) found.push(`brackets do not match: ${depth}`);
    for (const element of document.body.querySelectorAll(told.map((name) => `[${name}]`).join())) {
        for (const name of told) {
            const text = element.getAttribute(name);
            depth = 0;
            if (!text || !(broken(text, element) || strange(outside(text), element))) continue;
            if (seen(element)) note(name, text, element);
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
        self.page.route("**/locales/en.json", self.wrap)

    @staticmethod
    def wrap(route: Route) -> None:
        route.fulfill(json={key: f"⟦{text}⟧" for key, text in LOCALES["en"].items()})

    def open(self, query: str = OPENED) -> None:
        self.visit.open(query)
        expect(self.page.locator("#translate")).to_have_text(f"⟦{t('sentence.translate')}⟧")  # Gradio's own part

    def look(self) -> None:
        self.found |= set(self.page.evaluate("strays()"))

    def read_overview(self) -> None:
        self.visit.tab("overview")
        for side in ("source", "target"):
            for token in (self.page.locator(f"#overview .token.{side}").nth(i) for i in (0, -1)):
                token.hover()
                self.look()

    def open_attention(self) -> None:
        self.visit.tab("attention")
        expect(self.page.locator("#ablation")).not_to_have_text("…")

    def read_attention(self) -> None:
        page = self.page
        self.open_attention()
        for kind, drawing in (("encoder", "table"), ("decoder", "lines"), ("cross", "heatmap")):
            page.locator(f"#attention button[value={kind}]").click()
            page.locator(f"#attention button[value={drawing}]").click()
            self.look()
        for cell in (".large rect[data-weight]", ".large rect.masked[data-look]"):
            if page.locator(cell).count():  # nothing is masked in a sentence without padding
                page.locator(cell).first.hover()
                expect(page.locator("#attention .tip")).to_be_visible()
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

    def read_lesson(self) -> None:
        page = self.page
        self.visit.tab("lesson")
        page.locator("#lesson .stops button").first.click()
        for stop in range(1, 15):
            expect(page.locator("#stop-title")).to_have_text(matching("lesson.title", n=stop))
            page.locator(".lesson-figure > *").first.wait_for()
            page.keyboard.press("1")
            expect(page.locator("#lesson :is(.reveal, .why):visible")).to_have_count(1)
            self.look()
            page.keyboard.press("r")
            expect(page.locator("#lesson .reveal")).to_be_visible()
            if stop == 3:
                page.locator(".lesson-figure .cell").first.dispatch_event("click")
                expect(page.locator("#lesson .arithmetic-box")).to_be_visible()
            self.look()
            page.keyboard.press("PageDown")

    def read_break(self) -> None:
        page = self.page
        self.visit.tab("break")
        page.locator("#whatif .group").first.wait_for()
        page.locator("#whatif .group:not([open]) summary").evaluate_all("all => all.forEach((each) => each.click())")
        page.locator("#sweep").click()
        page.locator("#whatif .score[data-drop]").first.wait_for()
        for i in range(page.locator(".starters button").count()):
            page.locator(".starters button").nth(i).click()
            expect(page.locator("#top .change")).to_have_count(1)
            self.look()
            page.locator("#top .change").click()
            expect(page.locator("#top .change")).to_have_count(0)
        page.locator("#breakit button[value=mistakes]").click()
        for i in range(4, 14):  # those of training are read in test_mistakes.py
            page.locator("#mistakes nav button, #mistakes ol button").nth(i).click()
            page.locator("#mistakes .choice").first.click()
            expect(page.locator("#mistakes .reveal")).to_be_visible()
            self.look()
        page.locator("#breakit button[value=decoding]").click()
        for strategy, figure in (("beam", ".tree"), ("sampling", ".both"), ("forced", ".two-ways")):
            page.locator(f"#decoding button[value={strategy}]").click()
            page.locator(f"#decoding {figure}").first.wait_for()
            self.look()

    def read_header(self) -> None:
        page = self.page
        page.locator("#checks[data-state='✓']").wait_for()
        for popover in ("#device", "#checks", "#home"):
            page.locator(f"{popover} summary").click()
            expect(page.locator(f"{popover} .popover")).to_be_visible()
            self.look()
        page.locator("#share").click()
        page.locator("#share-presenter").click()
        self.look()
        self.read_words()

    def read_words(self) -> None:
        page = self.page
        page.locator(".examples button", has_text=t("examples.words")).click()
        expect(page.get_by_role("dialog")).to_be_visible()
        self.look()
        page.keyboard.press("Escape")


@pytest.fixture
def reader(visit: Visit) -> Reader:
    return Reader(visit)


def test_every_text_of_the_toys_page_is_in_the_catalogue(reader: Reader) -> None:
    page = reader.page
    reader.open("?layer=99&tab=nope")
    expect(page.locator(".message")).to_contain_text(f"⟦{t('link.layer')}⟧")
    reader.look()
    for sentence in ("ich trinke wasser", "", "x" * 600, "ein Bier möchte ich", "ich mochte ein cola", BIER):
        reader.visit.ask(sentence)
        reader.look()
    page.locator("#story [role=group]").last.get_by_role("button", name="2").click()
    page.keyboard.press("End")
    reader.look()
    reader.read_header()
    reader.read_overview()
    reader.read_attention()
    reader.read_positions()
    reader.read_inside()
    reader.read_break()
    reader.read_lesson()
    assert not reader.found, "\n".join(sorted(reader.found))


def test_every_text_of_the_classrooms_page_is_in_the_catalogue(reader: Reader) -> None:
    """Where it differs from the toy's: there are gold links, held-out sentences, named examples and a longer list."""
    page = reader.page
    page.set_viewport_size({"width": 390, "height": 844})
    reader.open("?checkpoint=classroom&language=xx")
    buttons = page.get_by_role("tab")
    expect(buttons).to_have_count(len(IN_TABS))
    assert {f"⟦{t('tab.translate')}⟧", f"⟦{t('tab.inside')}⟧"} <= set(buttons.all_inner_texts())
    named = "all => all.map(each => each.getAttribute('aria-label') ?? each.innerText)"
    assert [name for name in buttons.evaluate_all(named) if not name.startswith("⟦")] == []
    page.set_viewport_size({"width": 1280, "height": 800})
    expect(page.locator("#translation")).to_contain_text("drunk")
    reader.visit.ask("Heute habe ich ein Bier getrunkn")
    reader.look()
    example = page.locator(".examples button").nth(2)
    example.click()
    expect(page.locator("#sentence input")).to_have_value(example.get_attribute("data-sentence") or "")
    reader.look()
    reader.read_words()
    reader.open_attention()
    page.locator("#attention button[value=cross]").click()
    page.locator("#gold").click()
    reader.look()
    assert not reader.found, "\n".join(sorted(reader.found))


def test_what_the_server_refuses_is_told_in_the_visitors_language(reader: Reader) -> None:
    """Its refusals are for programs, in English; the page has words of its own for them."""
    page = reader.page
    error = {"key": "error.request", "values": {}, "english": "No such thing, said the server."}
    page.route("**/component_server/", lambda route: route.fulfill(json={"error": error}))
    reader.open()
    page.locator("#checks[data-state='–']").wait_for()
    page.locator("#checks summary").click()
    reader.look()
    page.locator("#home summary").click()
    page.locator("[data-file=csv]").click()
    expect(page.locator("#home [role=alert]")).to_be_visible()
    reader.look()
    for tab, told in (("positions", ".hint >> nth=-1"), ("inside", ".say")):
        reader.visit.tab(tab)
        expect(page.locator(f"#{tab} {told}")).not_to_be_empty()
        reader.look()
    reader.visit.tab("lesson")
    page.locator("#lesson .stops button").nth(3).click()
    expect(page.locator(".lesson-figure .hint")).to_be_visible()
    reader.look()
    assert not reader.found, "\n".join(sorted(reader.found))


# ---- choosing a language


def choose(page: Page, language: str) -> None:
    page.locator("#language").select_option(language)
    expect(page.locator("html")).to_have_attribute("lang", language)
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
    box = page.locator("#sentence input")
    expect(box).to_have_value(sentence)
    expect(page.locator("#stop-title")).to_have_text(matching("lesson.title", n=12))
    page.locator("#translation button").nth(1).click()
    page.keyboard.press("r")
    expect(page.locator("#lesson .reveal")).to_be_visible()
    box.fill("ich")  # not asked for yet
    before = place(page)
    at = {"tab": "lesson", "stop": 11, "kind": "decoder", "layer": 1, "head": 2, "step": 1}
    assert before == before | at | {"run": ["classroom", sentence]}
    page.evaluate("window.stayed = true")
    for language in ("zh-Hant", "zh-Hans"):
        choose(page, language)
        assert place(page) == before
        assert page.get_by_role("tab").all_inner_texts() == [t(f"tab.{name}", language) for name in IN_TABS]
        expect(box).to_have_attribute("placeholder", t("sentence.label", language))
        expect(box).to_have_value("ich")
    for tab, texts in IN_TABS.items():
        visit.tab(tab)
        for where, key in texts.items():
            expect(page.locator(where).filter(has_text=matching(key, language)).first).to_be_visible()
    visit.tab("lesson")
    assert place(page) == before
    assert page.evaluate("window.stayed")

    visit.open()
    expect(page.locator("html")).to_have_attribute("lang", language)
    expect(page.locator("#language")).to_have_value(language)
    expect(page.get_by_role("tab").last).to_have_text(t("tab.lesson", language))


def test_choosing_again_and_again_doubles_nothing(visit: Visit) -> None:
    page = visit.open()
    visit.ask("ich trinke wasser")
    expect(page.locator(".message")).to_have_text(matching("error.unknown"))
    for language in ("zh-Hans", "zh-Hant", "en"):
        choose(page, language)
        expect(page.locator(".message")).to_have_text(matching("error.unknown", language))
        expect(page.locator("#translation")).to_have_text("i want a beer . E")
    page.locator("body").click(position={"x": 2, "y": 2})
    for key, step in (("Home", 0), ("ArrowRight", 1), ("ArrowLeft", 0)):
        page.keyboard.press(key)
        assert visit.step == step
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name=t("run.pause"))).to_be_visible()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name=t("run.play"))).to_be_visible()
    visit.tab("lesson")
    for stop in (1, 2):
        expect(page.locator("#stop-title")).to_have_text(matching("lesson.title", n=stop))
        page.keyboard.press("PageDown")
    expect(page.locator("#stop-title")).to_have_text(matching("lesson.title", n=3))
    visit.tab("inside")
    page.locator("#shapes tbody tr").first.wait_for()
    visit.draw_stages()
    visit.settle()
    visit.requests.clear()
    with page.expect_request(lambda request: asks_for(request, "shapes")):  # the last
        visit.ask("ich möchte ein Cola")
    expect(page.locator("#translation")).to_contain_text("coke")
    visit.settle()
    asked = [request.rsplit("/gradio_api/")[-1].split("?")[0] for request in visit.requests]
    assert len([request for request in asked if request.startswith("run/")]) == 1
    assert asked.count("component_server/") == 3  # the checks, the numbers of the open head, and all shapes

    page.route("**/locales/zh-Hans.json", lambda route: route.abort())
    page.reload()
    page.locator("#language").select_option("zh-Hans")  # a catalogue that does not come leaves the page as it is
    expect(page.locator("#language")).to_have_value("en")
    expect(page.get_by_role("tab").first).to_have_text(t("tab.overview"))
    choose(page, "zh-Hant")


def test_a_browser_is_answered_in_its_own_language(visit: Visit) -> None:
    page = visit.page
    agent = page.evaluate("navigator.userAgent")
    browser = page.context.new_cdp_session(page)
    for locale, language in (("zh-HK", "zh-Hant"), ("zh-CN", "zh-Hans"), ("de-DE", "en")):
        browser.send("Emulation.setUserAgentOverride", {"userAgent": agent, "acceptLanguage": locale})
        visit.open()
        assert page.evaluate("navigator.languages") == [locale]
        expect(page.locator("html")).to_have_attribute("lang", language)
        expect(page.locator("#language")).to_have_value(language)
        expect(page.locator("#language option:checked")).to_have_text(NATIVE[language])
        expect(page.get_by_role("tab").last).to_have_text(t("tab.lesson", language))
