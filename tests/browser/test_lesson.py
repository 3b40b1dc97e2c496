"""The lesson: 16 stops that are walked by key, and whose answers are the run's."""

import re
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
from playwright.sync_api import Page, expect

from transformer.inference.translator import TranslationStep
from transformer.network.shapes import shapes

from .arithmetic import expect_right
from .catalogue import matching, percent, t
from .conftest import BIER, FLAGSHIP, PHONE, Visit, translate, translator

STOPS = (
    "tokens", "embeddings", "positions", "qkv", "scores", "softmax", "heads",
    "residual", "ffn", "stack", "masked", "cross", "logits", "loop",
)  # fmt: skip
ENDS = ("recap", "since")  # ask nothing, and follow the others; a link counts them after "align"
ALL = len(STOPS + ENDS)
HIDE = {"logits", "loop"}  # they show the answer
REASON = {"scores", "residual", "cross"}  # they show what it is made of


def enter(visit: Visit, checkpoint: str, sentence: str, place: str = "") -> Page:
    """The lesson of a sentence, by its link."""
    page = visit.open(f"?checkpoint={checkpoint}&sentence={quote(sentence)}&tab=lesson{place}")
    expect(page.locator(".tokens .chip.source")).to_have_text(translate(checkpoint, sentence=sentence).typed)
    page.locator("#lesson .choice").first.wait_for()
    return page


class Stop(NamedTuple):
    """What is read of a stop, once it and its figure are there."""

    text: str
    shape: str
    question: str  # empty where there is only one answer, and nothing is asked
    choices: list[str]
    marked: list[str]  # as the right one
    wrong: list[str]
    why: str
    reveal: str

    @property
    def said(self) -> str:
        return f"{self.text} {self.question} {self.reveal}"


def stop(page: Page, n: int) -> Stop:
    lesson = page.locator("#lesson")
    expect(lesson.locator(".stops [aria-current=step]")).to_have_attribute("aria-label", re.compile(rf"{n}\."))
    expect(lesson.locator("#stop-title")).to_have_text(matching("lesson.title", n=n))
    expect(lesson.locator(".lesson-figure").locator("svg, table, ol").first).to_be_visible()

    def seen(selector: str) -> str:
        return " ".join(each.text_content() or "" for each in lesson.locator(selector).all() if each.is_visible())

    def all_of(selector: str) -> list[str]:
        last = "all => all.map((choice) => choice.lastChild.textContent.trim())"
        return lesson.locator(selector).evaluate_all(last)

    return Stop(
        *(seen(each) for each in (".lesson-text > p:last-child", ".stop-title .shape", ".question h3")),  # type: ignore[arg-type]
        *[all_of(each) for each in (".choice", ".choice.right", ".choice.wrong")],
        *(seen(each) for each in (".why", ".reveal")),
    )


def expect_veiled(page: Page, wanted: bool, is_guess: bool = False) -> None:
    """The figure that tells the answer, and the shares under the words: these also where the answer can be reasoned."""
    expect(page.locator("#lesson .veil")).to_be_visible(visible=wanted)
    shares = page.locator(".tokens .chip.source").evaluate_all(
        "all => all.map((each) => getComputedStyle(each).getPropertyValue('--share').trim())"
    )
    assert (set(shares) == {"0"}) == (wanted or is_guess), shares


AT: dict[str, Any] = {"kind": "encoder", "layer": 1, "head": 2, "query": 5, "step": 3}  # where the visitor is, from 0


