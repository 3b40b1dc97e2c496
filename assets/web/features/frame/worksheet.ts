// The worksheet of a handout: two pages of questions about this run, with its own maps and room to write, and the
// answers on a page of their own, all computed from the run.

import { revealedQuestions, room } from "../../api/room.ts";
import type { Child, Kind } from "../../api/types.ts";
import { isLongDrawing } from "../../charts/attention-lines.ts";
import { heatmap } from "../../charts/attention-map.ts";
import { thumbnail } from "../../charts/map-canvas.ts";
import type { DrawnMap } from "../../charts/map-parts.ts";
import { formatList, formatPercent, joinSentences, nodes, t } from "../../state/i18n.ts";
import { fetchSublayer } from "../../state/server-cache.ts";
import { argmax, attentionRow, likelihood, SIDES, state } from "../../state/state.ts";
import { summaryTable } from "../../ui/class-answers.ts";
import { explainLikelihood } from "../../ui/describe-likelihood.ts";
import { h, word } from "../../ui/dom.ts";
import { cells, rowHeading } from "../../ui/parts.ts";

/** A question with what stands under it, lines to write on, and its answer. */
type Item = { question: Child; figure?: Child; lines: number; answer: Child };

const ON_FIRST_PAGE = 4; // questions
const MAX_CELL = 44; // px, so that two maps and their questions go on a page
const MAX_HEIGHT = 300; // px: what is higher shrinks, with its words
const MAX_HEADS = 8; // small maps of a layer
const MAX_WORDS = 12; // rows and columns of a map that can be read on paper
const MAX_TOKENS = 24; // that are listed
const CLEAR = 0.8; // a highest weight that leaves something to the other words

/** The three pages. @param width of a page, px */
export async function worksheet(width: number) {
  const { run } = state;
  const place = crossPlace();
  const sublayer = await fetchSublayer("cross", place.layer);
  const scores = [...sublayer.at("scores", place.head, place.query)];
  const items = [
    shapes(),
    strongest(place, width),
    rowSum(place),
    softmax(place, scores),
    mask(place, width),
    heads(place),
    ...(isLong() ? [] : [product()]), // a hundred factors are too many for pencil and paper
    guess(),
  ];
  const source = word(run.sentence, "source");
  const target = word(run.text, "target");
  const head = [
    h("p", { class: "named" }, h("span", {}, t("worksheet.name")), h("span", {}, t("worksheet.date"))),
    h("h1", {}, t("worksheet.title")),
    h("p", {}, nodes("worksheet.about", { source, target, checkpoint: run.checkpoint })),
  ];
  const asked = items.map(({ question, figure, lines }, i) => [
    h("h3", {}, t("worksheet.question", { n: i + 1 })),
    h("p", {}, question),
    figure ?? null,
    h(
      "div",
      { class: "lines" },
      Array.from({ length: lines }, () => h("div")),
    ),
  ]);
  const answered = items.map(({ answer }) => h("li", {}, answer));
  return [
    h("section", { class: "page" }, head, asked.slice(0, ON_FIRST_PAGE)),
    h("section", { class: "page" }, asked.slice(ON_FIRST_PAGE)),
    h("section", { class: "page answers" }, h("h1", {}, t("worksheet.answers")), h("ol", {}, answered)),
    classPage(),
  ];
}

/** The class's answers, if this page has led one. */
function classPage() {
  const questions = room.role === "teacher" ? revealedQuestions() : [];
  if (!questions.length) return null;
  return h("section", { class: "page class" }, h("h1", {}, t("room.summary")), summaryTable(questions));
}

export type Place = { layer: number; head: number; query: number };

/** The head of cross-attention that is in view, and a row of it that is worth computing. */
function crossPlace(): Place {
  const { layers, heads, queries } = state.run.attention.cross;
  const [layer, head] = [Math.min(state.layer, layers - 1), Math.min(state.head, heads - 1)];
  const highest = queries.map((_, query) => Math.max(...attentionRow("cross", layer, head, query)));
  return { layer, head, query: argmax(highest.map((weight) => -Math.abs(weight - CLEAR))) };
}

