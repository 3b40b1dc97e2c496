"""Inside a head: every shown number is the model's, and what is written before "=" gives what is written after it."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from decimal import ROUND_HALF_UP, Decimal, localcontext
from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, Route, expect

from transformer import TransformerConfig, Translation, Translator
from transformer.analysis.sublayer import SublayerValues, inspect_sublayer, parameter_row
from transformer.inference.attention_maps import KINDS, Kind
from transformer.network.shapes import shapes

from .catalogue import matching, t
from .conftest import Visit, place, script, visiting

SENTENCES = {"toy": "Ich möchte ein Bier", "classroom": "Heute habe ich ein kaltes Bier getrunken"}
TEXTS = {"toy": "i want a beer . E", "classroom": "today i have drunk a cold beer . E"}
STAGES = ("qkv", "scores", "values", "concat", "residual", "ffn", "ffn_residual")
LAST_BITS: dict[str, Any] = {"atol": 1e-5, "rtol": 1e-6}  # more threads add in another order, numbers up to 20


class Look(NamedTuple):
    """What the visitor chose, from 0."""

    checkpoint: str
    kind: Kind
    layer: int
    head: int
    query: int


LOOKS = [
    Look("toy", "encoder", 0, 0, 0),
    Look("toy", "encoder", 5, 7, 4),  # the query is the padding
    Look("toy", "decoder", 4, 1, 0),  # attends to itself only
    Look("toy", "decoder", 3, 6, 5),
    Look("toy", "cross", 1, 4, 3),
    Look("toy", "cross", 5, 2, 1),
    Look("classroom", "encoder", 0, 3, 6),
    Look("classroom", "encoder", 1, 1, 2),
    Look("classroom", "decoder", 1, 2, 4),
    Look("classroom", "decoder", 0, 0, 7),
    Look("classroom", "cross", 1, 3, 3),
    Look("classroom", "cross", 0, 0, 8),
]


@cache
def translator(checkpoint: str) -> Translator:
    return Translator.load(checkpoint, device="cpu")


@cache
def run(checkpoint: str, sentence: str | None = None) -> Translation:
    return translator(checkpoint).translate(sentence or SENTENCES[checkpoint])


@cache
def inside(checkpoint: str, kind: Kind, layer: int, sentence: str | None = None) -> SublayerValues:
    return inspect_sublayer(translator(checkpoint), run(checkpoint, sentence), kind, layer)


# ---- decimal arithmetic


def number(text: str) -> Decimal:
    """As the page writes it, with a minus sign that is no hyphen."""
    assert "-" not in text
    return Decimal(text.replace("−", "-"))


def numbers(text: str) -> list[Decimal]:
    return [number(each) for each in re.findall(r"−?\d+(?:\.\d+)?", text)]


def rounded(value: Decimal | float, like: str) -> Decimal:
    """To as many digits after the point as another has; a half goes away from 0, as at school."""
    digits = len(like.partition(".")[2])
    return Decimal(value).quantize(Decimal(1).scaleb(-digits), ROUND_HALF_UP)


def gives(value: Decimal | float, shown: str) -> bool:
    return rounded(value, shown) == number(shown)


def expect_model(value: float, shown: str) -> None:
    """A number of the model's, rounded."""
    half = Decimal("0.5").scaleb(-len(shown.partition(".")[2]))
    room = Decimal(LAST_BITS["atol"] + LAST_BITS["rtol"] * abs(float(value)))
    assert abs(Decimal(float(value)) - number(shown)) <= half + room, f"{value} is not {shown}"


@contextmanager
def told(*what: object) -> Iterator[None]:
    """A failure inside says what was looked at."""
    try:
        yield
    except AssertionError as error:
        error.add_note("\n".join(map(str, what)))
        raise


@pytest.fixture(autouse=True)
def exact() -> Iterator[None]:
    with localcontext() as context:
        context.prec = 60
        yield


# ---- the page


