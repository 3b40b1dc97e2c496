"""The classroom's model as a visitor meets it: examples, surprises, gold alignments, scores, silenced heads."""

import re

import pytest
from playwright.sync_api import Page, expect

from transformer import Translation, Translator
from transformer.data import CORPORA
from transformer.data.classroom.corpus import find
from transformer.training.evaluation import sentence_alignment

from . import maps
from .catalogue import EN, matching, t
from .conftest import Visit

FLAGSHIP, OUTPUT = "Heute habe ich ein kaltes Bier getrunken", "today i have drunk a cold beer . E"
DRUNK, GETRUNKEN = 3, 6  # the step that says it; the source word


@pytest.fixture(scope="module")
def run(classroom: Translator) -> Translation:
    return classroom.translate(FLAGSHIP)


def go(visit: Visit, tab: str = "translate") -> Page:
    """To the first example, where the classroom's model opens."""
    page = visit.page
    if page.url == "about:blank":
        visit.open()
    if page.locator("#checkpoint").input_value() != "classroom":
        page.locator("#checkpoint").select_option("classroom")
    else:
        with visit.answered():
            page.locator(".examples button").first.click()
    expect(page.locator("#translation")).to_have_text(OUTPUT)
    visit.tab(tab)
    return page


def test_choosing_the_classroom_shows_its_first_example(shared: Visit) -> None:
    page = go(shared)
    expect(page.locator("#sentence input")).to_have_value(FLAGSHIP)
    expect(page.locator(".note")).to_contain_text(t("example.perfect.shows"))
    assert shared.step == DRUNK
    page.locator("#checkpoint").select_option("toy")
    expect(page.locator("#translation")).to_have_text("i want a beer . E")
    assert page.locator(".examples button").all_text_contents()[:2] == ["Ich möchte ein Bier", "Ich möchte ein Cola"]
    page.locator("#checkpoint").select_option("classroom")
    expect(page.locator("#translation")).to_have_text(OUTPUT)
    shared.open()
    shared.ask("ich möchte ein bier")  # a sentence of one's own is kept when the other model knows it
    page.locator("#checkpoint").select_option("classroom")
    expect(page.locator("#translation")).to_have_text("i would like a beer . E")
    expect(page.locator("#sentence input")).to_have_value("ich möchte ein bier")


def test_a_refusal_keeps_what_was_typed_and_leads_on(visit: Visit) -> None:
    page = visit.open()
    message, offers, box = page.locator("#top .message"), page.locator("#suggestions"), page.locator("#sentence input")

    def expect_refused(sentence: str, model: str) -> None:
        expect(message).to_contain_text(matching("run.refused"))
        expect(page.locator("#teach")).to_be_visible()
        expect(page.locator(".run")).to_have_class("run stale")
        expect(page.locator("#top .note")).to_be_hidden()
        expect(page.locator("#checkpoint")).to_have_value(model)
        expect(box).to_have_value(sentence)

    visit.ask("Ich trinke heute ein Bier")
    expect_refused("Ich trinke heute ein Bier", "toy")
    expect(page.locator("#nearest b")).to_have_text("Ich möchte ein Bier")
    page.locator("[data-reader=classroom]").click()  # the text goes along
    expect(page.locator("#translation")).to_have_text("i am drinking a beer today . E")
    expect(box).to_have_value("Ich trinke heute ein Bier")
    expect(offers).to_be_hidden()
    expect(page.locator(".run")).to_have_class("run")
    assert page.locator("#top .chip.source").all_text_contents() == ["Ich", "trinke", "heute", "ein", "Bier"]

    unread = "Der Hund möchte xylophon spielen"
    visit.choose_model("toy")
    visit.ask(unread)
    visit.choose_model("classroom")  # which cannot read it either
    expect_refused(unread, "classroom")
    why = re.escape(t("refusal.unknown", unknown="“xylophon”"))  # without a few of 600 words that it knows
    expect(message).to_have_text(re.compile(f"^{why} {matching('run.refused').pattern}"))
    nearest = page.locator("#nearest b").inner_text()
    page.locator("#nearest").click()
    expect(box).to_have_value(nearest)
    expect(message).to_be_hidden()
    expect(offers).to_be_hidden()

    visit.ask("Der Hund " * 20)
    why = re.escape(t("refusal.too_many_words", count=40, most=12))
    expect(message).to_have_text(re.compile(f"^{why} {matching('run.refused').pattern}"))

    page = visit.open(f"?checkpoint=classroom&sentence={unread}")  # a link says so as typing does
    expect_refused(unread, "classroom")
    page.locator("#teach").click()
    expect(page.locator('.pairs [data-row="0"].source')).to_have_value(unread)
    expect(page.locator('.pairs [data-row="0"].target')).to_be_focused()
    expect(page.locator(".pairs tbody tr")).to_have_count(10)
    why = t("train.untranslated", sentence=unread)
    expect(page.locator("#train-problems")).to_contain_text(why)
    page.keyboard.type("The dog would like to play the xylophone")
    expect(page.locator("#train-start")).to_have_attribute("aria-disabled", "false")
    expect(page.locator("#train-watch")).to_have_value(unread)
    page.reload()
    expect(page.locator('.pairs [data-row="0"].source')).to_have_value(unread)