/** A row as what the decoder reads and then outputs. */
const rowName = (query: number) => {
  const { decoder_input, output } = state.run;
  return h("span", {}, word(decoder_input[query], "target"), " → ", word(output[query], "target"));
};

const isLong = () => isLongDrawing(state.run, "cross");

/** As many numbers up to `count` as can be read, around one of them. */
const around = (count: number, middle = 0) => {
  const from = Math.max(0, Math.min(middle - MAX_WORDS / 2, count - MAX_WORDS));
  return Array.from({ length: Math.min(count, MAX_WORDS) }, (_, i) => from + i);
};

/**
 * The rows and columns of cross-attention that are drawn: of a long sentence the rows around one, and the words that
 * get most of their weight.
 */
function crossCells({ layer, head, query }: Place) {
  const { queries, keys } = state.run.attention.cross;
  if (!isLong()) return { rows: [...queries.keys()], columns: [...keys.keys()] };
  const rows = around(queries.length, query);
  const weights = rows.map((row) => attentionRow("cross", layer, head, row));
  const weightOf = (key: number) => weights.reduce((sum, row) => sum + row[key], 0);
  const byWeight = [...keys.keys()].sort((a, b) => weightOf(b) - weightOf(a));
  return { rows, columns: byWeight.slice(0, MAX_WORDS).sort((a, b) => a - b) };
}

/** The map of a head, of the size that fits a page: its cells in these rows and columns. */
function figureOf(
  kind: Kind,
  layer: number,
  head: number,
  width: number,
  { rows, columns }: { rows: number[]; columns: number[] },
) {
  const { run } = state;
  const { queries, keys, allowed } = run.attention[kind];
  const options = { width, sides: SIDES[kind], maxCell: MAX_CELL, maxHeight: MAX_HEIGHT, isOnPaper: true };
  if (!isLong()) return paperFigure(heatmap(kind, layer, head, options));
  const maps = {
    layers: 1,
    heads: 1,
    queries: rows.map((row) => queries[row]),
    keys: columns.map((key) => keys[key]),
    allowed: rows.map((row) => columns.map((key) => allowed[row][key])),
    values: rows.flatMap((row) => columns.map((key) => attentionRow(kind, layer, head, row)[key])),
  };
  const drawn = {
    ...run,
    attention: { ...run.attention, [kind]: maps },
    output: rows.map((row) => run.output[row]),
    reference: null,
  };
  const places = { rows: rows.length, target: queries.length, columns: columns.length, source: keys.length };
  return [paperFigure(heatmap(kind, 0, 0, { ...options, run: drawn })), h("p", {}, t("worksheet.excerpt", places))];
}

function paperFigure(map: DrawnMap) {
  map.mark(null);
  return h("div", { class: "figure" }, map.element);
}

function shapes(): Item {
  const { source, decoder_input } = state.run;
  const places = { source: source.length, target: decoder_input.length };
  const tokens = (list: string[], side: "source" | "target") =>
    h(
      "p",
      {},
      (list.length > MAX_TOKENS ? [...list.slice(0, MAX_TOKENS), "…"] : list).flatMap((token) => [
        word(token, side),
        " ",
      ]),
    );
  return {
    question: t("worksheet.shapes", places),
    figure: [tokens(source, "source"), tokens(decoder_input, "target")],
    lines: 2,
    answer: t("worksheet.shapes.answer", places),
  };
}

function strongest(place: Place, width: number): Item {
  const { run } = state;
  const { layer, head } = place;
  const part = crossCells(place);
  const found = part.rows.map((query) => {
    const weights = attentionRow("cross", layer, head, query);
    const key = argmax(weights);
    return [rowName(query), ": ", word(run.source[key], "source"), ` ${formatPercent(weights[key])}`];
  });
  return {
    question: t("worksheet.strongest", { layer: layer + 1, head: head + 1 }),
    figure: figureOf("cross", layer, head, width, part),
    lines: 1,
    answer: formatList(found),
  };
}