class Head:
    """The open tab."""

    def __init__(self, visit: Visit) -> None:
        self.visit = visit
        self.page: Page = visit.open()
        self.view = self.page.locator("#inside")
        self.page.locator("#checkpoint").wait_for()
        self.open("toy")

    def open(self, checkpoint: str) -> None:
        if self.page.locator("#checkpoint").input_value() != checkpoint:
            self.page.locator("#checkpoint").select_option(checkpoint)
        expect(self.page.locator("#translation")).to_have_text(TEXTS[checkpoint])
        self.visit.tab("inside")
        expect(self.view.locator(".stage")).to_have_count(len(STAGES))

    def press(self, group: str, name: str) -> None:
        self.view.get_by_role("group", name=t(group)).get_by_role("button", name=name, exact=True).click()

    def look(self, look: Look) -> dict[str, Any]:
        """Choose by the page's own controls, and read all that is drawn then; see CHOSEN."""
        groups = [t("attention.which"), t("layer"), t("head")]
        return self.page.evaluate(CHOSEN, [*look[1:], said(look).pattern, groups])

    def drawn(self, queries: tuple[str, ...], look: Look) -> dict[str, Any]:
        """What is drawn when nothing was clicked here, as soon as it is this look of these words."""
        expect(self.view.locator(".queries button")).to_have_text(queries)
        expect(self.view.locator(".queries button").nth(look.query)).to_have_attribute("aria-pressed", "true")
        expect(self.view.locator(".say")).to_have_text(said(look, word=queries[look.query]))
        return self.page.evaluate(CHOSEN, None)

    def arithmetic(self, cells: list[tuple[str, int]]) -> list[dict[str, Any]]:
        """Click each cell and read what the panel says of it."""
        return self.page.evaluate(CLICKED, cells)


def said(look: Look, **word: str) -> re.Pattern[str]:
    """The sentence above the stages."""
    kind = t(f"inside.kind.{look.kind}")
    return matching("inside.say", head=look.head + 1, layer=look.layer + 1, kind=kind, **word)


CHOSEN = """async (look) => {
  const view = document.querySelector("#inside");
  const end = performance.now() + 30000;
  const until = async (right, what) => {
    while (!right()) {
      if (performance.now() > end) throw new Error(`it never came: ${what}`);
      await new Promise(requestAnimationFrame);
    }
  };
  if (look) {
    const [kind, layer, head, query, said, [kinds, layers, heads]] = look;
    const press = (group, value) => view.querySelector(`[role=group][aria-label="${group}"] [value="${value}"]`).click();
    press(kinds, kind);
    press(layers, layer);
    press(heads, head);
    await until(() => new RegExp(said, "s").test(view.querySelector(".say").textContent), said);
    const chip = () => view.querySelectorAll(".queries button")[query];
    chip().click();
    await until(() => chip().getAttribute("aria-pressed") === "true", `query ${query}`);
  }
  await until(() => {
    const places = [...view.querySelectorAll(".stage .fluid")];
    return places.length && places.every((place) => place.querySelector("rect.cell"));
  }, "the strips");
  const all = (selector, read) => [...view.querySelectorAll(selector)].map(read);
  return {
    stages: all(".stage", ({ id }) => id),
    cells: all(".cell", ({ dataset: { name, index, value } }) => [name, Number(index), value]),
    table: all(".look tbody tr", (line) => Object.fromEntries([...line.querySelectorAll(".cell")].map((e) => [e.dataset.name, e.textContent]))),
    keys: all(".look tbody th", (word) => word.textContent),
    total: view.querySelector(".look .total").textContent,
    strips: all("svg.strips", (strip) => ({
      names: [...strip.querySelectorAll(".cell")].map(({ dataset }) => dataset.name),
      texts: [...strip.querySelectorAll("text.value")].map((text) => text.textContent),
    })),
    facts: Object.fromEntries(all(".fact", (fact) => [fact.closest(".stage").id, { ...fact.dataset, text: fact.textContent }])),
  };
}"""  # noqa: E501

