"""Train, in a real Chromium: pairs from a file, a model that learns before one's eyes, and then is used everywhere."""

import csv
import io
import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from .conftest import Visit

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
TRAINED = 120_000  # ms, on a busy machine


def as_csv(rows: list[tuple[str, ...]]) -> bytes:
    text = io.StringIO()
    csv.writer(text).writerows(rows)
    return b"\xef\xbb\xbf" + text.getvalue().encode()


def bring(page: Page, content: bytes, name: str = "pairs.csv") -> None:
    page.locator("#train button[value=own]").click()
    page.locator("#train-file").set_input_files({"name": name, "mimeType": "text/csv", "buffer": content})


def set_number(page: Page, field: str, value: object) -> None:
    setting = page.locator(f"#train [data-field={field}]")
    setting.wait_for(state="attached")
    if not setting.is_visible():
        setting.locator("xpath=ancestor::details").locator("summary").click()
    box = setting.locator("input")
    box.fill(str(value))
    box.press("Tab")


def start(page: Page) -> None:
    expect(page.locator("#train-start")).to_have_attribute("aria-disabled", "false")
    page.locator("#train-start").click()


def finished(page: Page) -> None:
    """The model is there, and its whole film."""
    expect(page.locator("#train-scores")).to_contain_text("%", timeout=TRAINED)
    expect(page.locator("#train-start")).to_be_visible(timeout=TRAINED)


def said(page: Page) -> str:
    return " ".join(page.locator("#translation button").all_text_contents())


def film_step(page: Page, step: str) -> None:
    move = "(at, end) => { at.value = at[end]; at.dispatchEvent(new Event('input', { bubbles: true })); }"
    page.locator("#film-step").evaluate(move, step)


def weights(page: Page) -> list[float]:
    cells = page.locator("#film .large rect[data-weight]")
    return cells.evaluate_all("(cells) => cells.map((cell) => Number(cell.dataset.weight))")


def test_ten_pairs_of_another_language_become_a_model_and_come_back_from_its_file(visit: Visit, tmp_path: Path) -> None:
    page = visit.open()
    visit.tab("train")
    bring(page, as_csv([("source", "target"), *SPANISH]))
    expect(page.locator("#train-header")).to_be_checked()
    expect(page.locator("#train .vocabularies")).to_contain_text("bebo")
    expect(page.locator("#train .pair-ids")).to_contain_text("S")
    expect(page.locator("#train-facts")).to_contain_text("weights")
    page.locator("#train-name").fill("Spanish class")
    set_number(page, "steps", 200)
    start(page)
    expect(page.locator("#train-live polyline, #train-live path").first).to_be_visible()
    finished(page)
    expect(page.locator("#train-scores")).to_contain_text("100 %")

    # The film plays back in the browser.
    visit.settle()
    before = len(visit.requests)
    film_step(page, "min")
    expect(page.locator("#film-say")).to_contain_text("Step 0.")
    first = weights(page)
    film_step(page, "max")
    expect(page.locator("#film-say")).to_contain_text("Step 200.")
    last = weights(page)
    assert len(visit.requests) == before
    assert first
    assert len(first) == len(last)
    assert max(abs(a - b) for a, b in zip(first, last, strict=True)) > 0.3

    # It is used everywhere: the sentence at the top is the new model's.
    expect(page.locator("#checkpoint option:checked")).to_contain_text("Spanish class")
    expect(page.locator("#translation")).to_contain_text("water")
    visit.ask("Ella come pan")
    assert said(page) == "she eats bread . E"
    expect(page.locator("#checks")).to_have_attribute("data-state", "✓")
    visit.tab("attention")
    expect(page.locator("#attention .large")).to_contain_text("ella")
    visit.tab("inside")
    expect(page.locator("#inside")).to_contain_text("bread")

    # Its file brings it back to another visitor, who could not have seen it before.
    visit.tab("train")
    with page.expect_download() as download:
        page.locator("#own-models").get_by_role("button", name="Take it home").click()
    file = tmp_path / download.value.suggested_filename
    download.value.save_as(file)
    assert file.name == "Spanish-class.safetensors"
    other = Visit(page.context.browser.new_context(viewport={"width": 390, "height": 844}).new_page(), visit.url)
    other.open("?tab=train")
    assert "Spanish" not in other.page.locator("#checkpoint").text_content()
    other.page.locator("#bring-model").set_input_files(file)
    expect(other.page.locator("#checkpoint option:checked")).to_contain_text("Spanish class")
    for source, target in SPANISH[:4]:
        other.ask(source)
        assert said(other.page) == target.lower().replace(".", " .") + " E"
    other.page.context.close()
    assert other.faults == []


def test_bad_rows_are_named_and_the_rest_waits_for_a_yes(visit: Visit) -> None:
    page = visit.open("?tab=train")
    bring(page, as_csv([*SPANISH[:3], ("solo",), ("vacío", " "), *SPANISH[3:]]))
    expect(page.locator("#train-found")).to_contain_text("4")
    expect(page.locator("#train-found")).to_contain_text("Column 2 is empty.")
    expect(page.locator("#train-start")).to_have_attribute("aria-disabled", "true")
    page.locator("#train-use-others").click()
    expect(page.locator("#train-start")).to_have_attribute("aria-disabled", "false")


def test_a_file_that_is_no_text_is_refused_in_a_sentence(visit: Visit) -> None:
    page = visit.open("?tab=train")
    bring(page, "ich möchte,i want".encode("utf-16"))
    expect(page.locator("#train")).to_contain_text("Save it as UTF-8")
    bring(page, b'<img src=x onerror=alert(1)>,"<script>alert(2)</script> ${alert(3)} {{alert(4)}}"\n')
    expect(page.locator("#train .vocabularies")).to_contain_text("onerror")  # as text; an alert would fail the visit


