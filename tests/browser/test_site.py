"""The page without a server: files of a static host, after the first visit also without it."""

import gzip
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from transformer.storage.checkpoint import FOLDER, WEIGHTS
from transformer.web.api.mistakes import mistake
from transformer.web.api.question import Question
from transformer.web.engine_data import engine_data
from transformer.web.schema import MistakeRequest
from transformer.web.sessions.models import examples_of
from transformer.web.site import write

from .catalogue import t
from .conftest import LAPTOP, SETTLED, alone, hosted, translate, until
from .test_accessible import LOOK, broken_rules, faults

TABS = ("overview", "translate", "attention", "positions", "inside", "train", "break", "lesson")
HUND = "Der Hund sieht die Katze"
ELSEWHERE = "https://example.org/page"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    for name in ("v-0123456789ab", "v-mine"):
        (folder / name).mkdir()
    (folder / "CNAME").write_text("somebody's own")
    write(folder, ELSEWHERE)
    return folder


@pytest.fixture(scope="module")
def site(folder: Path) -> Iterator[str]:
    with hosted(folder) as url:
        yield url


@pytest.fixture
def faulty(browser: Browser) -> Iterator[BrowserContext]:
    """A visitor whose requests a test lets fail: no service worker answers them."""
    context = browser.new_context(**LAPTOP, service_workers="block")
    yield context
    context.close()


@contextmanager
def visiting(browser: Browser, width: int = 1440, theme: Any = "light") -> Iterator[BrowserContext]:
    """A visitor; a request that fails is a fault too."""
    with alone(browser, width, theme) as (context, faults):
        context.on("requestfailed", lambda request: faults.append(request.url))
        yield context


def opened(context: BrowserContext, address: str) -> Page:
    page = context.new_page()
    page.goto(address)
    page.locator("#translation .chip").first.wait_for()
    return page


def ask(page: Page, sentence: str) -> None:
    page.locator("#sentence input").fill(sentence)
    page.keyboard.press("Enter")


# ---- its files


def test_it_is_small_and_its_parts_are_found(folder: Path) -> None:
    files = [each for each in folder.rglob("*") if each.is_file()]
    assert sum(each.stat().st_size for each in files) <= 6_000_000
    kept = re.findall(r'"(v-[^"]+)"', (folder / "sw.js").read_text())
    assert {*kept} == {str(each.relative_to(folder)) for each in files if each.parent != folder}
    page = (folder / "index.html").read_text()
    for name in re.findall(r'"\.?/?(v-[\w-]+/[\w.]+)"', page):
        assert (folder / name).exists(), name


def test_an_earlier_version_goes_and_other_files_stay(folder: Path) -> None:
    assert len(list(folder.glob("v-*/app.js"))) == 1
    assert not (folder / "v-0123456789ab").exists()
    assert (folder / "v-mine").exists()
    assert (folder / "CNAME").exists()


def test_weights_are_those_of_the_checkpoint(folder: Path) -> None:
    for name in ("toy", "classroom"):
        weights = (FOLDER / name / WEIGHTS).read_bytes()
        packed = next(folder.glob(f"v-*/{name}.planes.gz")).read_bytes()
        found = np.frombuffer(gzip.decompress(packed), np.uint8).reshape(4, -1)
        assert found.T.tobytes() == weights


def test_an_answer_that_is_kept_stays_as_it_is() -> None:
    asked = MistakeRequest(checkpoint="classroom", sentence=examples_of("classroom")[0].sentence, name="unscaled")
    before = Question("mistake", mistake).dump(mistake(asked))
    engine_data("classroom")
    assert Question("mistake", mistake).dump(mistake(asked)) == before


# ---- in a browser


