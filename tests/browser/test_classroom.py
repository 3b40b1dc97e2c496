"""The classroom's model as a visitor meets it: examples, surprises, gold alignments, scores, silenced heads."""

import json

import numpy as np
import pytest
from playwright.sync_api import expect

from transformer import Translation, Translator
from transformer.data import CORPORA
from transformer.data.classroom.corpus import find
from transformer.training.evaluation import sentence_alignment

from .conftest import ROOT, Visit

ENGLISH = json.loads((ROOT / "assets/locales/en.json").read_text())
FLAGSHIP = "Heute habe ich ein kaltes Bier getrunken"
DRUNK, GETRUNKEN = 3, 6  # the step that says it; the source word


@pytest.fixture(scope="module")
def run() -> Translation:
    return Translator.load("classroom", device="cpu").translate(FLAGSHIP)


def open_classroom(visit: Visit) -> None:
    visit.open()
    visit.page.locator("#checkpoint").select_option("classroom")
    expect(visit.page.locator("#translation")).to_have_text("today i have drunk a cold beer . E")


def test_choosing_the_classroom_shows_its_first_example(visit: Visit) -> None:
    open_classroom(visit)
    page = visit.page
    expect(page.locator("#sentence input")).to_have_value(FLAGSHIP)
    expect(page.locator(".note")).to_contain_text("The participle stands at the end")
    assert visit.step == DRUNK
    page.locator("#checkpoint").select_option("toy")
    expect(page.locator("#translation")).to_have_text("i want a beer . E")
    assert page.locator(".examples button").all_text_contents()[:2] == ["Ich möchte ein Bier", "Ich möchte ein Cola"]


def test_getrunken_lights_up_when_drunk_is_said_in_every_view_of_cross_attention(
    visit: Visit, run: Translation
) -> None:
    assert (run.output[DRUNK], run.source[GETRUNKEN]) == ("drunk", "getrunken")
    open_classroom(visit)
    page = visit.page

    def hardest(selector: str, attribute: str = "e => Number(e.dataset.weight ?? e.dataset.share)") -> int:
        weights = page.locator(selector).evaluate_all(f"all => all.map({attribute})")
        assert max(weights) > 0.5
        return int(np.argmax(weights))

    share = "e => Number(e.style.getPropertyValue('--share'))"
    assert hardest(".tokens[aria-label='Source words'] .chip", share) == GETRUNKEN
    assert hardest("#story .bars li") == GETRUNKEN
    expect(page.locator("#story .say")).to_contain_text("looking mostly at getrunken")
    visit.tab("attention")
    expect(page.locator("#attention .say")).to_contain_text("looks mostly at getrunken")
    assert hardest(f".heatmap [data-weight][data-query='{DRUNK}']") == GETRUNKEN
    visit.press("Lines")
    assert hardest(f".lines path[data-weight][data-query='{DRUNK}']") == GETRUNKEN
    visit.press("Table")
    assert hardest("#attention tr.marked td") == GETRUNKEN


def test_every_example_is_one_click_and_right(visit: Visit) -> None:
    open_classroom(visit)
    page = visit.page
    for example in CORPORA["classroom"].examples:
        name = ENGLISH[f"example.{example.name}"]
        page.locator(".examples").get_by_role("button", name=name, exact=True).click()
        expect(page.locator("#sentence input")).to_have_value(example.sentence)
        pair = find(" ".join(Translator.load("classroom").translate(example.sentence).source))
        assert pair is not None
        expect(page.locator("#translation")).to_have_text(f"{pair.target} E")
        expect(page.locator(".note")).to_contain_text(ENGLISH[f"example.{example.name}.shows"])


def test_a_surprise_is_translated(visit: Visit) -> None:
    open_classroom(visit)
    page = visit.page
    page.get_by_role("button", name="surprise me").click()
    expect(page.locator("#sentence input")).not_to_have_value(FLAGSHIP)
    expect(page.locator(".note")).to_contain_text("never saw this sentence")


def test_a_model_can_be_chosen_before_the_box_is_there(visit: Visit) -> None:
    page = visit.open()
    page.locator("#sentence input").evaluate("box => box.remove()")  # Gradio draws it when it has time
    page.locator("#checkpoint").select_option("classroom")
    expect(page.locator("#translation")).to_have_text("today i have drunk a cold beer . E")


