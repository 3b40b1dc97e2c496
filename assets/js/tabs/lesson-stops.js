// The 14 stops of the lesson: what each draws, and a question about this run with its answer.

import { describeLargestWeights, heatmap, mapHeading, markRow, thumbnail } from "../charts/attention-map.js";
import { shapeChain } from "../charts/sublayer-stages.js";
import { fluidPicture, vectorStrips } from "../charts/vector-strip.js";
import { chip, h, scrollBox, word } from "../core/dom.js";
import { formatNumber, formatPercent, t } from "../core/i18n.js";
import { commonDigits, dot, fixed, products, sum } from "../core/numbers.js";
import { askOnce } from "../core/server-cache.js";
import { argmax, attentionRow, decodeFloats, SIDES } from "../core/state.js";
import { encoderHead, encoderInput, forcedMistake, highestCrossStep, wordInEveryLayer } from "./lesson-view.js";
import { comparisonTable } from "./teacher-forcing.js";
import { candidate, MAX_CANDIDATES } from "./translate.js";

/** @import { ForcedRow } from "#schema" */
/** @import { Stage } from "../charts/sublayer-stages.js" */
/** @import { Row } from "../charts/vector-strip.js" */
/** @import { Child, Kind, Places, Run, Side } from "../core/types.d.ts" */
/** @import { LessonView } from "./lesson-view.js" */
/**
 * `right` is the index of the right choice; `places` fill the stop's texts.
 * @typedef {{ choices: string[], right: number, places: Places }} Quiz
 */
/**
 * Keys of the texts of a stop; `more` follows the first.
 * @typedef {Record<"text" | "question" | "reveal" | "more", string>} Texts
 */
/**
 * A stop of the lesson. Its figure is a `stage` of a head, or drawn under a headline of its own: a formula and its
 * shapes. It `hides` where it would give the answer away. `texts` are those that differ for a model from the usual.
 * @typedef {{ hides?: boolean, texts?: (view: LessonView) => Partial<Texts>,
 *   ask: (view: LessonView) => Quiz | Promise<Quiz> } & (
 *     { stage: Stage, columns?: string[] } |
 *     { headline: (view: LessonView) => [string, string], draw: (view: LessonView) => Child | Promise<Child> }
 *   )} Stop
 */
/** @typedef {typeof import("../core/state.js").LESSON_STOPS[number]} StopName */

const MIN_FAR = 5; // positions, at least, to tell near from far
const MAX_CHOICES = 4; // of a question about one of many