def test_every_tab_is_there_for_everybody(browser: Browser, site: str) -> None:
    """On a phone, in Chinese, in the dark."""
    with visiting(browser, 390, "dark") as context:
        page = opened(context, f"{site}?tab=overview&language=zh-Hans")
        for tab in TABS:
            page.get_by_role("tab", name=t(f"tab.{tab}", "zh-Hans"), exact=True).click()
            until(lambda: bool(page.evaluate(SETTLED)))
            assert broken_rules(page, whole=True) + faults(page, LOOK, "size") == [], tab


def test_what_needs_a_server_says_so_and_nothing_is_offered_in_vain(browser: Browser, site: str) -> None:
    with visiting(browser) as context:
        page = opened(context, f"{site}?tab=train&checkpoint=classroom")
        expect(page.locator("#panel-train")).to_contain_text("make demo")
        expect(page.locator("#panel-train").locator("button, input, select")).to_have_count(0)
        expect(page.locator("#panel-train a.link")).to_have_attribute("href", ELSEWHERE)
        page.locator("#menu > summary").click()
        page.locator("#downloads > summary").click()
        expect(page.locator("#downloads [data-file]")).to_have_count(1)
        expect(page.locator("#device")).to_contain_text(t("header.device", device="browser"))
        page.keyboard.press("Escape")
        ask(page, "Die Frau liest ein Buch")  # which the model has learned, but the site does not have the whole corpus
        expect(page.locator(".note")).to_have_text(t("note.unknown"))
        ask(page, "Der Pinguin sieht den Hund")
        expect(page.locator("#suggestions #nearest")).to_be_visible()
        expect(page.locator("#suggestions #teach")).to_have_count(0)
        page.goto(f"{site}?tab=break&part=mistakes&exercise=padding_rows&checkpoint=classroom&sentence={HUND}")
        expect(page.locator("#mistakes .symptom .say")).not_to_be_empty()
        elsewhere = t("mistakes.beforehand", model="|", sentence="|").split("|")[0]
        expect(page.locator("#mistakes .symptom .hint").first).to_contain_text(elsewhere)
        page.locator("#mistakes .exercises button", has=page.locator(".kind.training")).first.click()
        expect(page.locator("#mistakes .live .go")).to_be_hidden()
        expect(page.locator("#mistakes .live .lead")).to_contain_text(t("mistakes.live.elsewhere"))
        expect(page.locator("#mistakes .live .lead")).to_contain_text(ELSEWHERE)
        page.get_by_role("button", name=t("mistakes.live.recorded")).click()
        expect(page.locator("#mistakes .symptom .say")).not_to_be_empty()
        page.goto(f"{site}?room=ABCDE")
        expect(page.locator("#class")).to_contain_text(t("error.needs_server"))


def test_a_file_that_does_not_come_is_said_and_asked_for_again_and_another_model_stays(
    faulty: BrowserContext, site: str
) -> None:
    """What asks about a model that does not come says why there is no answer, on every tab."""
    faulty.route("**/engine.js", lambda route: route.abort())
    page = opened(faulty, site)
    ask(page, "ich mochte ein cola")
    expect(page.locator("#top .message")).to_contain_text(t("error.no_file"))
    faulty.unroute_all()
    faulty.route("**/classroom.planes.gz", lambda route: route.fulfill(body="<p>", content_type="text/html"))
    ask(page, "ich mochte ein cola")
    expect(page.locator("#translation")).to_contain_text("coke")
    page.locator("#checkpoint").select_option("classroom")
    expect(page.locator("#top .message")).to_contain_text(t("error.no_file"))
    page.get_by_role("tab", name=t("tab.inside")).click()  # what it asks about the toy has tried to load it, too
    expect(page.locator("#inside .cell").first).to_be_visible()
    faulty.unroute_all()
    ask(page, HUND)
    expect(page.locator("#translation")).to_contain_text("dog")
    faulty.route("**/toy.planes.gz", lambda route: route.abort())
    for tab in ("inside", "break", "positions"):
        page.goto(f"{site}?tab={tab}&part=decoding")
        expect(page.locator(f"#panel-{tab}")).to_contain_text(t("error.no_file"))


