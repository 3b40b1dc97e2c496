"""What a class takes home: a handout that needs nothing else, a notebook, all weights, and any figure as a picture."""

import base64
import re
import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
from playwright.sync_api import Browser, Download, Locator, Page, expect

from transformer.analysis.contribution import integrated_gradients, logit_lens
from transformer.inference.attention_maps import KINDS, Kind
from transformer.web.api.downloads import provenance

from ..web.api.endpoints import ask
from .arithmetic import expect_right
from .catalogue import percent, t
from .conftest import Visit, forgotten, in_menu, translate, translator, visiting
from .test_accessible import LOOK

PAPER: Any = {"width": 680, "height": 1123}  # px: what is left of A4 between margins of 15 mm
MODEL, LANGUAGE = "classroom", "zh-Hans"
SENTENCE = "  „Heute“ habe 'ich' ein \"kaltes\" BIER getrunken "
KIND: Kind = "decoder"
LAYER, HEAD, QUERY = 1, 3, 4  # where its visitor is when the handout is made


def downloaded(button: Locator) -> Download:
    button.page.wait_for_timeout(120)  # Chromium drops the eleventh download of a second
    with button.page.expect_download() as download:
        button.dispatch_event("click")
    return download.value


def saved(button: Locator, name: str) -> str:
    """What a button gives, under its name."""
    download = downloaded(button)
    assert download.suggested_filename == name
    return download.path().read_text("utf-8")


