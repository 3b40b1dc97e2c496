"""What a class takes home: a handout that needs nothing else, a notebook, all weights, and any figure as a picture."""

import base64
import io
import json
import platform
import re
import struct
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from transformer import Translation, Translator
from transformer.inference.attention_maps import KINDS, Kind
from transformer.web.api.downloads import provenance
from transformer.web.api.sublayers import shapes as shapes_of

from .arithmetic import expect_right, near
from .catalogue import matching, percent, t
from .conftest import Visit, luminance, visiting
from .test_inside import STAGES

A4, PRINTED = 794, 680  # px: the sheet, and what is left between margins of 15 mm


class Case(NamedTuple):
    """A run, and where its visitor is when the handout is made."""

    checkpoint: str
    sentence: str
    kind: Kind
    layer: int
    head: int
    query: int
    language: str
    theme: str

    @property
    def address(self) -> str:
        place = f"kind={self.kind}&layer={self.layer + 1}&head={self.head + 1}&query={self.query + 1}"
        asked = f"checkpoint={self.checkpoint}&sentence={self.sentence}&language={self.language}"
        return f"?{asked}&{place}&__theme={self.theme}"

    def translate(self) -> Translation:
        return Translator.load(self.checkpoint, device="cpu").translate(self.sentence)


CASES = [
    Case("toy", "  „Ich“   'möchte' \"ein\" BIER!! ", "cross", 1, 5, 2, "en", "dark"),
    Case("classroom", "Heute habe ich ein kaltes Bier getrunken", "decoder", 1, 3, 4, "zh-Hans", "light"),
]


class Handout(NamedTuple):
    """With the weights and the notebook that the same visitor took home."""

    case: Case
    path: Path
    run: Translation
    csv: bytes
    notebook: bytes


def saved(button: Locator, name: str) -> bytes:
    """What a button gives, under its name."""
    with button.page.expect_download() as download:
        button.dispatch_event("click")
    assert download.value.suggested_filename == name
    return Path(download.value.path()).read_bytes()