/** @type {Record<StopName, Stop>} */
export const STOPS = {
  tokens: {
    headline: ({ run }) => ["word → id", shapeChain([1, run.source.length])],
    texts: ({ run }) => (run.model.tied ? { text: "lesson.tokens.text_tied" } : {}),
    draw: ({ run }) => [
      tokenIds("source", run.source, run.ids.source),
      tokenIds("target", run.decoder_input, run.ids.decoder_input),
    ],
    ask({ run }) {
      const count = run.source.length;
      const words = run.source.filter((token) => token !== "P").length;
      const places = { count, words, last: run.ids.source.at(-1) };
      return numberQuiz([count, words, run.model.source_words, run.output.length, count + 1], count, places);
    },
  },
  embeddings: {
    headline: ({ run }) => [
      "x = √d_model · E[id]",
      shapeChain([1, run.source.length], [1, run.source.length, run.model.d_model]),
    ],
    texts: ({ run }) => (run.model.positions ? {} : { text: "lesson.embeddings.text_bare" }),
    draw: async (view) => strips(view, await tokenRows(view, "embedding"), t("lesson.embeddings.figure")),
    async ask(view) {
      const { embedding, d_model } = await encoderInput(view);
      const factor = Math.sqrt(d_model);
      const length = Math.sqrt(dot(embedding[view.query], embedding[view.query]));
      const shown = products([length / factor], [factor], null, length);
      const [[a, b]] = shown.terms;
      const places = { ...view.places, d_model, factor: rounded(factor), sum: `${a} × ${b} = ${shown.result}` };
      return numberQuiz([factor, d_model, d_model / 2, 1], factor, places);
    },
  },
  positions: {
    headline: ({ run }) => [
      run.model.positions
        ? "PE(pos, 2i) = sin(pos ÷ 10000^{2i/d})    PE(pos, 2i + 1) = cos(pos ÷ 10000^{2i/d})"
        : "x = √d_model · E[id] + 0",
      shapeChain([1, run.source.length, run.model.d_model]),
    ],
    texts({ run }) {
      if (run.model.positions) return {};
      const [text, question, reveal] = ["text", "question", "reveal"].map((name) => `lesson.positions.${name}_bare`);
      return { text, question, reveal };
    },
    async draw(view) {
      if (!view.run.model.positions) return strips(view, await tokenRows(view, "input"), t("lesson.embeddings.figure"));
      const { embedding, positions, input } = await encoderInput(view);
      const vectors = [embedding, positions, input].map((values) => values[view.query]);
      const digits = commonDigits(vectors.slice(0, 2), vectors[2]);
      const rows = ["embedding", "+ position", "= input"].map((name, i) => ({
        label: t(`figure.${name}`),
        name,
        values: vectors[i],
        digits: i < 2 || digits === null ? digits : 2,
      }));
      const explain = (/** @type {number} */ i) => {
        const [a, b, result] = vectors.map((values) => values[i]);
        const shown = sum(a, b, result);
        const addend = shown.terms[1].startsWith("−") ? `(${shown.terms[1]})` : shown.terms[1];
        const line = [`${shown.terms[0]} + ${addend} = `, h("b", { class: "result" }, shown.result)];
        view.showArithmetic(t("cell.input", { n: i + 1 }), [h("p", { class: "arithmetic" }, line)]);
      };
      return strips(view, rows, t("lesson.positions.figure"), explain);
    },
    async ask({ run, server }) {
      if (!run.model.positions)
        return { choices: [t("lesson.positions.other"), t("lesson.positions.same")], right: 1, places: {} };
      const length = Math.max(MIN_FAR, run.source.length);
      const question = { length, d_model: run.model.d_model };
      const { similarity } = await askOnce("positional_encoding", question, server.positional_encoding);
      const toFirst = decodeFloats(similarity); // of position 1 to position i
      const pair = (/** @type {number} */ position) => t("lesson.positions.pair", { a: 1, b: position });
      const places = { near: toFirst[1].toFixed(2), far: toFirst[length - 1].toFixed(2), last: length };
      return { choices: [pair(2), pair(length)], right: toFirst[1] >= toFirst[length - 1] ? 0 : 1, places };
    },
  },
  qkv: {
    stage: "qkv",
    texts: ({ run }) =>
      run.model.heads > 1 ? {} : { question: "lesson.qkv.question_alone", reveal: "lesson.qkv.reveal_alone" },
    ask({ run }) {
      const { heads, d_model } = run.model;
      const width = d_model / heads;
      return numberQuiz([d_model, width, heads, 2 * d_model], width, { d_model, heads, width });
    },
  },
  scores: {
    hides: true,
    stage: "scores",
    columns: ["dot", "scaled"],
    async ask(view) {
      const { data, head, query } = await encoderHead(view);
      const row = data.at("scores", head, query);
      const right = argmax(row);
      const places = {
        ...view.places,
        key: word(data.keys[right], "source"),
        score: fixed(row[right], 2),
        padding: data.allowed[query][right] ? "" : t("lesson.scores.padding"),
      };
      return { choices: distinct(data.keys), right, places };
    },
  },
  softmax: {
    hides: true,
    stage: "scores",
    async ask(view) {
      const { data, head, query } = await encoderHead(view);
      const weights = data.at("weights", head, query);
      const key = argmax(weights);
      const highest = weights[key];
      const open = data.allowed[query].filter(Boolean).length;
      const places = {
        ...view.places,
        key: word(data.keys[key], "source"),
        share: formatPercent(highest),
        equal: formatPercent(1 / open),
        masked: data.allowed[query].length - open,
        open,
      };
      return valueQuiz([highest, 1 / open, 1, highest / 2], highest, formatPercent, places);
    },
  },
  heads: {
    headline: ({ run }) => [
      "head_i = softmax(Q_i K_i^T ÷ √d_k) V_i",
      shapeChain([1, run.model.heads, run.source.length, run.source.length]),
    ],
    hides: true,
    texts: ({ run }) => (run.model.heads > 1 ? {} : { text: "lesson.heads.text_alone" }),
    draw({ run, layer }) {
      const figures = Array.from({ length: run.attention.encoder.heads }, (_, head) => {
        const name = t("head_n", { head: head + 1 });
        const label = `${name}: ${describeLargestWeights("encoder", layer, head, run)}`;
        const picture = thumbnail("encoder", layer, head, run);
        return h("figure", { "data-head": head, "aria-label": label }, picture, h("small", {}, name));
      });
      return h("div", { class: "heads" }, figures);
    },
    ask({ run, layer }) {
      const { heads: count, queries } = run.attention.encoder;
      const highest = Array.from({ length: count }, (_, head) =>
        Math.max(...queries.flatMap((token, q) => (token === "P" ? [] : attentionRow("encoder", layer, head, q, run)))),
      );
      const right = argmax(highest);
      const places = { heads: count, layer: layer + 1, head: right + 1, share: formatPercent(highest[right]) };
      return oneOfMany(count, right, (head) => t("head_n", { head: head + 1 }), places);
    },
  },
  residual: {
    hides: true,
    stage: "residual",
    texts: ({ run }) => (run.model.norm_first ? { text: "lesson.residual.text_first" } : {}),
    async ask(view) {
      const { data, query } = await encoderHead(view);
      const [own, change] = ["residual", "output"].map((name) => norm(data.at(name, query)));
      const places = { ...view.places, own: fixed(own, 2), change: fixed(change, 2) };
      return { choices: [t("lesson.residual.own"), t("lesson.residual.change")], right: own >= change ? 0 : 1, places };
    },
  },
  ffn: {
    hides: true,
    stage: "ffn",
    async ask(view) {
      const { data, query } = await encoderHead(view);
      const hidden = data.at("ff_hidden", query);
      const firing = hidden.filter((value) => value > 0).length;
      const { d_model, d_ff } = view.run.model;
      const isMost = 2 * d_model * d_ff > 4 * d_model ** 2; // of the weights of an encoder layer
      const places = {
        ...view.places,
        firing,
        of: hidden.length,
        share: formatPercent(firing / hidden.length),
        most: isMost ? t("lesson.ffn.most") : "",
      };
      const right = Math.min(3, Math.floor((4 * firing) / hidden.length));
      return { choices: [1, 2, 3, 4].map((quarter) => t(`lesson.ffn.quarter${quarter}`)), right, places };
    },
  },
  stack: {
    headline: ({ run }) => [
      "x ← layer_n(x), n = 1 … N",
      `${shapeChain([1, run.source.length, run.model.d_model])} × ${run.attention.encoder.layers}`,
    ],
    hides: true,
    texts: ({ run }) => ({
      ...(run.attention.encoder.layers > 1 ? {} : { text: "lesson.stack.text_alone" }),
      ...(run.model.final_norm ? { more: "lesson.stack.norm" } : {}),
    }),
    async draw(view) {
      const vectors = await wordInEveryLayer(view);
      const label = (/** @type {number} */ layer) => (layer ? t("layer_n", { layer }) : t("lesson.stack.input"));
      const rows = vectors.map((values, layer) => ({ label: label(layer), values }));
      return strips(view, rows, t("lesson.stack.figure"));
    },
    async ask(view) {
      const vectors = await wordInEveryLayer(view);
      const moves = vectors.slice(1).map((values, i) => norm(values.map((value, n) => value - vectors[i][n])));
      const right = argmax(moves);
      const places = { ...view.places, layers: moves.length, layer: right + 1, distance: fixed(moves[right], 2) };
      return oneOfMany(moves.length, right, (layer) => t("layer_n", { layer: layer + 1 }), places);
    },
  },
  masked: {
    headline: ({ run }) => [
      "softmax(Q K^T ÷ √d_k + M),  M = 0, −∞",
      shapeChain([1, run.model.heads, run.output.length, run.output.length]),
    ],
    draw: (view) => map(view, "decoder", view.layer, view.head, null),
    ask({ run }) {
      const { allowed, queries } = run.attention.decoder;
      const closed = allowed.flat().filter((open) => !open).length;
      const count = queries.length;
      const cells = count * count;
      const places = { masked: closed, count, cells, first: word(run.decoder_input[0], "target") };
      return numberQuiz([closed, count, cells, cells - closed], closed, places);
    },
  },
  cross: {
    headline: ({ run }) => [
      "softmax(Q_dec K_enc^T ÷ √d_k) V_enc",
      shapeChain([1, run.model.heads, run.output.length, run.source.length]),
    ],
    hides: true,
    draw: (view) => map(view, "cross", view.crossLayer, view.crossHead, highestCrossStep(view)),
    ask(view) {
      const { run, crossLayer: layer, crossHead: head } = view;
      const step = highestCrossStep(view);
      const weights = attentionRow("cross", layer, head, step, run);
      const right = argmax(weights);
      const places = {
        said: word(run.output[step], "target"),
        read: word(run.decoder_input[step], "target"),
        layer: layer + 1,
        head: head + 1,
        key: word(run.source[right], "source"),
        share: formatPercent(weights[right]),
        step: step + 1,
      };
      return { choices: distinct(run.source), right, places };
    },
  },
  logits: {
    hides: true,
    texts: ({ run }) => (run.model.tied ? { text: "lesson.logits.text_tied" } : {}),
    headline: ({ run }) => [
      run.model.tied ? "p = softmax(x E^T + b)" : "p = softmax(x W + b)",
      shapeChain([1, run.output.length, run.model.d_model], [1, run.output.length, run.model.target_words]),
    ],
    draw({ run, step }) {
      const shown = run.steps[step].candidates.slice(0, MAX_CANDIDATES);
      const items = shown.map((each) => candidate(each, each.token === run.output[step]));
      return h("ol", { class: "candidates" }, items);
    },
    ask({ run, step }) {
      const [first, second, ...others] = run.steps[step].candidates;
      const choices = [second, ...others.slice(0, MAX_CHOICES - 1)].map(({ token }) => token).sort();
      const places = {
        words: run.model.target_words,
        read: word(run.decoder_input.slice(0, step + 1).join(" "), "target"),
        first: word(first.token, "target"),
        share: formatPercent(first.probability),
        second: word(second.token, "target"),
        second_share: formatPercent(second.probability),
      };
      return { choices, right: choices.indexOf(second.token), places };
    },
  },
  loop: {
    headline: ({ run }) => [
      "y_t = argmax p(y | S, y_1 … y_{t−1})",
      shapeChain([1, "t"], [1, "t", run.model.target_words], [1, 1]),
    ],
    hides: true,
    draw: async (view) => scrollBox(comparisonTable(await forcedMistake(view), false)),
    async ask(view) {
      const { teacher, free, slip } = await forcedMistake(view);
      const after = (/** @type {ForcedRow[]} */ steps, /** @type {"wanted" | "said"} */ name) =>
        steps.map((step) => step[name]).join(" ");
      const isSame = after(teacher.slice(slip + 1), "wanted") === after(free.slice(slip + 1), "said");
      const places = {
        step: slip + 1,
        slipped: word(free[slip].said, "target"),
        right_word: word(teacher[slip].wanted ?? "", "target"),
        free: word(after(free, "said"), "target"),
        chance: formatPercent(free[slip].probability),
      };
      return { choices: [t("lesson.loop.yes"), t("lesson.loop.no")], right: isSame ? 0 : 1, places };
    },
  },
};

