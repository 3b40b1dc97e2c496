"""Other roads of decoding on the page: every number is the model's, and a link brings them back."""

import math
import re
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Browser, Page, expect

from transformer.inference.translator import Sampling

from .catalogue import EN, LOCALES, percent
from .conftest import Visit
from .test_lesson import BIER, FLAGSHIP, MISTAKEN, run, translator

SENTENCES = {"toy": BIER, "classroom": FLAGSHIP}
SAY = "#roads .say"


def enter(visit: Visit, checkpoint: str, sentence: str, more: str = "") -> Page:
    page = visit.open(f"?checkpoint={checkpoint}&sentence={quote(sentence)}&tab=break&part=roads{more}")
    expect(page.locator(SAY)).not_to_be_empty()
    return page


def way(branches: Any, number: int | None) -> list[str]:
    """The words from the first one to this one, of a tree as Translator.beam tells it."""
    return [] if number is None else [*way(branches, branches[number].parent), branches[number].token]


def nodes(page: Page) -> list[dict[str, Any]]:
    """Every node of the tree that is drawn, its column from 0."""
    return page.locator("#roads .tree .node").evaluate_all(
        "all => all.map((node) => ({ fate: node.dataset.fate, probability: Number(node.dataset.probability),"
        " token: node.querySelector('.label').textContent, share: node.querySelector('.share').textContent,"
        " x: node.querySelector('.label').getBoundingClientRect().x, best: node.classList.contains('best') }))"
    )


def close(values: Any) -> Any:
    """The server's processor may round the last bits otherwise."""
    return pytest.approx(values, rel=1e-4, abs=1e-7)


def text_of(locator: Any) -> list[str]:
    return [each.strip() for each in locator.all_text_contents()]


# ---- beam search


@pytest.mark.parametrize(("checkpoint", "sentence"), [("toy", BIER), ("classroom", MISTAKEN)])
@pytest.mark.parametrize("width", [2, 5])
def test_the_tree_is_the_translators(visit: Visit, checkpoint: str, sentence: str, width: int) -> None:
    page = enter(visit, checkpoint, sentence, f"&width={width}&alpha=1.5")
    tree = translator(checkpoint).beam(sentence, width, 1.5)
    drawn = nodes(page)
    for fate in ("kept", "finished"):
        expected = sorted((b.token, b.probability) for b in tree.branches if b.fate == fate)
        found = sorted((n["token"], n["probability"]) for n in drawn if n["fate"] == fate)
        assert [token for token, _ in found] == [token for token, _ in expected]
        assert [p for _, p in found] == close([p for _, p in expected])
    dropped = [(b.token, b.probability) for b in tree.branches if b.fate == "dropped"]
    for n in drawn:
        if n["fate"] == "dropped":
            assert any(n["token"] == token and n["probability"] == close(p) for token, p in dropped)
    assert all(n["share"] == percent(n["probability"]) for n in drawn)
    best = sorted((n for n in drawn if n["best"]), key=lambda n: n["x"])
    assert [n["token"] for n in best] == way(tree.branches, tree.best)
    left_out = sum(int(each) for each in re.findall(r"\+ (\d+)", " ".join(text_of(page.locator("#roads .tree .head")))))
    assert left_out == len(tree.branches) - len(drawn)

    rows = page.locator("#roads .sentences tbody tr")
    finished = sorted((b for b in tree.branches if b.fate == "finished"), key=lambda b: -b.score)
    for name, values in (("score", [b.score for b in finished]), ("log", [b.log_probability for b in finished])):
        assert rows.evaluate_all(f"rows => rows.map((row) => Number(row.dataset.{name}))") == close(values)
    cells = text_of(rows.first.locator("td"))
    log = tree.branches[tree.best].log_probability
    assert cells[:2] == [percent(math.exp(log)), f"{log:.2f}".replace("-", "−")]
    expect(rows.first).to_have_class("marked")
    expect(rows.first.locator("th")).to_contain_text(tree.text)
    expect(page.locator(SAY)).to_contain_text(run(checkpoint, sentence).text)
    expect(page.locator(SAY)).to_contain_text(percent(math.exp(log)))