def test_a_network_that_cannot_be_says_why_and_does_not_start(visit: Visit) -> None:
    page = visit.open("?tab=train")
    expect(page.locator("#train-start")).to_have_attribute("aria-disabled", "false")
    set_number(page, "n_heads", 5)
    expect(page.locator("#train-problems")).to_contain_text("64 dimensions cannot be shared evenly among 5 heads.")
    expect(page.locator("#train-start")).to_have_attribute("aria-disabled", "true")
    page.locator("#train-start").click(force=True)
    expect(page.locator("#train-stop")).to_be_hidden()
    set_number(page, "n_heads", 4)
    expect(page.locator("#train-start")).to_have_attribute("aria-disabled", "false")


def test_stop_keeps_what_was_learned(visit: Visit) -> None:
    page = visit.open("?tab=train")
    page.locator("#train button[value=classroom]").click()
    set_number(page, "steps", 3000)
    start(page)
    expect(page.locator("#train-live .now-says .chip").first).to_be_visible()
    page.locator("#train-stop").click()
    finished(page)
    expect(page.locator("#train-status")).to_contain_text("was stopped after")
    expect(page.locator("#own-models li")).to_have_count(1)
    expect(page.locator("#checkpoint option:checked")).to_contain_text("my model")


@pytest.mark.parametrize("language", ["zh-Hans"])
def test_another_language_leaves_a_training_and_its_model_as_they_are(visit: Visit, language: str) -> None:
    page = visit.open("?tab=train")
    expect(page.locator("#train-facts")).to_contain_text("weights")
    start(page)
    page.locator("#language").select_option(language)
    finished(page)
    expect(page.locator("#own-models li")).to_have_count(1)
    assert said(page) == "i want a beer . E"
    page.locator("#language").select_option("en")
    expect(page.locator("#film .large rect[data-weight]").first).to_be_visible()


def test_a_reload_finds_the_model_of_this_visit_and_another_visitor_s_link_does_not(visit: Visit) -> None:
    page = visit.open("?tab=train")
    set_number(page, "steps", 20)
    start(page)
    finished(page)
    page.wait_for_function("new URLSearchParams(location.search).get('checkpoint') === 'own:my model'")
    page.reload()
    expect(page.locator("#checkpoint option:checked")).to_contain_text("my model")
    assert "own-" not in page.url  # the key is nobody else's business
    other = Visit(page.context.browser.new_context().new_page(), visit.url)
    other.page.goto(page.url)
    expect(other.page.locator(".message").first).to_contain_text("model")
    other.page.context.close()
    page.locator("#own-models").get_by_role("button", name="Forget").click()
    expect(page.locator("#own-models li")).to_have_count(0)
    expect(page.locator("#checkpoint option:checked")).to_contain_text("toy")


def test_a_reload_finds_what_was_chosen_and_typed(visit: Visit) -> None:
    page = visit.open("?tab=train")
    bring(page, as_csv([("source", "target"), *SPANISH]))
    expect(page.locator("#train .vocabularies")).to_contain_text("bebo")
    page.locator("#train-name").fill("Spanish class")
    page.locator("#train-watch").fill("Yo como pan")
    set_number(page, "steps", 77)
    page.reload()
    expect(page.locator("#train .vocabularies")).to_contain_text("bebo")
    expect(page.locator("#train .pairs tbody tr")).to_have_count(len(SPANISH) + 1)
    expect(page.locator("#train-name")).to_have_value("Spanish class")
    expect(page.locator("#train-watch")).to_have_value("Yo como pan")
    expect(page.locator("#train-steps")).to_have_value("77")


def test_the_map_stands_first_while_it_learns_and_start_has_the_focus_again_at_the_end(visit: Visit) -> None:
    page = visit.open("?tab=train")
    first = page.locator("#train .train-picture > :first-child")
    expect(first).to_have_id("train-data")
    set_number(page, "steps", 20)
    page.locator("#train-start").focus()
    expect(page.locator("#train-start")).to_have_attribute("aria-disabled", "false")
    page.locator("#train-start").press("Enter")
    expect(first).to_have_id("film")
    expect(page.locator("#train-stop")).to_be_focused()
    finished(page)
    expect(page.locator("#train-start")).to_be_focused()
    page.locator("#train button[value=classroom]").click()
    expect(first).to_have_id("train-data")


def test_closing_the_page_ends_its_training(visit: Visit) -> None:
    """Two places are there. Were they kept by visitors who left, the next would wait."""
    for _ in range(2):
        context = visit.page.context.browser.new_context()
        page = context.new_page()
        page.goto(visit.url + "?tab=train")
        page.locator("#train button[value=classroom]").click()
        set_number(page, "steps", 3000)
        start(page)
        expect(page.locator("#train-live .now-says .chip").first).to_be_visible()
        context.close()
    page = visit.open("?tab=train")
    ask = """async (body) => {
      const answer = await fetch("train", { method: "POST", body });
      return (await answer.text()).trim().split("\\n").map((line) => JSON.parse(line).event);
    }"""
    events = page.evaluate(ask, json.dumps(_question()))
    assert "waiting" not in events
    assert "trained" in events


def _question() -> dict[str, object]:
    from transformer.live.plan import DEFAULTS

    settings = DEFAULTS["toy"]
    training = {**settings["training"], "steps": 3}
    return {**settings, "training": training, "visit": "v", "name": "n", "corpus": "toy", "pairs": [], "watch": ""}
