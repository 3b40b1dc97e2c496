"""The lesson: 14 stops that are walked by key, and whose every answer is the model's."""

import math
import re
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
from playwright.sync_api import Page, expect

from transformer.analysis.sublayer import inspect_sublayer, residual_stream
from transformer.inference.translator import positional_encoding
from transformer.network.shapes import shapes
from transformer.web.api.decoding import diverging

from ..web.api.endpoints import ask
from .arithmetic import expect_right, signed
from .catalogue import matching, percent, t
from .conftest import Visit
from .test_inside import rows_of, run, translator

BIER, FLAGSHIP = "Ich möchte ein Bier", "Heute habe ich ein kaltes Bier getrunken"

STOPS = (
    "tokens", "embeddings", "positions", "qkv", "scores", "softmax", "heads",
    "residual", "ffn", "stack", "masked", "cross", "logits", "loop",
)  # fmt: skip
HIDE = {"scores", "residual", "cross", "logits", "loop"}  # they show the answer


# ---- the page


def enter(visit: Visit, checkpoint: str, sentence: str, place: str = "") -> Page:
    """The lesson of a sentence, by its link."""
    page = visit.open(f"?checkpoint={checkpoint}&sentence={quote(sentence)}&tab=lesson{place}")
    expect(page.locator(".tokens .chip.source")).to_have_text(run(checkpoint, sentence).typed)
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


def expect_veiled(page: Page, wanted: bool) -> None:
    """The figure that tells the answer, and the shares under the words."""
    expect(page.locator("#lesson .veil")).to_be_visible(visible=wanted)
    shares = page.locator(".tokens .chip.source").evaluate_all(
        "all => all.map((each) => getComputedStyle(each).getPropertyValue('--share').trim())"
    )
    assert (set(shares) == {"0"}) == wanted, shares


# ---- what the model says


def length(vector: np.ndarray) -> float:
    return float(np.linalg.norm(vector.astype(float)))


class Place(NamedTuple):
    """Where the visitor is, from 0: in the encoder."""

    layer: int
    head: int
    query: int
    step: int

    @property
    def link(self) -> str:
        places = "".join(f"&{name}={value + 1}" for name, value in self._asdict().items())
        return f"&kind=encoder{places}"