@pytest.mark.parametrize("checkpoint", SENTENCES)
def test_width_one_is_greedy_and_the_page_says_so(visit: Visit, checkpoint: str) -> None:
    page = enter(visit, checkpoint, SENTENCES[checkpoint], "&width=5")
    visit.press("1")
    expect(page.locator(SAY)).to_contain_text("A beam of width 1 is greedy")
    greedy = run(checkpoint, SENTENCES[checkpoint])
    kept = sorted((n for n in nodes(page) if n["fate"] != "dropped"), key=lambda n: n["x"])
    assert [n["token"] for n in kept] == list(greedy.output) == text_of(page.locator("#translation button"))
    expect(page.locator(SAY)).to_contain_text(greedy.text)
    whole = math.prod(step.probability for step in greedy.steps)
    expect(page.locator("#roads .sentences td").first).to_have_text(percent(whole))


def test_the_length_penalty_chooses_anew_among_the_same_sentences(visit: Visit) -> None:
    page = enter(visit, "classroom", MISTAKEN, "&width=5")
    before = nodes(page)
    slider = page.locator("#road-alpha")
    slider.focus()
    page.keyboard.press("End")
    tree = translator("classroom").beam(MISTAKEN, 5, 2.0)
    row = page.locator("#roads .sentences tbody tr").first
    expect(row.locator("td").last).to_have_text(f"{tree.branches[tree.best].score:.2f}".replace("-", "−"))
    assert float(row.get_attribute("data-score") or 0) == close(tree.branches[tree.best].score)
    assert [n["token"] for n in nodes(page)] == [n["token"] for n in before]
    page.wait_for_url("**alpha=2**")


def test_a_way_is_read_by_pointer_and_by_key(visit: Visit) -> None:
    page = enter(visit, "toy", BIER, "&width=3")
    reading = page.locator("#roads .reading")
    tree = translator("toy").beam(BIER, 3, 0.6)
    expect(reading).to_contain_text(percent(math.exp(tree.branches[tree.best].log_probability)))
    n = next(i for i, b in enumerate(tree.branches) if b.fate == "kept" and i not in ways_to(tree))
    other = page.locator(f"#roads .tree .node[data-probability='{tree.branches[n].probability}']").first
    other.hover()
    expect(reading).to_contain_text(" ".join(way(tree.branches, n))[:3])
    expect(reading).to_contain_text(percent(tree.branches[n].probability))
    assert page.locator("#roads .tree .node.lit").count() == tree.branches[n].step + 1
    page.mouse.move(2, 2)
    expect(page.locator("#roads .tree .node.lit")).to_have_count(0)

    step = visit.step
    focused = page.locator("#roads .tree .node:focus")
    page.locator("#roads .tree .node[tabindex='0']").focus()
    for key, word in (("ArrowLeft", "."), ("ArrowLeft", "beer"), ("ArrowRight", "."), ("Home", "i"), ("End", "E")):
        page.keyboard.press(key)
        expect(focused.locator(".label")).to_have_text(word)
    page.keyboard.press("ArrowDown")
    expect(focused).to_have_attribute("data-fate", "dropped")
    expect(focused).to_have_attribute("aria-label", re.compile(r"^Step 6, .+: .+ %\. Dropped"))
    expect(reading).to_contain_text("Dropped")
    assert visit.step == step  # the arrows walked in the tree, not through the run


def ways_to(tree: Any) -> set[int]:
    found, here = set(), tree.best
    while here is not None:
        found.add(here)
        here = tree.branches[here].parent
    return found


# ---- sampling


