"""Decoding strategies on the page: every number is the model's, and a link brings them back."""

import math
import re
from functools import cache
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from transformer import Translation, Translator
from transformer.inference.translator import BeamTree, Sampling

from .catalogue import matching, percent, t
from .conftest import Visit, script

BIER, FLAGSHIP = "Ich möchte ein Bier", "Heute habe ich ein kaltes Bier getrunken"
MISTAKEN = "Wir zeigen die alten Hunde einer Schwester"  # the model says “an old sister the old dogs”
SENTENCES = {"toy": BIER, "classroom": FLAGSHIP}
SAY = "#decoding .say"
DEFAULTS = {
    "strategy": "beam",
    "width": 4,
    "alpha": 0.6,
    "temperature": 1,
    "top_k": 0,
    "top_p": 1,
    "seed": 0,
    "step": 0,
}


@cache
def translator(checkpoint: str) -> Translator:
    return Translator.load(checkpoint, device="cpu")


def greedy(checkpoint: str, sentence: str) -> Translation:
    return translator(checkpoint).translate(sentence)


def go(visit: Visit, checkpoint: str, sentence: str, **place: Any) -> Page:
    """A sentence, decoded with these settings."""
    page = visit.page
    if page.url == "about:blank":
        visit.open("?tab=break&part=decoding")
    visit.choose_model(checkpoint)
    visit.ask(sentence)
    at = {"tab": "break", "part": "decoding", **DEFAULTS, **place}
    page.evaluate(f"(place) => import({script('core/state.js')}).then(({{ update }}) => update(place))", at)
    visit.settle()
    return page


def path(tree: BeamTree, number: int | None) -> list[int]:
    """The branches from the first step to this one."""
    return [] if number is None else [*path(tree, tree.branches[number].parent), number]


def nodes(page: Page) -> list[dict[str, Any]]:
    """Every node of the tree that is drawn."""
    return page.locator("#decoding .tree .node").evaluate_all(
        "all => all.map((node) => ({ fate: node.dataset.fate, probability: Number(node.dataset.probability),"
        " token: node.querySelector('.label').textContent, share: node.querySelector('.share').textContent,"
        " x: node.querySelector('.label').getBoundingClientRect().x, best: node.classList.contains('best') }))"
    )


def close(values: Any) -> Any:
    """The server's processor may round the last bits otherwise."""
    return pytest.approx(values, rel=1e-4, abs=1e-7)


def texts(locator: Locator) -> list[str]:
    return [each.strip() for each in locator.all_text_contents()]


def signed(value: float) -> str:
    return f"{value:.2f}".replace("-", "−")


# ---- beam search


@pytest.mark.parametrize(("checkpoint", "sentence", "width"), [("toy", BIER, 2), ("classroom", MISTAKEN, 5)])
def test_the_tree_is_the_translators(shared: Visit, checkpoint: str, sentence: str, width: int) -> None:
    page = go(shared, checkpoint, sentence, width=width, alpha=1.5)
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
    assert [n["token"] for n in best] == [tree.branches[i].token for i in path(tree, tree.best)]
    heads = " ".join(texts(page.locator("#decoding .tree .head")))
    assert sum(map(int, re.findall(r"\+ (\d+)", heads))) == len(tree.branches) - len(drawn)

    rows = page.locator("#decoding .sentences tbody tr")
    finished = sorted((b for b in tree.branches if b.fate == "finished"), key=lambda b: -b.score)
    for name, values in (("score", [b.score for b in finished]), ("log", [b.log_probability for b in finished])):
        assert rows.evaluate_all(f"rows => rows.map((row) => Number(row.dataset.{name}))") == close(values)
    log = tree.branches[tree.best].log_probability
    assert texts(rows.first.locator("td"))[:2] == [percent(math.exp(log)), signed(log)]
    expect(rows.first).to_have_class("marked")
    expect(rows.first.locator("th")).to_contain_text(tree.text)
    expect(page.locator(SAY)).to_contain_text(greedy(checkpoint, sentence).text)

    # The length penalty chooses again, among the same sentences.
    page.locator("#setting-alpha").focus()
    page.keyboard.press("End")
    again = translator(checkpoint).beam(sentence, width, 2.0)
    expect(rows.first.locator("td").last).to_have_text(signed(again.branches[again.best].score))
    assert [n["token"] for n in nodes(page)] == [n["token"] for n in drawn]


def test_width_one_is_greedy_and_late_answers_replace_nothing(shared: Visit) -> None:
    page = go(shared, "toy", BIER)
    for width in "135241":  # quicker than the answers
        page.locator("#decoding [data-setting=width]").get_by_role("button", name=width).click()
    strategies = page.locator("#decoding .segmented").first
    strategies.get_by_role("button", name=t("decoding.sampling")).click()
    strategies.get_by_role("button", name=t("decoding.beam")).click()
    run = greedy("toy", BIER)
    whole = percent(math.prod(step.probability for step in run.steps))
    expect(page.locator(SAY)).to_have_text(t("decoding.beam.say_one", beam=run.text, share=whole))
    expect(page.locator("#decoding .sentences td").first).to_have_text(whole)
    shared.settle()
    kept = sorted((n for n in nodes(page) if n["fate"] != "dropped"), key=lambda n: n["x"])
    assert [n["token"] for n in kept] == list(run.output) == texts(page.locator("#translation button"))