CLICKED = """async (cells) => {
  const panel = document.querySelector("#inside .arithmetic-panel");
  const worked = panel.querySelector(".worked");
  const read = (line) => ({
    text: line.textContent,
    terms: [...line.querySelectorAll(".term")].map(({ dataset: { a, b }, textContent }) => [a, b, textContent]),
    bias: [...line.querySelectorAll(".bias")].map(({ dataset: { bias }, textContent }) => [bias, textContent]),
    addends: [...line.querySelectorAll(".addend")].map(({ dataset: { addend }, textContent }) => [addend, textContent]),
    powers: [...line.querySelectorAll(".power")].map(({ dataset: { power, score }, textContent }) => [power, score, textContent]),
    normal: [...line.querySelectorAll(".normal")].map(({ dataset }) => ({ ...dataset })),
    results: [...line.querySelectorAll(".result")].map(({ dataset: { result }, textContent }) => [result ?? textContent, textContent]),
  });
  const answers = [];
  for (const [name, index] of cells) {
    const told = new Promise((done) => {
      const seen = new MutationObserver(() => (seen.disconnect(), done()));
      seen.observe(worked, { childList: true });
    });
    const cell = document.querySelector(`#inside .cell[data-name="${name}"][data-index="${index}"]`);
    cell.dispatchEvent(new MouseEvent("click", { bubbles: true }));
    const late = new Promise((_, refuse) => setTimeout(refuse, 8000, new Error(`${name} ${index} tells nothing`)));
    await Promise.race([told, late]);
    const chosen = [...document.querySelectorAll(".cell.chosen")];
    answers.push({
      name,
      index,
      title: panel.querySelector("h3").textContent,
      chosen: chosen.length === 1 && chosen[0] === cell,
      lines: [...worked.querySelectorAll(".arithmetic")].map(read),
    });
  }
  return answers;
}"""  # noqa: E501


def shown_by(data: SublayerValues, look: Look) -> dict[str, np.ndarray]:
    """Every row of cells and its numbers, as the model computed them."""
    _, _, _, head, query = look
    q, k, v, weights = data.q[head, query], data.k[head], data.v[head], data.weights[head, query]
    rows = {
        "x": data.x[query],
        "q": q,
        "dot": k.astype(float) @ q,
        "score": data.scores[head, query],
        "mask": np.where(data.allowed[query], data.scores[head, query], -np.inf),
        "weight": weights,
        "head_output": data.head_output[head, query],
        "concat": data.head_output[:, query].ravel(),
        "output": data.output[query],
        "residual": data.residual[query],
        "sum": data.sum[query],
        "norm": data.norm[query],
        "hidden": data.ff_hidden[query],
        **{f"ff_{name}": getattr(data, f"ff_{name}")[query] for name in ("output", "residual", "sum", "norm")},
    }
    for j in range(len(data.keys)):
        rows |= {f"k:{j}": k[j], f"v:{j}": v[j], f"part:{j}": weights[j] * v[j]}
    return rows


@pytest.fixture(scope="module")
def head(browser: Browser, url: str) -> Iterator[Head]:
    """Of a page so wide that numbers stand in the cells."""
    with visiting(browser, url, viewport={"width": 1920, "height": 1080}) as visit:
        yield Head(visit)


DRAWN_TWICE = ("output", "ff_output")  # where they are made, and where they are added


def of(look: Look, sentence: str | None = None) -> SublayerValues:
    return inside(look.checkpoint, look.kind, look.layer, sentence)


def expect_cells(drawn: dict[str, Any], data: SublayerValues, look: Look) -> None:
    """No number is missing, and none is another's."""
    assert drawn["stages"] == [f"stage-{name}" for name in STAGES]
    expected = shown_by(data, look)
    wanted = Counter({(name, i): 1 + (name in DRAWN_TWICE) for name, row in expected.items() for i in range(len(row))})
    assert Counter((name, i) for name, i, _ in drawn["cells"]) == wanted
    shown = [float(value) for *_, value in drawn["cells"]]
    np.testing.assert_allclose(shown, [expected[name][i] for name, i, _ in drawn["cells"]], **LAST_BITS)


# ---- the arithmetic of a cell


def expect_dot(line: dict[str, Any], a: np.ndarray, b: np.ndarray, bias: float | None, result: float) -> None:
    """Σ a × b (+ bias): the terms are the model's, add up to the result, and are what a reader reads."""
    assert len(line["terms"]) == len(a) == len(b)
    assert len(line["bias"]) == (0 if bias is None else 1)
    total = Decimal(0)
    for (left, right, text), x, y in zip(line["terms"], a, b, strict=True):
        expect_model(x, left)
        expect_model(y, right)
        assert numbers(text) == [number(left), number(right)]
        total += number(left) * number(right)
    for shown, text in line["bias"]:
        assert bias is not None
        expect_model(bias, shown)
        assert numbers(text) == [number(shown)]
        total += number(shown)
    ((shown, text),) = line["results"]
    assert text == shown
    assert gives(total, shown), f"{total} is not {shown}"
    expect_model(result, shown)
    read = [n for *term, _ in line["terms"] for n in map(number, term)] + [number(each) for each, _ in line["bias"]]
    assert numbers(line["text"]) == [*read, number(shown)]


