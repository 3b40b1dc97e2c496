"""A saved run: one file, opened from a disk without a network, looked at by mouse and by key."""

import itertools
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from transformer import Translator
from transformer.analysis.sublayer import inspect_sublayer
from transformer.inference.decoding import Sampling

from .catalogue import t
from .conftest import BIER, ROOT, alone, hosted, translate, translator
from .test_accessible import LOOK, broken_rules, faults

TABS = ("overview", "translate", "attention", "positions", "inside")


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("file") / "run.html"
    translate("toy").to_html(path, ablations=True)
    return path.as_uri()


@contextmanager
def reading(browser: Browser, width: int = 1440, theme: Any = "light") -> Iterator[Page]:
    """Somebody without a network; whatever a page asks for is a fault too."""
    with alone(browser, width, theme, offline=True) as (context, faults):

        def refuse(route: Route) -> None:
            faults.append(route.request.url)
            route.abort()

        context.route(re.compile("^(?!file:|data:|blob:)"), refuse)
        page = context.new_page()
        page.on("dialog", lambda dialog: faults.append(dialog.message))
        yield page


def opened(page: Page, address: str) -> Page:
    page.goto("about:blank")  # another # alone would load nothing
    page.goto(address)
    page.locator("#translation .chip").first.wait_for()
    return page


def drawn(page: Page, tab: str) -> None:
    panel = page.locator(f"#panel-{tab}")
    expect(panel.locator(".say").first).not_to_be_empty()
    if tab == "positions":
        panel.locator(".figure canvas").nth(3).wait_for()
    if tab == "inside":
        panel.locator(".cell").first.wait_for()


def test_every_tab_is_there_for_everybody(browser: Browser, file: str) -> None:
    """On a phone, in Chinese, in the dark."""
    with reading(browser, 390, "dark") as page:
        opened(page, f"{file}#tab=overview&language=zh-Hans")
        expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
        expect(page.locator("body")).to_have_class(re.compile("dark"))
        expect(page.locator("[role=tab]")).to_have_text([t(f"tab.{tab}", "zh-Hans") for tab in TABS])
        for tab in TABS:
            page.get_by_role("tab", name=t(f"tab.{tab}", "zh-Hans"), exact=True).click()
            drawn(page, tab)
            assert broken_rules(page, whole=True) + faults(page, LOOK, "size") == [], tab


def test_it_says_the_numbers_of_the_run(browser: Browser, file: str) -> None:
    """What it opens with, and what is asked for. What it holds is tested in tests/web/api/test_frozen.py."""
    run = translate("toy")
    with reading(browser) as page:
        opened(page, f"{file}#tab=translate")
        first = page.locator("#story .candidates li").first
        assert float(str(first.get_attribute("data-probability"))) == run.steps[0].probability
        page.locator(".why-word summary").click()
        expect(page.locator(".why-table tbody tr")).to_have_count(3)  # measures
        opened(page, f"{file}#tab=inside&kind=cross&layer=6&head=3&query=4")
        q = inspect_sublayer(translator("toy"), run, "cross", 5).q[2, 3]
        cell = page.locator("#inside .cell[data-name=q]").first
        assert float(str(cell.get_attribute("data-value"))) == pytest.approx(float(q[0]), abs=1e-5)
        cell.click()  # a row of a matrix is not in the file
        expect(page.locator(".arithmetic-panel")).to_contain_text(t("error.not_in_file"))
        page.get_by_role("tab", name=t("tab.positions")).click()
        drawn(page, "positions")
        canvas = page.locator("#positions .number-chart").nth(5).locator("canvas")  # the input, a sum of two arrays
        across = canvas.evaluate("canvas => canvas.clientWidth") / run.source_input.input.shape[1]
        canvas.hover(position={"x": 1.5 * across, "y": 4}, force=True)  # where the position is 1
        told = page.locator("#positions .pointed-number").nth(5)
        expect(told).to_contain_text(f"{run.source_input.input[0, 1]:.3f}".replace("-", "−"))


def test_links_lead_to_places_and_back(browser: Browser, file: str) -> None:
    with reading(browser) as page:
        opened(page, f"{file}#tab=attention&kind=encoder&layer=3&head=4")
        expect(page.locator("#attention h2").first).to_contain_text(t("heads.name", layer=3, head=4))
        page.get_by_role("tab", name=t("tab.inside")).click()
        page.wait_for_url(re.compile("#.*tab=inside"))
        page.go_back()
        expect(page.get_by_role("tab", name=t("tab.attention"), selected=True)).to_be_visible()
        page.reload()
        expect(page.locator("#attention h2").first).to_contain_text(t("heads.name", layer=3, head=4))
        page.locator("#language").select_option("zh-Hans")
        expect(page.locator("#saved")).to_have_text(t("file.saved", "zh-Hans", model="toy"))
        for gone in ("#sentence", "#checkpoint", "#share", "#downloads", ".examples"):
            expect(page.locator(gone)).to_have_count(0)
        page.locator("#menu > summary").click()
        page.locator("#theme").click()
        expect(page.locator("body")).to_have_class(re.compile("dark"))
        expect(page.locator("#checks")).to_have_attribute("data-state", "✓")


