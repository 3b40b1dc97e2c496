"""Decoding strategies on the page: every number is the model's, and a link brings them back."""

import math
import re
from itertools import zip_longest
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from transformer import Translation
from transformer.inference.translator import Sampling
from transformer.web.api.decoding import beam, forced, sampled

from .arithmetic import signed
from .catalogue import matching, percent, t
from .conftest import Visit, move
from .test_inside import translator

BIER, FLAGSHIP = "Ich möchte ein Bier", "Heute habe ich ein kaltes Bier getrunken"
MISTAKEN = "Ich habe mein altes Handy einem Kind gegeben"  # the model says “a old child my phone”
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
    move(page, at)
    visit.settle()
    return page


def searched(checkpoint: str, sentence: str, width: int, alpha: float) -> dict[str, Any]:
    """What the server answers, which tests/web/api holds to the translator."""
    return beam({"checkpoint": checkpoint, "sentence": sentence, "width": width, "alpha": alpha})


def path(tree: dict[str, Any], number: int | None) -> list[int]:
    """The branches from the first step to this one."""
    return [] if number is None else [*path(tree, tree["branches"][number]["parent"]), number]


def nodes(page: Page) -> list[dict[str, Any]]:
    """Every node of the tree that is drawn, in the order of the branches."""
    return page.locator("#decoding .tree .node").evaluate_all(
        "all => all.sort((a, b) => a.dataset.branch - b.dataset.branch).map((node) => ({"
        " ...node.dataset, best: node.classList.contains('best'),"
        " token: node.querySelector('.label').textContent, share: node.querySelector('.share').textContent }))"
    )


def close(values: Any) -> Any:
    """The server's processor may round the last bits otherwise."""
    return pytest.approx(values, rel=1e-4, abs=1e-7)


def texts(locator: Locator) -> list[str]:
    return [each.strip() for each in locator.all_text_contents()]


# ---- beam search


def test_the_tree_is_the_servers(shared: Visit) -> None:
    page = go(shared, "classroom", MISTAKEN, width=5, alpha=1.5)
    tree = searched("classroom", MISTAKEN, 5, 1.5)
    expect(page.locator("#decoding .tree .node")).to_have_count(len(tree["branches"]))
    best, drawn = path(tree, tree["best"]), nodes(page)
    for n, (node, branch) in enumerate(zip(drawn, tree["branches"], strict=True)):
        p = float(node["probability"])
        assert (node["token"], node["fate"], p) == (branch["token"], branch["fate"], close(branch["probability"]))
        assert (node["best"], node["share"]) == (n in best, percent(p))
    heads = " ".join(texts(page.locator("#decoding .tree .head")))
    assert sum(map(int, re.findall(r"\+ (\d+)", heads))) == sum(tree["left_out"])

    rows = page.locator("#decoding .sentences tbody tr")
    for name, key in (("score", "score"), ("log", "log_probability")):
        found = rows.evaluate_all(f"rows => rows.map((row) => Number(row.dataset.{name}))")
        assert found == close([each[key] for each in tree["hypotheses"]])
    log = tree["hypotheses"][0]["log_probability"]
    assert texts(rows.first.locator("td"))[:2] == [percent(math.exp(log)), signed(log)]
    expect(rows.first).to_have_class("marked")
    expect(rows.first.locator("th")).to_contain_text(tree["text"])
    expect(page.locator(SAY)).to_contain_text(tree["greedy"]["text"])

    # The length penalty chooses again, among the same sentences.
    page.locator("#setting-alpha").focus()
    page.keyboard.press("End")
    again = searched("classroom", MISTAKEN, 5, 2.0)
    expect(rows.first.locator("td").last).to_have_text(signed(again["hypotheses"][0]["score"]))
    assert [n["token"] for n in nodes(page)] == [n["token"] for n in drawn]

    # On a phone it scrolls in its own place.
    page.set_viewport_size({"width": 390, "height": 800})
    place, best_leaf = page.locator("#decoding .tree-place"), page.locator("#decoding .tree .node.finished.best")
    assert place.evaluate("place => place.scrollWidth > place.clientWidth")
    best_leaf.scroll_into_view_if_needed()
    expect(best_leaf).to_be_in_viewport()
    assert page.evaluate("document.scrollingElement.scrollWidth - innerWidth") <= 0
    page.set_viewport_size({"width": 1280, "height": 800})


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
    kept = [n["token"] for n in nodes(page) if n["fate"] != "dropped"]
    assert kept == list(run.output) == texts(page.locator("#translation button"))