def answers(checkpoint: str, sentence: str, at: Place) -> dict[str, list[Any]]:
    """Of every stop the right choice, and numbers and words that its texts tell; from the model itself."""
    model, ran = translator(checkpoint), run(checkpoint, sentence)
    config = model.checkpoint.model.config
    data = inspect_sublayer(model, ran, "encoder", at.layer)
    rows = rows_of(data, at.head, at.query)
    last = max(5, len(ran.source))
    waves = positional_encoding(last, config.d_model).astype(float)
    near, far = (float(waves[0] @ waves[i]) / length(waves[0]) / length(waves[i]) for i in (1, last - 1))
    best = int(rows["score"].argmax())
    words = [i for i, token in enumerate(ran.source) if token != "P"]
    hardest = ran.attention.encoder[at.layer].weights[:, words].max(axis=(1, 2))
    own, change = length(rows["residual"]), length(rows["output"])
    firing = int((rows["hidden"] > 0).sum())
    stream = residual_stream(model, ran)["encoder"][:, at.query].astype(float)
    moves = np.linalg.norm(np.diff(stream, axis=0), axis=1)
    cross = ran.attention.cross[at.layer].weights[at.head]
    step, key = (int(i) for i in np.unravel_index(cross.argmax(), cross.shape))
    first, second = ran.steps[at.step].candidates[:2]
    ratio = first.probability / second.probability
    times = f"{float(f'{ratio:.2g}'):,.{0 if ratio >= 10 else 1}f}".removesuffix(".0")
    ways = ask(diverging, {"checkpoint": checkpoint, "sentence": sentence})
    forced = ways["free"][ways["mistake"]]
    assert ways["right"]["teacher"] == ways["of"] - 1 > ways["right"]["free"]
    return {
        "tokens": [len(ran.source)],
        "embeddings": [
            f"{round(math.sqrt(config.d_model), 2):g}",
            f"= {length(ran.source_input.embedding[at.query]):.2f}",
        ],
        "positions": [t("lesson.positions.pair", a=1, b=2 if near >= far else last), f"{near:.2f}", f"{far:.2f}"],
        "qkv": [config.d_model // config.n_heads],
        "scores": [data.keys[best], signed(rows["score"][best])],
        "softmax": [percent(rows["weight"].max()), percent(1 / int(data.allowed[at.query].sum()))],
        "heads": [config.n_heads, int(hardest.argmax()) + 1, percent(hardest.max())],
        "residual": [t(f"lesson.residual.{'own' if own >= change else 'change'}"), signed(own), signed(change)],
        "ffn": [t("lesson.ffn.one"), firing, percent(firing / len(rows["hidden"]))],
        "stack": [t("lesson.stack.after", layer=1), int(moves.argmax()) + 1, signed(moves.max())],
        "masked": [int((~ran.attention.decoder[0].allowed).sum())],
        "cross": [ran.source[key], ran.output[step], percent(cross.max())],
        "logits": [
            t("lesson.logits.times", times=times),
            signed(math.log(ratio)),
            *(text for each in (first, second) for text in (each.token, percent(each.probability))),
        ],
        "loop": [t("lesson.loop.only_teacher"), forced["output"], forced["wanted"], percent(forced["probability"])],
    }


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


# ---- tests


def test_the_lesson_is_walked_by_key_on_a_phone(visit: Visit) -> None:
    """Every wrong choice says why, and nothing but the reveal tells the answer, which is the model's."""
    visit.page.set_viewport_size({"width": 390, "height": 844})
    at = Place(layer=1, head=2, query=5, step=3)
    page, right = enter(visit, "classroom", FLAGSHIP, at.link), answers("classroom", FLAGSHIP, at)
    ran, config = run("classroom", FLAGSHIP), translator("classroom").checkpoint.model.config
    sizes = {each.stage: str(each.shape) for each in shapes(config, len(ran.source), len(ran.decoder_input))}
    for n, name in enumerate(STOPS, 1):
        before = stop(page, n)
        expect(page.locator("#stop-title")).to_have_text(t("lesson.title", n=n, of=14, name=t(f"lesson.{name}")))
        assert len(set(before.choices)) == len(before.choices) > 1, name
        expect_veiled(page, name in HIDE)
        answer, *facts = map(str, right[name])
        place = before.choices.index(answer)
        assert before.reveal == ""
        for i in range(place):
            page.keyboard.press(str(i + 1))
            expect(page.locator("#lesson .why")).to_be_visible()
            assert stop(page, n).wrong == before.choices[: i + 1]
        page.keyboard.press(str(place + 1))
        expect(page.locator("#lesson .reveal")).to_be_in_viewport(ratio=0.9)
        after = stop(page, n)
        assert (after.marked, len(after.wrong)) == ([answer], place)
        expect_veiled(page, wanted=False)
        assert [fact for fact in facts if fact not in after.said] == [], (name, after)
        for line in re.findall(r"\d+\.\d+ × \d+\.\d+ = \d+\.\d+", after.said):
            assert expect_right(line)
        if name in SHAPES:
            assert after.shape.partition(" ×")[0] == " → ".join(sizes[stage] for stage in SHAPES[name])
        page.keyboard.press("n")
    assert stop(page, 14).reveal  # there is no stop after the last
    page.wait_for_url("**stop=14**")
    page.keyboard.press("b")
    assert stop(page, 13).reveal, "what was revealed stays so"
    expect_veiled(page, wanted=False)


def test_a_sentence_of_one_word_that_never_ends_has_every_stop(visit: Visit) -> None:
    page = enter(visit, "classroom", "trinke")
    for n in range(1, len(STOPS) + 1):
        asked = stop(page, n).question
        page.keyboard.press("r")
        expect(page.locator("#lesson .reveal")).to_be_visible()
        seen = stop(page, n)
        assert len(seen.marked) == 1 if asked else seen.reveal.startswith(t("lesson.alone"))
        page.keyboard.press("PageDown")


def test_the_place_is_in_the_link_and_typing_does_not_move_it(visit: Visit) -> None:
    page = enter(visit, "toy", BIER)
    page.keyboard.press("PageUp")  # there is no stop before the first
    page.keyboard.press("n")
    stop(page, 2)
    page.wait_for_url("**stop=2**")
    page.keyboard.press("ArrowLeft")  # the steps are walked meanwhile
    page.wait_for_url("**step=3**")
    page.reload()
    page.locator("#lesson .choice").first.wait_for()
    stop(page, 2)
    assert visit.step == 2
    page.locator(".stops button").nth(4).click()
    box = page.locator("#sentence input")
    box.fill("")
    box.press_sequentially("nb1r ")
    for key in ("PageDown", "PageUp", "n"):
        box.press(key)
    assert stop(page, 5).reveal == ""
    expect_veiled(page, wanted=True)
    expect(box).to_have_value("nb1r n")
    for button, n in (("#stop-next", 6), ("#stop-back", 5)):
        page.locator(button).click()
        stop(page, n)
    page.locator("#stop-title").click()
    page.keyboard.press("n")
    stop(page, 6)

    # A cell opens its arithmetic, until another stop is opened.
    page.locator(".stops button").nth(2).click()
    stop(page, 3)
    told = page.locator("#lesson .arithmetic-box")
    for i in (0, 63):
        page.locator("#lesson .lesson-figure .cell").nth(i).click()
        expect(told.locator("h4")).to_have_text(t("cell.input", n=i + 1))
        assert expect_right(told.locator(".arithmetic").inner_text())
    page.keyboard.press("n")
    stop(page, 4)
    expect(told).to_be_hidden()
    page.locator("#lesson .cell[data-name=q]").nth(2).click()
    expect(told.locator(".term")).to_have_count(64)
    assert expect_right(told.locator(".arithmetic").inner_text())

    page = visit.open(f"?checkpoint=toy&sentence={BIER}&tab=lesson&stop=15")  # which the toy has where somebody asks
    expect(page.locator("#stop-title")).to_contain_text(t("lesson.align"))
    expect(page.locator(".stops button")).to_have_count(15)


def test_a_guess_is_judged_and_kept(visit: Visit) -> None:
    page = enter(visit, "toy", BIER)
    page.keyboard.press("9")  # there are fewer
    choices = stop(page, 1).choices
    right = choices.index(str(len(run("toy").source)))
    wrong = 0 if right else 1
    page.keyboard.press(str(wrong + 1))
    expect(page.locator("#lesson .why")).to_be_visible()
    guessed = stop(page, 1)
    assert guessed.why.startswith(t("lesson.wrong"))
    assert (guessed.wrong, guessed.marked, guessed.reveal) == ([choices[wrong]], [], ""), "one may guess again"
    page.keyboard.press(str(right + 1))
    expect(page.locator("#lesson .reveal")).to_be_visible()
    first = stop(page, 1)
    assert first.reveal.startswith(t("lesson.right"))
    assert (first.marked, first.wrong, first.why) == ([choices[right]], [choices[wrong]], "")
    page.keyboard.press("n")
    stop(page, 2)
    page.wait_for_url("**stop=2**")
    page.reload()
    page.locator("#lesson .choice").first.wait_for()
    page.keyboard.press("b")
    assert stop(page, 1) == first
    visit.ask("ich möchte ein cola")
    expect(page.locator("#lesson .reveal")).to_be_hidden()
    assert stop(page, 1).marked == []

    # The same stop asks something else at another step: a guess is judged by the question that was asked.
    visit.ask(BIER)
    page.locator(".stops button").nth(12).click()
    asked: list[list[str]] = []
    for step in range(2):
        page.locator("#translation button").nth(step).click()
        answer = answers("toy", BIER, Place(0, 0, 3, step))["logits"][0]
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
    page.locator("#lesson-plan").get_by_role("button", name=t("lesson.minutes", minutes=20)).click()
    expect(page.locator("#plan-open")).to_have_text(t("lesson.plan", minutes=20, count=4))
    page.wait_for_url(re.compile("stops=1(,|%2C)6(,|%2C)12(,|%2C)13(&|$)"))
    page.keyboard.press("Escape")
    expect(page.locator("#lesson-plan")).to_be_hidden()
    expect(title).to_have_text(t("lesson.title", n=1, of=4, name=t("lesson.tokens")))
