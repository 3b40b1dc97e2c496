"""What a class takes home: a handout that needs nothing else, a notebook, all weights, and any figure as a picture."""

import base64
import re
import struct
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from transformer.inference.attention_maps import KINDS, Kind
from transformer.web.api.downloads import provenance

from ..web.api.endpoints import ask
from .arithmetic import expect_right
from .catalogue import matching, percent, t
from .conftest import Visit, in_menu, translate, visiting
from .test_accessible import LOOK
from .test_inside import STAGES

A4, PRINTED = 794, 680  # px: the sheet, and what is left between margins of 15 mm
MODEL, LANGUAGE = "classroom", "zh-Hans"
SENTENCE = "  „Heute“ habe 'ich' ein \"kaltes\" BIER getrunken "
KIND: Kind = "decoder"
LAYER, HEAD, QUERY = 1, 3, 4  # where its visitor is when the handout is made


def saved(button: Locator, name: str) -> str:
    """What a button gives, under its name."""
    with button.page.expect_download() as download:
        button.dispatch_event("click")
    assert download.value.suggested_filename == name
    return Path(download.value.path()).read_text("utf-8")


@pytest.fixture(scope="module")
def handout(browser: Browser, url: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of a page in the dark."""
    place = f"kind={KIND}&layer={LAYER + 1}&head={HEAD + 1}&query={QUERY + 1}"
    with visiting(browser, url) as visit:
        page = visit.open(f"?checkpoint={MODEL}&sentence={SENTENCE}&language={LANGUAGE}&{place}&__theme=dark")
        expect(page.locator("#sentence input")).to_have_value(SENTENCE)
        visit.settle()
        parts = page.locator(".gradio-container > *").count()
        path = tmp_path_factory.mktemp("handout") / "handout.html"
        path.write_text(saved(page.locator("[data-file=handout]"), f"{MODEL}-handout.html"), "utf-8")
        expect(page.locator("body")).to_have_class(re.compile("dark"))  # nothing of the making is left in the page
        expect(page.locator(".gradio-container > *")).to_have_count(parts)
    return path


@pytest.fixture(scope="module")
def sheet(browser: Browser, handout: Path) -> Iterator[Page]:
    """The handout, opened from disk by a browser that is offline."""
    address = handout.as_uri()
    with visiting(browser, address, viewport={"width": A4, "height": 1123}, offline=True) as visit:
        visit.page.goto(address)
        yield visit.page


# ---- the handout ----


def pages_of(pdf: bytes) -> int:
    return len(re.findall(rb"/Type /Page\b", pdf))


def test_the_handout_needs_nothing_but_paper(handout: Path, sheet: Page) -> None:
    html = handout.read_text("utf-8")
    assert html.startswith("<!doctype html>")
    assert re.findall(r"<(?:script|link|iframe|object|embed|base|form|input|button|a)\b", html) == []
    assert re.findall(r"""\s(?:srcset|action|on\w+)\s*=""", re.sub(r">[^<]*<", "><", html)) == []
    assert set(re.findall(r"""\s(?:src|href)=.(.{10})""", html)) == {"data:image"}
    assert "url(" not in html
    assert re.findall(r"@import|@font-face|var\(|color-mix|oklab", html) == []
    expect(sheet.locator("html")).to_have_attribute("lang", LANGUAGE)
    text = sheet.locator("body").inner_text()
    assert re.findall(r".{0,40}[点點][一任击擊选選].{0,40}", text) == []  # nothing on paper can be clicked
    assert re.findall(r"undefined|NaN|\[object|\{\w+\}", text) == []

    assert sheet.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert [each for each in sheet.evaluate(LOOK, "theme") if each.startswith("contrast")] == []  # the page was dark

    sheet.emulate_media(media="print")
    sheet.set_viewport_size({"width": PRINTED, "height": 1123})
    assert sheet.evaluate("document.documentElement.scrollWidth") <= PRINTED
    pdf = sheet.pdf(format="A4", prefer_css_page_size=True)
    boxes = {tuple(map(float, box)) for box in re.findall(rb"/MediaBox \[([\d.]+) ([\d.]+) ([\d.]+) ([\d.]+)\]", pdf)}
    assert boxes
    assert all(box == pytest.approx((0, 0, 595, 842), abs=1.5) for box in boxes)
    assert 3 <= pages_of(pdf) <= 30


def test_the_handout_begins_with_a_worksheet_of_two_pages_and_its_answers(handout: Path, sheet: Page) -> None:
    questions, more, answers = sheet.locator(".page").all()
    asked = [t("worksheet.question", LANGUAGE, n=n) for n in range(1, 9)]
    assert [*questions.locator("h3").all_inner_texts(), *more.locator("h3").all_inner_texts()] == asked
    assert questions.locator(".figure > svg").count() == more.locator(".figure > svg").count() == 1  # own maps
    assert min(questions.locator(".lines div").count(), more.locator(".lines div").count()) >= 4
    expect(answers.locator("h1")).to_have_text(t("worksheet.answers", LANGUAGE))
    expect(answers.locator("li")).to_have_count(len(asked))
    whole = percent(float(np.prod([step.probability for step in translate(MODEL, sentence=SENTENCE).steps])))
    expect(answers.locator("li").nth(6)).to_contain_text(t("worksheet.product.answer", LANGUAGE, whole=whole))
    only = sheet.add_style_tag(content="body > :not(.page) { display: none !important }")
    assert pages_of(sheet.pdf(prefer_css_page_size=True)) == 3
    only.evaluate("style => style.remove()")


def test_the_handout_holds_the_run_and_says_where_its_numbers_come_from(handout: Path, sheet: Page) -> None:
    run = translate(MODEL, sentence=SENTENCE)
    assert sheet.locator("h1 .word").all_text_contents() == [SENTENCE, run.text]
    assert sheet.title() == " ".join(f"{SENTENCE} → {run.text}".split())
    rows = sheet.locator(".steps tbody tr")
    expect(rows).to_have_count(len(run.steps))
    shown = [" ".join(cell.split()) for cell in rows.nth(2).locator("td").all_inner_texts()]
    assert shown[:3] == ["3", run.decoder_input[2], f"{run.steps[2].token} {percent(run.steps[2].probability)}"]
    kind = t(f"kind.{KIND}", LANGUAGE)
    worked = t("handout.worked", LANGUAGE, layer=LAYER + 1, head=HEAD + 1, kind=kind)
    titles = {t(key, LANGUAGE) for key in ("handout.steps", "checks.title", "shapes.title")}
    assert {worked, *titles} <= set(sheet.locator("h2").all_inner_texts())
    assert [text[0] for text in sheet.locator(".checks [data-check] th").all_inner_texts()] == ["✓"] * 4
    names = sheet.locator(".facts th").all_inner_texts()
    facts = dict(zip(names, sheet.locator(".facts td").all_inner_texts(), strict=True))
    card = ask(provenance, {"checkpoint": MODEL})
    expected = {name: card[name] for name in ("seed", "command")} | {"device": "cpu"}
    assert facts == facts | {t(f"handout.{name}", LANGUAGE): fact for name, fact in expected.items()}
    expect(sheet.locator(".shapes tbody tr").first).to_be_attached()


def test_the_handout_has_every_head_and_its_arithmetic_is_right(handout: Path, sheet: Page) -> None:
    """That each of its numbers follows from others is tested where the page draws it, in test_inside.py."""
    attention = translate(MODEL, sentence=SENTENCE).attention
    heads = sum(each.n_heads for kind in KINDS for each in attention.of(kind))
    expect(sheet.locator(".heads figure img")).to_have_count(heads)
    large = sheet.locator("body > svg")
    expect(large.locator("> image")).to_have_count(len(KINDS))
    for picture, kind in zip(large.all(), KINDS, strict=True):
        assert set(attention.of(kind)[LAYER].key_tokens) <= set(picture.locator("text").all_text_contents())
        row, cells = (picture.locator(part).last.bounding_box() for part in ("text", "image"))
        assert row["x"] + row["width"] < cells["x"]  # its words stand beside it
    lines = sheet.locator(".arithmetic")
    assert sum(expect_right(line) for line in lines.all_inner_texts()) >= 4
    assert lines.filter(has=sheet.locator(".term")).count() == 3  # q · k, the head's sum, and what comes after Wᴼ
    stages = sheet.locator(".stage")
    assert [stage.get_attribute("id") for stage in stages.all()] == [f"stage-{name}" for name in STAGES]
    for strip in stages.locator("svg").all():
        expect(strip.locator("rect")).not_to_have_count(0)  # every picture had been drawn when it was taken


def test_a_file_that_cannot_be_made_is_said_so(visit: Visit) -> None:
    page = visit.open()
    visit.settle()
    page.context.set_offline(True)
    in_menu(page, "#downloads summary")
    for what in ("handout", "notebook", "csv"):
        page.locator(f"[data-file={what}]").click()
        expect(page.locator("#downloads [role=alert]")).to_have_text(t("download.failed"))
        expect(page.locator(f"[data-file={what}]")).to_be_enabled()
    page.context.set_offline(False)
    saved(page.locator("[data-file=csv]"), "toy-attention.csv")
    expect(page.locator("#downloads [role=alert]")).to_be_hidden()


# ---- any figure as a picture ----

WORDS = """figure => {
    const walker = document.createTreeWalker(figure, NodeFilter.SHOW_TEXT);
    const words = [];
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        const seen = element.checkVisibility({ visibilityProperty: true });
        if (!seen || element.closest(".visually-hidden, title")) continue;
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
    const { click } = HTMLAnchorElement.prototype;
    HTMLAnchorElement.prototype.click = function () {
        HTMLAnchorElement.prototype.click = click;
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


def rows(page: Page) -> list[Locator]:
    """Of the menu of figures."""
    page.keyboard.press("Escape")
    page.locator("#pictures:not([open]) summary").click()
    page.locator("#pictures p").first.wait_for()
    return page.locator(".saves").all()


def expect_saved(page: Page, figures: list[Locator], png: bool = False) -> None:
    """Each figure by its row of the tab's menu, in their order on the page, with every word that is seen in it."""
    pairs = rows(page)
    assert len(pairs) == len(figures)
    for pair, figure in zip(pairs, figures, strict=True):
        svg = handed(pair.locator("button").first, "svg")
        written = re.sub(rb'data:image/png[^"]*', b"", svg)
        assert not re.search(rb"var\(|color-mix|oklab|NaN|undefined", written)  # any program reads its colours
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


def test_every_figure_is_saved(shared: Visit) -> None:
    """In the dark, and in Chinese, where words are not set apart by spaces."""
    page = shared.go()
    page.evaluate("document.body.classList.add('dark')")
    page.locator("#language").select_option(LANGUAGE)
    expect(page.locator("html")).to_have_attribute("lang", LANGUAGE)
    expect_saved(page, [page.locator("#story .bars"), page.locator("#story .candidates")])
    shared.tab("attention")
    page.locator("#ablation").scroll_into_view_if_needed()
    expect(page.locator("#ablation")).not_to_have_text("…")
    page.locator("#attention .heatmap").wait_for()
    large, heads = page.locator("#attention .large"), page.locator("#attention .heads")
    figures = [large, heads, page.locator("#heads .pair-of-scores"), page.locator("#heads .scroll").last]
    expect_saved(page, figures, png=True)
    for drawing in ("lines", "table"):
        page.keyboard.press("Escape")
        page.locator(f"#attention button[value={drawing}]").click()
        handed(rows(page)[0].locator("button").first, "svg")
    shared.tab("inside")
    shared.draw_stages()
    expect_saved(page, page.locator("#inside .stage-figure").all())
    shared.go(tab="lesson", stop=1, lang=LANGUAGE)
    for stop in (1, 7, 10, 12, 14):  # a figure of every kind
        page.keyboard.press("Escape")
        page.locator(".stops button").nth(stop - 1).click()
        expect(page.locator("#stop-title")).to_have_text(matching("lesson.title", LANGUAGE, n=stop))
        page.keyboard.press("r")  # what gives the answer away is veiled until then
        expect(page.locator("#lesson .reveal")).to_be_visible()
        expect(page.locator(".lesson-figure").locator("svg, li, td").first).to_be_visible()
        expect_saved(page, [page.locator(".lesson-figure")])
    shared.tab("positions")
    page.locator("#positions .figure").nth(3).locator(".heatmaplayer image").last.wait_for()
    figure = page.locator("#positions .figure").first  # of Plotly
    saves = rows(page)[0].locator("button")
    texts = "".join(ElementTree.fromstring(handed(saves.first, "svg")).itertext())
    titles = figure.locator(".xtitle, .ytitle, .annotation-text, .ytick text").all_text_contents()
    assert titles
    assert [title for title in titles if title not in texts] == []
    expect_drawn(page, handed(saves.last, "png"))