def test_a_path_is_read_by_pointer_and_by_key(shared: Visit) -> None:
    page = go(shared, "toy", BIER, width=3)
    reading = page.locator("#decoding .reading")
    tree = translator("toy").beam(BIER, 3, 0.6)
    best = path(tree, tree.best)
    expect(reading).to_contain_text(percent(math.exp(tree.branches[tree.best].log_probability)))
    n = next(i for i, b in enumerate(tree.branches) if b.fate == "kept" and i not in best)
    page.locator(f"#decoding .tree .node[data-branch='{n}']").hover()
    expect(reading).to_contain_text(" ".join(tree.branches[i].token for i in path(tree, n))[:3])
    expect(reading).to_contain_text(percent(tree.branches[n].probability))
    expect(page.locator("#decoding .tree .node.lit")).to_have_count(tree.branches[n].step + 1)
    page.mouse.move(2, 2)
    expect(page.locator("#decoding .tree .node.lit")).to_have_count(0)

    step = shared.step
    focused = page.locator("#decoding .tree .node:focus")
    page.locator("#decoding .tree .node[tabindex='0']").focus()
    for key, word in (("ArrowLeft", "."), ("ArrowLeft", "beer"), ("ArrowRight", "."), ("Home", "i"), ("End", "E")):
        page.keyboard.press(key)
        expect(focused.locator(".label")).to_have_text(word)
    page.keyboard.press("ArrowDown")
    expect(focused).to_have_attribute("data-fate", "dropped")
    expect(focused).to_have_attribute("aria-label", matching("decoding.node", step=6, fate=t("decoding.fate.dropped")))
    expect(reading).to_contain_text(t("decoding.fate.dropped"))
    assert shared.step == step  # the arrows walked in the tree, not through the run


def test_on_a_phone_the_tree_scrolls_in_its_own_place(shared: Visit) -> None:
    page = go(shared, "classroom", MISTAKEN, width=5)
    page.set_viewport_size({"width": 390, "height": 800})
    place = page.locator("#decoding .tree-place")
    assert place.evaluate("place => place.scrollWidth > place.clientWidth")
    page.locator("#decoding .tree .node.finished.best").scroll_into_view_if_needed()
    expect(page.locator("#decoding .tree .node.finished.best")).to_be_in_viewport()
    assert page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0
    page.set_viewport_size({"width": 1280, "height": 800})


# ---- sampling


def test_a_seed_draws_what_the_translator_draws_and_so_does_its_link(shared: Visit) -> None:
    settings: dict[str, Any] = {"temperature": 2.5, "top_k": 6, "top_p": 0.95}
    page = go(shared, "classroom", FLAGSHIP, strategy="sampling", **settings, seed=3, step=1)
    drawn = page.locator("#decoding .cards").nth(1).locator(".word")
    for seed in (3, 4):
        sampling = Sampling(**settings, seed=seed)
        expected = translator("classroom").translate(FLAGSHIP, sampling=sampling)
        expect(page.locator(SAY)).to_have_text(matching("decoding.sampling.say", seed=seed, drawn=expected.text))
        expect(drawn).to_have_text(list(expected.output))
        step = expected.steps[1]
        shown = page.locator("#decoding .both li[data-drawn]").evaluate_all(
            "all => all.map(({ firstChild, dataset: { probability, drawn } }) =>"
            " [firstChild.textContent, Number(probability), Number(drawn)])"
        )
        both = zip(step.candidates, step.drawn_from(sampling), strict=True)
        shares = {candidate.token: [candidate.probability, after] for candidate, after in both}
        for token, *found in shown:
            assert found == close(shares[token])
        assert step.token in [each[0] for each in shown]
        assert page.locator("#decoding .both li.cut").count() == sum(each[2] == 0 for each in shown) > 0
        if seed == 3:
            shared.press(t("decoding.again"))
    page.wait_for_url("**seed=4**")
    assert all(part in page.url for part in ("strategy=sampling", "temperature=2.5", "top_k=6", "top_p=0.95"))
    expect(page.locator("#decoding .tally li").first).to_be_visible()
    before = page.locator(SAY).inner_text()
    page.reload()
    expect(drawn).to_have_text(list(expected.output))
    expect(page.locator(SAY)).to_have_text(before)


