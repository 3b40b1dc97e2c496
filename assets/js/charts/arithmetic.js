// How one number of a sublayer came about, with every term of it.

import { h } from "../core/dom.js";
import { formatNumber, t } from "../core/i18n.js";
import { dot, fixed, mean, normalised, products, scaled, softmax, sum, variance } from "../core/numbers.js";
import { fetchParameters } from "../core/server-cache.js";
import { concatenated, headIsAblated, residualIsDropped, temperatureIn } from "./sublayer-view.js";

/** @import { Matrix } from "../core/server-cache.js" */
/** @import { Child } from "../core/types.d.ts" */
/** @import { Part, SublayerView } from "./sublayer-view.js" */
/** @typedef {{ title: string, body: Child[] }} Explanation */

/**
 * Show how the i-th number of a row came about; some rows have a token's number: "k:3".
 * @param {SublayerView} view @param {string} name @param {number} i
 */
export async function explainCell(view, name, i) {
  const [row, token] = name.split(":");
  try {
    const { title, body } = await ARITHMETIC[row](view, i, Number(token));
    view.showArithmetic(title, body);
  } catch (error) {
    view.showArithmetic(t("inside.failed"), []);
    throw error;
  }
}

/** @type {Record<string, (view: SublayerView, i: number, token: number) => Explanation | Promise<Explanation>>} */
const ARITHMETIC = {
  x: explainInput,
  q: (view, i) => explainProjection(view, "q", view.query, i),
  k: (view, i, token) => explainProjection(view, "k", token, i),
  v: (view, i, token) => explainProjection(view, "v", token, i),
  dot: (view, key) => explainScore(view, key, "dot"),
  score: (view, key) => explainScore(view, key, "score"),
  mask: (view, key) => explainScore(view, key, "mask"),
  weight: (view, key) => explainScore(view, key, "weight"),
  part: explainPart,
  head_output: explainHeadOutput,
  concat: explainConcat,
  output: explainOutput,
  residual: (view, i) => explainStream(view, "", i),
  sum: (view, i) => explainSum(view, "", i),
  norm: (view, i) => explainNorm(view, "", i),
  hidden: explainHidden,
  ff_output: explainFeedForward,
  ff_residual: (view, i) => explainStream(view, "ff_", i),
  ff_sum: (view, i) => explainSum(view, "ff_", i),
  ff_norm: (view, i) => explainNorm(view, "ff_", i),
};

/** A factor; one below 0 in brackets. @param {string} text */
const factor = (text) => (text.startsWith("−") ? `(${text})` : text);
/** @param {Child[]} parts */
const expression = (...parts) => h("p", { class: "arithmetic" }, parts);
/** @param {string} text */
const hint = (text) => h("p", { class: "hint" }, text);
/** @param {string} text */
const result = (text) => h("b", { class: "result", "data-result": text }, text);

/** a × b + … (+ bias) = result, every term of it. @param {ReturnType<typeof products>} shown */
function sumOfProducts({ terms, bias, result: total }) {
  const list = terms.flatMap(([a, b], n) => [
    n ? " + " : "",
    h("span", { class: "term", "data-a": a, "data-b": b }, `${factor(a)} × ${factor(b)}`),
  ]);
  const biasTerm = bias && h("span", { class: "bias", "data-bias": bias, title: t("inside.bias") }, factor(bias));
  return expression(list, biasTerm ? [" + ", biasTerm] : [], " = ", result(total));
}

/**
 * A vector times a row of a matrix, plus a bias.
 * @param {SublayerView} view @param {number[]} input @param {Matrix} matrix @param {number} row @param {number} value
 */
async function linear({ kind, layer, server }, input, matrix, row, value) {
  const { weights, bias } = await fetchParameters(server, kind, layer, matrix, row);
  return sumOfProducts(products(input, weights, bias, value));
}

/** @param {SublayerView} view @param {number} i @returns {Explanation} */
function explainInput({ data, query }, i) {
  return {
    title: t("cell.x", { n: i + 1 }),
    body: [
      expression(fixed(data.at("x", query)[i], 4)),
      hint(t(data.norm_first ? "cell.x.about_first" : "cell.x.about")),
    ],
  };
}

/**
 * @param {SublayerView} view @param {"q" | "k" | "v"} name @param {number} row @param {number} i
 * @returns {Promise<Explanation>}
 */