def expect_attention(lines: list[dict[str, Any]], data: SublayerValues, look: Look, j: int, asked: str) -> None:
    """From q · k to the weight, as far as was asked."""
    _, _, _, head, query = look
    q, k, d = data.q[head, query], data.k[head, j], data.head_dim
    open_, score, weight = data.allowed[query], data.scores[head, query, j], data.weights[head, query, j]
    expect_dot(lines[0], q, k, None, float(k.astype(float) @ q))
    if asked != "dot":
        ((shown, text),) = lines[1]["results"]
        dot, width, quotient = numbers(lines[1]["text"])
        assert dot == rounded(number(lines[0]["results"][0][0]), str(dot)), "the dot product above goes on"
        assert (width, quotient, text) == (Decimal(d), number(shown), shown)
        assert gives(dot / Decimal(d).sqrt(), shown)
        expect_model(score, shown)
    if asked in ("mask", "weight"):
        assert ("−∞" in lines[2]["text"]) == (not open_[j])
    if asked != "weight":
        assert len(lines) == ("dot", "score", "mask").index(asked) + 1
        return
    ((shown, text),) = lines[-1]["results"]
    assert text == shown
    if not open_[j]:
        assert (shown, weight) == ("0", 0)
        return
    terms, quotient_line = lines[3:]
    heard = np.flatnonzero(open_).tolist()
    for (power, exponent, text), i in zip(terms["powers"], heard, strict=True):
        expect_model(data.scores[head, query, i], exponent)
        assert gives(number(exponent).exp(), power)
        assert numbers(text) == [number(exponent)]
    powers, exponents = ([number(each[i]) for each in terms["powers"]] for i in (0, 1))
    power, exponent = powers[heard.index(j)], exponents[heard.index(j)]
    assert numbers(terms["text"]) == [exponent, *exponents]
    assert numbers(quotient_line["text"]) == [power, *powers, power, sum(powers), number(shown)]
    assert gives(power / sum(powers), shown)
    expect_model(weight, shown)


def expect_sum(line: dict[str, Any], a: float, b: float, result: float) -> None:
    (left, left_text), (right, right_text) = line["addends"]
    ((shown, text),) = line["results"]
    expect_model(a, left)
    expect_model(b, right)
    expect_model(result, shown)
    assert gives(number(left) + number(right), shown)
    assert text == shown
    assert numbers(f"{left_text} {right_text}") == [number(left), number(right)]
    assert numbers(line["text"]) == [number(left), number(right), number(shown)]


def expect_norm(line: dict[str, Any], row: np.ndarray, i: int, gain: float, bias: float, eps: float, to: float) -> None:
    (shown,) = line["normal"]
    ((result, text),) = line["results"]
    wide = row.astype(float)
    parts = {"x": row[i], "mean": wide.mean(), "deviation": np.sqrt(wide.var() + eps), "gain": gain, "bias": bias}
    for name, value in parts.items():
        expect_model(value, shown[name])
    x, mean, deviation, gain_, bias_ = (number(shown[name]) for name in parts)
    assert gives((x - mean) / deviation * gain_ + bias_, result)
    expect_model(to, result)
    assert text == result
    assert numbers(line["text"]) == [x, mean, deviation, gain_, bias_, number(result)]