def test_an_unknown_word_names_the_nearest(visit: Visit) -> None:
    open_classroom(visit)
    visit.ask("Heute habe ich ein Bier getrunkn")
    expect(visit.page.get_by_role("alert")).to_contain_text("“getrunkn”. The nearest that this model knows: getrunken")
    expect(visit.page.locator("#translation")).to_contain_text("drunk")  # nothing is lost


def test_the_word_list_opens_and_closes(visit: Visit) -> None:
    open_classroom(visit)
    page = visit.page
    page.get_by_role("button", name="word list").click()
    expect(page.get_by_role("dialog")).to_contain_text("das Bier, Biere")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


@pytest.mark.parametrize("drawing", ["Heatmap", "Lines", "Table"])
def test_gold_is_laid_over_any_drawing(visit: Visit, run: Translation, drawing: str) -> None:
    open_classroom(visit)
    page = visit.page
    visit.tab("attention")
    visit.press(drawing)
    assert page.locator("#attention [data-gold]").count() == 0
    page.locator("#gold").click()
    pair = find(" ".join(run.source))
    assert pair is not None
    links = {f"{t} {s}" for t, keys in enumerate(pair.gold.sure) for s in keys}
    links |= {f"{t} {s}" for t, keys in enumerate(pair.gold.possible) for s in keys}
    assert (
        set(page.locator("#attention .large [data-gold]").evaluate_all("all => all.map(e => e.dataset.gold)")) == links
    )
    visit.press("Decoder")
    assert page.locator("#attention [data-gold]").count() == 0
    expect(page.locator("#gold")).to_be_hidden()


def test_a_cell_of_the_scores_opens_its_head(visit: Visit, run: Translation) -> None:
    open_classroom(visit)
    page = visit.page
    visit.tab("attention")
    visit.press("Encoder")
    pair = find(" ".join(run.source))
    assert pair is not None
    scores = page.locator(".scores").first.locator("button.score")
    shown = scores.evaluate_all("all => all.map(e => Number(e.dataset.score))")
    expected = 1 - np.array(sentence_alignment(run, pair.gold).heads)
    np.testing.assert_allclose(np.reshape(shown, expected.shape), expected, atol=1e-6)
    scores.nth(2).click()
    expect(page.locator("#attention h2").first).to_contain_text("Head 3 of layer 1")
    expect(page.locator("#attention [aria-pressed=true]", has_text="Cross")).to_be_visible()
    expect(page.locator(".scores").nth(1)).to_contain_text("1,000 held-out sentences")
    expect(page.locator(".scores").nth(1).locator("button.score")).to_have_count(8)


def test_the_table_of_heads_sorts(visit: Visit) -> None:
    open_classroom(visit)
    page = visit.page
    visit.tab("attention")
    page.locator(".scores").nth(1).locator("button").first.wait_for()
    for column, by in ((2, "entropy"), (3, "distance"), (5, "silenced")):
        cells = page.locator(f".sortable td:nth-child({column + 1})")
        for down in (True, False):
            page.locator(f".sortable button[data-by={by}]").click()
            values = [float(text.replace(" %", "")) for text in cells.all_text_contents()]
            assert values == sorted(values, reverse=down), by
    page.locator(".sortable tbody tr").last.click()
    marked = page.locator(".sortable tr.marked td").all_text_contents()
    expect(page.locator("#attention h2").first).to_contain_text(f"Head {marked[1]} of layer {marked[0]}")


def test_a_silenced_head_is_demonstrated_with_its_numbers(visit: Visit) -> None:
    open_classroom(visit)
    page = visit.page
    visit.tab("attention")
    verdict = page.locator("#silenced")
    expect(verdict).to_contain_text("ross-attention heads")
    verdict.get_by_role("button").click()
    expect(page.locator("#attention h2").first).to_contain_text(verdict.get_by_role("button").inner_text().split()[1])


def test_a_sentence_outside_the_grammar_has_no_gold_and_is_said_so(visit: Visit) -> None:
    open_classroom(visit)
    page = visit.page
    visit.ask("getrunken bier kaltes")
    expect(page.locator(".note")).to_contain_text("never learned this sentence")
    visit.tab("attention")
    expect(page.locator("#gold")).to_be_hidden()
    expect(page.locator(".scores").first).to_contain_text("nobody knows its gold alignment")


def test_an_own_sentence_is_kept_when_the_other_model_knows_it(visit: Visit) -> None:
    page = visit.open()
    visit.ask("ich möchte ein bier")
    page.locator("#checkpoint").select_option("classroom")
    expect(page.locator("#translation")).to_have_text("i would like a beer . E")
    expect(page.locator("#sentence input")).to_have_value("ich möchte ein bier")
