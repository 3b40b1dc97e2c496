"""What the page says of a broken run is true of it: in words, in formulas, and in what is left unsaid."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.sync_api import Page, Route, expect

from transformer import Translation

from .catalogue import EN
from .conftest import Visit
from .test_lesson import STOPS, Answers, expect_lesson, place, stop
from .test_whatif import broken

BIER = "Ich möchte ein Bier"


def opened(visit: Visit, tab: str, changes: str, more: str = "") -> Page:
    page = visit.open(f"?tab={tab}&changes={quote(changes)}{more}")
    expect(page.locator("#top .change")).to_have_count(changes.count("*") + 1)
    return page


def text(key: str, **places: object) -> re.Pattern[str]:
    """A text of the catalogue, with anything in the places that are not given."""
    parts = re.split(r"(\{\w+\})", EN[key])
    filled = (str(places.get(part[1:-1], "\0")) if part.startswith("{") else part for part in parts)
    return re.compile(re.escape("".join(filled)).replace("\0", ".*"), re.DOTALL)


def handout(visit: Visit) -> str:
    visit.page.locator("#home summary").click()
    with visit.page.expect_download() as download:
        visit.page.locator("#home [data-file=handout]").click()
    return Path(download.value.path()).read_text("utf-8")


@contextmanager
def sheet(visit: Visit) -> Iterator[Page]:
    """The handout, as a page."""
    html = handout(visit)
    page = visit.page.context.new_page()
    page.set_content(html)
    yield page
    page.close()


# ---- a row that may look at nothing ----

CLOSED = "*".join(f"edit_mask.cross.2.{key}.closed" for key in range(1, 5))  # the fifth is padding


def closed() -> Translation:
    edits = [{"do": "edit_mask", "kind": "cross", "query": 1, "key": key, "allowed": False} for key in range(4)]
    return broken("toy", BIER, *edits)


def test_a_closed_row_looks_at_nothing(visit: Visit) -> None:
    page = opened(visit, "translate", CLOSED, "&kind=cross&layer=2&head=6&step=2")
    expect(page.locator("#story .say")).to_contain_text(text("translate.nothing"))
    bars = page.locator("#story .bars li")
    titles = [EN["translate.closed"]] * 4 + [EN["translate.padding"]]
    assert [bar.get_attribute("title") for bar in bars.all()] == titles
    visit.tab("attention")
    expect(page.locator("#attention .say")).to_contain_text(
        text("aloud.nothing", head=6, layer=2, reading="Reading i, about to say want")
    )
    expect(page.locator("#heads .columns").last).to_contain_text(EN["heads.blind"].strip())
    page.keyboard.press("Home")  # another row
    expect(page.locator("#attention .say")).to_contain_text("looks")
    page.keyboard.press("ArrowRight")
    visit.tab("inside")
    expect(page.locator("#inside .say")).to_contain_text("may look at nothing: every score is masked")
    expect(page.locator("#stage-scores")).to_contain_text(EN["inside.scores.closed"])
    assert float(page.locator("#stage-scores .total").inner_text()) == 0
    expect(page.locator("#checks")).to_have_attribute("data-state", "✓")
    assert EN["checks.rows_open"] in (page.locator("#checks [data-check=rows] th").text_content() or "")
    with sheet(visit) as paper:
        looks = paper.locator(".steps tbody tr td:last-child").all_inner_texts()
        assert [looked == EN["handout.nothing"] for looked in looks] == [i == 1 for i in range(len(closed().steps))]


def test_where_no_row_is_closed_none_is_spoken_of(visit: Visit) -> None:
    page = visit.open("?tab=attention&kind=cross")
    expect(page.locator("#checks")).to_have_attribute("data-state", "✓")
    assert EN["checks.rows"] in (page.locator("#checks [data-check=rows] th").text_content() or "")
    expect(page.locator("#silenced")).not_to_have_text("…")
    assert EN["heads.blind"] not in page.locator("#heads").inner_text()


# ---- the lesson ----

# Another word, looks spread out, no positions, and more steps than the unbroken run has.
LONGER = "temperature.all.3*swap_word.4.cola*positions.encoder.removed.0*silence.cross.1.1*force_word.6.a"


def test_the_lesson_is_of_the_unbroken_run(visit: Visit) -> None:
    page = opened(visit, "lesson", LONGER, "&kind=cross&layer=2&head=6&step=8")
    page.locator("#lesson .choice").first.wait_for()
    expect(page.locator("#lesson")).to_contain_text(EN["lesson.unbroken"])
    at = place(page)
    run = broken("toy", BIER)
    assert at.step == 7 >= len(run.steps)
    seen: dict[str, dict[str, Any]] = {}
    for n, name in enumerate(STOPS, 1):
        stop(page, n)
        page.keyboard.press("r")
        seen[name] = stop(page, n)
        if name == "logits":
            said = page.locator("#lesson .candidates .chosen .word")
            expect(said).to_have_text([run.output[-1]])
        page.keyboard.press("PageDown")
    expect_lesson(seen, Answers("toy", BIER, at._replace(step=len(run.steps) - 1)))


def test_what_is_undone_asks_no_question_again(visit: Visit) -> None:
    page = opened(visit, "lesson", LONGER, "&stop=7")
    page.locator("#lesson .choice").first.wait_for()
    stop(page, 7)
    page.keyboard.press("r")
    reveal = stop(page, 7)["reveal"]
    assert reveal
    page.locator("#top").get_by_role("button", name=EN["changed.undo_all"]).click()
    expect(page.locator("#lesson").get_by_text(EN["lesson.unbroken"])).to_be_hidden()
    assert stop(page, 7)["reveal"] == reveal


# ---- inside a head ----

CHANGED = (
    "silence.cross.2.6*temperature.all.0.1*temperature.cross.3*drop_residual.decoder.2.2*drop_residual.decoder.2.3"
)


def test_formulas_and_texts_are_those_of_the_broken_run(visit: Visit) -> None:
    page = opened(visit, "inside", CHANGED, "&kind=cross&layer=2&head=6&step=2")
    stage = {
        name: page.locator(f"#stage-{name}") for name in ("scores", "values", "concat", "residual", "ffn_residual")
    }
    formula = {name: each.locator(".formula") for name, each in stage.items()}
    expect(formula["scores"]).to_have_text("w = softmax(q KT ÷ √dk ÷ τ),  τ = 0.3")  # 0.1 × 3, with no digits of chance
    expect(stage["scores"]).to_contain_text("by the temperature τ = 0.3,")
    expect(formula["values"]).to_have_text("z = 0")
    expect(stage["values"]).to_contain_text(text("inside.values_silent.about", word="i"))
    expect(stage["concat"]).to_contain_text(EN["inside.concat.silent"])
    expect(formula["residual"]).to_have_text("y = LayerNorm(o)")
    expect(stage["residual"]).to_contain_text(text("inside.residual_dropped.about", word="i"))
    expect(formula["ffn_residual"]).to_have_text("LayerNorm(FFN(y))")
    expect(stage["ffn_residual"]).to_contain_text(text("inside.ffn_residual_dropped.about", word="i", layer=2))
    panel = page.locator(".arithmetic-panel")
    for name, told in (
        ("residual", "cell.stream.dropped"),
        ("ff_residual", "cell.stream.dropped"),
        ("head_output", "inside.silent"),
    ):
        page.locator(f".stage .cell[data-name={name}][data-index='0']").click()
        expect(panel).to_contain_text(EN[told])
    page.locator(".stage .cell[data-name=concat][data-index='40']").click()  # 8 numbers a head: the sixth head's first
    expect(panel).to_contain_text(text("cell.concat.silent", head=6, n=1))
    page.locator(".stage .cell[data-name=concat][data-index='39']").click()
    expect(panel).to_contain_text(text("cell.concat.about", head=5, n=8))

    # Nothing of it is said where nothing was changed.
    page.locator("#inside [aria-label=layer] [value='0']").click()
    expect(formula["values"]).to_have_text("z = Σj wj vj")
    expect(formula["residual"]).to_have_text("y = LayerNorm(x + o)")
    expect(formula["ffn_residual"]).to_have_text("LayerNorm(y + FFN(y))")
    expect(stage["residual"]).to_contain_text(text("inside.residual.about", word="i"))
    for key in ("inside.concat.silent", "inside.scores.closed", "inside.silent"):
        assert EN[key] not in page.locator("#inside").inner_text()


def test_a_pre_norm_network_has_formulas_of_its_own(visit: Visit) -> None:
    """Its numbers are not looked at here: they are the toy's, which is said to be another kind of network."""

    def first(route: Route) -> None:
        if json.loads(route.request.post_data or "{}").get("fn_name") != "inside":
            return route.fallback()
        return route.fulfill(json={**route.fetch().json(), "norm_first": True})

    visit.page.route("**/component_server/", first)
    page = opened(visit, "inside", CHANGED, "&kind=cross&layer=2&head=6&step=2")
    formula = [page.locator(f"#stage-{name} .formula") for name in ("residual", "ffn_residual")]
    expect(formula[0]).to_have_text("x̂ = LayerNorm(x),  o = Attention(x̂),  y = o")
    expect(formula[1]).to_have_text("ŷ = LayerNorm(y),  FFN(ŷ)")
    page.locator("#inside [aria-label=layer] [value='0']").click()
    expect(formula[1]).to_have_text("ŷ = LayerNorm(y),  y + FFN(ŷ)")


