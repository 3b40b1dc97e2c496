"""The lesson: 14 stops that are walked by key, and whose every answer is the model's."""

import math
import re
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from transformer.analysis.sublayer import inspect_sublayer, residual_stream
from transformer.inference.translator import positional_encoding
from transformer.network.shapes import shapes
from transformer.web.api.decoding import diverging

from .arithmetic import expect_right, signed
from .catalogue import percent, t
from .conftest import Visit, place
from .test_inside import LAST_BITS, rows_of, run, translator

BIER, FLAGSHIP = "Ich möchte ein Bier", "Heute habe ich ein kaltes Bier getrunken"
MISTAKEN = "Ich habe mein altes Handy einem Kind gegeben"  # the model says “a old child my phone”

STOPS = (
    "tokens", "embeddings", "positions", "qkv", "scores", "softmax", "heads",
    "residual", "ffn", "stack", "masked", "cross", "logits", "loop",
)  # fmt: skip
HIDE = {"scores", "residual", "cross", "logits", "loop"}  # they show the answer
SPECIAL = ("S", "E", "P")


# ---- the page

# Waits for a stop and its figure, and reads it.
STOP = """async (stop) => {
  const lesson = document.querySelector("#lesson");
  const figure = lesson.querySelector(".lesson-figure");
  const isDrawn = () => {
    const shapes = [...figure.querySelectorAll("svg, table, ol")].map((shape) => shape.getBoundingClientRect());
    const isWaiting = [...figure.querySelectorAll(".fluid")].some((place) => !place.firstChild);
    return !isWaiting && shapes.some(({ width, height }) => width > 40 && height > 10);
  };
  const title = () => lesson.querySelector("#stop-title").textContent;
  const isHere = () =>
    lesson.querySelector(".stops [aria-current=step]")?.ariaLabel.startsWith(`${stop}.`) &&
    title().match(/\\d+/)?.[0] === String(stop);
  const end = performance.now() + 30000;
  while (!(isHere() && isDrawn())) {
    if (performance.now() > end) throw new Error(`stop ${stop} never came: ${title()}`);
    await new Promise(requestAnimationFrame);
  }
  const text = (selector) => lesson.querySelector(selector).textContent;
  const all = (selector, read) => [...lesson.querySelectorAll(selector)].map(read);
  const numbers = (selector, ...names) => all(selector, ({ dataset }) => names.map((name) => Number(dataset[name])));
  const question = lesson.querySelector(".question");
  return {
    title: title(),
    text: text(".lesson-text > p:last-child"),
    shape: text(".stop-title .shape"),
    question: question.querySelector("h3")?.textContent ?? null, // where there is only one answer, nothing is asked
    choices: all(".choice", (choice) => choice.lastChild.textContent.trim()),
    right: question.dataset.right ?? null,
    marked: all(".choice.right", (choice) => choice.lastChild.textContent.trim()),
    wrong: all(".choice.wrong", (choice) => choice.lastChild.textContent.trim()),
    why: lesson.querySelector(".why")?.hidden === false ? text(".why") : null,
    reveal: lesson.querySelector(".reveal").hidden ? null : text(".reveal"),
    veiled: figure.inert && getComputedStyle(figure).filter !== "none" && lesson.querySelector(".veil") !== null,
    sideways: document.scrollingElement.scrollWidth - innerWidth,
    cells: all(".lesson-figure [data-value]", ({ dataset: { name, index, value } }) => [name, Number(index), value]),
    weights: all(".lesson-figure [data-query][data-key]", ({ dataset }) => Number(dataset.weight ?? "nan")),
    probabilities: numbers(".lesson-figure [data-probability]", "probability").flat(),
    ids: numbers(".lesson-figure [data-id]", "id").flat(),
    heads: numbers(".lesson-figure [data-head]", "head").flat(),
    ways: all(".ways tbody tr", (line) => [...line.children].map((cell) => cell.textContent)),
  };
}"""


