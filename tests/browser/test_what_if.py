"""What if: changes are made by clicks; every number is of the two runs, and every tab speaks of the modified one."""

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from transformer.analysis.experiments import shipped

from . import maps
from .arithmetic import expect_right
from .catalogue import matching, t
from .conftest import PROJECTOR, Visit, move, translate, until
from .test_accessible import broken_rules

TOY, CLASSROOM = "toy", "classroom"
SCORES = "document.querySelectorAll('#whatif .panel .score')"  # clicked in one task, quicker than any answer


def go(visit: Visit, checkpoint: str, changes: str = "", tab: str = "break", **other: object) -> Page:
    """The checkpoint's sentence under these changes, by its link."""
    place: dict[str, Any] = {"tab": tab, "part": "whatif", "kind": "cross", "layer": 2} | other
    page = visit.go(checkpoint, **place)
    expect(chips(page)).to_have_count(0)
    if changes:
        visit.go(checkpoint, **place, changes=changes)
        expect(chips(page)).to_have_count(1 + changes.count("*"))
    return page


def chips(page: Page) -> Locator:
    return page.locator("#top .change")


def expect_made(page: Page, *changes: str) -> None:
    """All changes of the run, as its link has them. What becomes of each is tested in tests/js/engine.test.ts."""
    written = "() => (location.search.match(/changes=([^&]*)/)?.[1] ?? '').split('*')"
    until(lambda: sorted(page.evaluate(written)) == sorted(changes))
    expect(chips(page)).to_have_count(len(changes))


# ---- changes by click


def test_it_opens_on_the_map_that_changed_most_and_folds_what_did_not(visit: Visit) -> None:
    """With a way to a sentence where the change shows."""
    page = visit.open("?tab=break&checkpoint=classroom&sentence=Wir kaufen kein altes Auto&changes=remove_mask.decoder")
    expect(page.locator("#whatif .result")).to_contain_text(matching("whatif.most_masked"))
    expect(page).to_have_url(re.compile("kind=decoder"))
    folded, rows = page.locator(".steps-beside .folded"), page.locator(".steps-beside tbody tr")
    expect(folded.first).to_have_text(matching("whatif.unchanged"))
    few = rows.count()
    folded.first.get_by_role("button").click()
    expect(folded).to_have_count(0)
    assert rows.count() > few
    page.locator("#whatif .say .link").click()
    expect(visit.box).to_have_value(shipped(CLASSROOM)["mask"].sentence)
    expect(page.locator("#whatif .say")).to_have_text(matching("whatif.say_other"))


def test_headings_are_in_order_before_the_starters_are_known(visit: Visit) -> None:
    visit.page.route("**/api/starters", lambda route: route.abort())
    page = visit.open("?tab=break&part=whatif&checkpoint=classroom")
    expect(page.locator("#whatif .panel")).to_be_visible()
    expect(page.locator(".starters")).to_have_count(0)
    assert broken_rules(page) == []


def test_every_starter_changes_words_in_view_of_what_was_pressed(shared: Visit) -> None:
    """On one screen with its result and a map; that words change in any model: tests/analysis/test_experiments.py."""
    page = go(shared, TOY)
    page.set_viewport_size(PROJECTOR)
    starters, say = page.locator(".starters button"), page.locator("#whatif .say")
    expect(say).to_have_text(matching("whatif.say_original"))
    shared.settle()  # before, there may be the starters of another model
    expect(starters.first).to_be_visible()
    for i in range(starters.count()):
        go(shared, TOY)
        shared.settle()  # the chips of this sentence have come
        starters.nth(i).click()
        expect(say).to_have_text(matching("whatif.say_other"))
        pressed = page.locator(".starters [aria-pressed=true]")
        for each, share in ((pressed, 1), (say, 1), (page.locator("#whatif .heatmap"), 0.3)):
            expect(each).to_be_in_viewport(ratio=share)
        assert page.locator("#whatif .tall").evaluate("steps => steps.scrollLeft") == 0  # their numbers are in view
        pressed.click()
        expect(chips(page)).to_have_count(0)


