"""The page as a visitor uses it, and one number of each tab from the model to the screen."""

import math

import numpy as np
from playwright.sync_api import expect

from . import maps
from .catalogue import matching, t
from .conftest import APP, BIER, PHONE, Visit, translate, translator
from .wire import Hold

COLA = "ich mochte ein cola"
SAID = {BIER: "i want a beer . E", COLA: "i want a coke . E"}


# ---- a sentence and its steps


def test_a_sentence_is_typed_or_clicked(shared: Visit) -> None:
    page = shared.go(layer=2, head=6, step=4)
    note = page.locator(".note")
    shared.box.fill(COLA)
    page.keyboard.press("Enter")
    expect(shared.translation).to_have_text(SAID[COLA])
    expect(note).to_have_text(matching("note.mochte"))
    shared.box.fill("ein Bier möchte ich")
    page.get_by_role("button", name=t("sentence.translate"), exact=True).click()
    expect(note).to_contain_text(t("note.unlearned"))
    page.get_by_role("button", name="Ich möchte ein Cola").click()
    expect(shared.translation).to_have_text(SAID[COLA])
    expect(shared.box).to_have_value("Ich möchte ein Cola")
    expect(note).to_be_hidden()
    shared.ask("Bier")
    expect(page.locator("#story .say")).to_contain_text(matching("translate.only", word="bier"))
    shared.go("classroom", sentence="Bier")  # it has no masked neighbours either
    expect(page.locator("#story .say")).to_contain_text(matching("translate.only_word"))


def test_a_doubtful_translation_is_marked_where_it_stands(shared: Visit) -> None:
    shared.page.set_viewport_size(PHONE)  # where the note is folded away
    page = shared.go(sentence="ein Bier möchte ich", tab="attention")
    mark = page.get_by_role("button", name=t("note.unlearned"))
    page.mouse.wheel(0, 900)
    expect(mark).to_be_in_viewport(ratio=1)
    mark.click()
    expect(page.locator("#doubt")).to_contain_text(t("note.unlearned"))
    page.keyboard.press("Escape")
    shared.go()
    expect(mark).to_be_hidden()


LATER = (  # than browsers of 2023, beside what tsc knows by the year
    *("AbortSignal.any", "Element.prototype.checkVisibility"),
    *(f"HTMLElement.prototype.{name}Popover" for name in ("show", "hide", "toggle")),
)


def test_browsers_of_2023_show_the_page(visit: Visit) -> None:
    visit.page.add_init_script(";".join(f"delete {each}" for each in LATER))
    page = visit.go("classroom", sentence="Ein Hund schläft", tab="attention", drawing="table")
    expect(page.locator("#attention table").first).to_be_visible()
    page.get_by_role("button", name=t("examples.more"), exact=True).click()
    page.locator("dialog [data-sentence]").last.click()
    expect(visit.box).not_to_have_value("Ein Hund schläft")
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_page_that_waits_or_is_refused_says_so_and_is_answered(shared: Visit) -> None:
    page = shared.go(layer=2, head=6, step=4)
    crowd, word = page.locator("#crowd"), shared.words.nth(3)
    shared.settle()  # the page's own questions about its run would be told of, too
    held = Hold(page, "translate")
    page.route("**/health", lambda route: route.fulfill(json={"queue": {"working": 2, "waiting": 2, "others": 3}}))
    shared.type(COLA)
    expect(crowd).to_have_text(t("queue.waiting", waiting=2))
    expect(word).to_have_text("beer")  # what was there stays
    held.release()
    expect(word).to_have_text("coke")
    expect(crowd).to_be_hidden()
    expect(shared.message).to_be_hidden()
    page.route("**/api/*", lambda route: route.fulfill(status=503, headers={"Retry-After": "1"}, json={}))
    shared.type(BIER)
    expect(crowd).to_have_text(t("queue.full"))
    page.unroute_all()
    expect(word).to_have_text("beer")  # without another click
    expect(crowd).to_be_hidden()


# Play's clock is the test's: each `beat()` is one of its steps.
OWN_CLOCK = """() => {
  const { setInterval } = window;
  window.setInterval = (act) => {
    window.beat = act;
    return setInterval(() => {}, 1e9);
  };
  window.giveBack = () => Object.assign(window, { setInterval });
}"""