@pytest.fixture(scope="module", params=CASES, ids=lambda case: case.checkpoint)
def handout(
    browser: Browser, url: str, request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Handout:
    case = request.param
    with visiting(browser, url) as visit:
        page = visit.open(case.address)
        expect(page.locator("#checkpoint")).to_have_value(case.checkpoint)
        expect(page.locator("#sentence input")).to_have_value(case.sentence)
        visit.settle()
        dark = page.evaluate("document.body.className")
        parts = page.evaluate("document.querySelectorAll('.gradio-container > *').length")
        path = tmp_path_factory.mktemp("handout") / "handout.html"
        path.write_bytes(saved(page.locator("[data-file=handout]"), f"{case.checkpoint}-handout.html"))
        assert page.evaluate("document.body.className") == dark  # nothing of the making is left in the page
        assert page.evaluate("document.querySelectorAll('.gradio-container > *').length") == parts
        csv = saved(page.locator("[data-file=csv]"), f"{case.checkpoint}-attention.csv")
        notebook = saved(page.locator("[data-file=notebook]"), f"{case.checkpoint}-attention.ipynb")
    return Handout(case, path, case.translate(), csv, notebook)


@pytest.fixture(scope="module")
def sheet(browser: Browser, handout: Handout) -> Iterator[Page]:
    """The handout, opened from disk by a browser that is offline."""
    context = browser.new_context(viewport={"width": A4, "height": 1123}, offline=True)
    page = context.new_page()
    faults: list[str] = []

    def note(what: str, is_fault: bool = True) -> None:
        if is_fault:
            faults.append(what)

    page.on("request", lambda request: note(request.url, request.url != handout.path.as_uri()))
    page.on("pageerror", lambda error: note(str(error)))
    page.on("console", lambda message: note(message.text, message.type == "error"))
    page.on("dialog", lambda dialog: note(dialog.message))
    page.goto(handout.path.as_uri())
    yield page
    context.close()
    assert faults == []


# ---- the handout ----


# Every element that reaches beyond the sheet.
WIDE = """() => [...document.querySelectorAll("body *")]
    .filter(each => each.getBoundingClientRect().right > innerWidth + 1)
    .map(each => `${each.tagName} ${each.getAttribute("class")}: ${each.getBoundingClientRect().right}`)"""
# Every colour of a text, with such a text; not of a number on a cell, in a colour to go with it.
INKS = """() => {
    const seen = new Map();
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || element.tagName === "title") continue;
        const drawn = element.namespaceURI.endsWith("svg");
        if (drawn && /^[−0-9.]+$/.test(element.textContent)) continue;
        const style = getComputedStyle(element);
        seen.set(drawn ? style.fill : style.color, element.textContent);
    }
    return [...seen];
}"""


def test_the_handout_needs_nothing_but_paper(handout: Handout, sheet: Page) -> None:
    html = handout.path.read_text("utf-8")
    assert html.startswith("<!doctype html>")
    assert re.findall(r"<(?:script|link|iframe|img|object|embed|base|form|input|button|a)\b", html) == []
    assert re.findall(r"""\s(?:src|href|srcset|action|on\w+)\s*=""", re.sub(r">[^<]*<", "><", html)) == []
    assert set(re.findall(r"url\((.*?)\)", html)) == {"&quot;#hatch&quot;"}
    assert re.findall(r"@import|@font-face|var\(|color-mix|oklab", html) == []
    expect(sheet.locator("html")).to_have_attribute("lang", handout.case.language)
    assert sheet.locator("#hatch").count() == 1
    text = sheet.locator("body").inner_text()
    assert re.findall(r".{0,40}(?:\b[Cc]lick\b|[点點][一任击擊选選]).{0,40}", text) == []
    assert re.findall(r"undefined|NaN|\[object|\{\w+\}", text) == []

    assert sheet.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    inks = sheet.evaluate(INKS)  # dark, whatever the theme that it was made in
    assert len(inks) >= 4
    for ink, text in inks:
        light = luminance(list(map(float, re.findall(r"[\d.]+", ink))))
        assert 1.05 / (light + 0.05) >= 4.5, (ink, text)

    for width in (390, A4, PRINTED):
        sheet.emulate_media(media="print" if width != 390 else "screen")
        sheet.set_viewport_size({"width": width, "height": 1123})
        assert sheet.evaluate(WIDE) == []
        assert sheet.evaluate("document.documentElement.scrollWidth") <= width
    pdf = sheet.pdf(format="A4", prefer_css_page_size=True)
    boxes = {tuple(map(float, box)) for box in re.findall(rb"/MediaBox \[([\d.]+) ([\d.]+) ([\d.]+) ([\d.]+)\]", pdf)}
    assert boxes
    assert all(box == pytest.approx((0, 0, 595, 842), abs=1.5) for box in boxes)
    assert 3 <= len(re.findall(rb"/Type /Page\b", pdf)) <= 30


def test_the_handout_begins_with_a_worksheet_of_two_pages_and_its_answers(handout: Handout, sheet: Page) -> None:
    run, language = handout.run, handout.case.language
    questions, more, answers = sheet.locator(".page").all()
    asked = [t("worksheet.question", language, n=n) for n in range(1, 9)]
    assert [*questions.locator("h3").all_inner_texts(), *more.locator("h3").all_inner_texts()] == asked
    assert questions.locator(".figure svg").count() == more.locator(".figure svg").count() == 1  # the run's own maps
    assert min(questions.locator(".lines div").count(), more.locator(".lines div").count()) >= 4
    expect(answers.locator("h1")).to_have_text(t("worksheet.answers", language))
    expect(answers.locator("li")).to_have_count(len(asked))
    whole = percent(float(np.prod([step.probability for step in run.steps])))
    expect(answers.locator("li").nth(6)).to_contain_text(t("worksheet.product.answer", language, whole=whole))
    only = sheet.add_style_tag(content="body > :not(.page, svg[width='0']) { display: none !important }")
    try:
        pdf = sheet.pdf(prefer_css_page_size=True)
        assert len(re.findall(rb"/Type /Page\b", pdf)) == 3
    finally:
        only.evaluate("style => style.remove()")


def test_the_handout_holds_the_run_and_says_where_its_numbers_come_from(handout: Handout, sheet: Page) -> None:
    case, run, language = handout.case, handout.run, handout.case.language
    assert sheet.locator("h1 .word").all_text_contents() == [case.sentence, run.text]
    assert sheet.title() == " ".join(f"{case.sentence} → {run.text}".split())
    weights = run.attention.cross[case.layer].weights.mean(axis=0)
    rows = sheet.locator(".steps tbody tr").all()
    for i, (row, step) in enumerate(zip(rows, run.steps, strict=True)):
        key = int(weights[i].argmax())
        others = ", ".join(f"{each.token} {percent(each.probability)}" for each in step.candidates[1:3])
        assert [" ".join(cell.split()) for cell in row.locator("td").all_inner_texts()] == [
            str(i + 1),
            run.decoder_input[i],
            f"{step.token} {percent(step.probability)}",
            others,
            f"{run.source[key]} {percent(weights[i, key])}",
        ]
    kind = t(f"kind.{case.kind}", language)
    worked = t("handout.worked", language, layer=case.layer + 1, head=case.head + 1, kind=kind)
    titles = {t(key, language) for key in ("handout.steps", "checks.title", "shapes.title")}
    assert {worked, *titles} <= set(sheet.locator("h2").all_inner_texts())
    assert [text[0] for text in sheet.locator(".checks [data-check] th").all_inner_texts()] == ["✓"] * 4

    names = sheet.locator(".facts th").all_inner_texts()
    facts = dict(zip(names, sheet.locator(".facts td").all_inner_texts(), strict=True))
    card = provenance({"checkpoint": case.checkpoint})
    packages = [f"{name} {version(name)}" for name in ("torch", "gradio", "plotly", "pandas", "numpy")]
    expected = {
        "seed": card["seed"],
        "command": card["command"],
        "device": "cpu",
        "versions": ", ".join([f"python {platform.python_version()}", *packages]),
    }
    assert facts == facts | {t(f"handout.{name}", language): fact for name, fact in expected.items()}
    shapes = shapes_of({"checkpoint": case.checkpoint, "sentence": case.sentence})["rows"]
    shown = sheet.locator(".shapes tbody td:nth-of-type(1)").all_inner_texts()
    assert shown == [f"({', '.join(map(str, row['here']))})" for row in shapes]


# Per picture: how dark every cell is (0 to 1), None where it is hatched; and the digits in it.
CELLS = """pictures => pictures.map(picture => {
    const boxes = [...picture.querySelectorAll("rect")].filter(rect => rect.style.fill && rect.style.fill !== "none");
    // Of a small map all cells of one colour are one path.
    const tiles = [...picture.querySelectorAll("path")].flatMap(path =>
        [...path.getAttribute("d").matchAll(/M(\\S+) ([0-9.]+)/g)].map(([, x, y]) => ({ x, y, style: path.style })));
    tiles.sort((a, b) => a.y - b.y || a.x - b.x);
    const cells = boxes.length ? boxes : tiles;
    const canvas = new OffscreenCanvas(1, 1).getContext("2d");
    const dark = (fill) => {
        if (fill.startsWith("url")) return null;
        canvas.fillStyle = fill;
        canvas.fillRect(0, 0, 1, 1);
        return 1 - canvas.getImageData(0, 0, 1, 1).data[0] / 255;
    };
    const texts = [...picture.querySelectorAll("text")].map(each => each.textContent);
    return { cells: cells.map(cell => dark(cell.style.fill)), digits: texts.filter(text => /^[01][.]/.test(text)) };
})"""


DARKEST = 1 - 0x43 / 255  # of the accent's red


def test_the_handout_has_every_head_of_every_kind(handout: Handout, sheet: Page) -> None:
    case, run = handout.case, handout.run
    small = sheet.locator(".heads figure svg").evaluate_all(CELLS)
    large = sheet.locator("body > svg:not([width='0'])").evaluate_all(CELLS)
    assert len(large) == len(KINDS)
    for kind, picture in zip(KINDS, large, strict=True):
        maps = run.attention.of(kind)
        allowed = maps[case.layer].allowed
        assert [cell is None for cell in picture["cells"]] == (~allowed).ravel().tolist()
        digits = [f"{weight:.2f}" for weight in maps[case.layer].weights[case.head][allowed]]
        assert picture["digits"] in (digits, [])  # none where they do not fit
        for layer in maps:
            for head in range(layer.n_heads):
                cells = small.pop(0)["cells"]
                assert [cell is None for cell in cells] == (~allowed).ravel().tolist()
                dark = np.array([cell for cell in cells if cell is not None]) / DARKEST
                weights = layer.weights[head][allowed]
                # one hue from the surface to the accent: as dark as the weight is large
                np.testing.assert_allclose(dark, 0.04 + 0.96 * weights, atol=0.1)
                assert (np.diff(dark[np.argsort(weights)]) > -0.01).all()
    assert small == []


def test_the_arithmetic_of_the_handout_is_right(handout: Handout, sheet: Page) -> None:
    """That each of its numbers is the model's is tested where the page draws it, in test_inside.py."""
    case = handout.case
    lines = sheet.locator(".arithmetic")
    assert sum(expect_right(line) for line in lines.all_inner_texts()) >= 4
    assert lines.filter(has=sheet.locator(".term")).count() == 3  # q · k, the head's sum, and what comes after Wᴼ
    weight = handout.run.attention.of(case.kind)[case.layer].weights[case.head, case.query].max()
    shown = lines.filter(has_text="softmax").last.locator("xpath=following-sibling::p[1]").locator(".result")
    assert near(weight, shown.inner_text(), 1e-5)
    stages = sheet.locator(".stage").evaluate_all("all => all.map(each => each.id)")
    assert stages == [f"stage-{name}" for name in STAGES]
    strips = sheet.locator(".stage svg").evaluate_all("all => all.map(each => each.querySelectorAll('rect').length)")
    assert len(strips) >= 12
    assert min(strips) > 0  # every picture had been drawn when it was taken


# ---- weights and notebook ----


def test_weights_and_notebook_are_those_of_the_run(handout: Handout) -> None:
    case = handout.case
    table = pd.read_csv(io.BytesIO(handout.csv), keep_default_na=False)
    expected = handout.run.table()
    assert list(table.columns) == list(expected.columns)
    np.testing.assert_allclose(table.pop("weight"), expected.pop("weight"), atol=1e-6)
    assert (table == expected).all(axis=None)
    book = json.loads(handout.notebook)
    assert book["nbformat"] == 4
    code = "".join(cell["source"] for cell in book["cells"] if cell["cell_type"] == "code")
    assert f"SENTENCE = {case.sentence!r}" in code
    assert f"Translator.load({case.checkpoint!r}" in code


def test_a_file_that_cannot_be_made_is_said_so(visit: Visit) -> None:
    page = visit.open()
    visit.settle()
    page.route("**/component_server/", lambda route: route.abort())
    page.locator("#home summary").click()
    for what in ("handout", "notebook", "csv"):
        page.locator(f"[data-file={what}]").click()
        expect(page.locator("#home [role=alert]")).to_have_text(t("home.failed"))
        expect(page.locator(f"[data-file={what}]")).to_be_enabled()
    page.unroute_all()
    saved(page.locator("[data-file=csv]"), "toy-attention.csv")
    expect(page.locator("#home [role=alert]")).to_be_hidden()


# ---- any figure as a picture ----

WORDS = """figure => {
    const walker = document.createTreeWalker(figure, NodeFilter.SHOW_TEXT);
    const words = [];
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        const seen = element.checkVisibility({ visibilityProperty: true });
        if (!seen || element.closest(".saves, .visually-hidden, title")) continue;
        words.push(...walker.currentNode.data.split(/\\s+/).filter(Boolean));
    }
    return words;
}"""
COLOURS = """async (data) => {
    const image = new Image();
    image.src = `data:image/png;base64,${data}`;
    await image.decode();
    const canvas = new OffscreenCanvas(image.width, image.height).getContext("2d");
    canvas.drawImage(image, 0, 0);
    return new Set(new Uint32Array(canvas.getImageData(0, 0, image.width, image.height).data.buffer)).size;
}"""
# What a button hands to the browser to be saved: Chromium itself saves no more than ten files a second.
HANDED = """button => new Promise((done) => {
    HTMLAnchorElement.prototype.click = function () {
        const reader = new FileReader();
        reader.onload = () => done([this.download, reader.result.split(",")[1]]);
        fetch(this.href).then((answer) => answer.blob()).then((blob) => reader.readAsDataURL(blob));
    };
    button.dispatchEvent(new MouseEvent("click", { bubbles: true }));
})"""


def handed(button: Locator, ending: str) -> bytes:
    name, data = button.evaluate(HANDED)
    assert re.fullmatch(rf"[\w-]+\.{ending}", name)
    return base64.b64decode(data)


def expect_saved(page: Page, figures: list[Locator], png: bool = False) -> None:
    """Each figure by its own pair of buttons, in their order on the page, with every word that is seen in it."""
    pairs = [each for each in page.locator(".saves").all() if each.is_visible()]
    assert len(pairs) == len(figures)
    for pair, figure in zip(pairs, figures, strict=True):
        svg = handed(pair.locator("button").first, "svg")
        assert not re.search(rb"var\(|color-mix|oklab|NaN|undefined", svg)  # any program reads its colours
        picture = ElementTree.fromstring(svg)
        text = "".join("".join(picture.itertext()).split())
        assert [word for word in figure.evaluate(WORDS) if word not in text] == []
        width, height = (float(picture.attrib[name]) for name in ("width", "height"))
        assert min(width, height) > 10
        if png:
            image = handed(pair.locator("button").last, "png")
            assert struct.unpack(">II", image[16:24]) == pytest.approx((2 * width, 2 * height), abs=2)
            expect_drawn(page, image)


def expect_drawn(page: Page, png: bytes) -> None:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    assert page.evaluate(COLOURS, base64.b64encode(png).decode()) > 3


@pytest.mark.parametrize("address", ["checkpoint=toy&__theme=dark", "checkpoint=classroom&language=zh-Hant&gold=yes"])
def test_every_figure_is_saved(visit: Visit, address: str) -> None:
    """In Chinese words are not set apart by spaces."""
    toy = "toy" in address
    page = visit.open(f"?{address}")
    if not toy:
        expect(page.locator("#translation")).to_contain_text("drunk")
    expect_saved(page, [page.locator("#story .bars"), page.locator("#story .candidates")])
    visit.tab("attention")
    expect(page.locator("#ablation")).not_to_have_text("…")
    page.locator("#attention .heatmap").wait_for()
    large, heads = page.locator("#attention .large"), page.locator("#attention .heads")
    figures = [large, heads, page.locator("#heads .pair-of-scores"), page.locator("#heads .scroll").last]
    expect_saved(page, figures, png=toy)
    for drawing in ("lines", "table"):
        page.locator(f"#attention button[value={drawing}]").click()
        handed(page.locator(".map .saves button").first, "svg")
    if not toy:
        return
    visit.tab("inside")
    visit.draw_stages()
    expect_saved(page, page.locator("#inside .stage-figure").all())
    visit.tab("lesson")
    for stop in (1, 7, 10, 12, 14):  # a figure of every kind
        page.locator(".stops button").nth(stop - 1).click()
        expect(page.locator("#stop-title")).to_have_text(matching("lesson.title", n=stop))
        page.keyboard.press("r")  # what gives the answer away is veiled until then
        expect(page.locator("#lesson .reveal")).to_be_visible()
        expect(page.locator(".lesson-figure").locator("svg, li, td").first).to_be_visible()
        expect_saved(page, [page.locator(".lesson-figure")])
    visit.tab("positions")
    page.locator("#positions .figure").nth(3).locator(".heatmaplayer image").last.wait_for()
    figures = page.locator("#positions .figure").all()
    for figure in figures:
        svg = handed(figure.locator("+ .saves button").first, "svg")
        texts = {"".join(each.itertext()) for each in ElementTree.fromstring(svg).iter() if each.tag.endswith("}text")}
        titles = figure.locator(".xtitle, .ytitle, .annotation-text, .ytick text").all_text_contents()
        assert titles
        assert set(titles) <= texts
    expect_drawn(page, handed(figures[0].locator("+ .saves button").last, "png"))