def test_a_class_sees_the_map_and_all_that_was_changed(visit: Visit) -> None:
    visit.page.set_viewport_size(PROJECTOR)
    page = visit.open("?tab=break&part=whatif&checkpoint=classroom&present=yes")
    expect(page.locator("#whatif .say")).to_have_text(matching("whatif.say_original"))
    expect(page.locator("#whatif .map .scroll")).to_be_in_viewport(ratio=1)
    place = "(part) => document.querySelector(`#whatif ${part}`).getBoundingClientRect()"
    covered = f"() => {{ const at = {place}; return at('.columns-words').bottom - at('i.marked').top; }}"
    until(lambda: page.evaluate(covered) < 0.5)  # px of the first row's frame
    page.locator(".starters button").first.click()
    expect(chips(page)).to_have_count(1)
    assert page.locator("#top .changed").evaluate("line => line.scrollWidth <= line.clientWidth")


def test_tables_fit_a_small_projector(visit: Visit) -> None:
    page = visit.page
    page.set_viewport_size({"width": 1024, "height": 768})
    run = "&checkpoint=classroom&sentence=Den+Hund+sieht+der+Lehrer&changes=positions.encoder.removed.0"
    for place, table in (("break&part=whatif", ".steps-beside"), ("attention", ".sortable")):
        visit.open(f"?tab={place}{run}")
        assert page.locator(f".scroll:has(> {table})").evaluate("place => place.scrollWidth <= place.clientWidth")


def test_heads_are_silenced_isolated_and_measured_on_their_map(shared: Visit) -> None:
    page = go(shared, CLASSROOM)
    panel, cell = page.locator("#whatif .panel"), page.locator("#whatif .panel .score")
    cell.nth(4).click()
    expect(cell.nth(4)).to_have_attribute("aria-pressed", "true")
    cell.nth(3).click()
    expect_made(page, "ablate.cross.2.1", "ablate.cross.1.4")
    first = t("change.ablate", kind=t("change.of.cross"), layer=2, head=1)
    page.get_by_role("button", name=f"{t('changed.undo')}: {first}").click()
    expect_made(page, "ablate.cross.1.4")
    run = translate(CLASSROOM, {"do": "ablate", "kind": "cross", "layer": 0, "head": 3})
    expect(shared.words).to_have_text(list(run.output))
    move(page, {"layer": 1, "head": 0})
    for name, each in (("original", translate(CLASSROOM)), ("modified", run)):
        told = re.compile(f"^{t(f'whatif.{name}')}.*{each.attention.cross[1].weights[0].max():.2f}")
        page.locator(f"#whatif [value={name}]").click()
        expect(page.locator(f"#whatif [data-map={name}] .heatmap")).to_have_attribute("aria-label", told)
    page.get_by_role("button", name=t("changed.undo_all")).click()
    layer_name = page.locator("#whatif .score-grid .axis", has_text=t("layer_n", layer=2))
    for count in (0, 4, 0):
        expect(chips(page)).to_have_count(count)
        layer_name.click()

    go(shared, CLASSROOM)
    panel.get_by_role("button", name=t("panel.heads.only")).click()
    for head in (1, 3):
        cell.nth(4 + head).click()
        expect(cell.nth(4 + head)).to_have_attribute("aria-pressed", "false")
    expect_made(page, "isolate.cross.2.2-4")
    panel.get_by_role("button", name=t("panel.heads.ablate")).click()
    page.locator("#sweep").click()
    expect(page.locator("#whatif .score[data-drop]")).to_have_count(2 * 4)
    go(shared, TOY)  # it has more heads: the classroom's numbers must not be drawn on them
    expect(page.locator("#whatif .score[data-drop]")).to_have_count(6 * 8)


def test_a_cell_of_the_modified_map_is_masked_and_unmasked(shared: Visit) -> None:
    page = go(shared, TOY, kind="decoder", layer=1)
    picture = page.locator("[data-map=modified] .heatmap")
    maps.click(picture, 2, 0)
    masked = t("change.edit_mask.closed", kind=t("change.of.decoder"), **{"from": "want", "at": "S"})
    expect(chips(page)).to_contain_text([masked])
    maps.point_at(picture, 2, 0)  # the page has moved below the pointer
    expect(page.locator("#whatif .tip:visible")).to_contain_text(t("masked"))
    maps.click(picture, 0, 5)
    expect_made(page, "edit_mask.decoder.3.1.closed", "edit_mask.decoder.1.6.open")
    expect(page.locator("#top .note")).to_contain_text(t("note.ahead"))
    maps.click(picture, 2, 0)
    expect_made(page, "edit_mask.decoder.1.6.open")