def expect_arithmetic(answer: dict[str, Any], data: SublayerValues, look: Look) -> None:
    """What the panel says of one cell, held to the model and to its own digits."""
    checkpoint, kind, layer, head, query = look
    what, _, j = answer["name"].partition(":")
    i, lines = answer["index"], answer["lines"]
    value = float(shown_by(data, look)[answer["name"]][i])
    assert answer["chosen"]

    def row_of(part: str, row: int) -> tuple[np.ndarray, float | None]:
        return parameter_row(translator(checkpoint), kind, layer, part, row)

    match what:
        case "x" | "residual" | "ff_residual" | "concat":
            shown = re.findall(r"−?\d+\.\d+", lines[0]["text"])[-1]
            assert len(shown.partition(".")[2]) == 4
            expect_model(value, shown)
        case "q":
            expect_dot(lines[0], data.x[query], *row_of("q_proj", head * data.head_dim + i), value)
        case "k" | "v":
            expect_dot(lines[0], data.memory[int(j)], *row_of(f"{what}_proj", head * data.head_dim + i), value)
        case "dot" | "score" | "mask" | "weight":
            expect_attention(lines, data, look, i, what)
        case "part":
            weight, v = data.weights[head, query, int(j)], data.v[head, int(j), i]
            expect_dot(lines[0], np.array([weight]), np.array([v]), None, value)
        case "head_output":
            expect_dot(lines[0], data.weights[head, query], data.v[head, :, i], None, value)
        case "output":
            expect_dot(lines[0], data.head_output[:, query].ravel(), *row_of("out_proj", i), value)
        case "hidden":
            weights, bias = row_of("linear1", i)
            before = float(weights.astype(float) @ data.ff_input[query] + (bias or 0))
            expect_dot(lines[0], data.ff_input[query], weights, bias, before)
            ((kept, text),) = lines[1]["results"]
            summed = number(lines[0]["results"][0][0])
            assert numbers(lines[1]["text"]) == [0, summed, number(text)]
            assert (number(kept), number(text)) == (max(Decimal(0), summed), max(Decimal(0), summed))
            expect_model(value, kept)
        case "ff_output":
            weights, bias = row_of("linear2", i)
            firing = data.ff_hidden[query] > 0  # the others add nothing
            expect_dot(lines[0], data.ff_hidden[query][firing], weights[firing], bias, value)
        case "sum" | "ff_sum":
            part = what.removesuffix("sum")
            a, b = (float(getattr(data, part + name)[query, i]) for name in ("residual", "output"))
            expect_sum(lines[0], a, b, value)
        case "norm" | "ff_norm":
            part = what.removesuffix("norm")
            row = getattr(data, f"{part}residual" if data.norm_first else f"{part}sum")[query]
            gain, bias = (float(getattr(data, f"{part}norm_{name}")[i]) for name in ("weight", "bias"))
            expect_norm(lines[0], row, i, gain, bias, data.norm_eps, value)
        case other:
            pytest.fail(f"nobody checks {other}")


def some_of_every_name(expected: dict[str, np.ndarray], seed: int) -> list[tuple[str, int]]:
    """Two cells of every row, of two keys; and of the hidden units one that fires and one that is silent."""
    chance = np.random.default_rng(seed)
    keys = len(expected["weight"])
    left_out = {str(j) for j in chance.permutation(keys)[2:]}
    rows = {name: row for name, row in expected.items() if name.partition(":")[2] not in left_out}
    cells = [(name, int(i)) for name, row in rows.items() for i in chance.choice(len(row), 2, False)]
    hidden = expected["hidden"]
    return [*cells, ("hidden", int(hidden.argmax())), ("hidden", int(np.flatnonzero(hidden == 0)[0]))]


# ---- the table of a look, the columns of numbers, and what is said of them


def expect_table(drawn: dict[str, Any], data: SublayerValues, look: Look) -> None:
    """The model's numbers, masked where they must be, and each follows from those beside it."""
    _, _, _, head, query = look
    q, d, rows = data.q[head, query].astype(float), data.head_dim, drawn["table"]
    open_, weights = data.allowed[query], data.weights[head, query]
    for row, k, score, weight, may in zip(rows, data.k[head], data.scores[head, query], weights, open_, strict=True):
        expect_model(float(k.astype(float) @ q), row["dot"])
        expect_model(score, row["score"])
        expect_model(weight, row["weight"])
        assert row["mask"] == (row["score"] if may else "−∞")
        assert may or number(row["weight"]) == 0
        assert gives(number(row["dot"]) / Decimal(d).sqrt(), row["score"])
    heard = [row for row, may in zip(rows, open_, strict=True) if may]
    powers = [number(row["score"]).exp() for row in heard]
    for row, power in zip(heard, powers, strict=True):
        assert gives(power / sum(powers), row["weight"])
    assert gives(sum((number(row["weight"]) for row in rows), Decimal(0)), drawn["total"])
    assert number(drawn["total"]) == 1


