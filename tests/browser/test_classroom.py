"""The classroom's model as a visitor meets it: examples, surprises, gold alignments, scores, silenced heads."""

import re

from playwright.sync_api import expect

from transformer.data import CORPORA

from .catalogue import EN, matching, t
from .conftest import BIER, FLAGSHIP, Visit

OUTPUT = "today i have drunk a cold beer . E"
DRUNK, GETRUNKEN = 3, 6  # the step that says it; the source word


def test_choosing_the_classroom_shows_its_first_example(shared: Visit) -> None:
    page = shared.go()
    shared.choose_model("classroom")
    expect(shared.translation).to_have_text(OUTPUT)
    expect(shared.box).to_have_value(FLAGSHIP)
    expect(page.locator(".note")).to_contain_text(t("example.perfect.shows"))
    assert shared.step == DRUNK
    shared.choose_model("toy")
    expect(shared.translation).to_have_text("i want a beer . E")
    assert page.locator(".examples button").all_text_contents()[:2] == [BIER, "Ich möchte ein Cola"]
    shared.ask("ich möchte ein bier")  # a sentence of one's own is kept when the other model knows it
    shared.choose_model("classroom")
    expect(shared.translation).to_have_text("i would like a beer . E")
    expect(shared.box).to_have_value("ich möchte ein bier")


def test_a_refusal_keeps_what_was_typed_and_leads_on(visit: Visit) -> None:
    message, offers, box = visit.message, visit.page.locator("#suggestions"), visit.box
    page = visit.open("?checkpoint=toy&sentence=Ich trinke heute ein Bier")  # a link names its model
    expect(message).to_have_text(matching("run.refused"))
    expect(page.locator(".run")).to_have_class("run stale")
    expect(page.locator("#checkpoint")).to_have_value("toy")
    expect(box).to_have_value("Ich trinke heute ein Bier")
    expect(page.locator("#nearest b")).to_have_text(BIER)
    page.locator("[data-reader=classroom]").click()  # the text goes along
    expect(visit.translation).to_have_text("i am drinking a beer today . E")
    expect(offers).to_be_hidden()
    expect(page.locator(".run")).to_have_class("run")
    unread = "Der Hund möchte xylophon spielen"
    visit.ask("")
    expect(message).to_contain_text(t("error.nothing"))  # without a few of 600 words
    visit.ask(unread)
    expect(message).to_contain_text(t("refusal.unknown", unknown="“xylophon”"))  # without them, too
    expect(page.locator("#nearest b")).not_to_have_text(BIER)  # of the sentence before
    nearest = page.locator("#nearest b").inner_text()
    page.locator("#nearest").click()
    expect(box).to_have_value(nearest)
    expect(message).to_be_hidden()
    expect(offers).to_be_hidden()

    visit.ask(unread)
    page.locator("#teach").click()
    expect(page.locator('.pairs [data-row="0"].source')).to_have_value(unread)
    expect(page.locator('.pairs [data-row="0"].target')).to_be_focused()
    expect(page.locator(".pairs tbody tr")).to_have_count(10)
    expect(page.locator("#train-problems")).to_contain_text(t("train.untranslated", sentence=unread))
    page.keyboard.type("The dog would like to play the xylophone")
    expect(page.locator("#train-start")).to_have_attribute("aria-disabled", "false")


def test_an_example_is_one_click_and_a_surprise_is_translated(shared: Visit) -> None:
    page = shared.go("classroom")
    shared.ask("Heute habe ich ein Bier getrunkn")  # the nearest word is named, and nothing is lost
    expect(shared.message).to_have_text(matching("error.unknown_near", unknown="“getrunkn”"))
    expect(shared.message).to_contain_text("getrunken, ")  # which the sentence that is still shown has as well
    expect(shared.translation).to_have_text(OUTPUT)
    page.locator(".examples > button").click()
    *_, example = CORPORA["classroom"].examples
    page.locator(f'.all-examples [data-sentence="{example.sentence}"]').click()
    expect(shared.box).to_have_value(example.sentence)
    expect(page.locator(".note")).to_contain_text(EN[f"example.{example.name}.shows"])
    page.locator(".examples > button").click()
    page.get_by_role("button", name=t("examples.surprise")).click()
    expect(shared.box).not_to_have_value(example.sentence)
    expect(page.locator(".note")).to_contain_text(t("note.held_out"))
    page.locator(".examples > button").click()
    page.get_by_role("button", name=t("examples.words")).click()
    expect(page.get_by_role("dialog")).to_contain_text("das Bier, Biere")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_gold_is_laid_over_any_drawing_of_what_drunk_attends_to(shared: Visit) -> None:
    page = shared.go("classroom", step=DRUNK + 1)
    expect(page.locator("#story .say")).to_have_text(matching("translate.mostly_alone", word="getrunken"))
    shared.tab("attention")
    drawn = page.locator("#attention .large [data-gold]")
    expect(drawn).to_have_count(0)
    page.locator("#gold").click()
    for drawing in ("table", "lines"):
        shared.press(t(f"attention.{drawing}"))
        expect(page.locator(f"#attention .large [data-gold='{DRUNK} {GETRUNKEN}']").first).to_be_attached()
    shared.press(t("kind.decoder"))
    expect(drawn).to_have_count(0)
    expect(page.locator("#gold")).to_be_hidden()
    shared.press(t("kind.cross"))
    shared.ask("getrunken bier kaltes")  # outside the grammar there is no gold alignment
    expect(page.locator(".note")).to_contain_text(t("note.unlearned"))
    expect(page.locator("#gold")).to_be_hidden()
    expect(page.locator(".scores").first).to_contain_text(t("heads.unknown"))


def test_the_scores_and_the_table_of_heads(shared: Visit) -> None:
    """That the scores are the library's is tested in tests/js/engine.test.ts."""
    page = shared.go("classroom", tab="attention")
    shared.settle()  # the answer about its heads draws the table again
    shared.press(t("kind.encoder"))
    page.locator(".scores").first.locator("button.score").nth(2).click()  # opens its head
    heading = page.locator("#attention h2").first
    expect(heading).to_have_text(matching("attention.axes", head=3, layer=1))
    expect(page.locator("#attention button[value=cross]")).to_have_attribute("aria-pressed", "true")
    cells = page.locator(".sortable td:nth-child(3)")
    for down in (True, False):
        page.locator(".sortable button[data-by=entropy]").click()
        values = [float(text.strip(" %")) for text in cells.all_text_contents()]
        assert values == sorted(values, reverse=down)
    page.locator(".sortable tbody tr").last.click()
    layer, head = page.locator(".sortable tr.marked td").all_text_contents()[:2]
    expect(heading).to_have_text(matching("attention.axes", head=head, layer=layer))
    verdict = page.locator("#ablation").get_by_role("button")  # a head that was silenced, with its numbers
    head, layer = re.findall(r"\d+", verdict.inner_text())
    verdict.click()
    expect(heading).to_have_text(matching("attention.axes", head=head, layer=layer))