# ---- masks, silence, force ----


@pytest.mark.parametrize("kind", ["encoder", "cross"])
def test_padding_is_masked_only_where_it_is(visit: Visit, kind: str) -> None:
    page = opened(visit, "translate", f"remove_mask.{kind}")
    padded = EN["translate.padded"].strip()
    expect(page.locator("#story .hint").filter(has_text="A layer is one round")).not_to_contain_text(padded)
    visit.tab("attention")
    page.locator("#attention [value=encoder]").click()
    about = page.locator("#attention .kept .hint")
    expect(about).to_contain_text(EN["attention.about.encoder"])
    masked = EN["attention.padding"].strip() in about.inner_text()
    assert masked == (kind == "cross")
    page.locator("#top .change").click()
    visit.tab("translate")
    expect(page.locator("#story .hint").filter(has_text=padded)).to_be_visible()


@pytest.mark.parametrize(
    "changes", ["remove_mask.decoder", "edit_mask.decoder.3.1.closed", "edit_mask.decoder.1.3.open"]
)
def test_the_decoder_is_said_to_look_as_it_may(visit: Visit, changes: str) -> None:
    page = opened(visit, "attention", changes, "&kind=decoder")
    about = page.locator("#attention .kept .hint")
    expect(about).to_have_text(EN["attention.about_changed"])
    page.locator("#top .change").click()
    expect(about).to_have_text(EN["attention.about.decoder"])


