// The worksheet of a handout: two pages of questions about this run, with its own maps and room to write, and the
// answers on a page of their own, all computed from the run.

import { heatmap, markRow, thumbnail } from "../charts/attention-map.js";
import { h, word } from "../core/dom.js";
import { formatList, formatPercent, joinSentences, nodes, t } from "../core/i18n.js";
import { cells, rowHeading } from "../core/parts.js";
import { fetchSublayer } from "../core/server-cache.js";
import { argmax, attentionRow, likelihood, SIDES, state } from "../core/state.js";
import { revealedQuestions, room } from "../net/room.js";
import { summaryTable } from "./class-tally.js";
import { explainLikelihood } from "./describe-likelihood.js";

/** @import { Child, Kind, Server } from "../core/types.d.ts" */
/** A question with what stands under it, lines to write on, and its answer. */
/** @typedef {{ question: Child, figure?: Child, lines: number, answer: Child }} Item */

const ON_FIRST_PAGE = 4; // questions
const MAX_CELL = 44; // px, so that two maps and their questions go on a page
const MAX_HEADS = 8; // small maps of a layer
const CLEAR = 0.8; // a highest weight that leaves something to the other words

/** The three pages. @param {Server} server @param {number} width of a page, px */
export async function worksheet(server, width) {
  const { run } = state;
  const place = crossPlace();
  const sublayer = await fetchSublayer(server, "cross", place.layer);
  const scores = [...sublayer.at("scores", place.head, place.query)];
  const items = [
    shapes(),
    strongest(place, width),
    rowSum(place),
    softmax(place, scores),
    mask(place, width),
    heads(place),
    product(),
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

/** What the class has answered, if this page has led one. */
function classPage() {
  const questions = room.role === "teacher" ? revealedQuestions() : [];
  if (!questions.length) return null;
  return h("section", { class: "page class" }, h("h1", {}, t("room.summary")), summaryTable(questions));
}

/** @typedef {{ layer: number, head: number, query: number }} Place */

/** The head of cross-attention that is in view, and a row of it that is worth computing. @returns {Place} */
function crossPlace() {
  const { layers, heads, queries } = state.run.attention.cross;
  const [layer, head] = [Math.min(state.layer, layers - 1), Math.min(state.head, heads - 1)];
  const highest = queries.map((_, query) => Math.max(...attentionRow("cross", layer, head, query)));
  return { layer, head, query: argmax(highest.map((weight) => -Math.abs(weight - CLEAR))) };
}

/** A row as what the decoder reads and then outputs. @param {number} query */
const rowName = (query) => {
  const { decoder_input, output } = state.run;
  return h("span", {}, word(decoder_input[query], "target"), " → ", word(output[query], "target"));
};

/**
 * The map of a head, of the size that fits a page.
 * @param {Kind} kind @param {number} layer @param {number} head @param {number} width
 */
function figureOf(kind, layer, head, width) {
  const picture = heatmap(kind, layer, head, { width, sides: SIDES[kind], maxCell: MAX_CELL, isOnPaper: true });
  markRow(picture, null);
  return h("div", { class: "figure" }, picture);
}

/** @returns {Item} */
function shapes() {
  const { source, decoder_input } = state.run;
  const places = { source: source.length, target: decoder_input.length };
  const tokens = (/** @type {string[]} */ list, /** @type {"source" | "target"} */ side) =>
    h(
      "p",
      {},
      list.flatMap((token) => [word(token, side), " "]),
    );
  return {
    question: t("worksheet.shapes", places),
    figure: [tokens(source, "source"), tokens(decoder_input, "target")],
    lines: 2,
    answer: t("worksheet.shapes.answer", places),
  };
}

/** @param {Place} place @param {number} width @returns {Item} */
function strongest({ layer, head }, width) {
  const { run } = state;
  const found = run.output.map((_, query) => {
    const weights = attentionRow("cross", layer, head, query);
    const key = argmax(weights);
    return [rowName(query), ": ", word(run.source[key], "source"), ` ${formatPercent(weights[key])}`];
  });
  return {
    question: t("worksheet.strongest", { layer: layer + 1, head: head + 1 }),
    figure: figureOf("cross", layer, head, width),
    lines: 1,
    answer: formatList(found),
  };
}

/** @param {Place} place @returns {Item} */
const rowSum = ({ query }) => ({
  question: nodes("worksheet.sum", { row: rowName(query) }),
  lines: 1,
  answer: t("worksheet.sum.answer"),
});

/** @param {Place} place @param {number[]} scores @returns {Item} */
function softmax({ layer, head, query }, scores) {
  const { source, attention } = state.run;
  const allowed = attention.cross.allowed[query];
  const weights = attentionRow("cross", layer, head, query);
  const open = [...source.keys()].filter((key) => allowed[key]);
  const given = open.map((key) => scores[key].toFixed(2));
  const row = (/** @type {string} */ name, /** @type {Child[]} */ values) =>
    h("tr", {}, rowHeading(name), cells(values));
  const table = h(
    "table",
    { class: "given" },
    h("tbody", {}, [
      row(
        t("worksheet.softmax.word"),
        open.map((key) => word(source[key], "source")),
      ),
      row(t("worksheet.softmax.score"), given),
      row(
        "exp",
        open.map(() => ""),
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

/** @param {Place} place @param {number} width @returns {Item} */
function mask({ layer, head }, width) {
  const { layers, heads } = state.run.attention.decoder;
  const [ofLayer, ofHead] = [Math.min(layer, layers - 1), Math.min(head, heads - 1)];
  return {
    question: t("worksheet.mask", { layer: ofLayer + 1, head: ofHead + 1 }),
    figure: figureOf("decoder", ofLayer, ofHead, width),
    lines: 2,
    answer: t("worksheet.mask.answer"),
  };
}

/** @param {Place} place @returns {Item} */
function heads({ layer, query }) {
  const { run } = state;
  const count = Math.min(run.attention.cross.heads, MAX_HEADS);
  const all = Array.from({ length: count }, (_, head) => head);
  const picture = (/** @type {number} */ head) =>
    h("div", {}, thumbnail("cross", layer, head, state.run, true), h("small", {}, t("head_n", { head: head + 1 })));
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

/** @returns {Item} */
function product() {
  const { run } = state;
  const found = run.steps.map(({ token, probability }) => [word(token, "target"), ` ${formatPercent(probability)}`]);
  const whole = t("worksheet.product.answer", { whole: formatPercent(likelihood(run)) });
  return {
    question: nodes("worksheet.product", { found: formatList(found) }),
    lines: 1,
    answer: joinSentences(whole, explainLikelihood(run)),
  };
}

/** @returns {Item} */
const guess = () => ({ question: t("worksheet.guess"), lines: 2, answer: t("worksheet.guess.answer") });