def expect_columns(drawn: dict[str, Any], data: SublayerValues, look: Look) -> int:
    """The numbers in the cells, where these are wide enough: of how many columns the number below is the sum."""
    rows: dict[str, list[str]] = {}
    for strip in drawn["strips"]:
        assert len(strip["texts"]) in (0, len(strip["names"]))
        for name, text in zip(strip["names"], strip["texts"], strict=False):
            rows.setdefault(name, []).append(text)
    expected = shown_by(data, look)
    for name, texts in rows.items():
        for text, value in zip(texts, expected[name], strict=True):
            expect_model(value, text)
    parts = [rows[f"part:{j}"] for j in range(len(data.keys)) if f"part:{j}" in rows]
    assert len(parts) in (0, len(data.keys))
    sums = [(parts, "head_output")] if parts else []
    for part in ("", "ff_"):
        if f"{part}residual" in rows:
            sums.append(([rows[f"{part}residual"], rows[f"{part}output"]], f"{part}sum"))
    added = 0
    for terms, name in sums:
        for column, total in zip(zip(*terms, strict=True), rows[name], strict=True):
            assert gives(sum(map(number, column)), total), f"{' + '.join(column)} is not {total}"
            added += 1
    return added


def expect_facts(drawn: dict[str, Any], data: SublayerValues, look: Look) -> None:
    """How many units are active, and what LayerNorm does."""
    facts = drawn["facts"]
    assert facts.keys() == {"stage-residual", "stage-ffn", "stage-ffn_residual"}
    hidden = data.ff_hidden[look.query]
    firing = int((hidden > 0).sum())
    assert int(facts["stage-ffn"]["firing"]) == firing
    assert matching("inside.firing", count=firing, of=len(hidden)).search(facts["stage-ffn"]["text"])
    for part, stage in (("", "residual"), ("ff_", "ffn_residual")):
        read = getattr(data, f"{part}residual" if data.norm_first else f"{part}sum")[look.query].astype(float)
        norm = getattr(data, f"{part}norm")[look.query].astype(float)
        bare = (read - read.mean()) / np.sqrt(read.var() + data.norm_eps)
        values = {"mean": read.mean(), "variance": read.var(), "after": norm.mean(), "kept": norm.var()}
        fact = facts[f"stage-{stage}"]
        for name, value in values.items():
            assert float(fact[name]) == pytest.approx(value, rel=1e-4, abs=1e-5), name
        before, spread, after, kept = values.values()
        shown = re.findall(r"−?\d+\.\d+", fact["text"])
        for value, text in zip((before, spread, bare.mean(), bare.var(), after, kept), shown, strict=True):
            expect_model(value, text)


@pytest.mark.parametrize("checkpoint", SENTENCES)
def test_every_number_is_the_models_and_follows_from_those_that_are_shown(head: Head, checkpoint: str) -> None:
    head.open(checkpoint)
    added = 0
    for seed, look in enumerate(each for each in LOOKS if each.checkpoint == checkpoint):
        data, drawn = of(look), head.look(look)
        with told(look):
            expect_cells(drawn, data, look)
            expect_table(drawn, data, look)
            expect_facts(drawn, data, look)
            added += expect_columns(drawn, data, look)
        cells = some_of_every_name(shown_by(data, look), seed)
        masked = np.flatnonzero(~data.allowed[look.query])[:1]
        cells += [(name, int(j)) for j in masked for name in ("score", "mask", "weight")]
        for answer in head.arithmetic(cells):
            with told(look, answer):
                expect_arithmetic(answer, data, look)
    assert added or checkpoint != "toy", "no cells are wide enough for numbers"  # the other's may be too narrow


# ---- choosing: keys, steps, places


def test_arrow_keys_move_through_a_strip_and_not_the_steps(head: Head) -> None:
    head.open("toy")
    head.look(Look("toy", "cross", 1, 4, 3))
    title, result = head.view.locator(".arithmetic-panel h3"), head.view.locator(".arithmetic-panel .result")
    chosen = head.page.locator(".cell.chosen")
    keys = head.view.locator("#stage-qkv svg.strips").nth(2)  # five keys of eight numbers
    keys.locator(".cell").first.click()
    expect(title).to_have_text(t("cell.k", token="ich", n=1))
    keys.focus()
    data = inside("toy", "cross", 1)
    for key, (token, i) in [
        ("ArrowRight", (0, 1)),
        ("ArrowDown", (1, 1)),
        ("ArrowUp", (0, 1)),
        ("End", (0, 7)),
        ("Home", (0, 0)),
        ("ArrowUp", (0, 0)),  # no row above, and no step either
        ("ArrowLeft", (0, 0)),
    ]:
        head.page.keyboard.press(key)
        expect(title).to_have_text(t("cell.k", token=data.keys[token], n=i + 1))
        expect(chosen).to_have_count(1)
        expect(chosen).to_have_attribute("data-name", f"k:{token}")
        expect(chosen).to_have_attribute("data-index", str(i))
        expect_model(data.k[4, token, i], result.inner_text())
        assert head.visit.step == 3, key
    head.view.locator(".look .cell").nth(1).click()  # the table has buttons
    expect(chosen).to_have_attribute("data-name", "score")
    expect(title).to_have_text(t("cell.score", **{"from": "a", "to": "ich"}))


