"""The lesson: 14 stops that are walked by key, and whose every answer is the model's."""

import math
import re
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np
import pytest
from playwright.sync_api import Page, expect

from transformer import Translation, Translator
from transformer.analysis.sublayer import SublayerValues, inspect_sublayer, residual_stream
from transformer.inference.translator import positional_encoding
from transformer.network.shapes import shapes
from transformer.web.api.decoding import forced
from transformer.web.api.runs import reference

from . import conftest
from .catalogue import percent, t
from .conftest import Visit
from .test_inside import LAST_BITS, Look, gives, number, numbers, shown_by

BIER, FLAGSHIP = "Ich möchte ein Bier", "Heute habe ich ein kaltes Bier getrunken"
MISTAKEN = "Wir zeigen die alten Hunde einer Schwester"  # the model says “an old sister the old dogs”

STOPS = (
    "tokens", "embeddings", "positions", "qkv", "scores", "softmax", "heads",
    "residual", "ffn", "stack", "masked", "cross", "logits", "loop",
)  # fmt: skip
HIDE = {"scores", "softmax", "heads", "residual", "ffn", "stack", "cross", "logits", "loop"}  # they show the answer
SPECIAL = ("S", "E", "P")


@cache
def translator(checkpoint: str) -> Translator:
    return Translator.load(checkpoint, device="cpu")


@cache
def run(checkpoint: str, sentence: str) -> Translation:
    return translator(checkpoint).translate(sentence)


def signed(value: float | np.floating[Any]) -> str:
    return f"{value:.2f}".replace("-", "−")


# ---- the page

# Waits for a stop and its figure, and reads it.
STOP = """async (stop) => {
  const lesson = document.querySelector("#lesson");
  const figure = lesson.querySelector(".lesson-figure");
  const drawn = () => {
    const shapes = [...figure.querySelectorAll("svg, table, ol")].map((shape) => shape.getBoundingClientRect());
    const waiting = [...figure.querySelectorAll(".fluid")].some((place) => !place.firstChild);
    return !waiting && shapes.some(({ width, height }) => width > 40 && height > 10);
  };
  const end = performance.now() + 30000;
  const title = () => lesson.querySelector("#stop-title").textContent;
  const here = () => lesson.querySelector(".stops [aria-current=step]")?.ariaLabel.startsWith(`${stop}.`) && title().match(/\\d+/)?.[0] === String(stop);
  while (!(here() && drawn())) {
    if (performance.now() > end) throw new Error(`stop ${stop} never came: ${title()} ${figure.textContent.slice(0, 80)}`);
    await new Promise(requestAnimationFrame);
  }
  const text = (selector) => lesson.querySelector(selector).textContent;
  const all = (selector, read) => [...lesson.querySelectorAll(selector)].map(read);
  const question = lesson.querySelector(".question");
  const veil = lesson.querySelector(".veil");
  return {
    title: title(),
    text: text(".lesson-text > p:last-child"),
    shape: text(".lesson-text .shape"),
    question: question.querySelector("h3")?.textContent ?? null, // where there is only one answer, nothing is asked
    choices: all(".choice", (choice) => choice.textContent.replace(choice.querySelector("small").textContent, "").trim()),
    right: question.dataset.right ?? null,
    marked: all(".choice", (choice) => choice.matches(".right")),
    wrong: all(".choice", (choice) => choice.matches(".wrong") && getComputedStyle(choice).textDecorationLine === "line-through"),
    reveal: lesson.querySelector(".reveal").hidden ? null : text(".reveal"),
    inert: figure.inert,
    veiled: Boolean(veil?.getBoundingClientRect().height) && getComputedStyle(figure).filter !== "none",
    sideways: document.scrollingElement.scrollWidth - innerWidth,
    cells: all(".lesson-figure [data-value]", ({ dataset: { name, index, value } }) => [name ?? "", Number(index), value]),
    weights: all(".lesson-figure [data-query][data-key]", ({ dataset: { query, key, weight } }) => [Number(query), Number(key), weight ?? null]),
    probabilities: all(".lesson-figure [data-probability]", ({ dataset }) => Number(dataset.probability)),
    ids: all(".lesson-figure [data-id]", ({ dataset }) => Number(dataset.id)),
    heads: all(".lesson-figure [data-head]", ({ dataset }) => Number(dataset.head)),
    ways: all(".ways tbody tr", (line) => [...line.children].map((cell) => cell.textContent)),
  };
}"""  # noqa: E501


