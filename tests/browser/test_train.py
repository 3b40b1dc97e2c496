"""Train, in a real Chromium: pairs from a file, a model that learns before one's eyes, and then is used everywhere."""

import csv
import io
import re
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from .catalogue import EN, matching, t
from .conftest import TRAINED, Visit, until, visiting
from .test_accessible import barriers
from .wire import Hold, asking, question

SPANISH = [
    ("Yo bebo agua.", "I drink water."),
    ("Yo bebo leche.", "I drink milk."),
    ("Tú bebes agua.", "You drink water."),
    ("Tú bebes leche.", "You drink milk."),
    ("Ella bebe agua.", "She drinks water."),
    ("Ella bebe leche.", "She drinks milk."),
    ("Yo como pan.", "I eat bread."),
    ("Tú comes pan.", "You eat bread."),
    ("Ella come pan.", "She eats bread."),
    ("Yo como arroz, hoy.", "I eat rice, today."),
]


def as_csv(rows: list[tuple[str, ...]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return b"\xef\xbb\xbf" + text.getvalue().encode()


def choose_file(page: Page, content: bytes) -> None:
    page.locator("#train button[value=own]").click()
    page.locator("#train-file").set_input_files({"name": "pairs.csv", "mimeType": "text/csv", "buffer": content})


def set_number(page: Page, field: str, value: object) -> None:
    setting = page.locator(f"#train [data-field={field}]")
    setting.wait_for(state="attached")
    folded = setting.locator("xpath=ancestor::details[not(@open)]")
    if folded.count():
        folded.locator("summary").click()
    box = setting.locator("input")
    box.fill(str(value))
    box.press("Tab")


def start(page: Page) -> None:
    expect(page.locator("#train-start")).to_have_attribute("aria-disabled", "false")
    page.locator("#train-start").press("Enter")


def finished(page: Page) -> None:
    """The model is there, and its whole replay."""
    expect(page.locator("#train-scores")).to_contain_text("%", timeout=TRAINED)
    expect(page.locator("#train-start")).to_be_visible(timeout=TRAINED)


def replayed(page: Page, end: str, step: int) -> str | None:
    """What is told of the large map at one end of the replay: its largest weight."""
    move = "(at, end) => { at.value = at[end]; at.dispatchEvent(new Event('input', { bubbles: true })); }"
    page.locator("#replay-step").evaluate(move, end)
    expect(page.locator("#replay-say")).to_contain_text(t("replay.step", step=step).strip())
    return page.locator("#replay .large .heatmap").get_attribute("aria-label")


def test_ten_pairs_of_another_language_become_a_model_that_a_file_takes_to_another_visitor(
    visit: Visit, browser: Browser, tmp_path: Path
) -> None:
    page = visit.open("?tab=train")
    choose_file(page, as_csv([("source", "target"), *SPANISH[:3], ("vacío", " "), *SPANISH[3:]]))
    expect(page.locator("#train-header")).to_be_checked()
    why = t("pairs.empty_cell", column=2)
    expect(page.locator("#train-found")).to_contain_text(t("train.pairs.row", row=5, why=why))
    expect(page.locator("#train-start")).to_have_attribute("aria-disabled", "true")
    page.locator("#train-use-others").click()
    expect(page.locator("#train .vocabularies")).to_contain_text("bebo")
    expect(page.locator("#train .pair-ids")).to_contain_text("S")
    expect(page.locator("#train-facts")).to_contain_text(matching("train.facts.size"))
    page.locator("#train-name").fill("Spanish class")
    page.locator("#train-watch").fill("Yo como pan")
    for field, value in (("layers", 1), ("steps", 100)):
        set_number(page, field, value)

    page.reload()  # it finds what was chosen and typed
    expect(page.locator("#train .vocabularies")).to_contain_text("bebo")
    expect(page.locator("#train .pairs tbody tr")).to_have_count(len(SPANISH) + 1)
    expect(page.locator("#train-name")).to_have_value("Spanish class")
    expect(page.locator("#train-watch")).to_have_value("Yo como pan")
    expect(page.locator("#train-steps")).to_have_value("100")

    visit.settle()
    planned = visit.asked.count("plan")
    start(page)
    expect(page.locator("#train-stop")).to_be_focused()  # the keyboard's place goes from Start to Stop and back
    expect(page.locator("#train-live .js-line").first).to_be_visible(timeout=TRAINED)
    finished(page)
    # An estimate learns from a training's end. The page is asked something, so that Playwright hears of its requests.
    until(lambda: bool(page.title()) and visit.asked.count("plan") > planned)
    expect(page.locator("#train-start")).to_be_focused()
    right = t("train.scores.training", right=10, count=10, exact="100%", accuracy="100%")
    expect(page.locator("#train-scores")).to_contain_text(right)

    # The replay is in the browser.
    expect(page.locator("#checkpoint option:checked")).to_contain_text("Spanish class")
    visit.settle()
    before = len(visit.requests)
    untrained, trained = replayed(page, "min", 0), replayed(page, "max", 100)
    assert len(visit.requests) == before
    assert untrained != trained
    assert barriers(page) == {}

    # A reload finds it again, with its curves.
    page.reload()
    expect(page.locator("#train-scores")).to_contain_text(right)
    assert (replayed(page, "min", 0), replayed(page, "max", 100)) == (untrained, trained)
    expect(page.locator("#train-live .js-line").first).to_be_visible()

    # The whole page uses the model.
    expect(page.locator("#checkpoint option:checked")).to_contain_text("Spanish class")
    expect(page.locator("header h1 small")).to_have_text(t("header.subtitle_other"))  # it is not from German
    visit.ask("Ella come pan.")
    expect(page.locator("#translation")).to_have_text("She eats bread . E")
    expect(page.locator("#checks")).to_have_attribute("data-state", "✓")
    visit.tab("attention")
    expect(page.locator("#attention .large")).to_contain_text("Ella")

    # Another visitor does not see it, and has it from its file.
    visit.tab("train")
    with page.expect_download() as download:
        page.locator("#own-models").get_by_role("button", name=t("models.download")).click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert file.name == "Spanish-class.safetensors"
    with visiting(browser, visit.url, viewport={"width": 390, "height": 844}) as other:
        other.page.goto(page.url)
        expect(other.page.locator("#top .message")).to_contain_text(t("link.checkpoint"))
        other.tab("train")
        expect(other.page.locator("#checkpoint")).not_to_contain_text("Spanish")
        other.page.locator("#bring-model").set_input_files(file)
        expect(other.page.locator("#checkpoint option:checked")).to_contain_text("Spanish class")
        other.page.locator("#unfold").click()
        other.ask("tú bebes leche.")
        expect(other.page.locator("#translation")).to_have_text("You drink milk . E")


def test_what_cannot_be_trained_is_refused_in_a_sentence(visit: Visit) -> None:
    page = visit.open("?tab=train")
    start_button, problems = page.locator("#train-start"), page.locator("#train-problems")
    expect(start_button).to_have_attribute("aria-disabled", "false")
    Hold(page, "plan")
    with asking(page, "plan"):
        set_number(page, "layers", 5)
    with page.expect_event("requestfailed", lambda request: question(request) == "plan"):
        set_number(page, "n_heads", 5)  # a plan of what has been changed since is given up
    expect(problems).to_contain_text(t("plan.heads", d_model=64, n_heads=5))
    page.unroute_all(behavior="ignoreErrors")
    expect(start_button).to_have_attribute("aria-disabled", "true")
    start_button.click(force=True)
    expect(page.locator("#train-stop")).to_be_hidden()
    choose_file(page, "ich möchte,i want".encode("utf-16"))
    expect(page.locator("#train")).to_contain_text(EN["pairs.not_utf8"])


def test_a_stopped_training_leaves_a_model_which_is_removed(visit: Visit) -> None:
    page = visit.open("?tab=train")
    page.locator("#train button[value=toy]").click()
    for field, value in (("d_model", 32), ("layers", 1), ("steps", 8000)):
        set_number(page, field, value)
    start(page)
    expect(page.locator("#train-stop")).to_be_visible()
    page.locator("#language").select_option("zh-Hans")  # and nothing is lost
    expect(page.locator("#train-live .now-says .chip").first).to_be_visible(timeout=TRAINED)
    page.locator("#language").select_option("en")
    page.locator("#train-stop").click()
    finished(page)
    name = t("train.name.default")
    expect(page.locator("#train-status")).to_contain_text(matching("train.ended.stop", name=name))
    expect(page.locator("#replay .large .heatmap")).to_be_visible()
    expect(page).to_have_url(re.compile("checkpoint=own(:|%3A)"))
    expect(page.locator("#checkpoint option:checked")).to_contain_text(name)
    assert "own-" not in page.url  # the key is nobody else's business
    page.locator("#own-models").get_by_role("button", name=t("models.forget")).click()
    expect(page.locator("#own-models li")).to_have_count(0)
    expect(page.locator("#checkpoint option:checked")).to_contain_text("toy")


def test_what_is_pasted_replaces_what_it_covers(visit: Visit) -> None:
    page = visit.open("?tab=train")
    choose_file(page, as_csv([("source", "target"), *SPANISH]))
    cells = page.locator("#train .pairs tbody tr:nth-child(-n + 2) input")
    expect(cells.first).to_have_value(SPANISH[0][0])
    paste = """(cell, text) => {
        const clipboardData = new DataTransfer();
        clipboardData.setData("text", text);
        cell.dispatchEvent(new ClipboardEvent("paste", { clipboardData, bubbles: true, cancelable: true }));
    }"""
    cells.first.evaluate(paste, "uno\ndos")  # a column, which leaves the other one
    for cell, text in zip(cells.all(), ("uno", SPANISH[0][1], "dos", SPANISH[1][1]), strict=True):
        expect(cell).to_have_value(text)
    cells.first.evaluate(paste, "uno\tone\tein\ndos\ttwo")  # a third column is seen
    for cell, text in zip(cells.all(), ("uno", "one ein", "dos", "two"), strict=True):
        expect(cell).to_have_value(text)