// ---- questions ----

/** @param {number} value */
const rounded = (value) => formatNumber(Math.round(value * 100) / 100);

/** @param {number[]} vector */
const norm = (vector) => Math.sqrt(dot(vector, vector));

/** Words as choices; each of several equal ones with its position. @param {string[]} words */
const distinct = (words) =>
  words.map((each, i) => (words.filter((one) => one === each).length > 1 ? `${each} (${i + 1})` : each));

/**
 * The right one of `count` and the first few others, in order.
 * @param {number} count @param {number} right @param {(i: number) => string} name @param {Places} places
 * @returns {Quiz}
 */
function oneOfMany(count, right, name, places) {
  const others = Array.from({ length: count }, (_, i) => i).filter((i) => i !== right);
  const offered = [right, ...others].slice(0, MAX_CHOICES).sort((a, b) => a - b);
  return { choices: offered.map(name), right: offered.indexOf(right), places };
}

/**
 * Values as choices in their order, each text once.
 * @param {number[]} values @param {number} right @param {(value: number) => string} format @param {Places} places
 * @returns {Quiz}
 */
function valueQuiz(values, right, format, places) {
  const ordered = [...values].sort((a, b) => a - b);
  const choices = [...new Set(ordered.map(format))].slice(0, MAX_CHOICES + 1);
  return { choices, right: choices.indexOf(format(right)), places };
}