def enter(visit: Visit, checkpoint: str, sentence: str, place: str = "") -> Page:
    """The lesson of a sentence, by its link."""
    page = visit.open(f"?checkpoint={checkpoint}&sentence={quote(sentence)}&tab=lesson{place}")
    expect(page.locator(".tokens .chip.source")).to_have_text(run(checkpoint, sentence).typed)
    page.locator("#lesson .choice").first.wait_for()
    return page


def stop(page: Page, n: int) -> dict[str, Any]:
    return page.evaluate(STOP, n)


# ---- what the model says


def named(tokens: tuple[str, ...], i: int) -> str:
    """As a choice, where a word that stands there twice tells its place."""
    return f"{tokens[i]} ({i + 1})" if tokens.count(tokens[i]) > 1 else tokens[i]


def length(vector: np.ndarray) -> float:
    return float(np.linalg.norm(vector.astype(float)))


class Answers:
    """Of every stop the right choice, and numbers and words that its texts tell; from the model itself.

    Args:
        at: what the page holds.
    """

    def __init__(self, checkpoint: str, sentence: str, at: dict[str, Any]) -> None:
        self.checkpoint, self.step, self.head, self.cross_layer = checkpoint, at["step"], at["head"], at["layer"]
        self.model, self.run = translator(checkpoint), run(checkpoint, sentence)
        self.config = self.model.checkpoint.model.config
        words = [i for i, token in enumerate(self.run.source) if token != "P"]
        self.query = at["query"] if at["kind"] == "encoder" else words[-1]
        self.layer = min(at["layer"], self.config.num_encoder_layers - 1)
        data = self.data = inspect_sublayer(self.model, self.run, "encoder", self.layer)
        self.rows = rows_of(data, self.head, self.query)
        self.stream = residual_stream(self.model, self.run)["encoder"][:, self.query]
        self.open = int(data.allowed[self.query].sum())
        self.hardest = self.run.attention.encoder[self.layer].weights[:, words].max(axis=(1, 2))

    def tokens(self) -> list[Any]:
        return [len(self.run.source)]

    def embeddings(self) -> list[Any]:
        embedded = length(self.run.source_input.embedding[self.query])
        return [f"{round(math.sqrt(self.config.d_model), 2):g}", f"= {embedded:.2f}"]

    def positions(self) -> list[Any]:
        last = max(5, len(self.run.source))
        rows = positional_encoding(last, self.config.d_model).astype(float)
        near, far = (float(rows[0] @ rows[i]) / length(rows[0]) / length(rows[i]) for i in (1, last - 1))
        return [t("lesson.positions.pair", a=1, b=2 if near >= far else last), f"{near:.2f}", f"{far:.2f}"]

    def qkv(self) -> list[Any]:
        return [self.config.d_model // self.config.n_heads]

    def scores(self) -> list[Any]:
        key = int(self.rows["score"].argmax())
        return [named(self.data.keys, key), signed(self.rows["score"][key])]

    def softmax(self) -> list[Any]:
        return [percent(self.rows["weight"].max()), percent(1 / self.open)]

    def heads(self) -> list[Any]:
        return [self.config.n_heads, int(self.hardest.argmax()) + 1, percent(self.hardest.max())]

    def residual(self) -> list[Any]:
        own, change = length(self.rows["residual"]), length(self.rows["output"])
        return [t(f"lesson.residual.{'own' if own >= change else 'change'}"), signed(own), signed(change)]

    def ffn(self) -> list[Any]:
        hidden = self.rows["hidden"]
        firing = int((hidden > 0).sum())
        return [t("lesson.ffn.one"), firing, percent(firing / len(hidden))]

    def stack(self) -> list[Any]:
        """In one layer every word reaches every other, which the farthest shows."""
        moves = np.linalg.norm(np.diff(self.stream.astype(float), axis=0), axis=1)
        facts = [t("lesson.stack.after", layer=1), int(moves.argmax()) + 1, signed(moves.max())]
        others = [i for i, token in enumerate(self.run.source) if token != "P" and i != self.query]
        if not others:
            return facts
        other = max(others, key=lambda i: abs(i - self.query))
        first = self.run.attention.encoder[0]
        assert first.allowed[self.query, other]
        return [*facts, self.run.source[other], percent(first.weights[:, self.query, other].max())]

    def masked(self) -> list[Any]:
        return [int((~self.run.attention.decoder[0].allowed).sum())]

    def cross(self) -> list[Any]:
        weights = self.run.attention.cross[self.cross_layer].weights[self.head]
        step, key = (int(i) for i in np.unravel_index(weights.argmax(), weights.shape))
        return [named(self.run.source, key), self.run.output[step], percent(weights.max())]

    def logits(self) -> list[Any]:
        first, second = self.run.steps[self.step].candidates[:2]
        ratio = first.probability / second.probability
        times = f"{float(f'{ratio:.2g}'):,.{0 if ratio >= 10 else 1}f}".removesuffix(".0")
        facts = [first.token, second.token, percent(first.probability), percent(second.probability)]
        return [t("lesson.logits.times", times=times), signed(math.log(ratio)), *facts]

    def ways(self) -> dict[str, Any]:
        return diverging({"checkpoint": self.checkpoint, "sentence": self.run.sentence})

    def loop(self) -> list[Any]:
        ways = self.ways()
        mistake, rows = ways["mistake"], (ways["teacher"], ways["free"])
        teacher, free = (
            len(row) == len(rows[0]) and all(each["output"] == each["wanted"] for each in row[mistake + 1 :])
            for row in rows
        )
        right = ("both" if free else "only_teacher") if teacher else "only_free" if free else "neither"
        forced, said = rows[1][mistake], [row["output"] for row in rows[1]]
        facts = [forced["output"], forced["wanted"], " ".join(said), percent(forced["probability"])]
        return [t(f"lesson.loop.{right}"), *facts]


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


def expect_stop(name: str, seen: dict[str, Any], answers: Answers) -> None:
    """A stop that was revealed: its right answer and what its texts tell are the model's."""
    right, *facts = map(str, getattr(answers, name)())
    if seen["question"] is None:
        assert len(answers.run.source) == 1  # of these models' stops, those that ask for a source word
        assert seen["reveal"].startswith(t("lesson.alone"))
    else:
        assert seen["choices"][int(seen["right"])] == right
        assert seen["marked"] == [right]
    texts = f"{seen['text']} {seen['question']} {seen['reveal']}"
    assert [fact for fact in facts if fact not in texts] == []
    for line in re.findall(r"\d+\.\d+ × \d+\.\d+ = \d+\.\d+", texts):
        assert expect_right(line)
    if name in SHAPES:
        all_ = shapes(answers.config, len(answers.run.source), len(answers.run.decoder_input))
        sizes = {each.stage: str(each.shape) for each in all_}
        assert seen["shape"].partition(" ×")[0] == " → ".join(sizes[stage] for stage in SHAPES[name])


def expect_figure(name: str, seen: dict[str, Any], answers: Answers) -> None:
    """What a stop draws is the model's."""
    run, read, query = answers.run, answers.run.source_input, answers.query
    drawn = [float(value) for *_, value in seen["cells"]]
    match name:
        case "tokens":
            source, target = answers.model.checkpoint.src_vocab.ids, answers.model.checkpoint.tgt_vocab.ids
            assert seen["ids"] == [
                *(source[word] for word in run.source),
                *(target[word] for word in run.decoder_input),
            ]
        case "embeddings":
            np.testing.assert_allclose(drawn, read.embedding.ravel(), atol=1e-5)
        case "positions":
            compared = [i for i in (0, 1, max(5, len(run.source)) - 1) if i < len(run.source)]
            rows = np.stack(
                [
                    read.embedding[query],
                    read.positions[query],
                    read.input[query],
                    *(read.positions[i] for i in compared),
                ]
            )
            np.testing.assert_allclose(drawn, rows.ravel(), atol=1e-5)
        case "qkv" | "scores" | "softmax" | "residual" | "ffn":
            assert drawn
            np.testing.assert_allclose(drawn, [answers.rows[row][i] for row, i, _ in seen["cells"]], **LAST_BITS)
        case "heads":
            assert seen["heads"] == list(range(answers.config.n_heads))
        case "stack":
            np.testing.assert_allclose(drawn, answers.stream.ravel(), atol=2e-5)
        case "masked" | "cross":
            layer = (
                run.attention.decoder[answers.layer] if name == "masked" else run.attention.cross[answers.cross_layer]
            )
            weights = np.where(layer.allowed, layer.weights[answers.head], np.nan)
            np.testing.assert_allclose(seen["weights"], weights.ravel(), atol=1e-6)
        case "logits":
            expected = [candidate.probability for candidate in run.steps[answers.step].candidates[:8]]
            np.testing.assert_allclose(seen["probabilities"], expected, atol=1e-6)
        case "loop":
            ways = answers.ways()
            for column, rows in ((1, ways["teacher"]), (3, ways["free"])):
                told = [[row["read"], f"{row['output']} {percent(row['probability'])}"] for row in rows]
                told[ways["mistake"]][1] += f" {t('lesson.loop.forced')}"
                assert [line[column : column + 2] for line in seen["ways"] if line[column]] == told


def expect_lesson(seen: dict[str, dict[str, Any]], answers: Answers) -> None:
    for name, each in seen.items():
        for expected in (expect_stop, expect_figure):
            try:
                expected(name, each, answers)
            except AssertionError as error:
                error.add_note(f"{name}: {each}")
                raise


# ---- tests


@pytest.mark.parametrize(
    ("checkpoint", "sentence", "asked"),
    [
        pytest.param("toy", BIER, "&kind=encoder&layer=4&head=7&query=3&step=2", id="toy-elsewhere"),
        pytest.param("classroom", "trinke", "", id="classroom-one-word-endless"),
    ],
)
def test_every_answer_is_the_models(visit: Visit, checkpoint: str, sentence: str, asked: str) -> None:
    page = enter(visit, checkpoint, sentence, asked)
    seen = {}
    for n, name in enumerate(STOPS, 1):
        stop(page, n)
        page.keyboard.press("r")
        seen[name] = stop(page, n)
        page.keyboard.press("PageDown")
    expect_lesson(seen, Answers(checkpoint, sentence, place(page)))


def test_the_lesson_is_walked_by_key_on_a_phone(visit: Visit) -> None:
    """Every wrong choice says why, and nothing but the reveal tells the answer."""
    visit.page.set_viewport_size({"width": 390, "height": 844})
    page = enter(visit, "classroom", FLAGSHIP)
    seen = {}
    for n, name in enumerate(STOPS, 1):
        before = stop(page, n)
        assert before["title"] == t("lesson.title", n=n, of=14, name=t(f"lesson.{name}"))
        assert len(set(before["choices"])) == len(before["choices"]) > 1, name
        assert before["veiled"] == (name in HIDE), name
        assert before["reveal"] is before["right"] is None
        underlines = page.locator(".tokens .chip.source").evaluate_all(
            "(chips) => chips.map((chip) => getComputedStyle(chip).getPropertyValue('--share').trim())"
        )
        assert (set(underlines) == {"0"}) == before["veiled"], f"{name}: {underlines}"
        for i, choice in enumerate(before["choices"]):
            page.keyboard.press(str(i + 1))
            after = seen[name] = stop(page, n)
            if after["reveal"] is not None:
                break
            assert after["why"] is not None, f"{name}: {choice}"
        assert len(after["wrong"]) == int(after["right"])
        assert not after["veiled"], name
        expect(page.locator("#lesson .reveal")).to_be_in_viewport(ratio=0.9)
        assert max(before["sideways"], after["sideways"]) <= 0, f"{name} is {after['sideways']} px too wide"
        page.keyboard.press("n")
    assert stop(page, 14)["reveal"]  # there is no stop after the last
    page.wait_for_function("new URL(location.href).searchParams.get('stop') === '14'")
    expect_lesson(seen, Answers("classroom", FLAGSHIP, place(page)))
    page.keyboard.press("b")
    again = stop(page, 13)
    assert again["reveal"], "what was revealed stays so"
    assert not again["veiled"]


def test_the_place_is_in_the_link_and_typing_does_not_move_it(visit: Visit) -> None:
    page = enter(visit, "toy", BIER)
    page.keyboard.press("PageUp")  # there is no stop before the first
    page.keyboard.press("n")
    stop(page, 2)
    page.wait_for_function("new URL(location.href).searchParams.get('stop') === '2'")
    page.keyboard.press("ArrowLeft")  # the steps are walked meanwhile
    page.wait_for_function("new URL(location.href).searchParams.get('step') === '3'")
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
    seen = stop(page, 5)
    assert (seen["reveal"], seen["veiled"]) == (None, True)
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
    answers = Answers("toy", BIER, place(page))
    choices = stop(page, 1)["choices"]
    right = choices.index(str(answers.tokens()[0]))
    wrong = 0 if right else 1
    page.keyboard.press("9")  # there are fewer
    assert stop(page, 1)["reveal"] is None
    page.keyboard.press(str(wrong + 1))
    guessed = stop(page, 1)
    assert guessed["wrong"] == [choices[wrong]]
    assert guessed["why"].startswith(t("lesson.wrong"))
    assert (guessed["reveal"], guessed["marked"]) == (None, []), "one may guess again"
    page.keyboard.press(str(right + 1))
    first = stop(page, 1)
    assert first["reveal"].startswith(t("lesson.right"))
    assert (first["marked"], first["wrong"], first["why"]) == ([choices[right]], [choices[wrong]], None)
    page.keyboard.press("n")
    good = stop(page, 2)["choices"].index(answers.embeddings()[0])
    page.keyboard.press(str(good + 1))
    page.wait_for_function("new URL(location.href).searchParams.get('stop') === '2'")
    page.reload()
    page.locator("#lesson .choice").first.wait_for()
    second = stop(page, 2)
    assert second["reveal"].startswith(t("lesson.right"))
    assert second["wrong"] == []
    page.keyboard.press("b")
    assert stop(page, 1) == first
    visit.ask("ich möchte ein cola")
    expect(page.locator("#lesson .reveal")).to_be_hidden()
    assert stop(page, 1)["marked"] == []

    # The same stop asks something else at another step: a guess is judged by the question that was asked.
    visit.ask(BIER)
    page.locator(".stops button").nth(12).click()
    seen: list[dict[str, Any]] = []
    for step in range(2):
        page.locator("#translation button").nth(step).click()
        answers.step = step
        expect(page.locator("#lesson .choices")).to_contain_text(answers.logits()[0])
        seen.append(stop(page, 13))
        assert seen[-1]["reveal"] is None, "nobody has answered this question"
        page.locator("#lesson .choice").nth(seen[-1]["choices"].index(answers.logits()[0])).click()
        assert stop(page, 13)["reveal"].startswith(t("lesson.right"))
    assert seen[0]["choices"] != seen[1]["choices"]


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
    page.wait_for_function("new URL(location.href).searchParams.get('stops') === '12,13,14,1'")
    page.locator("#lesson-plan").get_by_role("button", name=t("lesson.minutes", minutes=20)).click()
    expect(page.locator("#plan-open")).to_have_text(t("lesson.plan", minutes=20, count=4))
    page.wait_for_function("new URL(location.href).searchParams.get('stops') === '1,6,12,13'")
    page.keyboard.press("Escape")
    expect(page.locator("#lesson-plan")).to_be_hidden()
    expect(title).to_have_text(t("lesson.title", n=1, of=4, name=t("lesson.tokens")))
