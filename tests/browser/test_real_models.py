"""A real model, of a Hub on this machine: offered, fetched once for two visitors, on every tab, and in links."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect

pytest.importorskip("sentencepiece", reason="pieces of Marian are cut by sentencepiece (requirements.txt)")
pytest.importorskip("transformers", reason="the model is made by transformers (tests/requirements.txt)")

from transformer.inference.words import words_of

from ..hub import COMMIT, NAME, Hub, served
from ..marian import marian_folder
from .catalogue import matching, t
from .conftest import Server, Visit, get, move, post, until, visiting

SENTENCE = "Frau Müller wohnt in Wien!"
WEIGHTS = "model.safetensors"
TABS = ("overview", "translate", "attention", "positions", "inside", "train", "break", "lesson")
PHONE: Any = {"viewport": {"width": 390, "height": 844}}
SCREEN: Any = {"viewport": {"width": 1440, "height": 900}}
PICTURES = os.environ.get("PICTURES")  # a folder, for a look at them


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Hub:
    folder = tmp_path_factory.mktemp("marian")
    marian_folder(folder, d_model=64, encoder_attention_heads=8, decoder_attention_heads=8, decoder_layers=3)
    return Hub(folder)


@pytest.fixture(scope="module")
def server(hub: Hub, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    home = str(tmp_path_factory.mktemp("home"))
    with served(hub) as address:
        listed = f"{NAME}@{COMMIT}, owner/opus-mt-fr-en"
        server = Server(HF_ENDPOINT=address, HF_HOME=home, HF_HUB_CACHE=f"{home}/hub", TRANSFORMER_MODELS=listed)
        server.wait()
        yield server
        hub.may_send.set()
        server.end()


@pytest.fixture(scope="module")
def screen(server: Server, browser: Browser) -> Iterator[Visit]:
    with visiting(browser, server.url, **SCREEN) as visit:
        yield visit


def take_picture(page: Page, name: str) -> None:
    if PICTURES:
        for theme in ("light", "dark"):
            page.evaluate("(dark) => document.body.classList.toggle('dark', dark)", theme == "dark")
            page.screenshot(path=Path(PICTURES) / f"{name}-{theme}.png")
        page.evaluate("document.body.classList.remove('dark')")


def expect_fitting(page: Page) -> None:
    """Nothing scrolls sideways, once figures have taken the width of the screen."""
    until(lambda: page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0)


def test_a_real_model_on_every_tab(hub: Hub, server: Server, browser: Browser) -> None:
    with visiting(browser, server.url, **SCREEN) as visit, visiting(browser, server.url, **PHONE) as other:
        page, awaited = visit.open("?tab=translate"), visit.page.locator("#awaited-model")
        expect(page.locator("#checkpoint optgroup")).to_have_count(2)
        labels = page.locator("#checkpoint optgroup").evaluate_all("groups => groups.map((group) => group.label)")
        assert labels == [t("header.models.shipped"), t("header.models.real")]
        expect(awaited).to_be_hidden()

        hub.may_send.clear()
        visit.ask(SENTENCE)
        assert not hub.asked  # nothing is fetched until somebody chooses it
        offer = page.locator(f"#suggestions [data-reader='{NAME}']")
        expect(offer).to_be_visible()
        take_picture(page, "refusal-1440")
        offer.click()
        expect(awaited).to_be_visible()
        expect(awaited).to_contain_text(matching("loading.fetching", name=NAME))
        take_picture(page, "fetching-1440")
        visit.ask("Ich möchte ein Cola")  # meanwhile the page has its model
        expect(page.locator("#translation")).to_contain_text("coke")
        expect(page.locator("#checkpoint")).to_have_value("toy")

        small = other.open(f"?checkpoint={NAME}&sentence={SENTENCE}&tab=attention")  # a link to it, on a phone
        small_awaited = small.locator("#awaited-model")
        expect(small_awaited).to_be_visible()
        expect(small_awaited).to_contain_text(matching("loading.fetching", name=NAME))
        expect_fitting(small)
        box, steps = (small.locator(each).bounding_box() for each in ("#awaited-model", ".transport"))
        assert box
        assert steps
        assert box["y"] + box["height"] <= steps["y"]  # the old model's steps stay within reach
        take_picture(small, "fetching-390")
        awaited.get_by_role("button", name=t("loading.cancel")).click()
        expect(awaited).to_be_hidden()
        hub.may_send.set()
        expect(small.locator("#checkpoint")).to_have_value(NAME)  # for whom the download went on
        expect(small_awaited).to_be_hidden()
        expect(small.locator("[role=tab][data-tab-id=attention]")).to_have_attribute("aria-selected", "true")
        expect(small.locator("#sentence input")).to_have_value(SENTENCE)
        take_picture(small, "attention-390")
        assert hub.downloads(WEIGHTS) == 1

        page.locator("#sentence input").fill(SENTENCE)
        with visit.answered():
            page.locator("#checkpoint").select_option(NAME)
        expect(page.locator("#checkpoint")).to_have_value(NAME)
        expect(page.locator("#sentence input")).to_have_value(SENTENCE)
        expect(page).to_have_url(re.compile("checkpoint=owner[^&]+opus-mt-de-en&"))
        assert hub.downloads(WEIGHTS) == 1
        loaded = get(f"{server.url}health").json()["models"]
        assert loaded["loaded"].keys() == {NAME}
        for tab in TABS:
            visit.tab(tab)
            visit.settle()
            for size in (PHONE, SCREEN):
                page.set_viewport_size(size["viewport"])
                expect_fitting(page)
                take_picture(page, f"{tab}-{size['viewport']['width']}")
        page.reload()
        expect(page.locator("#checkpoint")).to_have_value(NAME)
        expect(page.locator("#sentence input")).to_have_value(SENTENCE)

        page.locator("#checkpoint").select_option("owner/opus-mt-fr-en")  # which this Hub does not have
        expect(page.locator("p.message")).to_contain_text(t("real.not_there", name="owner/opus-mt-fr-en"))
        expect(page.locator("#checkpoint")).to_have_value(NAME)
        visit.ask("Kuchen?")
        visit.open("?checkpoint=owner/unlisted&tab=translate")
        expect(page.locator("p.message")).to_contain_text(t("link.checkpoint"))
        expect(page.locator("#checkpoint")).to_have_value("toy")


def test_a_program_names_it_and_nothing_else(hub: Hub, server: Server) -> None:
    def call(action: str, *values: object) -> httpx.Response:
        return post(server.url, f"gradio_api/run/{action}", {"data": values})

    answer = call("translate", SENTENCE, NAME).json()["data"][0]
    assert answer["source"][-1] == "E"
    assert len(answer["attention"]["cross"]) == 3
    asked = len(hub.asked)
    for name in ("owner/unlisted", f"{NAME}@main", "/etc", "../checkpoints/toy", ""):
        assert call("attention", SENTENCE, "cross", 0, 0, name).status_code == 500
        refused = post(server.url, "load", {"checkpoint": name})
        assert (refused.status_code, refused.json()["error"]["key"]) == (400, "error.no_checkpoint")
    assert len(hub.asked) == asked


def weights_of(page: Page) -> dict[int, float]:
    """Of cross-attention at the step that Translate shows: the weight on each key, where many are folded as well."""
    more = page.locator("#story .bars").locator("xpath=following::button[contains(@class, 'link')][1]")
    if page.locator("#story .bars .rest").count():
        more.click()
    return dict(enumerate(page.locator("#story .bars li").evaluate_all("all => all.map((li) => +li.dataset.weight)")))


def test_words_and_pieces_on_every_view(screen: Visit) -> None:
    page = screen.open(f"?checkpoint={NAME}&sentence={SENTENCE}&tab=translate&step=1")
    source, words = page.locator("#top .run .chip.source"), page.locator("#unit [value=words]")
    expect(source.first).to_contain_text("▁")
    page.locator("#story .bars li").first.wait_for()
    pieces = [text.strip() for text in source.all_inner_texts()]
    groups = words_of([*pieces[:-1], "E"])
    before, note = weights_of(page), page.locator(".under .note").inner_text()
    words.click()
    expect(page.locator("#unit small")).to_have_text(t("unit.words.about"))
    expect(page.locator(".under .note")).to_have_text(note)  # it counts tokens
    expect(page.locator(".legend").get_by_text(t("legend.P"))).to_be_hidden()  # no source is padded here
    expect(source).to_have_text(["Frau", "Müller", "wohnt", "in", "Wien", "!", "E"])
    for word, weight in weights_of(page).items():  # of S, which is one piece
        assert weight == pytest.approx(sum(before[i] for i, of in enumerate(groups.of) if of == word), abs=1e-5)
    page.locator("#find-piece").fill("<pad>")
    expect(page.locator(".found-pieces tbody tr").first).to_contain_text("−∞")
    screen.tab("attention")
    for size in (PHONE, SCREEN):
        page.set_viewport_size(size["viewport"])
        for drawing in ("heatmap", "lines", "table", "all"):
            page.locator(f"#attention .controls button[value={drawing}]").click()
            expect_fitting(page)
    page.locator("#attention .controls button[value=table]").click()
    expect(page.locator("#attention thead th[data-key]")).to_have_text(groups.names)
    screen.tab("inside")
    expect(page.locator("#unit small")).to_have_text(t("unit.elsewhere"))
    expect(source).to_have_count(len(pieces))
    take_picture(page, "words-inside")
    screen.tab("break")
    expect(source).to_have_count(len(groups.names))
    expect(page).to_have_url(re.compile("words=yes"))
    page.reload()
    expect(source).to_have_text(groups.names)


def test_long_words_stay_in_the_picture(screen: Visit) -> None:
    long = "*".join(f"force_word.{step}.er" for step in range(2, 20))
    page = screen.open(f"?checkpoint={NAME}&sentence={SENTENCE}&tab=overview&words=yes&step=1&changes={long}")
    expect(page.locator(".overview .word-out .target")).to_contain_text("erer")
    for size in (PHONE, SCREEN):
        page.set_viewport_size(size["viewport"])
        screen.settle()
        for frame, words in (("svg", ".token text"), (".word-out rect", ".word-out text")):
            box = page.locator(f".overview {frame}").first.bounding_box()
            assert box
            for text in page.locator(f".overview {words}:visible").all():
                own = text.bounding_box()
                assert own
                assert box["x"] - 1 <= own["x"], text.inner_html()
                assert own["x"] + own["width"] <= box["x"] + box["width"] + 1, text.inner_html()


def test_an_alignment_is_drawn_and_every_head_is_measured(screen: Visit) -> None:
    page = screen.open(f"?checkpoint={NAME}&sentence={SENTENCE}&tab=lesson&stop=15")
    grid, verdict = page.locator(".alignment-grid"), page.locator(".alignment .say")
    expect(verdict).to_have_text(t("lesson.align.nothing"))
    expect(page.locator(".stops button")).to_have_count(15)
    expect(page.locator(".alignment .score")).to_have_count(2 * 3 * 8)
    grid.locator("td[data-row]").first.click()
    for key in ("ArrowRight", "Space"):
        page.keyboard.press(key)
    expect(grid.locator("[aria-selected=true]")).to_have_count(2)
    row = grid.locator("tbody tr").first.locator("td")
    for key, cell in (("End", row.last), ("Home", row.first)):  # of the row, not of the run's steps
        page.keyboard.press(key)
        expect(cell).to_be_focused()
    expect(verdict).to_contain_text(t("heads.luck"))
    expect_fitting(page)

    move(page, {"tab": "break", "part": "whatif"})
    page.locator("#sweep").click()
    expect(page.locator(".panel .score[data-drop]")).to_have_count(3 * 8)
    expect(page.locator(".head-progress")).to_have_count(0)  # all are done

    screen.tab("positions")
    expect(page.locator("#positions .say")).to_contain_text(t("positions.order.halves", sines=32))