/** @param {number[]} values @param {number} right @param {Places} places */
const numberQuiz = (values, right, places) => valueQuiz(values, right, rounded, places);

// ---- figures ----

/**
 * @param {LessonView} view @param {Row[]} rows @param {string} label
 * @param {(i: number) => void} [explain] called for a cell
 */
const strips = (view, rows, label, explain) =>
  fluidPicture((width) => {
    const choose = explain && ((/** @type {string} */ _, /** @type {number} */ i) => explain(i));
    return vectorStrips(rows, { width, label, choose });
  }, view.signal);

/**
 * One of the parts of the input as a row a token.
 * @param {LessonView} view @param {"embedding" | "input"} part @returns {Promise<Row[]>}
 */
async function tokenRows(view, part) {
  const input = await encoderInput(view);
  return input.tokens.map((/** @type {string} */ label, /** @type {number} */ i) => ({
    label,
    side: "source",
    values: input[part][i],
  }));
}

/** @param {Side} side @param {string[]} words @param {number[]} ids */
function tokenIds(side, words, ids) {
  const items = words.map((token, i) =>
    h("li", { "data-id": ids[i] }, chip("span", token, side), h("small", {}, ids[i])),
  );
  return h("div", { class: "token-ids" }, h("h4", {}, t(`side.${side}`)), h("ol", {}, items));
}

/**
 * @param {LessonView} view @param {Kind} kind @param {number} layer @param {number} head @param {number | null} query
 */
function map({ run, signal }, kind, layer, head, query) {
  const figure = fluidPicture((width) => {
    const picture = heatmap(kind, layer, head, { width, sides: SIDES[kind], run });
    markRow(picture, query);
    picture.setAttribute("aria-label", describeLargestWeights(kind, layer, head, run));
    return picture;
  }, signal);
  return [h("h4", {}, mapHeading(kind, layer, head)), figure];
}