@pytest.mark.parametrize("checkpoint", SENTENCES)
def test_a_seed_draws_what_the_translator_draws_and_its_link_does_again(
    visit: Visit, browser: Browser, url: str, checkpoint: str
) -> None:
    sentence = SENTENCES[checkpoint]
    page = enter(visit, checkpoint, sentence, "&road=sampling&temperature=2.5&top_k=6&top_p=0.95&seed=3&step=2")
    drawn = page.locator("#roads .cards").nth(1).locator(".word")
    for seed in (3, 4, 5):
        sampling = Sampling(2.5, 6, 0.95, seed)
        expected = translator(checkpoint).translate(sentence, sampling=sampling)
        expect(page.locator(SAY)).to_contain_text(f"With seed {seed} ")
        expect(drawn).to_have_text(list(expected.output))
        step = expected.steps[min(1, len(expected.steps) - 1)]
        after = step.drawn_from(sampling)
        shown = page.locator("#roads .both li[data-drawn]").evaluate_all(
            "all => all.map((row) => [row.firstChild.textContent, Number(row.dataset.probability), Number(row.dataset.drawn)])"  # noqa: E501
        )
        told = {c.token: [c.token, c.probability, p] for c, p in zip(step.candidates, after, strict=True)}
        for token, *shares in shown:
            assert shares == close(told[token][1:])
        assert step.token in [each[0] for each in shown]
        cut = page.locator("#roads .both li.cut").count()
        assert cut == sum(each[2] == 0 for each in shown) > 0
        if seed < 5:
            visit.press("Draw again")
    page.wait_for_url("**seed=5**")
    link = page.url
    assert all(part in link for part in ("road=sampling", "temperature=2.5", "top_k=6", "top_p=0.95"))
    expect(page.locator("#roads .tally li").first).to_be_visible()
    before = page.locator(SAY).text_content()
    page.reload()
    expect(drawn).to_have_text(list(expected.output))
    expect(page.locator(SAY)).to_have_text(str(before))


def test_without_temperature_to_speak_of_sampling_is_greedy(visit: Visit) -> None:
    page = enter(visit, "toy", BIER, "&road=sampling&top_k=1&seed=9")
    expect(page.locator(SAY)).to_contain_text("the likeliest word, as greedy does")
    greedy, drawn = (text_of(page.locator("#roads .cards").nth(i).locator(".word")) for i in (0, 1))
    assert greedy == drawn == list(run("toy", BIER).output)


def test_a_drawn_word_beyond_the_run_at_the_top_can_be_looked_at(visit: Visit) -> None:
    sampling = {"temperature": 2.5, "seed": 3}
    page = enter(visit, "toy", BIER, "&road=sampling&temperature=2.5&seed=3")
    expected = translator("toy").translate(BIER, sampling=Sampling(**sampling))  # type: ignore[arg-type]
    cards = page.locator("#roads .cards").nth(1).locator("button")
    expect(cards).to_have_count(len(expected.output))
    cards.last.click()
    expect(page.locator("#roads .both li.chosen .word")).to_have_text(expected.output[-1])
    expect(cards.last).to_have_attribute("aria-current", "step")
    page.keyboard.press("Home")
    expect(page.locator("#roads .both li.chosen .word")).to_have_text(expected.output[0])


# ---- teacher forcing


def test_the_teacher_pulls_back_and_free_running_goes_astray(visit: Visit) -> None:
    page = enter(visit, "classroom", MISTAKEN, "&road=forced")
    free = run("classroom", MISTAKEN)
    wanted = ["we", "show", "a", "sister", "the", "old", "dogs", ".", "E"]
    taught = translator("classroom").translate(MISTAKEN, forced=wanted)
    read = "all => all.map((cell) => cell.dataset.read)"
    rows = page.locator("#roads .two-ways tbody tr")
    expect(rows).to_have_count(10)
    cells = page.locator("#roads .two-ways tbody td[data-read]").evaluate_all(read)
    both = zip(free.decoder_input, [*taught.decoder_input, None], strict=True)
    assert cells == [each for own, right in both for each in (right, own) if each]
    said = page.locator("#roads .two-ways tbody td[data-said]")
    first = said.evaluate_all(
        "all => all.slice(0, 6).map((cell) => [cell.dataset.said, Number(cell.dataset.probability)])"
    )
    steps = [(t.candidates[0], f.candidates[0]) for t, f in zip(taught.steps[:3], free.steps[:3], strict=True)]
    expected = [each for pair in steps for each in pair]
    assert [token for token, _ in first] == [each.token for each in expected]
    assert [p for _, p in first] == close([each.probability for each in expected])
    expect(page.locator("#roads .two-ways tfoot td")).to_have_text(["8 of 9 as wanted", "2 of 9 as wanted"])
    expect(rows.nth(3).locator(".astray")).to_have_text("an")
    expect(rows.nth(2).locator(".wrong")).to_have_count(2)
    expect(page.locator(SAY)).to_contain_text("At step 3 it says an instead of a, by itself.")