def test_a_path_is_read_by_pointer_and_by_key(shared: Visit) -> None:
    page = go(shared, "toy", BIER, width=3)
    reading = page.locator("#decoding .reading")
    tree = searched("toy", BIER, 3, 0.6)
    branches, best = tree["branches"], path(tree, tree["best"])
    expect(page.locator("#decoding .tree .node")).to_have_count(len(branches))
    expect(reading).to_contain_text(percent(tree["hypotheses"][0]["probability"]))
    n = next(i for i, branch in enumerate(branches) if branch["fate"] == "kept" and i not in best)
    page.locator(f"#decoding .tree .node[data-branch='{n}']").hover()
    expect(reading).to_contain_text(" ".join(branches[i]["token"] for i in path(tree, n))[:3])
    expect(reading).to_contain_text(percent(branches[n]["probability"]))
    expect(page.locator("#decoding .tree .node.lit")).to_have_count(branches[n]["step"] + 1)
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


# ---- sampling


def test_a_seed_draws_what_the_server_draws_and_so_does_its_link(shared: Visit) -> None:
    settings: dict[str, Any] = {"temperature": 2.5, "top_k": 6, "top_p": 0.95}
    page = go(shared, "classroom", FLAGSHIP, strategy="sampling", **settings, seed=3, step=1)
    drawn = page.locator("#decoding .cards").nth(1).locator(".word")
    for seed in (3, 4):
        expected = sampled({"checkpoint": "classroom", "sentence": FLAGSHIP, **settings, "seed": seed})
        expect(page.locator(SAY)).to_have_text(matching("decoding.sampling.say", seed=seed, drawn=expected["text"]))
        output = [step["token"] for step in expected["steps"]]
        expect(drawn).to_have_text(output)
        shares = {each["token"]: [each["probability"], each["drawn"]] for each in expected["steps"][1]["candidates"]}
        shown = page.locator("#decoding .both li[data-drawn]").evaluate_all(
            "all => all.map(({ firstChild, dataset: { probability, drawn } }) =>"
            " [firstChild.textContent, Number(probability), Number(drawn)])"
        )
        assert [found for _, *found in shown] == [close(shares[token]) for token, *_ in shown]
        assert output[1] in [token for token, *_ in shown]
        assert page.locator("#decoding .both li.cut").count() == sum(each[2] == 0 for each in shown) > 0
        if seed == 3:
            shared.press(t("decoding.again"))
    page.wait_for_url("**seed=4**")
    assert all(part in page.url for part in ("strategy=sampling", "temperature=2.5", "top_k=6", "top_p=0.95"))
    expect(page.locator("#decoding .tally li").first).to_be_visible()
    before = page.locator(SAY).inner_text()
    page.reload()
    expect(drawn).to_have_text(output)
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
    ways = forced({"checkpoint": "classroom", "sentence": MISTAKEN})
    expected = [row for pair in zip_longest(ways["teacher"], ways["free"]) for row in pair if row]
    rows = page.locator("#decoding .two-ways tbody tr")
    expect(rows).to_have_count(max(len(ways["teacher"]), len(ways["free"])))
    read = page.locator("#decoding [data-read]").evaluate_all("all => all.map((cell) => cell.dataset.read)")
    assert read == [row["read"] for row in expected]
    said = page.locator("#decoding [data-output]").evaluate_all("all => all.map(({ dataset }) => ({ ...dataset }))")
    assert [each["output"] for each in said] == [row["output"] for row in expected]
    assert [float(each["probability"]) for each in said] == close([row["probability"] for row in expected])
    right, of = ways["right"], ways["of"]
    totals = [t("decoding.right_of", right=count, of=of) for count in (right["teacher"], right["free"])]
    expect(page.locator("#decoding .two-ways tfoot td")).to_have_text(totals)
    step, mistake = next((i, row) for i, row in enumerate(ways["teacher"]) if row["output"] != row["wanted"])
    assert right["free"] < right["teacher"] < of  # it does go astray
    expect(rows.nth(step).locator(".wrong")).to_have_count(2)
    expect(rows.nth(step).locator(".astray")).to_have_count(0)  # the error is read one step later
    expect(rows.nth(step + 1).locator(".astray")).to_have_text(mistake["output"])
    words = {"word": mistake["output"], "wanted": mistake["wanted"], "text": greedy("classroom", MISTAKEN).text}
    counts = {"right": right["teacher"], "of": of, "free": right["free"]}
    mistake = matching("decoding.forced.say_mistake", step=step + 1, **words, **counts)
    expect(page.locator(SAY)).to_have_text(mistake)


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