def test_what_the_network_said_without_a_change_is_read_in_full(browser: Browser, tmp_path: Path) -> None:
    ablated = {"do": "ablate", "kind": "cross", "layer": 1, "head": 2}
    translate("classroom", ablated, sentence="Den Hund sieht der Lehrer").to_html(tmp_path / "run.html")
    with reading(browser, 1280) as page:
        opened(page, f"{(tmp_path / 'run.html').as_uri()}#tab=translate")
        original = page.locator(".changed .hint")
        expect(original).to_contain_text("the teacher sees the dog . E")
        assert original.evaluate("line => line.scrollWidth <= line.clientWidth")


def test_many_changes_stay_in_their_order_and_leave_the_original_its_place(browser: Browser, tmp_path: Path) -> None:
    """Also on a phone, where their line scrolls, by key too."""
    changes = [{"do": "ablate", "kind": "cross", "layer": layer, "head": head} for layer in (0, 1) for head in range(4)]
    translate("classroom", *changes, sentence="Den Hund sieht der Lehrer").to_html(tmp_path / "run.html")
    with reading(browser, 1280) as page:
        opened(page, f"{(tmp_path / 'run.html').as_uri()}#tab=translate")
        original = page.locator(".changed .hint")
        assert original.evaluate("line => line.scrollWidth <= line.clientWidth")
        page.set_viewport_size({"width": 390, "height": 844})
        page.locator(".folded .changed").wait_for()
        lefts = page.locator(".changed li").evaluate_all("all => all.map((each) => each.getBoundingClientRect().left)")
        assert lefts == sorted(lefts)
        assert broken_rules(page, whole=True) == []


def test_words_that_python_forced_or_drew_are_said_to_be(browser: Browser, tmp_path: Path) -> None:
    forced = translator("toy").translate(BIER, forced=("i", "want", "a", "coke"))
    forced.to_html(tmp_path / "run.html", ablations=True)
    with reading(browser) as page:
        opened(page, f"{(tmp_path / 'run.html').as_uri()}#tab=translate&step=4")
        expect(page.locator("#story .say")).to_contain_text("forced to output coke")
        page.get_by_role("tab", name=t("tab.attention")).click()
        drawn(page, "attention")
        expect(page.locator("#ablation")).to_have_count(0)  # nor can changes be undone here
        sampled = translator("toy").translate(BIER, forced=("i", "want"), sampling=Sampling(temperature=50, seed=1))
        step = next(t for t, made in enumerate(sampled.steps) if made.token != made.candidates[0].token)
        sampled.to_html(tmp_path / "run.html")
        opened(page, f"{(tmp_path / 'run.html').as_uri()}#tab=translate&step={step + 1}")
        expect(page.locator("#story .say")).to_contain_text(f"{sampled.output[step]} ")
        page.get_by_role("tab", name=t("tab.overview")).click()
        expect(page.locator("#overview .say")).to_contain_text(t("overview.is_drawn"))
        expect(page.locator("body")).to_contain_text(t("change.drawn_word", step=step + 1, word=sampled.output[step]))
        expect(page.locator("body")).not_to_contain_text("forced")


def test_a_visitors_text_is_text_and_words_are_of_pieces(browser: Browser, marian: Path, tmp_path: Path) -> None:
    sentence = '</title></script><img src=x onerror=alert(1)> <!-- \u2028 <b>Bier</b> {{1}} </style>" onload="f()'
    Translator.load(marian).translate(sentence).to_html(tmp_path / "run.html")
    with reading(browser) as page:
        opened(page, (tmp_path / "run.html").as_uri())
        expect(page).to_have_title(re.compile("^</title></script><img"))
        for tab, unit in itertools.product(TABS[:3], ("words", "pieces")):
            page.get_by_role("tab", name=t(f"tab.{tab}")).click()
            page.locator(f"#unit button[value={unit}]").click()
            drawn(page, tab)
        page.get_by_role("tab", name=t("tab.translate")).click()
        page.locator("#unit button[value=words]").click()
        expect(page.locator(".run .tokens").first).to_contain_text("<img src=x onerror=alert(1")
        assert page.evaluate("document.querySelectorAll('img, .view b b, .word b').length") == 0
        expect(page.locator("#story .candidates button, .piece-search:visible")).to_have_count(0)


def test_what_a_file_cannot_explain_it_does_not_offer(browser: Browser, marian: Path, tmp_path: Path) -> None:
    """int8 weights have no gradients."""
    Translator.load(marian, precision="int8").translate("Kuchen?").to_html(tmp_path / "run.html")
    with reading(browser) as page:
        opened(page, f"{(tmp_path / 'run.html').as_uri()}#tab=translate")
        drawn(page, "translate")
        expect(page.locator(".why-word")).to_be_hidden()


def test_where_scripts_are_forbidden_it_says_so(browser: Browser, file: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(file)
    expect(page.locator("noscript")).to_be_visible()
    assert t("shell.no_script", "zh-Hant") in page.locator("noscript").inner_text()
    context.close()


def test_the_iframe_of_a_course_page_opens_at_its_place(browser: Browser, file: str) -> None:
    folder = Path(file.removeprefix("file://")).parent
    (recipe,) = re.findall("<iframe .*?</iframe>", (ROOT / "transformer" / "README.md").read_text("utf-8"), re.DOTALL)
    (folder / "course.html").write_text(f"<!doctype html><link rel=icon href=data:,><h1>Week 3</h1>{recipe}")
    with hosted(folder) as url, alone(browser, 1440, "light") as (context, _):
        page = context.new_page()
        page.goto(f"{url}course.html")
        heading = page.frame_locator("iframe").locator("#attention h2").first
        expect(heading).to_contain_text(t("heads.name", layer=6, head=3))