def test_a_slip_is_chosen_and_comes_back_by_its_link(visit: Visit) -> None:
    page = enter(visit, "classroom", FLAGSHIP, "&road=forced")
    expect(page.locator(SAY)).to_contain_text("it makes no mistake here")
    expect(page.locator("#road-word")).to_be_disabled()
    page.locator("#road-slip").select_option("2")
    expect(page.locator(SAY)).to_contain_text("At step 3 it slips")
    words = page.locator("#road-word option").all_text_contents()
    own = run("classroom", FLAGSHIP)
    assert own.output[2] not in words
    assert words == [c.token for c in own.steps[2].candidates[:10] if c.token not in (own.output[2], "S", "P")]
    page.locator("#road-word").select_option(words[3])
    expect(page.locator(SAY)).to_contain_text(f"says {words[3]} instead of have")
    free = translator("classroom").translate(FLAGSHIP, forced=[*own.output[:2], words[3]])
    expect(page.locator(SAY)).to_contain_text(free.text)
    expect(page.locator("#roads .two-ways tfoot td").first).to_have_text("8 of 9 as wanted")
    page.wait_for_url(f"**slip=3.{words[3]}**")
    before = page.locator(SAY).text_content()
    page.reload()
    expect(page.locator(SAY)).to_have_text(str(before))
    visit.ask("Ich trinke ein Bier")  # the slip stays where it can be made, and goes where it cannot
    expect(page.locator(SAY)).not_to_have_text(str(before))
    visit.ask(FLAGSHIP)
    expect(page.locator(".message")).to_be_hidden()


def test_without_a_known_translation_the_page_says_whose_words_are_read(visit: Visit) -> None:
    page = enter(visit, "toy", "cola bier", "&road=forced")
    expect(page.locator("#roads .hint").last).to_contain_text("No translation of this sentence is known")


# ---- the page


def test_what_is_asked_late_does_not_replace_what_is_wanted(visit: Visit) -> None:
    page = enter(visit, "toy", BIER)
    for width in "135241":  # quicker than the answers
        page.locator("#roads [data-dial=width]").get_by_role("button", name=width).click()
    page.locator("#roads .segmented").first.get_by_role("button", name="Sampling").click()
    page.locator("#roads .segmented").first.get_by_role("button", name="Beam search").click()
    expect(page.locator(SAY)).to_contain_text("A beam of width 1 is greedy")
    visit.settle()
    assert len([n for n in nodes(page) if n["fate"] != "dropped"]) == 6


def test_a_closed_part_asks_nothing(visit: Visit) -> None:
    page = visit.open("?tab=translate&part=roads")
    visit.settle()
    assert page.locator("#roads .tree").count() == 0
    visit.tab("break")
    expect(page.locator("#roads .tree .node").first).to_be_visible()


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("road", ["beam", "sampling", "forced"])
def test_a_phone_shows_it_without_scrolling_sideways(browser: Browser, url: str, road: str, theme: str) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 800}, reduced_motion="reduce", has_touch=True)
    visit = Visit(context.new_page(), url)
    page = enter(visit, "classroom", MISTAKEN, f"&road={road}&width=5&seed=4&temperature=1.5&__theme={theme}")
    figure = page.locator("#roads section.card").nth(1 + ["beam", "sampling", "forced"].index(road))
    expect(figure.locator("svg, li, td").first).to_be_visible()
    assert page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0
    if road == "beam":
        place = page.locator("#roads .tree-place")
        assert place.evaluate("place => place.scrollWidth > place.clientWidth")
        page.locator("#roads .tree .node.finished.best").scroll_into_view_if_needed()
        expect(page.locator("#roads .tree .node.finished.best")).to_be_in_viewport()
    assert figure.get_by_role("button", name=EN["save.svg"]).count() >= 1
    context.close()
    assert visit.faults == []


@pytest.mark.parametrize("language", ["zh-Hans", "zh-Hant"])
def test_every_road_speaks_the_visitors_language(visit: Visit, language: str) -> None:
    for road in ("beam", "sampling", "forced"):
        page = enter(visit, "classroom", MISTAKEN, f"&language={language}&road={road}&seed=4&temperature=1.5")
        expect(page.locator("#roads .segmented").first).to_contain_text(LOCALES[language]["roads.beam"])
        expect(page.locator(SAY)).to_contain_text(re.compile("[\u3400-\u9fff]"))
        expect(page.locator("#roads .decoding-settings:visible .about").first).to_contain_text(
            re.compile("[\u3400-\u9fff]")
        )