def test_a_silent_head_is_said_to_be(visit: Visit) -> None:
    page = opened(visit, "translate", "isolate.cross.2.1-3", "&kind=cross&layer=2&head=2&mean=no")
    hush = [page.locator(f"#{tab} .hint", has_text=EN["silenced.shown"]) for tab in ("story", "attention", "whatif")]
    expect(hush[0]).to_be_visible()
    page.locator("#story [value=mean]").click()
    expect(hush[0]).to_be_hidden()
    visit.tab("attention")
    expect(hush[1]).to_be_visible()
    with sheet(visit) as paper:
        assert paper.get_by_text(EN["silenced.shown"]).count() == 1
    visit.tab("break")
    expect(hush[2]).to_be_visible()
    page.locator("#whatif [aria-label=head] [value='0']").first.click()
    expect(hush[2]).to_be_hidden()
    visit.tab("attention")
    expect(hush[1]).to_be_hidden()


def test_a_forced_word_is_not_the_likeliest_and_the_likeliest_is_named(visit: Visit) -> None:
    page = opened(visit, "translate", "force_word.4.coke", "&step=4")
    expect(page.locator("#story .hint", has_text=EN["translate.loop_forced"])).to_be_visible()
    run = broken("toy", BIER, {"do": "force_word", "step": 3, "word": "coke"})
    others = [[each.token for each in step.candidates if each.token != step.token][:2] for step in run.steps]
    assert others[3][0] == run.steps[3].candidates[0].token == "beer"
    with sheet(visit) as paper:
        found = paper.locator(".steps tbody tr td:nth-child(4)").all_inner_texts()
        assert [re.findall(r"(\S+) [<\d]", each) for each in found] == others
    page.locator("#top .change").click()
    expect(page.locator("#story .hint", has_text=EN["translate.loop"])).to_be_visible()


# ---- which heads ----


def test_what_was_measured_in_the_unbroken_network_is_not_said_of_the_broken_one(visit: Visit) -> None:
    page = opened(visit, "attention", "temperature.cross.3", "&kind=cross&checkpoint=classroom")
    columns = page.locator("#heads .sortable th")
    names = [EN[f"heads.column.{name}"] for name in ("layer", "head", "entropy", "distance", "aligned", "silenced")]
    expect(columns).to_have_text(names[:-1])
    expect(page.locator("#heads h3").last).to_have_text(text("heads.there_unbroken"))
    expect(page.locator("#heads .kept > .hint").last).to_have_text(EN["heads.about_table"])
    page.locator("#top .change").click()
    expect(columns).to_have_text(names)
    expect(page.locator("#heads h3").last).to_have_text(text("heads.there_count"))