def answers() -> dict[str, list[str]]:
    """Of stops that ask about the run: the right choice, and what else the stop then tells."""
    ran, config = translate("classroom"), translator("classroom").checkpoint.model.config
    row = ran.attention.encoder[AT["layer"]].weights[AT["head"], AT["query"]]
    cross = ran.attention.cross[AT["layer"]].weights[AT["head"]]
    step, key = (int(i) for i in np.unravel_index(cross.argmax(), cross.shape))
    return {
        "tokens": [str(len(ran.source))],
        "embeddings": [f"{round(config.d_model**0.5, 2):g}"],
        "qkv": [str(config.d_model // config.n_heads)],
        "scores": [ran.source[row.argmax()]],
        "softmax": [percent(row.max())],
        "heads": [str(config.n_heads)],
        "ffn": [t("lesson.ffn.one")],
        "stack": [t("lesson.stack.after", layer=1)],
        "masked": [str((~ran.attention.decoder[0].allowed).sum())],
        "cross": [ran.source[key], ran.output[step], percent(cross.max())],
        "logits": logits_of(ran.steps[AT["step"]]),
        "loop": [t("lesson.loop.only_teacher")],
    }


def logits_of(step: TranslationStep) -> list[str]:
    """The right choice of the stop "logits" at a step, and the likeliest two words."""
    first, second = step.candidates[:2]
    ratio = first.probability / second.probability
    times = f"{float(f'{ratio:.2g}'):,.{0 if ratio >= 10 else 1}f}".removesuffix(".0")
    words = [text for each in (first, second) for text in (each.token, percent(each.probability))]
    return [t("lesson.logits.times", times=times), *words]


SHAPES = {  # what the headline of a stop tells
    "tokens": ["source_ids"],
    "embeddings": ["source_ids", "source_embedding"],
    "positions": ["source_input"],
    "heads": ["encoder_attention"],
    "stack": ["memory"],
    "masked": ["decoder_attention"],
    "cross": ["cross_attention"],
    "logits": ["target_input", "logits"],
}


def test_the_lesson_is_walked_by_key_on_a_phone(visit: Visit) -> None:
    """Every wrong choice says why, and nothing but the reveal tells the answer, which is the model's."""
    visit.page.set_viewport_size(PHONE)
    at = "".join(f"&{name}={value + 1 if isinstance(value, int) else value}" for name, value in AT.items())
    page, right = enter(visit, "classroom", FLAGSHIP, at), answers()
    ran, config = translate("classroom"), translator("classroom").checkpoint.model.config
    sizes = {each.stage: str(each.shape) for each in shapes(config, len(ran.source), len(ran.decoder_input))}
    for n, name in enumerate(STOPS, 1):
        before = stop(page, n)
        expect(page.locator("#stop-title")).to_have_text(t("lesson.title", n=n, of=ALL, name=t(f"lesson.{name}")))
        assert len(set(before.choices)) == len(before.choices) > 1, name
        expect_veiled(page, name in HIDE, is_guess=name in REASON)
        if name in REASON:  # and neither table nor map of the answer
            expect(page.locator("#lesson .lesson-figure").locator("table, .heatmap, [data-name=sum]")).to_have_count(0)
            expect(page.locator("#lesson .lesson-figure svg.strips").first).to_be_visible()
        assert before.reveal == ""
        for i in range(len(before.choices)):
            page.keyboard.press(str(i + 1))
            expect(page.locator("#lesson :is(.why, .reveal):visible")).to_have_count(1)
            after = stop(page, n)
            if after.reveal:
                break
            assert after.wrong == before.choices[: i + 1]
        expect(page.locator("#lesson .reveal")).to_be_in_viewport(ratio=0.9)
        choice = before.choices[i]
        assert (after.marked, len(after.wrong)) == ([choice], i)
        expect_veiled(page, wanted=False)
        answer, *facts = right.get(name, [choice])
        assert answer == choice
        assert [fact for fact in facts if fact not in after.said] == [], (name, after)
        for line in re.findall(r"\d+\.\d+ × \d+\.\d+ = \d+\.\d+", after.said):
            assert expect_right(line)
        if name in SHAPES:
            assert after.shape.partition(" ×")[0] == " → ".join(sizes[stage] for stage in SHAPES[name])
        page.keyboard.press("n")
    said = translate("classroom")
    recap = [percent(said.steps[AT["step"]].probability), right["softmax"][0], " ".join(said.output)]
    for n, facts in enumerate((recap, [t("lesson.since.norm_last")]), ALL - 1):
        assert stop(page, n).choices == []
        expect(page.locator("#lesson .choice, #lesson .show")).to_have_count(0)
        for fact in facts:
            expect(page.locator("#lesson .lesson-figure")).to_contain_text(fact)
        page.keyboard.press("n")  # there is no stop after the last
    page.wait_for_url("**stop=17**")
    page.get_by_role("button", name=t("train.set.norm_first")).click()
    expect(page.locator("#train [data-field=norm_first]")).to_be_in_viewport()
    page.locator("#return").click()
    for _ in range(3):
        page.keyboard.press("b")
    assert stop(page, 13).reveal, "what was revealed stays so"
    expect_veiled(page, wanted=False)


def test_the_place_is_in_the_link_and_typing_does_not_move_it(visit: Visit) -> None:
    page = enter(visit, "toy", BIER)
    page.keyboard.press("PageUp")  # there is no stop before the first
    page.keyboard.press("n")
    stop(page, 2)
    page.wait_for_url("**stop=2**")
    page.keyboard.press("ArrowRight")  # the steps are walked meanwhile
    page.wait_for_url("**step=2**")
    page.reload()
    page.locator("#lesson .choice").first.wait_for()
    stop(page, 2)
    assert visit.step == 1
    page.locator(".stops button").nth(4).click()
    box = page.locator("#sentence input")
    box.fill("")
    box.press_sequentially("nb1r ")
    for key in ("PageDown", "PageUp", "n"):
        box.press(key)
    assert stop(page, 5).reveal == ""
    expect_veiled(page, wanted=False, is_guess=True)
    expect(box).to_have_value("nb1r n")
    for button, n in (("#stop-next", 6), ("#stop-back", 5)):
        page.locator(button).click()
        stop(page, n)
    page.locator("#stop-title").click()
    page.keyboard.press("n")
    stop(page, 6)
    page.locator(".stops button").nth(2).click()
    stop(page, 3)
    told = page.locator("#lesson .arithmetic-box")
    page.locator("#lesson .lesson-figure .cell").nth(63).click()
    expect(told.locator("h4")).to_have_text(t("cell.input", n=64))
    page.keyboard.press("n")
    expect(told).to_be_hidden()


def test_a_guess_is_judged_and_kept(visit: Visit) -> None:
    page = enter(visit, "toy", BIER)
    page.keyboard.press("9")  # there are fewer
    choices = stop(page, 1).choices
    right = choices.index(str(len(translate("toy").source)))
    page.keyboard.press("2" if right == 0 else "1")
    expect(page.locator("#lesson .why")).to_be_visible()
    guessed = stop(page, 1)
    assert guessed.why.startswith(t("lesson.wrong"))
    assert (guessed.marked, guessed.reveal) == ([], ""), "one may guess again"
    page.keyboard.press(str(right + 1))
    expect(page.locator("#lesson .reveal")).to_be_visible()
    first = stop(page, 1)
    assert first.reveal.startswith(t("lesson.right"))
    assert (first.marked, first.wrong, first.why) == ([choices[right]], guessed.wrong, "")
    page.reload()
    page.locator("#lesson .choice").first.wait_for()
    assert stop(page, 1) == first
    visit.ask("ich möchte ein cola")
    expect(page.locator("#lesson .reveal")).to_be_hidden()
    assert stop(page, 1).marked == []

    # The same stop asks something else at another step: a guess is judged by the question that was asked.
    visit.ask(BIER)
    page.locator(".stops button").nth(12).click()
    asked: list[list[str]] = []
    for step in range(2):
        visit.words.nth(step).click()
        answer, *_ = logits_of(translate("toy").steps[step])
        expect(page.locator("#lesson .choices")).to_contain_text(answer)
        seen = stop(page, 13)
        assert seen.reveal == "", "nobody has answered this question"
        asked.append(seen.choices)
        page.locator("#lesson .choice").nth(seen.choices.index(answer)).click()
        expect(page.locator("#lesson .reveal")).to_contain_text(t("lesson.right"))
    assert asked[0] != asked[1]


def test_a_teacher_chooses_stops_and_their_order(visit: Visit) -> None:
    page = enter(visit, "toy", BIER, "&stops=12,1,14")
    bar = page.locator(".stops button")
    assert bar.all_inner_texts() == [t(f"lesson.{STOPS[n - 1]}.short") for n in (12, 1, 14)]
    title = page.locator("#stop-title")
    for n, name in enumerate(("cross", "tokens", "loop"), 1):
        expect(title).to_have_text(t("lesson.title", n=n, of=3, name=t(f"lesson.{name}")))
        page.keyboard.press("n")
    page.locator("#plan-open").click()
    page.get_by_role("button", name=t("lesson.plan.earlier", name=t("lesson.loop"))).click()
    page.get_by_role("checkbox", name=t("lesson.logits"), exact=True).check()
    page.wait_for_url(re.compile("stops=12(,|%2C)13(,|%2C)14(,|%2C)1(&|$)"))
    page.keyboard.press("Escape")
    expect(page.locator("#lesson-plan")).to_be_hidden()
    page.get_by_role("button", name=t("lesson.minutes", minutes=20), exact=True).click()
    expect(page.locator("#plan-open")).to_have_text(t("lesson.plan", minutes=20, count=7))
    page.wait_for_url(re.compile("stops=1(,|%2C)2(,|%2C)4(,|%2C)6(,|%2C)12(,|%2C)13(,|%2C)16(&|$)"))
    expect(title).to_have_text(t("lesson.title", n=1, of=7, name=t("lesson.tokens")))


def test_presenting_keeps_what_was_read_and_folds_after_a_choice(visit: Visit) -> None:
    page = enter(visit, "classroom", FLAGSHIP, "&stop=8&present=yes")
    page.keyboard.press("r")
    expect(page.locator("#lesson .reveal")).to_be_in_viewport()
    expect(page.locator("#lesson .lesson-text")).to_be_in_viewport()
    page.locator("#unfold").click()
    page.get_by_role("tab", name=t("tab.overview")).click()
    expect(page.get_by_role("tablist", name=t("tabs"))).to_be_hidden()