def test_steps_move_the_query_of_the_decoder_only(head: Head) -> None:
    head.open("toy")
    for kind in KINDS:
        look = Look("toy", kind, 1, 4, 2)
        head.look(look)
        for step in (0, 4):
            head.page.locator("#translation button").nth(step).click()
            there = look._replace(query=2 if kind == "encoder" else step)
            expect_cells(head.drawn(of(there).queries, there), of(there), there)
        before = head.visit.step
        head.view.locator(".queries button").nth(1).click()
        head.drawn(of(look).queries, look._replace(query=1))
        assert head.visit.step == (before if kind == "encoder" else 1)
    head.look(Look("toy", "encoder", 1, 4, 2))
    head.page.locator("#translation button").nth(4).click()
    head.press("attention.which", t("kind.cross"))
    there = Look("toy", "cross", 1, 4, 4)  # the query is the step again
    head.drawn(of(there).queries, there)


def test_another_sentence_or_model_has_its_own_numbers(head: Head) -> None:
    head.open("toy")
    look = Look("toy", "encoder", 0, 2, 0)
    head.look(look)
    sentence = "ich möchte ein cola"
    bier, cola = of(look), of(look, sentence)
    assert not np.allclose(bier.k, cola.k)
    head.arithmetic([("k:3", 0)])
    head.visit.ask(sentence)
    drawn = head.drawn(cola.queries, look)
    assert drawn["keys"] == [*cola.keys]
    expect_cells(drawn, cola, look)
    expect(head.view.locator(".arithmetic-panel h3")).to_have_text(t("inside.arithmetic"))  # the old one is gone
    (answer,) = head.arithmetic([("k:3", 0)])
    expect_arithmetic(answer, cola, look)
    head.page.locator("#checkpoint").select_option("classroom")  # which knows these words too
    there = look._replace(checkpoint="classroom")
    data = of(there, sentence)
    expect(head.view.locator(".queries button")).to_have_text(data.queries)
    expect_cells(head.look(there), data, there)
    (answer,) = head.arithmetic([("k:3", 0)])  # a row of the other model's matrix
    expect_arithmetic(answer, data, there)
    head.page.locator("#checkpoint").select_option("toy")
    head.visit.ask(SENTENCES["toy"])


ANSWERED = f"""async (question) => {{
  const {{ askAboutRun }} = await import({script("core/server-cache.js")});
  await askAboutRun("inside", {{}}, question); // was asked already: the page awaits the same answer
  await new Promise(requestAnimationFrame);
}}"""


def test_an_answer_that_comes_late_is_not_shown(head: Head) -> None:
    """What is shown is what was asked for last."""
    head.open("toy")
    page, held = head.page, list[Route]()
    head.look(Look("toy", "cross", 0, 4, 1))

    def hold(route: Route) -> None:
        asked = (route.request.post_data or "").replace(" ", "")
        held.append(route) if '"layer":2' in asked else route.continue_()

    page.route(re.compile("/component_server"), hold)
    head.press("layer", "3")
    head.press("layer", "6")
    look = Look("toy", "cross", 5, 4, 1)
    expect_cells(head.drawn(of(look).queries, look), of(look), look)
    (route,) = held
    route.continue_()
    page.evaluate(ANSWERED, {"kind": "cross", "layer": 2})
    expect_cells(head.drawn(of(look).queries, look), of(look), look)
    page.unroute_all()


