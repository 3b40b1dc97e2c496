"""Decoding strategies on the page: a number of each is the server's, and a link brings them back.

That the server's are right is tested in tests/js/engine.test.ts.
"""

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from transformer.web.api.decoding import beam, forced, sampled

from ..web.api.endpoints import ask
from .arithmetic import signed
from .catalogue import matching, percent, t
from .conftest import FLAGSHIP, Visit, translate
from .wire import Hold

MISTAKEN = "Wo ist der junge Junge"  # the model leaves “young” out
SAY, NODE = "#decoding .say", "#decoding .tree .node"


def go(visit: Visit, checkpoint: str, sentence: str = "", **place: Any) -> Page:
    """A sentence, decoded with these settings, by its link."""
    page = visit.go(checkpoint, sentence, **{"tab": "break", "part": "decoding"} | place)
    visit.settle()
    return page


def texts(locator: Locator) -> list[str]:
    return [each.strip() for each in locator.all_text_contents()]


# ---- beam search


def test_the_tree_is_the_servers(shared: Visit) -> None:
    page = go(shared, "classroom", MISTAKEN, width=5, alpha=1.5)
    tree = ask(beam, {"checkpoint": "classroom", "sentence": MISTAKEN, "width": 5, "alpha": 1.5})
    nodes, rows = page.locator(NODE), page.locator("#decoding .sentences tbody tr")
    expect(nodes).to_have_count(len(tree["branches"]))
    best, last = page.locator(f"{NODE}[data-branch='{tree['best']}']"), tree["branches"][tree["best"]]
    expect(best).to_have_class(re.compile("best"))
    expect(best.locator(".share")).to_have_text(percent(last["probability"]))
    expect(rows).to_have_count(len(tree["hypotheses"]))
    expect(rows.first.locator("th")).to_contain_text(tree["text"])
    expect(page.locator(SAY)).to_contain_text(tree["greedy"]["text"])

    # The length penalty chooses again, among the same sentences.
    words = texts(nodes.locator(".label"))
    page.locator("#setting-alpha").press("End")
    again = ask(beam, {"checkpoint": "classroom", "sentence": MISTAKEN, "width": 5, "alpha": 2.0})
    expect(rows.first.locator("td").last).to_have_text(signed(again["hypotheses"][0]["score"]))
    assert texts(nodes.locator(".label")) == words


def test_width_one_is_greedy_and_late_answers_replace_nothing(shared: Visit) -> None:
    page = go(shared, "toy")
    for width in "135241":  # quicker than the answers
        page.locator("#decoding [data-setting=width]").get_by_role("button", name=width).click()
    for name in ("sampling", "beam"):
        shared.press(t(f"decoding.{name}"))
    expect(page.locator(SAY)).to_have_text(matching("decoding.beam.say_one", beam=translate("toy").text))
    shared.settle()
    kept = texts(page.locator(f"{NODE}:not([data-fate=dropped]) .label"))
    assert sorted(kept) == sorted(translate("toy").output)


def test_a_path_is_read_by_pointer_and_by_key(shared: Visit) -> None:
    page = go(shared, "toy", width=3)
    reading, lit = page.locator("#decoding .reading"), page.locator(f"{NODE}.lit")
    dropped = page.locator(f"{NODE}[data-fate=dropped]").last
    dropped.hover()
    expect(reading).to_contain_text(percent(float(dropped.get_attribute("data-probability") or "nan")))
    assert lit.count() > 1
    page.mouse.move(2, 2)
    expect(lit).to_have_count(0)

    step, focused = shared.step, page.locator(f"{NODE}:focus")
    page.locator(f"{NODE}[tabindex='0']").focus()
    for key, word in (("ArrowLeft", "."), ("ArrowLeft", "beer"), ("ArrowRight", "."), ("Home", "i"), ("End", "E")):
        page.keyboard.press(key)
        expect(focused.locator(".label")).to_have_text(word)
    page.keyboard.press("ArrowDown")
    expect(reading).to_contain_text(t("decoding.fate.dropped"))
    assert shared.step == step  # the arrows walked in the tree, not through the run


# ---- sampling


def test_a_seed_draws_what_the_server_draws_and_so_does_its_link(shared: Visit) -> None:
    settings: dict[str, Any] = {"temperature": 2.5, "top_k": 6, "top_p": 0.95}
    page = go(shared, "classroom", strategy="sampling", **settings, seed=3, step=2)
    drawn = page.locator("#decoding .cards").nth(1).locator(".word")
    held = Hold(page, "sampled")
    for _ in range(2):  # each with the next seed, although no answer has come
        shared.press(t("decoding.again"))
    held.release()
    expected = ask(sampled, {"checkpoint": "classroom", "sentence": FLAGSHIP, **settings, "seed": 5})
    output = [step["token"] for step in expected["steps"]]
    expect(drawn).to_have_text(output)
    expect(page.locator(SAY)).to_have_text(matching("decoding.sampling.say", seed=5, drawn=expected["text"]))
    expect(page.locator("#decoding .both li.cut")).not_to_have_count(0)
    expect(page.locator("#decoding .tally li").first).to_be_visible()
    page.wait_for_url("**seed=5**")
    page.unroute_all()
    page.reload()
    expect(drawn).to_have_text(output)


# ---- teacher forcing


def test_an_error_is_forced_and_comes_back_by_its_link(shared: Visit) -> None:
    page = go(shared, "classroom", MISTAKEN, strategy="forced")
    ways = ask(forced, {"checkpoint": "classroom", "sentence": MISTAKEN})
    totals = [t("decoding.right_of", right=ways["right"][way], of=ways["of"]) for way in ("teacher", "free")]
    expect(page.locator("#decoding .two-ways tfoot td")).to_have_text(totals)
    expect(page.locator("#decoding .two-ways .astray").first).to_be_visible()
    go(shared, "classroom", strategy="forced")
    expect(page.locator(SAY)).to_have_text(matching("decoding.forced.say_right"))
    expect(page.locator("#setting-word")).to_be_disabled()
    page.locator("#setting-mistake").select_option("2")
    own = translate("classroom")
    words = [c.token for c in own.steps[2].candidates[:10] if c.token not in (own.output[2], "S", "P")]
    expect(page.locator("#setting-word option")).to_have_text(words)
    page.locator("#setting-word").select_option(words[3])
    said = matching("decoding.forced.say_forced", step=3, word=words[3], wanted="have", right=8, of=9)
    expect(page.locator(SAY)).to_have_text(said)
    page.wait_for_url(f"**mistake=3.{words[3]}**")
    page.reload()
    expect(page.locator(SAY)).to_have_text(said)
    shared.ask("Ich trinke ein Bier")  # the error stays where it can be forced, and goes where it cannot
    expect(page.locator(SAY)).not_to_have_text(said)
    shared.ask(FLAGSHIP)
    expect(page.locator(".message")).to_be_hidden()
    go(shared, "classroom", strategy="forced")
    page.locator(SAY).get_by_role("button").last.click()  # an error of the reference, not a change of the run
    page.wait_for_url("**mistake=**")
    shared.settle()
    expect(page.locator("#top .change")).to_have_count(0)