@pytest.fixture(scope="module")
def handout(returning: Visit, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file that a page in dark colours saves."""
    place = f"kind={KIND}&layer={LAYER + 1}&head={HEAD + 1}&query={QUERY + 1}"
    with forgotten(returning) as visit:
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
    with visiting(browser, address, viewport=PAPER, offline=True) as visit:
        visit.page.goto(address)
        yield visit.page


# ---- the handout ----


def test_a_handout_goes_without_what_a_saved_run_may_lack(visit: Visit) -> None:
    page = visit.open()
    page.route("**/api/why", lambda route: route.fulfill(json={"error": {"key": "error.not_in_file", "values": {}}}))
    html = saved(page.locator("[data-file=handout]"), "toy-handout.html")
    assert t("lesson.knows") in html
    assert t("why.title") not in html


def test_the_handout_needs_nothing_but_paper(handout: Path, sheet: Page) -> None:
    html = handout.read_text("utf-8")
    assert html.startswith("<!doctype html>")
    assert re.findall(r"<(?:script|link|iframe|object|embed|base|form|input|button|a)\b", html) == []
    assert re.findall(r"""\s(?:srcset|action|on\w+)\s*=""", re.sub(r">[^<]*<", "><", html)) == []
    assert set(re.findall(r"""\s(?:src|href)=.(.{10})""", html)) == {"data:image"}
    assert re.findall(r"url\(|@import|@font-face|var\(|color-mix|oklab", html) == []
    expect(sheet.locator("html")).to_have_attribute("lang", LANGUAGE)
    levels = [int(name[1]) for name in sheet.locator("h1, h2, h3, h4").evaluate_all("all => all.map((h) => h.tagName)")]
    assert all(level <= before + 1 for before, level in pairwise(levels))
    text = sheet.locator("body").inner_text()
    assert re.findall(r".{0,40}[点點][一任击擊选選].{0,40}", text) == []  # nothing on paper can be clicked
    assert re.findall(r"undefined|NaN|\[object|\{\w+\}", text) == []

    assert sheet.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert [each for each in sheet.evaluate(LOOK, "theme") if each.startswith("contrast")] == []  # the page was dark

    sheet.emulate_media(media="print")
    assert sheet.evaluate("document.documentElement.scrollWidth") <= PAPER["width"]
    only = sheet.add_style_tag(content="body > :not(.page) { display: none !important }")
    assert len(re.findall(rb"/Type /Page\b", sheet.pdf(prefer_css_page_size=True))) == 4  # a worksheet and its answers
    only.evaluate("style => style.remove()")


def test_the_handout_holds_the_run_and_says_where_its_numbers_come_from(handout: Path, sheet: Page) -> None:
    """That each of its numbers follows from others is tested where the page draws it, in test_inside.py."""
    run = translate(MODEL, sentence=SENTENCE)
    questions, answers = sheet.locator(".page:not(.answers)"), sheet.locator(".answers")
    asked = [t("worksheet.question", LANGUAGE, n=n) for n in range(1, 11)]
    assert questions.locator("h2").all_inner_texts() == asked
    expect(answers.locator("li")).to_have_count(len(asked))
    assert sheet.locator("h1 .word").all_text_contents() == [SENTENCE, run.text]
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

    heads = sum(each.n_heads for kind in KINDS for each in run.attention.of(kind))
    expect(sheet.locator(".heads figure img")).to_have_count(heads)
    expect(sheet.locator("h2 + p + svg > image")).to_have_count(len(KINDS))
    assert sum(map(expect_right, sheet.locator(".arithmetic").all_inner_texts())) >= 4
    for strip in sheet.locator(".stage svg").all():
        expect(strip.locator("rect")).not_to_have_count(0)  # every picture had been drawn when it was taken


def test_the_handout_asks_and_says_when_the_model_knows_and_why(sheet: Page) -> None:
    """The output in view is the first."""
    run, model = translate(MODEL, sentence=SENTENCE), translator(MODEL)
    lens = logit_lens(model, run)
    turns = [next(n for n in range(len(said)) if {*said[n:]} == {said[-1]}) for said in zip(*lens.tokens, strict=True)]
    found = "".join(f"{token} {turn + 1}" for token, turn in zip(run.output, turns, strict=True))
    knows, explains = sheet.locator(".answers li").nth(7), sheet.locator(".answers li").nth(8)
    expected = t("worksheet.knows.answer", LANGUAGE, found=found)
    assert re.sub("、| ?和 ?", "", knows.inner_text()).startswith(expected[:-1])
    for rows in (sheet.locator(f"{place} .lens tbody tr") for place in (".page", "body >")):
        expect(rows.locator("td:not(.turn) ~ .turn, .turn:nth-child(2)")).to_have_count(len(run.output))
        expect(rows.nth(2).locator("td .word")).to_have_text([said[2] for said in lens.tokens])
    of_source = integrated_gradients(model, run, 0).source
    attribution = of_source / np.abs(of_source).sum()
    highest = {"name": t("why.attribution", LANGUAGE), "value": run.source[int(attribution.argmax())]}
    expect(explains).to_contain_text(t("handout.setting", LANGUAGE, **highest))
    for table in sheet.locator(".why-table").all():
        shown = table.locator("[data-measure=attribution] td").all_inner_texts()
        assert [float(each.replace("−", "-")) for each in shown] == pytest.approx(100 * attribution, abs=0.6)
    expect(sheet.locator("body > h3").first).to_have_text(t("why.of", LANGUAGE, token=run.output[0]))


def test_a_file_that_cannot_be_made_is_said_so(shared: Visit) -> None:
    page = shared.go()
    shared.settle()
    page.route("**/api/*", lambda route: route.abort())  # offline, it would load itself again as soon as it is not
    in_menu(page, "#downloads summary")
    for what in ("handout", "notebook", "csv"):
        page.locator(f"[data-file={what}]").click()
        expect(page.locator("#downloads [role=alert]")).to_have_text(t("download.failed"))
        expect(page.locator(f"[data-file={what}]")).to_be_enabled()
    page.unroute("**/api/*")
    saved(page.locator("[data-file=csv]"), "toy-attention.csv")
    expect(page.locator("#downloads [role=alert]")).to_be_hidden()


# ---- any figure as a picture ----

PNG = b"\x89PNG\r\n\x1a\n"
IMAGE = "{http://www.w3.org/2000/svg}image"


def expect_saved(page: Page, *figures: Locator) -> None:
    """Each by its row of the tab's menu, in their order on the page, finely, with every word that is seen in it."""
    page.keyboard.press("Escape")
    page.locator("#pictures:not([open]) summary").click()
    rows = page.locator(".saves")
    expect(rows).to_have_count(len(figures))
    for row, figure in zip(rows.all(), figures, strict=True):
        svg, png = (downloaded(row.get_by_role("button", name=kind)).path() for kind in ("SVG", "PNG"))
        written = svg.read_text("utf-8")
        styles = re.sub(r'data:image/png[^"]*', "", written)
        assert not re.search(r"var\(|color-mix|oklab|NaN|undefined", styles)  # any program reads its colours
        picture = ElementTree.fromstring(written)
        text = "".join("".join(picture.itertext()).split())
        assert [word for word in figure.inner_text().split() if word not in text] == []
        for image, canvas in zip(picture.iter(IMAGE), figure.locator("canvas.painted").all(), strict=True):
            pixels = base64.b64decode(image.attrib["href"].removeprefix("data:image/png;base64,"))
            screen = canvas.evaluate("({ width }) => width")  # pixels of a screen with one a px
            assert struct.unpack(">I", pixels.removeprefix(PNG)[8:12])[0] == pytest.approx(2 * screen, abs=1)
        size = struct.unpack(">II", png.read_bytes().removeprefix(PNG)[8:16])
        assert size == pytest.approx([2 * float(picture.attrib[side]) for side in ("width", "height")], abs=2)


def test_figures_are_saved(shared: Visit) -> None:
    """In the dark, and in Chinese, where words are not set apart by spaces."""
    page = shared.go()
    page.evaluate("document.body.classList.add('dark')")
    page.locator("#language").select_option(LANGUAGE)
    expect(page.locator("html")).to_have_attribute("lang", LANGUAGE)
    expect_saved(page, page.locator("#story .bars"), page.locator("#story .candidates"))
    shared.tab("attention")
    page.locator("#ablation").scroll_into_view_if_needed()
    expect(page.locator("#ablation")).not_to_have_text("…")
    large, heads = page.locator("#attention .large"), page.locator("#attention .heads")
    expect_saved(page, large, heads, page.locator("#heads .pair-of-scores"), page.locator("#heads .scroll").last)
    shared.go(tab="lesson", stop=7, lang=LANGUAGE)
    page.locator("#lesson .choice").first.wait_for()
    page.keyboard.press("r")  # what gives the answer away is veiled until then
    expect(page.locator("#lesson .reveal")).to_be_visible()
    expect_saved(page, page.locator(".lesson-figure"))
    shared.tab("positions")
    page.locator("#positions .figure").nth(3).locator("canvas").last.wait_for()
    figure = page.locator("#positions .figure").first
    page.keyboard.press("Escape")
    page.locator("#pictures summary").click()
    svg = downloaded(page.locator(".saves").first.get_by_role("button", name="SVG")).path().read_text("utf-8")
    titles = figure.locator(".tick").all_text_contents()
    assert titles
    assert [title for title in titles if title not in svg] == []