async function explainProjection(view, name, row, i) {
  const { data, head, query } = view;
  const input = name === "q" ? data.at("x", query) : data.at("memory", row);
  const token = name === "q" ? data.queries[query] : data.keys[row];
  const body = await linear(view, input, `${name}_proj`, head * data.head_dim + i, data.at(name, head, row)[i]);
  return { title: t(`cell.${name}`, { token, n: i + 1 }), body: [body] };
}

/**
 * From q · k to the weight, as far as the cell that was asked for.
 * @param {SublayerView} view @param {number} key @param {"dot" | "score" | "mask" | "weight"} asked
 * @returns {Explanation}
 */
function explainScore(view, key, asked) {
  const { data, head, query } = view;
  const [q, k] = [data.at("q", head, query), data.at("k", head, key)];
  const isOpen = data.allowed[query][key];
  const d = data.head_dim;
  const temperature = temperatureIn(view);
  const divided = scaled(dot(q, k), d * temperature ** 2, data.at("scores", head, query)[key]);
  const body = [sumOfProducts(products(q, k, null, dot(q, k), divided.digits))];
  const divisor = `√${d}${temperature === 1 ? "" : ` ÷ ${temperature}`}`;
  if (asked !== "dot") body.push(expression(`${divided.dot} ÷ ${divisor} = `, result(divided.result)));
  if (asked === "mask" || asked === "weight") {
    body.push(isOpen ? expression(t("cell.open")) : expression(t("cell.masked"), " −∞"));
  }
  if (asked === "weight" && isOpen) body.push(...explainSoftmax(view, key));
  else if (asked === "weight") body.push(expression("softmax: e", h("sup", {}, "−∞"), " = 0 → ", result("0")));
  return { title: t(`cell.${asked}`, { from: data.queries[query], to: data.keys[key] }), body };
}

/** e^s ÷ Σ e^s over the keys that are open. @param {SublayerView} view @param {number} key */
function explainSoftmax({ data, head, query }, key) {
  const open = data.keys.flatMap((_, n) => (data.allowed[query][n] ? [n] : []));
  const scores = data.at("scores", head, query);
  const index = open.indexOf(key);
  const shown = softmax(
    open.map((n) => scores[n]),
    index,
    data.at("weights", head, query)[key],
  );
  const terms = shown.powers.flatMap((power, n) => [
    n ? " + " : "",
    h(
      "span",
      { class: "power", "data-power": power, "data-score": shown.scores[n] },
      "e",
      h("sup", {}, shown.scores[n]),
    ),
  ]);
  const power = shown.powers[index];
  return [
    ...(shown.shifted ? [expression(t("cell.shifted"))] : []),
    expression("softmax: e", h("sup", {}, shown.scores[index]), " ÷ (", terms, ")"),
    expression(`= ${power} ÷ (${shown.powers.join(" + ")}) = ${power} ÷ ${shown.total} = `, result(shown.result)),
  ];
}

/** @param {SublayerView} view @param {number} i @param {number} key @returns {Explanation} */
function explainPart({ data, head, query }, i, key) {
  const [weight, value] = [data.at("weights", head, query)[key], data.at("v", head, key)[i]];
  return {
    title: t("cell.part", { token: data.keys[key], n: i + 1 }),
    body: [sumOfProducts(products([weight], [value], null, weight * value))],
  };
}

/** @param {SublayerView} view @param {number} i @returns {Explanation} */
function explainHeadOutput(view, i) {
  const { data, head, query } = view;
  const title = t("cell.head_output", { n: i + 1 });
  if (headIsAblated(view))
    return { title, body: [expression(h("b", { class: "result" }, "0")), hint(t("inside.silent"))] };
  const values = data.keys.map((_, key) => data.at("v", head, key)[i]);
  const output = data.at("head_output", head, query)[i];
  const body = sumOfProducts(products(data.at("weights", head, query), values, null, output));
  return { title, body: [body, hint(t("cell.head_output.about"))] };
}