const rowSum = ({ query }: Place): Item => ({
  question: nodes("worksheet.sum", { row: rowName(query) }),
  lines: 1,
  answer: t("worksheet.sum.answer"),
});

function softmax(place: Place, scores: number[]): Item {
  const { source, attention } = state.run;
  const { layer, head, query } = place;
  const allowed = attention.cross.allowed[query];
  const weights = attentionRow("cross", layer, head, query);
  const { columns } = crossCells(place);
  const open = columns.filter((key) => allowed[key]);
  const others = [...source.keys()].filter((key) => allowed[key] && !columns.includes(key));
  const sum = others.reduce((total, key) => total + Math.exp(scores[key]), 0);
  const given = open.map((key) => scores[key].toFixed(2));
  const row = (name: string, values: Child[], rest: Child = "") =>
    h("tr", {}, rowHeading(name), cells(others.length ? [...values, rest] : values));
  const table = h(
    "table",
    { class: "given" },
    h("tbody", {}, [
      row(
        t("worksheet.softmax.word"),
        open.map((key) => word(source[key], "source")),
        t("worksheet.others", { count: others.length }),
      ),
      row(t("worksheet.softmax.score"), given),
      row(
        "exp",
        open.map(() => ""),
        sum.toPrecision(3),
      ),
      row(
        t("worksheet.softmax.weight"),
        open.map(() => ""),
      ),
    ]),
  );
  const found = open.map((key) => [word(source[key], "source"), ` ${weights[key].toFixed(2)}`]);
  return {
    question: nodes("worksheet.softmax", { row: rowName(query) }),
    figure: table,
    lines: 0,
    answer: [formatList(found), `. ${t("worksheet.softmax.answer")}`],
  };
}

function mask({ layer, head }: Place, width: number): Item {
  const { layers, heads } = state.run.attention.decoder;
  const [ofLayer, ofHead] = [Math.min(layer, layers - 1), Math.min(head, heads - 1)];
  const { length } = state.run.decoder_input;
  const first = isLong() ? around(length) : [...Array(length).keys()];
  return {
    question: t("worksheet.mask", { layer: ofLayer + 1, head: ofHead + 1 }),
    figure: figureOf("decoder", ofLayer, ofHead, width, { rows: first, columns: first }),
    lines: 2,
    answer: t("worksheet.mask.answer"),
  };
}

function heads({ layer, query }: Place): Item {
  const { run } = state;
  const count = Math.min(run.attention.cross.heads, MAX_HEADS);
  const all = Array.from({ length: count }, (_, head) => head);
  const picture = (head: number) =>
    h("div", {}, thumbnail("cross", layer, head), h("small", {}, t("head_n", { head: head + 1 })));
  const found = all.map((head) => {
    const weights = attentionRow("cross", layer, head, query);
    const key = argmax(weights);
    return [`${t("head_n", { head: head + 1 })}: `, word(run.source[key], "source"), ` ${formatPercent(weights[key])}`];
  });
  return {
    question: t("worksheet.heads", { layer: layer + 1 }),
    figure: h("div", { class: "small-maps" }, all.map(picture)),
    lines: 2,
    answer: nodes("worksheet.heads.answer", { row: rowName(query), found: formatList(found) }),
  };
}

function product(): Item {
  const { run } = state;
  const found = run.steps.map(({ token, probability }) => [word(token, "target"), ` ${formatPercent(probability)}`]);
  const whole = t("worksheet.product.answer", { whole: formatPercent(likelihood(run)) });
  return {
    question: nodes("worksheet.product", { found: formatList(found) }),
    lines: 1,
    answer: joinSentences(whole, explainLikelihood(run)),
  };
}

const guess = (): Item => ({ question: t("worksheet.guess"), lines: 2, answer: t("worksheet.guess.answer") });