def group(page: Page, name: str) -> Locator:
    place = page.locator(f"#whatif [data-group={name}]")
    if place.get_attribute("open") is None:
        place.locator("summary").click()
    return place


def test_every_other_control_makes_its_change(shared: Visit) -> None:
    page = go(shared, CLASSROOM)
    group(page, "masks").get_by_role("button", name=t("panel.masks.decoder")).click()
    expect(group(page, "masks").get_by_role("button", name=t("panel.masks.cross"))).to_be_disabled()  # without padding
    group(page, "temperature").locator("select").select_option("cross")
    group(page, "temperature").locator("input").fill("7")
    expect(chips(page)).to_have_count(2)
    positions = group(page, "positions")
    positions.locator(".segmented").first.get_by_role("button", name=t("panel.positions.shuffled")).click()
    expect(chips(page)).to_have_count(3)
    positions.get_by_role("button", name=t("panel.positions.again")).click()
    group(page, "words").locator("select").nth(0).select_option("5")
    group(page, "words").locator("select").nth(1).select_option("hund")
    group(page, "residuals").get_by_role("button", name=t("panel.residuals.ffn")).first.click()
    written = ("temperature.cross.2", "positions.encoder.shuffled.1", "swap_word.6.hund", "drop_residual.encoder.1.2")
    expect_made(page, "remove_mask.decoder", *written)
    dropped = t("change.drop_residual", stack=t("change.of.encoder"), layer=1, sublayer=t("panel.residuals.ffn"))
    expect(chips(page).filter(has_text=dropped)).to_be_visible()


def test_a_candidate_is_forced_and_decoding_goes_on_from_there(shared: Visit) -> None:
    page = go(shared, TOY, tab="translate", step=4)
    page.get_by_role("button", name=t("translate.force_word", word="coke")).click()
    expect(chips(page)).to_contain_text([t("change.force_word", step=4, word="coke")])
    own = matching("translate.forced", step=4, steps=6, before="S i want a", token="coke", own="beer")
    expect(page.locator("#story .say")).to_have_text(own)
    expect(page.locator("#story .candidates .chosen .word")).to_have_text("coke")
    expect(page.locator("#story .hint", has_text=t("translate.loop_forced"))).to_be_visible()
    page.get_by_role("button", name=t("translate.force_word", word="beer")).click()  # the model's own choice
    expect(chips(page)).to_have_count(0)
    expect(page.locator("#story .hint", has_text=t("translate.loop"))).to_be_visible()


# ---- in a link, and in every tab


def test_a_fully_masked_row_attends_to_nothing(shared: Visit) -> None:
    closed = "*".join(f"edit_mask.cross.2.{key}.closed" for key in range(1, 5))  # the fifth is padding
    page = go(shared, TOY, closed, "translate", head=6, query=2, step=2)
    nothing = t("translate.nothing", layer=2, who=t("mean_of", heads=8))
    expect(page.locator("#story .say")).to_contain_text(nothing)
    shared.tab("attention")
    expect(page.locator("#attention .say")).to_contain_text(t("row.nothing", head=6, layer=2))
    shared.tab("inside")
    expect(page.locator("#inside .say")).to_have_text(matching("inside.say_nothing", word="i", head=6, layer=2))
    shared.draw_stages()
    expect(page.locator("#stage-scores .total")).to_have_text(re.compile(r"^0(\.0+)?$"))
    expect(page.locator("#checks")).to_have_attribute("data-state", "✓")