def test_on_a_phone_a_cell_opens_its_arithmetic_and_close_closes_it(head: Head) -> None:
    head.open("toy")
    head.look(LOOKS[0])
    head.page.set_viewport_size({"width": 390, "height": 844})
    panel, cells = head.view.locator(".arithmetic-panel"), head.view.locator("rect.cell[data-name=q]")
    expect(cells).to_have_count(8)
    expect(panel).to_be_hidden()
    cells.nth(3).click()
    expect(panel).to_be_in_viewport()
    expect(panel.locator(".result")).to_be_visible()
    assert head.page.evaluate("document.scrollingElement.scrollWidth <= innerWidth")
    panel.get_by_role("button", name=t("close")).click()
    expect(panel).to_be_hidden()
    head.page.set_viewport_size({"width": 1920, "height": 1080})


# ---- shapes


PLACES: dict[str, dict[str, Any]] = {  # where each of them is drawn
    "source_ids": {"tab": "lesson", "stop": 0},
    "source_embedding": {"tab": "lesson", "stop": 1},
    "source_input": {"tab": "positions", "stack": "encoder"},
    "encoder_qkv": {"tab": "inside", "kind": "encoder"},
    "encoder_attention": {"tab": "attention", "kind": "encoder"},
    "encoder_hidden": {"tab": "inside", "kind": "encoder"},
    "memory": {"tab": "lesson", "stop": 9},
    "target_ids": {"tab": "lesson", "stop": 0},
    "target_embedding": {"tab": "lesson", "stop": 1},
    "target_input": {"tab": "positions", "stack": "decoder"},
    "decoder_qkv": {"tab": "inside", "kind": "decoder"},
    "decoder_attention": {"tab": "attention", "kind": "decoder"},
    "cross_q": {"tab": "inside", "kind": "cross"},
    "cross_kv": {"tab": "inside", "kind": "cross"},
    "cross_attention": {"tab": "attention", "kind": "cross"},
    "decoder_hidden": {"tab": "inside", "kind": "decoder"},
    "logits": {"tab": "lesson", "stop": 12},
    "loss_logits": {"tab": "lesson", "stop": 13},
}


@pytest.mark.parametrize("checkpoint", SENTENCES)
def test_the_table_of_shapes_is_right_and_leads_to_each_stage(head: Head, checkpoint: str) -> None:
    head.open(checkpoint)
    config, seen = translator(checkpoint).checkpoint.model.config, run(checkpoint)
    lengths = len(seen.source), len(seen.decoder_input)
    paper = TransformerConfig(config.src_vocab_size, config.tgt_vocab_size)
    expected = [
        [here.stage, f" × {here.layers}" if here.layers > 1 else "", str(here.shape), str(there.shape)]
        for here, there in zip(shapes(config, *lengths), shapes(paper, *lengths), strict=True)
    ]
    rows = head.view.locator(".shapes tbody tr")
    expect(rows.first.locator("td").first).to_have_text(expected[0][2])
    read = (
        "all => all.map((row) => [row.dataset.stage, row.querySelector('small')?.textContent ?? '', "
        "...[...row.querySelectorAll('td')].map((cell) => cell.textContent)])"
    )
    assert rows.evaluate_all(read) == expected
    for name, there in PLACES.items() if checkpoint == "toy" else ():
        head.visit.tab("inside")
        if name.endswith(("qkv", "hidden")):
            head.look(Look("toy", "cross", 1, 1, 1))
        rows.and_(head.page.locator(f"[data-stage={name}]")).get_by_role("button").click()
        expect(head.page.locator(f"[role=tab][data-tab-id={there['tab']}]")).to_have_attribute("aria-selected", "true")
        assert place(head.page) == place(head.page) | there, name
        if there["tab"] == "inside":
            stage = "ffn" if name.endswith("hidden") else "qkv"
            expect(head.view.locator(f"#stage-{stage} h3")).to_be_in_viewport()


def test_a_tab_that_was_clicked_early_stays_open(visit: Visit) -> None:
    """Even if the title line, which keeps the tabs, comes late over a slow line."""
    held: list[Route] = []
    visit.page.route("**/js/shell/header.js", lambda route: held.append(route))
    visit.open()
    visit.tab("inside")
    for route in held:
        route.continue_()
    visit.page.locator("#checkpoint").wait_for()
    expect(visit.page.locator("[role=tab][data-tab-id=inside]")).to_have_attribute("aria-selected", "true")
    expect(visit.page.locator("#inside .stage")).to_have_count(len(STAGES))