def enter(visit: Visit, checkpoint: str, sentence: str, place: str = "") -> Page:
    """The lesson of a sentence, by its link."""
    page = visit.open(f"?checkpoint={checkpoint}&sentence={quote(sentence)}&tab=lesson{place}")
    expect(page.locator(".tokens .chip.source")).to_have_text(run(checkpoint, sentence).source)
    page.locator("#lesson .choice").first.wait_for()
    return page


def stop(page: Page, n: int) -> dict[str, Any]:
    return page.evaluate(STOP, n)


# ---- what the model says


class Place(NamedTuple):
    """From 0; of what the page holds, what a stop asks about."""

    kind: str
    layer: int
    head: int
    query: int
    step: int


def place(page: Page) -> Place:
    seen = conftest.place(page)
    return Place(*(seen[name] for name in Place._fields))


def named(tokens: tuple[str, ...], i: int) -> str:
    """As a choice, where a word that stands there twice tells its place."""
    return f"{tokens[i]} ({i + 1})" if tokens.count(tokens[i]) > 1 else tokens[i]


Answer = tuple[str, dict[str, Any]]  # the right choice, and what its texts say


class Answers:
    """What every stop asks, from the model itself."""

    def __init__(self, checkpoint: str, sentence: str, at: Place) -> None:
        self.checkpoint, self.at = checkpoint, at
        self.model, self.run = translator(checkpoint), run(checkpoint, sentence)
        self.config = self.model.checkpoint.model.config
        words = [i for i, token in enumerate(self.run.source) if token != "P"]
        self.query = at.query if at.kind == "encoder" else words[-1]
        self.word = self.run.source[self.query]
        self.layer = min(at.layer, self.config.num_encoder_layers - 1)
        self.data: SublayerValues = inspect_sublayer(self.model, self.run, "encoder", self.layer)

    def tokens(self) -> Answer:
        count = len(self.run.source)
        return str(count), {"count": count, "words": count - self.run.source.count("P")}

    def embeddings(self) -> Answer:
        factor = f"{round(math.sqrt(self.config.d_model), 2):g}"
        return factor, {"word": self.word, "d_model": self.config.d_model, "factor": factor}

    def positions(self) -> Answer:
        count = max(5, len(self.run.source))
        rows = positional_encoding(count, self.config.d_model).astype(float)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        near, far = (float(rows[0] @ rows[i]) for i in (1, count - 1))
        right = t("lesson.positions.pair", a=1, b=2 if near >= far else count)
        return right, {"near": f"{near:.2f}", "far": f"{far:.2f}", "last": count}

    def qkv(self) -> Answer:
        width = self.config.d_model // self.config.n_heads
        return str(width), {"d_model": self.config.d_model, "heads": self.config.n_heads, "width": width}

    def scores(self) -> Answer:
        scores = self.data.scores[self.at.head, self.query]
        key = int(scores.argmax())
        padding = "" if self.data.allowed[self.query, key] else t("lesson.scores.padding")
        places = {"word": self.word, "key": self.data.keys[key], "score": signed(scores[key]), "padding": padding}
        return named(self.data.keys, key), places

    def softmax(self) -> Answer:
        weights, open_ = self.data.weights[self.at.head, self.query], int(self.data.allowed[self.query].sum())
        share = percent(weights.max())
        places = {"word": self.word, "key": self.data.keys[weights.argmax()], "share": share}
        return share, places | {"equal": percent(1 / open_), "open": open_, "masked": len(weights) - open_}

    def heads(self) -> Answer:
        words = [i for i, token in enumerate(self.run.source) if token != "P"]
        hardest = self.run.attention.encoder[self.layer].weights[:, words].max(axis=(1, 2))
        head = int(hardest.argmax()) + 1
        places = {"heads": len(hardest), "layer": self.layer + 1, "head": head, "share": percent(hardest.max())}
        return t("head_n", head=head), places

    def residual(self) -> Answer:
        own, change = (np.linalg.norm(row[self.query].astype(float)) for row in (self.data.residual, self.data.output))
        right = "own" if own >= change else "change"
        return t(f"lesson.residual.{right}"), {"word": self.word, "own": signed(own), "change": signed(change)}

    def ffn(self) -> Answer:
        hidden = self.data.ff_hidden[self.query]
        firing = int((hidden > 0).sum())
        quarter = min(4, 1 + 4 * firing // len(hidden))
        places = {"word": self.word, "firing": firing, "of": len(hidden), "share": percent(firing / len(hidden))}
        wide = 2 * self.config.d_model * self.config.d_ff > 4 * self.config.d_model**2
        return t(f"lesson.ffn.quarter{quarter}"), places | {"most": t("lesson.ffn.most") if wide else ""}

    def stack(self) -> Answer:
        stream = residual_stream(self.model, self.run)["encoder"][:, self.query].astype(float)
        moves = np.linalg.norm(np.diff(stream, axis=0), axis=1)
        layer = int(moves.argmax()) + 1
        places = {"word": self.word, "layers": len(moves), "layer": layer, "distance": signed(moves.max())}
        return t("layer_n", layer=layer), places

    def masked(self) -> Answer:
        allowed = self.run.attention.decoder[0].allowed
        masked = int((~allowed).sum())
        places = {"masked": masked, "count": len(allowed), "cells": int(allowed.size)}
        return str(masked), places | {"first": self.run.decoder_input[0]}

    def cross(self) -> Answer:
        weights = self.run.attention.cross[self.at.layer].weights[self.at.head]
        step, key = (int(i) for i in np.unravel_index(weights.argmax(), weights.shape))
        words = {"said": self.run.output[step], "read": self.run.decoder_input[step], "key": self.run.source[key]}
        at = {"layer": self.at.layer + 1, "head": self.at.head + 1, "step": step + 1}
        return named(self.run.source, key), words | at | {"share": percent(weights.max())}

    def logits(self) -> Answer:
        first, second = self.run.steps[self.at.step].candidates[:2]
        words = {"words": len(self.model.checkpoint.tgt_vocab), "first": first.token, "second": second.token}
        read = " ".join(self.run.decoder_input[: self.at.step + 1])
        shares = {"share": percent(first.probability), "second_share": percent(second.probability)}
        return second.token, words | shares | {"read": read}

    def ways(self) -> dict[str, Any]:
        """The likeliest word that is neither the model's own nor the right one is said; not at the last step."""
        step = max(0, min(self.at.step, len(self.run.steps) - 2))
        pair = reference(self.checkpoint, self.run)
        right = (*pair.target.split(), "E")[step] if pair else self.run.output[step]
        others = [each.token for each in self.run.steps[step].candidates[1:10] if each.token not in (*SPECIAL, right)]
        slip = {"step": step, "word": others[0]}
        return forced({"checkpoint": self.checkpoint, "sentence": self.run.sentence, "slip": slip})

    def loop(self) -> Answer:
        ways = self.ways()
        slip, slipped = ways["slip"], ways["free"][ways["slip"]]
        wanted = [each["wanted"] for each in ways["teacher"]]
        said = [each["said"] for each in ways["free"]]
        places = {"step": slip + 1, "slipped": slipped["said"], "right_word": wanted[slip], "free": " ".join(said)}
        right = "yes" if wanted[slip + 1 :] == said[slip + 1 :] else "no"
        return t(f"lesson.loop.{right}"), places | {"chance": percent(slipped["probability"])}


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
    """A stop that was revealed: its texts and its right answer are the model's."""
    right, places = getattr(answers, name)()
    if name == "embeddings":
        places["sum"] = expect_product(seen["reveal"], answers)
    if seen["question"] is None:
        assert seen["choices"] == []
        assert (seen["inert"], seen["veiled"]) == (False, False)
        assert len(answers.run.source) == 1  # of these models' stops, those that ask for a source word
        seen |= {"choices": [right], "marked": [True], "right": "0"}
        seen["question"] = t(f"lesson.{name}.question", **places)
        seen["reveal"] = seen["reveal"].removeprefix(t("lesson.alone"))
    assert seen["choices"][int(seen["right"])] == right
    assert [choice for choice, marked in zip(seen["choices"], seen["marked"], strict=True) if marked] == [right]
    assert len(set(seen["choices"])) == len(seen["choices"])
    if name in SHAPES:
        config, run = answers.config, answers.run
        all_ = {each.stage: each.shape for each in shapes(config, len(run.source), len(run.decoder_input))}
        assert seen["shape"].partition(" ×")[0] == " → ".join(str(all_[stage]) for stage in SHAPES[name])
    for part in ("text", "question", "reveal"):
        assert seen[part].strip() == t(f"lesson.{name}.{part}", **places).strip()


def expect_product(reveal: str, answers: Answers) -> str:
    """length × √d = length: the model's, and right as it is written."""
    found = re.search(r"(\d+\.\d+) × (\d+\.\d+) = (\d+\.\d+)", reveal)
    assert found is not None
    before, factor, after = found.groups()
    assert gives(number(before) * number(factor), after)
    length = np.linalg.norm(answers.run.source_input.embedding[answers.query].astype(float))
    assert float(after) == pytest.approx(length, abs=0.00501)
    assert float(before) == pytest.approx(length / math.sqrt(answers.config.d_model), abs=0.00501)
    return found[0]


ROWS_OF = {  # what a stop draws of one head
    "qkv": r"x|q|[kv]:\d+",
    "scores": "dot|score",
    "softmax": "dot|score|mask|weight",
    "residual": "residual|output|sum|norm",
    "ffn": "hidden|ff_output",
}


def expect_figure(name: str, seen: dict[str, Any], answers: Answers) -> None:
    """What a stop draws is the model's."""
    run, at, query = answers.run, answers.at, answers.query
    drawn: dict[tuple[str, int], list[float]] = {}
    for row, i, value in seen["cells"]:
        drawn.setdefault((row, i), []).append(float(value))
    if name == "tokens":
        vocabularies = answers.model.checkpoint.src_vocab.ids, answers.model.checkpoint.tgt_vocab.ids
        expected = [vocabularies[0][token] for token in run.source]
        assert seen["ids"] == [*expected, *(vocabularies[1][token] for token in run.decoder_input)]
    elif name == "embeddings":
        np.testing.assert_allclose([float(v) for *_, v in seen["cells"]], run.source_input.embedding.ravel(), atol=1e-5)
    elif name == "positions":
        read = run.source_input
        rows = np.stack([read.embedding[query], read.positions[query], read.input[query]])
        np.testing.assert_allclose([float(v) for *_, v in seen["cells"]], rows.ravel(), atol=1e-5)
    elif name in ROWS_OF:
        look = Look(answers.checkpoint, "encoder", answers.layer, at.head, query)
        rows_ = {row: v for row, v in shown_by(answers.data, look).items() if re.fullmatch(ROWS_OF[name], row)}
        assert drawn.keys() == {(row, i) for row, values in rows_.items() for i in range(len(values))}
        for (row, i), values in drawn.items():
            np.testing.assert_allclose(values, rows_[row][i], **LAST_BITS, err_msg=row)
    elif name == "heads":
        assert seen["heads"] == list(range(answers.config.n_heads))
    elif name == "stack":
        stream = residual_stream(answers.model, run)["encoder"][:, query]
        np.testing.assert_allclose([float(v) for *_, v in seen["cells"]], stream.ravel(), atol=2e-5)
    elif name in ("masked", "cross"):
        layers = run.attention.decoder if name == "masked" else run.attention.cross
        drawn_map = layers[answers.layer if name == "masked" else at.layer]
        for row, column, weight in seen["weights"]:
            assert (weight is not None) == drawn_map.allowed[row, column]
            shown = 0.0 if weight is None else float(weight)
            assert shown == pytest.approx(drawn_map.weights[at.head, row, column], abs=1e-6)
        assert len(seen["weights"]) == drawn_map.allowed.size
    elif name == "logits":
        expected_p = [candidate.probability for candidate in run.steps[at.step].candidates[:8]]
        np.testing.assert_allclose(seen["probabilities"], expected_p, atol=1e-6)
    else:
        expect_ways(seen, answers)


def expect_ways(seen: dict[str, Any], answers: Answers) -> None:
    """The table of the slip: what is read and said with a teacher, and freely."""
    ways = answers.ways()
    teacher, free, slip = ways["teacher"], ways["free"], ways["slip"]

    def cells(rows: list[dict[str, Any]], i: int, note: str) -> list[str]:
        if i >= len(rows):
            return ["", ""]
        return [
            rows[i]["read"],
            f"{rows[i]['said']} {percent(rows[i]['probability'])}{note if i == slip else ''}",
        ]

    note = f" {t('lesson.loop.forced')}"
    length = max(len(teacher), len(free))
    expected = [[str(i + 1), *cells(teacher, i, note), *cells(free, i, note)] for i in range(length)]
    assert seen["ways"] == expected
    reads = [line[3] for line in seen["ways"] if line[3]]
    assert reads == ["S", *(each["said"] for each in free[:-1])], "free, it reads what it said"
    reads = [line[1] for line in seen["ways"] if line[1]]
    assert reads == ["S", *(each["wanted"] for each in teacher[:-1])], "with a teacher, it reads the right words"


# ---- tests


@pytest.mark.parametrize(
    ("checkpoint", "sentence", "asked"),
    [
        pytest.param("toy", BIER, "&kind=encoder&layer=4&head=7&query=3&step=2", id="toy-elsewhere"),
        pytest.param("classroom", "trinke", "", id="classroom-one-word-endless"),
        pytest.param("classroom", MISTAKEN, "&step=10", id="classroom-mistaken"),
    ],
)
def test_every_answer_is_the_models(visit: Visit, checkpoint: str, sentence: str, asked: str) -> None:
    page = enter(visit, checkpoint, sentence, asked)
    seen = {}
    for n, name in enumerate(STOPS, 1):
        first = stop(page, n)
        assert (first["reveal"] is None) == (first["question"] is not None)
        page.keyboard.press("r")
        seen[name] = stop(page, n)
        page.keyboard.press("PageDown")
    expect_lesson(seen, Answers(checkpoint, sentence, place(page)))


def expect_lesson(seen: dict[str, dict[str, Any]], answers: Answers) -> None:
    wrong = []
    for name, each in seen.items():
        for expected in (expect_stop, expect_figure):
            try:
                expected(name, each, answers)
            except AssertionError as error:
                wrong.append(f"{name}: {error}")
    assert not wrong, "\n".join(wrong)


def test_the_lesson_is_walked_by_key_on_a_phone(visit: Visit) -> None:
    visit.page.set_viewport_size({"width": 390, "height": 844})
    page = enter(visit, "classroom", FLAGSHIP)
    seen = {}
    for n, name in enumerate(STOPS, 1):
        before = stop(page, n)
        assert before["title"] == t("lesson.title", n=n, of=14, name=t(f"lesson.{name}"))
        assert before["choices"], name
        assert before["text"], name
        assert (before["inert"], before["veiled"]) == (name in HIDE, name in HIDE), name
        assert before["reveal"] is before["right"] is None
        page.keyboard.press("r")
        after = seen[name] = stop(page, n)
        assert (after["inert"], after["veiled"]) == (False, False), name
        assert after["reveal"]
        assert max(before["sideways"], after["sideways"]) <= 0, f"{name} is {after['sideways']} px too wide"
        page.keyboard.press("n")
    assert stop(page, 14)["reveal"]  # there is no stop after the last
    page.wait_for_function("new URL(location.href).searchParams.get('stop') === '14'")
    expect_lesson(seen, Answers("classroom", FLAGSHIP, place(page)))
    for n in range(13, 10, -1):
        page.keyboard.press("b")
        again = stop(page, n)
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


def test_a_guess_is_judged_and_kept(visit: Visit) -> None:
    page = enter(visit, "toy", BIER)
    answers = Answers("toy", BIER, Place("cross", 0, 0, 0, 0))
    first = stop(page, 1)
    right = first["choices"].index(answers.tokens()[0])
    wrong = 0 if right else 1
    page.keyboard.press("9")  # there are fewer
    assert stop(page, 1)["reveal"] is None
    page.keyboard.press(str(wrong + 1))
    page.keyboard.press(str(right + 1))  # too late
    page.keyboard.press("n")
    second = stop(page, 2)
    good = second["choices"].index(answers.embeddings()[0])
    page.keyboard.press(str(good + 1))
    for n, guess, correct, verdict in ((2, good, good, "lesson.right"), (1, wrong, right, "lesson.wrong")):
        seen = stop(page, n)
        assert [i for i, marked in enumerate(seen["marked"]) if marked] == [correct]
        assert [i for i, struck in enumerate(seen["wrong"]) if struck] == ([] if guess == correct else [guess])
        assert seen["reveal"].startswith(t(verdict))
        page.keyboard.press("b")
    visit.ask("ich möchte ein cola")
    expect(page.locator("#lesson .reveal")).to_be_hidden()
    again = stop(page, 1)
    assert (again["right"], again["reveal"], any(again["marked"])) == (None, None, False)
    page.locator("#lesson .choice").nth(right).click()
    assert stop(page, 1)["reveal"].startswith(t("lesson.right"))

    # The same stop asks something else at another step: a guess is judged by the question that was asked.
    visit.ask(BIER)
    offered = [sorted(each.token for each in step.candidates[1:5]) for step in answers.run.steps]
    second_best = [words.index(s.candidates[1].token) for words, s in zip(offered, answers.run.steps, strict=True)]
    step = next(i for i in range(len(offered) - 1) if second_best[i] != second_best[i + 1])
    page.locator(".stops button").nth(12).click()
    page.locator("#translation button").nth(step).click()
    assert stop(page, 13)["choices"] == offered[step]
    page.keyboard.press(str(second_best[step] + 1))
    assert stop(page, 13)["reveal"].startswith(t("lesson.right"))
    page.keyboard.press("ArrowRight")
    expect(page.locator("#lesson .choice")).to_contain_text(offered[step + 1])
    assert not any(stop(page, 13)["wrong"]), "nobody has answered this question"


def test_a_forced_mistake_is_another_word_than_the_right_one(visit: Visit) -> None:
    """Where the model errs, the likeliest word but its own may be the right one."""
    page = enter(visit, "classroom", MISTAKEN, "&stop=14&step=1")
    text = page.locator("#lesson .lesson-text > p:last-child")
    for step in range(1, len(run("classroom", MISTAKEN).steps)):
        at = Place("cross", 0, 0, 0, step - 1)
        _, places = Answers("classroom", MISTAKEN, at).loop()
        expect(text).to_have_text(t("lesson.loop.text", **places))
        assert places["slipped"] != places["right_word"]
        page.keyboard.press("ArrowRight")


def test_a_cell_of_the_lesson_opens_its_arithmetic(visit: Visit) -> None:
    page = enter(visit, "toy", BIER, "&stop=3")
    stop(page, 3)
    told = page.locator("#lesson .told")
    expect(told).to_be_hidden()
    read = run("toy", BIER).source_input
    for i in (0, 63):
        page.locator("#lesson .lesson-figure .cell").nth(i).click()
        expect(told.locator("h4")).to_have_text(t("cell.input", n=i + 1))
        a, b, total = numbers(told.locator(".arithmetic").inner_text())
        assert gives(a + b, told.locator(".result").inner_text())
        for shown, values in ((a, read.embedding), (b, read.positions), (total, read.input)):
            assert float(shown) == pytest.approx(values[3, i], abs=0.00501)
    page.keyboard.press("n")
    stop(page, 4)
    expect(told).to_be_hidden()
    page.locator("#lesson .cell[data-name=q]").nth(2).click()
    expect(told.locator(".term")).to_have_count(64)
    terms = told.locator(".term").evaluate_all("all => all.map(({ dataset: { a, b } }) => [a, b])")
    bias = told.locator(".bias").get_attribute("data-bias")
    assert bias is not None
    total = sum((number(a) * number(b) for a, b in terms), number(bias))
    assert gives(total, told.locator(".result").inner_text())
