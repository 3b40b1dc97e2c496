"""A real model, of a Hub on this machine: offered, fetched once for two visitors, on every tab, and in links."""

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

pytest.importorskip("sentencepiece", reason="pieces of Marian are cut by sentencepiece (requirements.txt)")
pytest.importorskip("transformers", reason="the model is made by transformers (tests/requirements.txt)")

from ..hub import COMMIT, NAME, Hub, served
from ..marian import marian_folder
from .catalogue import matching, t
from .conftest import PHONE, Server, Visit, forgotten, get, visiting
from .test_handout import downloaded

SENTENCE = "Frau Müller wohnt in Wien!"
WEIGHTS = "model.safetensors"
TABS = ("overview", "translate", "attention", "positions", "inside", "train", "break", "lesson")


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
        with Server(HF_ENDPOINT=address, HF_HOME=home, HF_HUB_CACHE=f"{home}/hub", TRANSFORMER_MODELS=listed) as server:
            yield server
            hub.may_send.set()


@pytest.fixture(scope="module")
def screen(server: Server, browser: Browser) -> Iterator[Visit]:
    with visiting(browser, server.url) as visit:
        yield visit


def test_a_real_model_is_offered_fetched_once_for_two_and_found_by_its_link(
    hub: Hub, server: Server, screen: Visit
) -> None:
    with forgotten(screen) as other:
        other.page.set_viewport_size(PHONE)
        visit, page = screen, screen.open("?tab=translate")
        checkpoint, awaited = page.locator("#checkpoint"), page.locator("#awaited-model")
        labels = page.locator("#checkpoint optgroup").evaluate_all("groups => groups.map((group) => group.label)")
        assert labels == [t("header.models.shipped"), t("header.models.real")]
        expect(awaited).to_be_hidden()

        hub.may_send.clear()
        visit.ask("Frau Müller wohnt in Quito!")  # which no shipped model reads
        assert not hub.asked  # nothing is fetched until somebody chooses it
        page.locator(f"#suggestions [data-reader='{NAME}']").click()
        expect(awaited).to_contain_text(matching("loading.fetching", name=NAME))
        visit.ask("Ich möchte ein Cola")  # meanwhile the page has its model
        expect(page.locator("#translation")).to_contain_text("coke")
        expect(checkpoint).to_have_value("toy")

        small = other.open(f"?checkpoint={NAME}&sentence={SENTENCE}&tab=attention")  # a link to it, on a phone
        small_awaited = small.locator("#awaited-model")
        expect(small_awaited).to_contain_text(matching("loading.fetching", name=NAME))
        awaited.get_by_role("button", name=t("loading.cancel")).click()
        expect(awaited).to_be_hidden()
        hub.may_send.set()
        expect(small.locator("#checkpoint")).to_have_value(NAME)  # for whom the download went on
        expect(small_awaited).to_be_hidden()
        expect(small.get_by_role("tab", selected=True)).to_have_attribute("data-tab-id", "attention")
        expect(small.locator("#sentence input")).to_have_value(SENTENCE)

        page.locator("#sentence input").fill(SENTENCE)
        visit.choose_model(NAME)
        expect(page.locator("#sentence input")).to_have_value(SENTENCE)
        expect(page).to_have_url(re.compile("checkpoint=owner[^&]+opus-mt-de-en&"))
        assert hub.downloads(WEIGHTS) == 1
        assert get(f"{server.url}health").json()["models"]["loaded"].keys() == {NAME}
        page.bring_to_front()  # a page behind another draws once a second
        for tab in TABS:  # whatever a tab throws fails the visit
            visit.tab(tab)
            visit.settle()
        page.reload()
        expect(checkpoint).to_have_value(NAME)
        expect(page.locator("#sentence input")).to_have_value(SENTENCE)

        checkpoint.select_option("owner/opus-mt-fr-en")  # which this Hub does not have
        expect(page.locator("p.message")).to_contain_text(t("real.not_there", name="owner/opus-mt-fr-en"))
        expect(checkpoint).to_have_value(NAME)
        visit.open(f"?checkpoint=owner/opus-mt-fr-en&sentence={SENTENCE}&tab=translate")
        expect(page.locator("p.message")).to_contain_text(t("real.not_there", name="owner/opus-mt-fr-en"))
        expect(page.locator("#sentence input")).to_have_value(SENTENCE)  # to choose another model for it
        visit.open("?checkpoint=owner/unlisted&tab=translate")
        expect(page.locator("p.message")).to_contain_text(t("link.checkpoint"))
        expect(checkpoint).to_have_value("toy")


def test_words_and_pieces_on_every_view(screen: Visit) -> None:
    page = screen.open(f"?checkpoint={NAME}&sentence={SENTENCE}&tab=translate&step=1")
    source = page.locator("#top .run .chip.source")
    expect(source.first).to_contain_text("▁")
    pieces = source.count()
    page.locator("#unit [value=words]").click()
    words = ["Frau", "Müller", "wohnt", "in", "Wien", "!", "E"]
    expect(source).to_have_text(words)
    page.locator("#find-piece").fill("<pad>")
    expect(page.locator(".found-pieces tbody tr").first).to_contain_text("−∞")
    page.locator(".why-word summary").click()
    expect(page.locator(".why-table thead th .word")).to_have_text(words)
    expect(page.locator(".why-says")).to_contain_text("%")
    screen.tab("attention")
    page.locator("#attention .controls button[value=table]").click()
    expect(page.locator("#attention thead th[data-key]")).to_have_text(words)
    screen.tab("inside")
    expect(page.locator("#unit small")).to_have_text(t("unit.elsewhere"))
    expect(source).to_have_count(pieces)
    screen.tab("break")
    expect(source).to_have_text(words)
    expect(page).to_have_url(re.compile("words=yes"))
    page.reload()
    expect(source).to_have_text(words)


def test_a_worksheet_by_words_asks_for_no_softmax_which_is_one_of_pieces(screen: Visit) -> None:
    tokens = {}
    for unit in ("no", "yes"):
        page = screen.open(f"?checkpoint={NAME}&sentence={SENTENCE}&tab=attention&words={unit}")
        expect(page.locator("#checkpoint")).to_have_value(NAME)
        screen.settle()
        tokens[unit] = page.locator("#top .run .chip.source").count()
        sheet = downloaded(page.locator("[data-file=handout]")).path().read_text("utf-8")
        assert matching("worksheet.shapes", source=tokens["no"]).search(sheet)  # the encoder reads pieces
        assert (t("worksheet.softmax.answer", found="") in sheet) == (unit == "no")
    assert tokens["yes"] < tokens["no"]


def test_an_alignment_is_drawn_and_every_head_is_measured(screen: Visit) -> None:
    page = screen.open(f"?checkpoint={NAME}&sentence={SENTENCE}&tab=lesson&stop=15")
    grid, verdict = page.locator(".alignment-grid"), page.locator(".alignment .say")
    expect(verdict).to_have_text(t("lesson.align.nothing"))
    expect(page.locator(".stops button")).to_have_count(19)
    expect(page.locator(".alignment .score")).to_have_count(2 * 3 * 8)
    grid.locator("td[data-row]").first.click()
    for key in ("ArrowRight", "Space"):
        page.keyboard.press(key)
    expect(grid.locator("[aria-selected=true]")).to_have_count(2)
    expect(verdict).to_contain_text(t("heads.luck"))
    screen.tab("break")
    page.locator("#sweep").click()
    expect(page.locator(".panel .score[data-drop]")).to_have_count(3 * 8)
    screen.tab("positions")
    expect(page.locator("#positions .say")).to_contain_text(t("positions.order.halves", sines=32))