def test_the_steps_are_walked(shared: Visit) -> None:
    page = shared.go(layer=2, head=6, step=4)
    play, pause = (page.get_by_role("button", name=t(f"run.{name}")) for name in ("play", "pause"))
    before = shared.step
    for key in ("ArrowLeft", "Home"):  # they belong to the text while one types
        shared.box.press(key)
        assert shared.step == before
    page.locator("body").click(position={"x": 2, "y": 2})
    for key, step in (("Home", 0), ("ArrowRight", 1), ("ArrowLeft", 0), ("End", 5), ("ArrowRight", 5)):
        page.keyboard.press(key)
        assert shared.step == step, key
    page.evaluate(OWN_CLOCK)
    page.keyboard.press("Space")  # from the start, since the end was reached
    expect(pause).to_be_visible()
    for step in (1, 2):
        page.evaluate("beat()")
        assert shared.step == step
    page.keyboard.press("Space")
    expect(play).to_be_visible()
    shared.words.first.click()
    for name, step in (("next", 1), ("next", 2), ("back", 1)):
        page.get_by_role("button", name=t(f"run.{name}"), exact=True).click()
        assert shared.step == step, name
    shared.tab("attention")
    shared.press("3")
    page.keyboard.press("Space")  # a button that was clicked leaves it to Play
    expect(pause).to_be_visible()
    page.keyboard.press("Home")  # a visitor who moves stops it
    expect(play).to_be_visible()
    assert shared.step == 0
    page.evaluate("giveBack()")


# ---- the model's numbers


def test_a_step_shows_the_models_numbers(shared: Visit) -> None:
    page, bier = shared.go(layer=2, head=6, step=4), translate("toy")
    says = matching("translate.says", step=4, steps=6, before="S i want a", token="beer")
    expect(page.locator("#story .say")).to_have_text(says)
    page.get_by_role("group", name=t("layer")).get_by_role("button", name="6").click()
    page.get_by_role("group", name=t("head")).get_by_role("button", name="5").click()
    shared.words.nth(4).click()
    expect(page.locator(".cards .now")).to_contain_text(bier.steps[4].token)
    shown = "all => all.map(bar => Number(bar.dataset.weight ?? bar.dataset.probability))"
    for bars, numbers in (
        (".bars li", bier.attention.cross[5].weights[4, 4]),
        (".candidates li", [each.probability for each in bier.steps[4].candidates[:8]]),
    ):
        seen = page.locator(bars).filter(visible=True)  # another tab has candidates, too
        np.testing.assert_allclose(seen.evaluate_all(shown), numbers, atol=1e-6)


def test_a_map_is_drawn_in_every_way_without_the_server(shared: Visit) -> None:
    page, bier = shared.go(tab="attention", layer=2, head=6, step=4), translate("toy")
    page.locator("#ablation").scroll_into_view_if_needed()
    expect(page.locator("#ablation")).not_to_have_text("…")
    shared.settle()
    shared.requests.clear()
    picture, weights = page.locator("#attention .heatmap"), bier.attention.cross[5].weights[7, 2]
    for button in (t("kind.encoder"), t("kind.cross"), "6", t("head_n", head=8)):
        shared.press(button)
        expect(page.locator("#attention .heatmap .marked")).to_be_visible()  # the row that the sentence is about
    expect(page.get_by_role("heading", name=matching("attention.axes", head=8, layer=6))).to_be_visible()
    for key, says in ((1, f"want → mochte: {weights[1]:.2f}"), (4, f"want → P: {t('masked')}")):
        maps.point_at(picture, 2, key)
        expect(page.locator("#attention .tip")).to_have_text(says)
    shared.press(t("attention.lines"))
    page.locator(".lines g[data-query='3']").hover()
    expect(page.locator(".lines.isolated path.kept")).to_have_count(4)  # the source words; P is masked
    shared.press(t("attention.table"))
    row = page.locator("#attention .large tbody tr").nth(2).locator("td")
    expect(row).to_have_text([*(f"{weight:.3f}" for weight in weights[:4]), t("masked")])
    shared.tab("translate")
    assert shared.requests == []