def test_every_tab_shows_the_modified_run(shared: Visit) -> None:
    """A silenced head, a temperature, a residual connection that is gone: in maps, formulas and words."""
    written = "ablate.cross.2.6*temperature.cross.2*drop_residual.decoder.2.2*drop_residual.decoder.2.3"
    page = go(shared, TOY, written, "translate", head=6, query=2, step=2, mean="no")
    said = {"story": ".hint", "attention": ".say", "whatif": ".hint"}
    hints = [page.locator(f"#{view} {where}", has_text=t("ablation.shown")) for view, where in said.items()]
    expect(hints[0]).to_be_visible()
    page.locator("#story [value=mean]").click()
    expect(hints[0]).to_be_hidden()
    page.get_by_role("button", name=t("changed.compare")).click()
    expect(page.get_by_role("button", name=t("changed.compare"))).to_be_hidden()  # it is on the map that changed most
    move(page, {"layer": 1, "head": 5})
    expect(page.locator("[data-map=modified] .ablated")).to_be_visible()
    expect(hints[2]).to_be_visible()
    shared.tab("attention")
    expect(hints[1]).to_be_visible()

    shared.tab("inside")
    shared.draw_stages()
    expect(page.locator("#stage-scores .formula")).to_contain_text("τ=2")
    expect(page.locator("#stage-ffn_residual")).to_contain_text(
        t("inside.ffn_residual_dropped.about", word="i", layer=2)
    )
    for name, index, text in (
        ("score", 0, "÷ √8 ÷ 2 ="),
        ("residual", 0, t("cell.residual.dropped")),
        ("head_output", 0, t("inside.ablated")),
    ):
        page.locator(f".stage .cell[data-name={name}][data-index='{index}']").click()
        expect(page.locator(".arithmetic-panel")).to_contain_text(text)
        for line in page.locator(".arithmetic-panel .arithmetic").all_inner_texts():
            expect_right(line)
    page.locator("#inside [aria-label=layer] [value='0']").click()  # where nothing but the temperature was changed
    page.locator("#stage-residual").scroll_into_view_if_needed()  # only stages in view are drawn
    expect(page.locator("#stage-residual")).to_contain_text(t("inside.residual.about", word="i"))
    expect(page.locator("#inside")).not_to_contain_text(t("inside.ablated"))


def test_what_was_measured_in_the_original_network_is_not_said_of_the_modified_one(shared: Visit) -> None:
    page = go(shared, CLASSROOM, "temperature.cross.3", "attention")
    columns = page.locator("#heads .sortable th")
    names = [t(f"heads.column.{name}") for name in ("layer", "head", "entropy", "distance", "aligned", "ablated")]
    expect(columns).to_have_text(names[:-1])
    chips(page).click()
    expect(columns).to_have_text(names)


def test_the_lesson_keeps_to_the_original_run(shared: Visit) -> None:
    longer = "temperature.all.3*swap_word.4.cola*positions.encoder.removed.0*ablate.cross.1.1*force_word.6.a"
    page = go(shared, TOY, longer, "lesson", step=8, stop=13)  # a step that the original run does not have
    expect(page.locator("#lesson")).to_contain_text(t("lesson.original"))
    page.locator("#lesson .choice").first.wait_for()
    page.keyboard.press("r")
    expect(page.locator("#lesson .candidates .chosen .word")).to_have_text(translate(TOY).output[-1])


# ---- while an answer is on its way (more of it: tests/js/run-requests.test.ts)


def test_a_click_counts_though_the_page_is_drawn_again_before_the_button_is_released(shared: Visit) -> None:
    page = go(shared, CLASSROOM)
    shared.settle()
    page.locator("#whatif .panel .score").nth(4).hover()
    page.mouse.down()
    move(page, {"step": 1})  # as an answer does that comes just then
    page.mouse.up()
    expect_made(page, "ablate.cross.2.1")


def test_quick_clicks_all_count_and_another_model_begins_without_changes(shared: Visit) -> None:
    page = go(shared, CLASSROOM)
    page.locator("#whatif .panel .score").first.wait_for()
    page.evaluate(f"{SCORES}.forEach((each) => each.click())")
    expect_made(page, *(f"ablate.cross.{layer}.{head}" for layer in (1, 2) for head in range(1, 5)))

    shared.choose_model(TOY)
    expect(chips(page)).to_have_count(0)