/** @param {SublayerView} view @param {number} i @returns {Explanation} */
function explainConcat(view, i) {
  const { data, query } = view;
  const [head, n] = [Math.floor(i / data.head_dim), i % data.head_dim];
  const value = fixed(data.at("head_output", head, query)[n], 4);
  const about = headIsAblated({ ...view, head }) ? "cell.concat.silent" : "cell.concat.about";
  return {
    title: t("cell.concat", { n: i + 1 }),
    body: [
      expression("z", h("sub", {}, head + 1), `, ${n + 1} = `, h("b", { class: "result" }, value)),
      hint(t(about, { head: head + 1, n: n + 1 })),
    ],
  };
}

/** @param {SublayerView} view @param {number} i @returns {Promise<Explanation>} */
async function explainOutput(view, i) {
  const value = view.data.at("output", view.query)[i];
  return {
    title: t("cell.output", { n: i + 1 }),
    body: [await linear(view, concatenated(view), "out_proj", i, value)],
  };
}

/** @param {SublayerView} view @param {number} i @returns {Promise<Explanation>} */
async function explainHidden({ data, query, kind, layer, server }, i) {
  const [input, value] = [data.at("ff_input", query), data.at("ff_hidden", query)[i]];
  const { weights, bias } = await fetchParameters(server, kind, layer, "linear1", i);
  const before = dot(input, weights) + (bias ?? 0);
  const shown = products(input, weights, bias, value > 0 ? value : before);
  const kept = expression(`max(0, ${shown.result}) = `, h("b", { class: "result" }, value > 0 ? shown.result : "0"));
  return { title: t("cell.hidden", { n: i + 1 }), body: [sumOfProducts(shown), kept] };
}

/** @param {SublayerView} view @param {number} i @returns {Promise<Explanation>} */
async function explainFeedForward({ data, query, kind, layer, server }, i) {
  const { weights, bias } = await fetchParameters(server, kind, layer, "linear2", i);
  const hidden = data.at("ff_hidden", query);
  const firing = hidden.flatMap((value, n) => (value > 0 ? [n] : [])); // the others add 0
  const shown = products(
    firing.map((n) => hidden[n]),
    firing.map((n) => weights[n]),
    bias,
    data.at("ff_output", query)[i],
  );
  const silent = hidden.length - firing.length;
  return {
    title: t("cell.ff_output", { n: i + 1 }),
    body: [sumOfProducts(shown), hint(t("cell.ff_output.about", { silent }))],
  };
}

/** @param {SublayerView} view @param {Part} part @param {number} i @returns {Explanation} */
function explainStream(view, part, i) {
  const value = expression(fixed(view.data.at(`${part}residual`, view.query)[i], 4));
  return {
    title: t("cell.stream", { n: i + 1 }),
    body: residualIsDropped(view, part) ? [value, hint(t("cell.stream.dropped"))] : [value],
  };
}

/** @param {SublayerView} view @param {Part} part @param {number} i @returns {Explanation} */
function explainSum({ data, query }, part, i) {
  const at = (/** @type {string} */ name) => data.at(`${part}${name}`, query)[i];
  const shown = sum(at("residual"), at("output"), at("sum"));
  const terms = shown.terms.flatMap((text, n) => [
    n ? " + " : "",
    h("span", { class: "addend", "data-addend": text }, factor(text)),
  ]);
  return { title: t("cell.sum", { n: i + 1 }), body: [expression(terms, " = ", result(shown.result))] };
}

/** @param {SublayerView} view @param {Part} part @param {number} i @returns {Explanation} */
function explainNorm({ data, query }, part, i) {
  const row = data.at(`${part}norm_input`, query);
  const deviation = Math.sqrt(variance(row) + data.eps);
  const [gain, bias] = [data.at(`${part}norm_weight`)[i], data.at(`${part}norm_bias`)[i]];
  const shown = normalised(row[i], mean(row), deviation, gain, bias, data.at(`${part}norm`, query)[i]);
  const attributes = {
    class: "normal",
    "data-x": shown.x,
    "data-mean": shown.mean,
    "data-deviation": shown.deviation,
    "data-gain": shown.gain,
    "data-bias": shown.bias,
  };
  const quotient = `(${shown.x} − ${factor(shown.mean)}) ÷ ${shown.deviation}`;
  const terms = h("span", attributes, `${quotient} × ${factor(shown.gain)} + ${factor(shown.bias)}`);
  return {
    title: t("cell.norm", { n: i + 1 }),
    body: [expression(terms, " = ", result(shown.result)), hint(t("cell.norm.about", { n: formatNumber(row.length) }))],
  };
}