def test_every_example_is_one_click_and_right_and_a_surprise_is_translated(
    shared: Visit, classroom: Translator
) -> None:
    page = go(shared)
    page.locator(".examples .more").click()
    for example in CORPORA["classroom"].examples:
        page.locator(f'.examples [data-sentence="{example.sentence}"]').click()
        expect(page.locator("#sentence input")).to_have_value(example.sentence)
        pair = find(" ".join(classroom.translate(example.sentence).source))
        assert pair is not None
        expect(page.locator("#translation")).to_have_text(f"{pair.target} E")
        expect(page.locator(".note")).to_contain_text(EN[f"example.{example.name}.shows"])
    page.get_by_role("button", name=t("examples.surprise")).click()
    expect(page.locator("#sentence input")).not_to_have_value(example.sentence)
    expect(page.locator(".note")).to_contain_text(t("note.held_out"))


def test_an_unknown_word_names_the_nearest_and_the_word_list_opens_and_closes(shared: Visit) -> None:
    page = go(shared)
    shared.ask("Heute habe ich ein Bier getrunkn")
    expect(page.locator(".message")).to_have_text(matching("refusal.unknown", unknown="“getrunkn”"))
    expect(page.locator(".message")).to_contain_text("getrunken")
    expect(page.locator("#translation")).to_have_text(OUTPUT)  # nothing is lost
    page.get_by_role("button", name=t("examples.words")).click()
    expect(page.get_by_role("dialog")).to_contain_text("das Bier, Biere")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_gold_is_laid_over_any_drawing_of_what_drunk_attends_to(shared: Visit, run: Translation) -> None:
    assert (run.output[DRUNK], run.source[GETRUNKEN]) == ("drunk", "getrunken")
    page = go(shared)
    share = "chips => chips.map((chip) => Number(chip.style.getPropertyValue('--share')))"
    shares = page.locator("#top .chip.source").evaluate_all(share)
    assert shares[GETRUNKEN] == max(shares) > 0.5
    expect(page.locator("#story .say")).to_have_text(matching("translate.mostly_alone", word="getrunken"))
    shared.tab("attention")
    expect(page.locator("#attention .say")).to_have_text(matching("row.mostly", word="getrunken"))
    pair = find(" ".join(run.source))
    assert pair is not None
    links = {
        f"{step} {key}"
        for gold in (pair.gold.sure, pair.gold.possible)
        for step, keys in enumerate(gold)
        for key in keys
    }
    drawn = page.locator("#attention [data-gold]")
    expect(drawn).to_have_count(0)
    page.locator("#gold").click()
    for drawing in ("table", "lines"):
        shared.press(t(f"attention.{drawing}"))
        expect(drawn.first).to_be_attached()
        large = page.locator("#attention .large [data-gold]").evaluate_all("all => all.map(e => e.dataset.gold)")
        assert set(large) == links
    shared.press(t("attention.heatmap"))
    assert {f"{step} {key}" for step, key in maps.ringed(page.locator("#attention .heatmap"))} == links
    shared.press(t("kind.decoder"))
    expect(drawn).to_have_count(0)
    expect(page.locator("#gold")).to_be_hidden()
    shared.press(t("kind.cross"))
    page.locator("#gold").click()
    shared.ask("getrunken bier kaltes")  # outside the grammar there is no gold alignment
    expect(page.locator(".note")).to_contain_text(t("note.unlearned"))
    expect(page.locator("#gold")).to_be_hidden()
    expect(page.locator(".scores").first).to_contain_text(t("heads.unknown"))


def test_the_scores_and_the_table_of_heads(shared: Visit, run: Translation) -> None:
    page = go(shared, "attention")
    pair = find(" ".join(run.source))
    assert pair is not None
    score = page.locator(".scores").first.locator("button.score").nth(2)
    alignment = 1 - sentence_alignment(run, pair.gold).heads[0][2]
    assert abs(float(score.get_attribute("data-score") or "nan") - alignment) < 1e-6
    shared.press(t("kind.encoder"))
    score.click()  # opens its head
    heading = page.locator("#attention h2").first
    expect(heading).to_have_text(matching("attention.axes", head=3, layer=1))
    expect(page.locator("#attention button[value=cross]")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".scores").nth(1)).to_contain_text(t("heads.there_count", count=1000))
    expect(page.locator(".scores").nth(1).locator("button.score")).to_have_count(8)
    for column, by in ((2, "entropy"), (3, "distance"), (5, "ablated")):
        cells = page.locator(f".sortable td:nth-child({column + 1})")
        for down in (True, False):
            page.locator(f".sortable button[data-by={by}]").click()
            values = [float(text.strip(" %")) for text in cells.all_text_contents()]
            assert values == sorted(values, reverse=down), by
    page.locator(".sortable tbody tr").last.click()
    layer, head = page.locator(".sortable tr.marked td").all_text_contents()[:2]
    expect(heading).to_have_text(matching("attention.axes", head=head, layer=layer))
    verdict = page.locator("#ablation").get_by_role("button")  # a head that was silenced, with its numbers
    head, layer = re.findall(r"\d+", verdict.inner_text())
    verdict.click()
    expect(heading).to_have_text(matching("attention.axes", head=head, layer=layer))