def test_a_sample_may_be_greedys_or_longer_than_the_run_at_the_top(shared: Visit) -> None:
    page = go(shared, "toy", BIER, strategy="sampling", top_k=1, seed=9)
    run = greedy("toy", BIER)
    expect(page.locator(SAY)).to_have_text(t("decoding.sampling.say_same", seed=9, drawn=run.text))
    rows = [page.locator("#decoding .cards").nth(i).locator(".word") for i in (0, 1)]
    assert texts(rows[0]) == texts(rows[1]) == list(run.output)

    go(shared, "toy", BIER, strategy="sampling", temperature=2.5, seed=3)
    longer = translator("toy").translate(BIER, sampling=Sampling(temperature=2.5, seed=3))
    cards = page.locator("#decoding .cards").nth(1).locator("button")
    expect(cards).to_have_count(len(longer.output))
    cards.last.click()
    expect(page.locator("#decoding .both li.chosen .word")).to_have_text(longer.output[-1])
    expect(cards.last).to_have_attribute("aria-current", "step")
    page.keyboard.press("Home")
    expect(page.locator("#decoding .both li.chosen .word")).to_have_text(longer.output[0])


# ---- teacher forcing


def test_the_teacher_corrects_and_free_running_goes_astray(shared: Visit) -> None:
    page = go(shared, "classroom", MISTAKEN, strategy="forced")
    free = greedy("classroom", MISTAKEN)
    wanted = ["we", "show", "a", "sister", "the", "old", "dogs", ".", "E"]
    taught = translator("classroom").translate(MISTAKEN, forced=wanted)
    rows = page.locator("#decoding .two-ways tbody tr")
    expect(rows).to_have_count(10)
    read = page.locator("#decoding [data-read]").evaluate_all("all => all.map((cell) => cell.dataset.read)")
    both = zip(free.decoder_input, [*taught.decoder_input, None], strict=True)
    assert read == [each for own, right in both for each in (right, own) if each]
    output = page.locator("#decoding [data-said]").evaluate_all(
        "all => all.slice(0, 6).map((cell) => [cell.dataset.said, Number(cell.dataset.probability)])"
    )
    steps = [(one.candidates[0], own.candidates[0]) for one, own in zip(taught.steps[:3], free.steps[:3], strict=True)]
    expected = [each for pair in steps for each in pair]
    assert [token for token, _ in output] == [each.token for each in expected]
    assert [p for _, p in output] == close([each.probability for each in expected])
    right = [t("decoding.right_of", right=count, of=9) for count in (8, 2)]
    expect(page.locator("#decoding .two-ways tfoot td")).to_have_text(right)
    expect(rows.nth(3).locator(".astray")).to_have_text("an")
    expect(rows.nth(2).locator(".wrong")).to_have_count(2)
    said = matching("decoding.forced.say_mistake", step=3, word="an", wanted="a", right=8, of=9, free=2)
    expect(page.locator(SAY)).to_have_text(said)


def test_an_error_is_forced_and_comes_back_by_its_link(shared: Visit) -> None:
    page = go(shared, "toy", "cola bier", strategy="forced")
    expect(page.locator("#decoding .hint").last).to_have_text(t("decoding.unknown"))
    go(shared, "classroom", FLAGSHIP, strategy="forced")
    expect(page.locator(SAY)).to_have_text(matching("decoding.forced.say_right"))
    expect(page.locator("#setting-word")).to_be_disabled()
    page.locator("#setting-mistake").select_option("2")
    own = greedy("classroom", FLAGSHIP)
    words = [c.token for c in own.steps[2].candidates[:10] if c.token not in (own.output[2], "S", "P")]
    expect(page.locator("#setting-word option")).to_have_text(words)
    page.locator("#setting-word").select_option(words[3])
    free = translator("classroom").translate(FLAGSHIP, forced=[*own.output[:2], words[3]])
    said = matching("decoding.forced.say_forced", step=3, word=words[3], wanted="have", right=8, of=9, text=free.text)
    expect(page.locator(SAY)).to_have_text(said)
    page.wait_for_url(f"**mistake=3.{words[3]}**")
    page.reload()
    expect(page.locator(SAY)).to_have_text(said)
    shared.ask("Ich trinke ein Bier")  # the error stays where it can be forced, and goes where it cannot
    expect(page.locator(SAY)).not_to_have_text(said)
    shared.ask(FLAGSHIP)
    expect(page.locator(".message")).to_be_hidden()


# ---- the page


def test_a_closed_part_asks_nothing_and_an_open_one_speaks_the_visitors_language(shared: Visit) -> None:
    page = go(shared, "toy", BIER)
    shared.tab("translate")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.post_data or ""))
    shared.ask("Ich möchte ein Cola")
    shared.settle()
    assert not [text for text in asked if '"beam"' in text]
    shared.tab("break")
    expect(page.locator("#decoding .tree .node", has_text="coke").first).to_be_visible()
    page.locator("#language").select_option("zh-Hans")
    for strategy in ("beam", "sampling", "forced"):
        page.locator("#decoding .segmented").first.get_by_role(
            "button", name=t(f"decoding.{strategy}", "zh-Hans")
        ).click()
        expect(page.locator(SAY)).to_contain_text(re.compile("[\u3400-\u9fff]"))
        about = page.locator("#decoding .decoding-settings:visible .about").first
        expect(about).to_contain_text(re.compile("[\u3400-\u9fff]"))