def test_texts_that_do_not_come_are_english_or_said_to_be_missing(faulty: BrowserContext, site: str) -> None:
    faulty.route("**/locales/zh-Hans*", lambda route: route.abort())
    page = opened(faulty, f"{site}?language=zh-Hans")
    expect(page.locator("html")).to_have_attribute("lang", "en")
    page.locator("#language").select_option("zh-Hans")
    page.wait_for_function("document.getElementById('language').validationMessage")
    told = page.locator("#language").evaluate("each => [each.value, each.validationMessage]")
    assert told == ["en", t("error.no_file")]
    for lost in ("locales/*", "app.js"):
        faulty.route(f"**/{lost}", lambda route: route.abort())
        page.goto(site)
        expect(page.get_by_text("Reload it.")).to_contain_text("重新載入")  # in every language
    faulty.unroute_all()
    faulty.route("**/app.js", lambda route: route.fulfill(body="const {", content_type="text/javascript"))
    page.goto(site)
    expect(page.get_by_text("Reload it.")).to_be_visible()


CACHED = """async (address) => {
    const texts = [];
    for (const name of await caches.keys()) {
        const found = await (await caches.open(name)).match(address);
        if (found) texts.push(await found.text());
    }
    return texts.join();
}"""


def test_a_new_version_is_kept_whole_and_the_site_beside_it_stays(
    browser: Browser, folder: Path, tmp_path: Path
) -> None:
    """On a host whose files a browser may keep: their last change is long ago."""
    newer = "https://example.org/newer"

    def age(site: Path) -> None:
        os.utime(site / "index.html", (time.time() - 30 * 86400,) * 2)

    with visiting(browser) as context, hosted(tmp_path) as url:
        for name in ("a", "b"):
            age(shutil.copytree(folder, tmp_path / name))
            page = opened(context, f"{url}{name}/")
            page.evaluate("navigator.serviceWorker.ready.then(() => true)")
        write(tmp_path / "a", newer)
        assert set(os.listdir(tmp_path / "a")) == set(os.listdir(folder))  # the same files are the same version
        age(tmp_path / "a")
        page = opened(context, f"{url}a/")
        until(lambda: newer in page.evaluate(CACHED, f"{url}a/"))
        assert ELSEWHERE in page.evaluate(CACHED, f"{url}b/")


def test_it_works_where_the_browser_refuses_to_keep_anything(browser: Browser, site: str) -> None:
    refused = """() => { throw new DOMException("The operation is insecure.", "SecurityError"); }"""
    with visiting(browser) as context:
        context.add_init_script(f"""
            for (const name of ["localStorage", "sessionStorage"])
              Object.defineProperty(window, name, {{ get: {refused} }});
            Object.defineProperty(Navigator.prototype, "serviceWorker", {{ get: {refused} }});""")
        page = opened(context, f"{site}?checkpoint=classroom")
        page.locator("#language").select_option("zh-Hant")
        expect(page.locator("html")).to_have_attribute("lang", "zh-Hant")


def test_it_comes_again_without_a_network(browser: Browser, folder: Path) -> None:
    with visiting(browser) as context:
        with hosted(folder) as url:
            page = opened(context, url)
            page.evaluate("navigator.serviceWorker.ready.then(() => true)")
        context.set_offline(True)
        page = opened(context, f"{url}?checkpoint=classroom&sentence={HUND.replace(' ', '+')}&tab=inside&layer=2")
        page.locator("#inside .cell").first.wait_for()
        ask(page, "Die Katze sieht den Hund")
        expect(page.locator("#translation .chip")).to_have_text(
            list(translate("classroom", sentence="Die Katze sieht den Hund").output)
        )
        page.locator("#language").select_option("zh-Hant")
        expect(page.locator("html")).to_have_attribute("lang", "zh-Hant")
        opened(context, f"{url}index.html?tab=translate")