def test_maps_switch_between_weights_and_contributions(shared: Visit) -> None:
    """At a row whose highest weight is not the largest contribution. How these are computed and how many rows are like
    that is tested in tests/js/contributions.test.ts."""
    bier = translator("toy").translate(BIER, value_weighted=True)
    weights, parts = (
        np.stack([m.weights for m in maps.of("cross")]) for maps in (bier.attention, bier.value_weighted.maps)
    )
    moved = np.argwhere(weights.argmax(-1) != parts.argmax(-1))
    layer, head, step = max(moved, key=lambda at: weights[tuple(at)].max())
    row, attended, most = parts[layer, head, step], *(each[layer, head, step].argmax() for each in (weights, parts))
    page = shared.go(tab="attention", layer=layer + 1, head=head + 1, step=step + 1)
    shared.settle()
    shared.asked.clear()
    shared.press(t("measure.contribution"))
    said = {"head": head + 1, "layer": layer + 1, "word": bier.source[attended], "other": bier.source[most]}
    expect(page.locator("#attention .say")).to_contain_text(matching("contribution.other", **said))
    expect(page.locator("#attention .map > .hint:visible")).to_have_text(matching("contribution.moved"))
    maps.point_at(page.locator("#attention .heatmap"), step, int(most))
    expect(page.locator("#attention .tip")).to_contain_text(f"{row[most]:.2f}")
    page.wait_for_url("**measure=contribution**")
    shared.press(t("attention.table"))
    cells = page.locator("#attention .large tbody tr").nth(step).locator("td")
    expect(cells).to_have_text([*(f"{part:.3f}" for part in row[:4]), t("masked")])
    assert shared.asked == ["value_norms"]
    shared.press(t("measure.weight"))
    expect(cells.first).to_have_text(f"{weights[layer, head, step, 0]:.3f}")


def test_positions_are_looked_at_and_found_again_after_a_fault(visit: Visit) -> None:
    """That what is drawn is the encoding is tested in tests/js/sinusoid.test.ts."""
    page = visit.open()
    visit.settle()
    page.route("**/api/input_sum", lambda route: route.fulfill(status=500, body="{}"))
    visit.tab("positions")
    expect(page.locator("#positions .card .hint").last).to_have_text(t("positions.failed"))
    page.unroute_all()
    visit.tab("translate")
    visit.tab("positions")
    expect(page.locator("#positions .figure").nth(3).locator("canvas").first).to_be_visible()
    expect(page.locator("#positions .say")).to_have_text(matching("positions.say", position=2, dimension=4))
    page.locator("input[name=position]").fill("7")
    page.locator("input[name=dimension]").fill("9")
    turn = matching("positions.turn", dimension=9, wave=t("positions.cosine"))
    expect(page.get_by_role("heading", name=turn)).to_be_visible()
    formula = f"PE(7, 9) = cos(7 ÷ 10000^{{8 ÷ 64}}) = {math.cos(7 / 10000 ** (8 / 64)):.3f}".replace("-", "−")
    expect(page.locator("#positions math")).to_have_attribute("alttext", formula)
    visit.press(t("positions.decoder"))
    expect(page.locator("#positions .card .hint").last).to_have_text(matching("positions.sum.decoder", d_model=64))
    page.locator("input[name=length]").fill("120")
    page.get_by_label(t("positions.width")).select_option("128")
    for name, most in (("position", 119), ("dimension", 127)):
        expect(page.locator(f"input[name={name}]")).to_have_attribute("max", str(most))


# ---- the page itself


# Wherever a visitor may look, one place after another, each of them drawn.
WANDER = f"""async (round) => {{
  const {{ update }} = await {APP};
  for (const tab of ["inside", "translate", "attention", "break", "lesson", "positions"]) {{
    update({{ tab, kind: ["encoder", "decoder", "cross"][round % 3], head: round % 8, step: round % 5 }});
    for (let frame = 0; frame < 3; frame++) await new Promise(requestAnimationFrame);
  }}
}}"""


def test_many_interactions_leave_nothing_behind(visit: Visit) -> None:
    page = visit.open()
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable")

    def nodes() -> int:
        """After two more sentences."""
        for i, sentence in enumerate((BIER, COLA)):
            visit.ask(sentence)
            page.evaluate(WANDER, i)
            page.locator("input[name=position]").fill(str(i))
        visit.settle()
        for _ in range(2):
            session.send("HeapProfiler.collectGarbage")
        return int(next(m["value"] for m in session.send("Performance.getMetrics")["metrics"] if m["name"] == "Nodes"))

    counts = [nodes()]  # what is loaded once is loaded now, or on a slow machine in the next rounds
    while len(counts) < 4 and (len(counts) < 2 or counts[-1] > counts[-2] * 1.1):
        counts.append(nodes())
    assert counts[-1] <= counts[-2] * 1.1, counts
