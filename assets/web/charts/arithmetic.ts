// How one number of a sublayer came about, with every term of it.

import { Refused } from "../api/source.ts";
import type { Child } from "../api/types.ts";
import { dot } from "../engine/arrays.ts";
import { formatNumber, t } from "../state/i18n.ts";
import { failureText, fetchParameters, fetchValue, type Matrix } from "../state/server-cache.ts";
import { h } from "../ui/dom.ts";
import { fixed, mean, normalised, products, root, scaled, softmax, sum, variance } from "../ui/numbers.ts";
import { hint } from "../ui/parts.ts";
import { keyName, orderKeys } from "./key-order.ts";
import type { Part, SublayerView } from "./sublayer-stages.ts";
import { activationName, concatenated, headIsAblated, residualIsDropped, temperatureIn } from "./sublayer-stages.ts";

export type ShowArithmetic = (title: string, body: Child[]) => void;

/** `show` gets how the number of the latest asked cell came about; some rows have a token's number: "k:3". */
export function cellExplainer(show: ShowArithmetic) {
  let latest = "";
  return async (view: SublayerView, name: string, i: number) => {
    const [row, number] = name.split(":");
    const token = Number(number);
    const { keys, queries } = view.data;
    const query = queries[view.query];
    const named = row === "q" ? query : keyName(keys, token);
    const places = { n: i + 1, token: named, from: query, to: keyName(keys, i), count: foldedKeys(view).length };
    const title = t(`cell.${row === "ff_output" ? row : row.replace("ff_", "")}`, places);
    const asked = `${name} ${i}`;
    latest = asked;
    const showLatest = (heading: string, body: Child[]) => {
      if (latest === asked && !view.signal?.aborted) show(heading, body);
    };
    try {
      showLatest(title, await ARITHMETIC[row](view, i, token));
    } catch (error) {
      showLatest(title, [hint(failureText(error, "inside.failed"))]);
      if (!(error instanceof Refused)) throw error;
    }
  };
}

/** The arithmetic of each number; the rows of both residual connections are shared. */
const ARITHMETIC: Record<string, (view: SublayerView, i: number, token: number) => Child[] | Promise<Child[]>> = {
  x: ({ data, query }, i) => [
    expression(fixed(data.at("x", query)[i], 4)),
    hint(t(data.norm_first ? "cell.x.about_first" : "cell.x.about")),
  ],
  q: (view, i) => explainProjection(view, "q", view.query, i),
  k: (view, i, token) => explainProjection(view, "k", token, i),
  v: (view, i, token) => explainProjection(view, "v", token, i),
  dot: (view, key) => explainScore(view, key, "dot"),
  score: (view, key) => explainScore(view, key, "score"),
  mask: (view, key) => explainScore(view, key, "mask"),
  weight: (view, key) => explainScore(view, key, "weight"),
  part({ data, head, query }, i, key) {
    const [weight, value] = [data.at("weights", head, query)[key], data.at("v", head, key)[i]];
    return [sumOfProducts(products([weight], [value], null, weight * value))];
  },
  rest(view, i) {
    const rest = foldedKeys(view);
    const weights = rest.map((key) => view.data.at("weights", view.head, view.query)[key]);
    const values = rest.map((key) => view.data.at("v", view.head, key)[i]);
    return [sumOfProducts(products(weights, values, null, dot(weights, values)))];
  },
  length: ({ data, head }, key) => explainLength(data.at("v", head, key)),
  async value(view, key) {
    return [explainLength(await fetchValue(view, key)), hint(t("cell.value.about"))];
  },
  contribution({ data, head, query }, key) {
    const [weight, norm] = [data.at("weights", head, query)[key], data.at("value_norm", head)[key]];
    return [sumOfProducts(products([weight], [norm], null, weight * norm)), hint(t("cell.contribution.about"))];
  },
  head_output(view, i) {
    const { data, head, query } = view;
    if (headIsAblated(view)) return [expression(h("b", { class: "result" }, "0")), hint(t("inside.ablated"))];
    const values = data.keys.map((_, key) => data.at("v", head, key)[i]);
    const output = data.at("head_output", head, query)[i];
    const shown = products(data.at("weights", head, query), values, null, output);
    return [sumOfProducts(shown), hint(t("cell.head_output.about"))];
  },
  concat(view, i) {
    const { data, query } = view;
    const [head, n] = [Math.floor(i / data.head_dim), i % data.head_dim];
    const value = fixed(data.at("head_output", head, query)[n], 4);
    const about = headIsAblated({ ...view, head }) ? "cell.concat.ablated" : "cell.concat.about";
    return [
      expression("z", h("sub", {}, head + 1), `, ${n + 1} = `, h("b", { class: "result" }, value)),
      hint(t(about, { head: head + 1, n: n + 1 })),
    ];
  },
  output: (view, i) => linear(view, concatenated(view), "out_proj", i, view.data.at("output", view.query)[i]),
  residual: (view, i) => explainResidual(view, "", i),
  sum: (view, i) => explainSum(view, "", i),
  norm: (view, i) => explainNorm(view, "", i),
  async hidden(view, i) {
    const { run, data, query } = view;
    const [input, value] = [data.at("ff_input", query), data.at("ff_hidden", query)[i]];
    const { weights, bias } = await fetchParameters(view, "linear1", i);
    const before = dot(input, weights) + (bias ?? 0);
    const isRelu = run.model.activation === "relu";
    const shown = products(input, weights, bias, isRelu && value > 0 ? value : before);
    const activated = isRelu ? `max(0, ${shown.result})` : `${activationName(run.model)}(${shown.result})`;
    const kept = isRelu ? (value > 0 ? shown.result : "0") : fixed(value, 4);
    return [sumOfProducts(shown), expression(`${activated} = `, h("b", { class: "result" }, kept))];
  },
  async ff_output(view, i) {
    const { data, query } = view;
    const { weights, bias } = await fetchParameters(view, "linear2", i);
    const hidden = data.at("ff_hidden", query);
    const firing = hidden.filter(Boolean); // the others add 0
    const theirs = weights.filter((_, n) => hidden[n]);
    const shown = products(firing, theirs, bias, data.at("ff_output", query)[i]);
    const silent = hidden.length - firing.length;
    return [sumOfProducts(shown), silent ? hint(t("cell.ff_output.about", { silent })) : []];
  },
  ff_residual: (view, i) => explainResidual(view, "ff_", i),
  ff_sum: (view, i) => explainSum(view, "ff_", i),
  ff_norm: (view, i) => explainNorm(view, "ff_", i),
};

const foldedKeys = ({ data, head, query }: SublayerView) => orderKeys(data.at("weights", head, query)).rest;
const factor = (text: string) => (text.startsWith("−") ? `(${text})` : text);
const expression = (...parts: Child[]) => h("p", { class: "arithmetic" }, parts);
const result = (text: string) => h("b", { class: "result", "data-result": text }, text);

/** a × b + … (+ bias) = result, every term of it. */
function sumOfProducts({ terms, bias, result: total }: ReturnType<typeof products>) {
  const term = (a: string, b: string) => h("span", { class: "term", data: { a, b } }, `${factor(a)} × ${factor(b)}`);
  const list = terms.flatMap(([a, b], n) => [n ? " + " : "", term(a, b)]);
  const biasTerm = bias && h("span", { class: "bias", "data-bias": bias, title: t("inside.bias") }, factor(bias));
  return expression(list, biasTerm ? [" + ", biasTerm] : [], " = ", result(total));
}

function explainLength(vector: number[]) {
  const square = dot(vector, vector);
  const shown = root(square);
  const squares = sumOfProducts(products(vector, vector, null, square, shown.digits));
  return [squares, expression(`√${shown.square} = `, result(shown.result))];
}

async function linear(view: SublayerView, input: number[], matrix: Matrix, row: number, value: number) {
  const { weights, bias } = await fetchParameters(view, matrix, row);
  return [sumOfProducts(products(input, weights, bias, value))];
}

function explainProjection(view: SublayerView, name: "q" | "k" | "v", row: number, i: number) {
  const { data, head, query } = view;
  const input = name === "q" ? data.at("x", query) : data.at("memory", row);
  return linear(view, input, `${name}_proj`, head * data.head_dim + i, data.at(name, head, row)[i]);
}

function explainScore(view: SublayerView, key: number, asked: "dot" | "score" | "mask" | "weight") {
  const { data, head, query } = view;
  const [q, k] = [data.at("q", head, query), data.at("k", head, key)];
  const isOpen = data.allowed[query][key];
  const d = data.head_dim;
  const temperature = temperatureIn(view);
  const divided = scaled(dot(q, k), d * temperature ** 2, data.at("scores", head, query)[key]);
  const body = [sumOfProducts(products(q, k, null, dot(q, k), divided.digits))];
  const divisor = `√${d}${temperature === 1 ? "" : ` ÷ ${temperature}`}`;
  if (asked !== "dot") body.push(expression(`${divided.dot} ÷ ${divisor} = `, result(divided.result)));
  if (asked === "mask" || asked === "weight")
    body.push(isOpen ? expression(t("cell.open")) : expression(t("cell.masked"), " −∞"));
  if (asked === "weight" && isOpen) body.push(...explainSoftmax(view, key));
  else if (asked === "weight") body.push(expression("softmax: e", h("sup", {}, "−∞"), " = 0 → ", result("0")));
  return body;
}

function explainSoftmax({ data, head, query }: SublayerView, key: number) {
  const open = data.keys.flatMap((_, n) => (data.allowed[query][n] ? [n] : []));
  const scores = data.at("scores", head, query);
  const index = open.indexOf(key);
  const attended = open.map((n) => scores[n]);
  const shown = softmax(attended, index, data.at("weights", head, query)[key]);
  const term = (power: string, score: string) =>
    h("span", { class: "power", data: { power, score } }, "e", h("sup", {}, score));
  const terms = shown.powers.flatMap((power, n) => [n ? " + " : "", term(power, shown.scores[n])]);
  const power = shown.powers[index];
  return [
    ...(shown.shifted ? [expression(t("cell.shifted"))] : []),
    expression("softmax: e", h("sup", {}, shown.scores[index]), " ÷ (", terms, ")"),
    expression(`= ${power} ÷ (${shown.powers.join(" + ")}) = ${power} ÷ ${shown.total} = `, result(shown.result)),
  ];
}

function explainResidual(view: SublayerView, part: Part, i: number) {
  const value = expression(fixed(view.data.at(`${part}residual`, view.query)[i], 4));
  return residualIsDropped(view, part) ? [value, hint(t("cell.residual.dropped"))] : [value];
}

function explainSum({ data, query }: SublayerView, part: Part, i: number) {
  const at = (name: string) => data.at(`${part}${name}`, query)[i];
  const shown = sum(at("residual"), at("output"), at("sum"));
  const term = (addend: string) => h("span", { class: "addend", data: { addend } }, factor(addend));
  const terms = shown.terms.flatMap((text, n) => [n ? " + " : "", term(text)]);
  return [expression(terms, " = ", result(shown.result))];
}

function explainNorm({ data, query }: SublayerView, part: Part, i: number) {
  const row = data.at(`${part}norm_input`, query);
  const deviation = Math.sqrt(variance(row) + data.eps);
  const [gain, bias] = [data.at(`${part}norm_weight`)[i], data.at(`${part}norm_bias`)[i]];
  const value = data.at(`${part}norm`, query)[i];
  const { result: shown, ...terms } = normalised(row[i], mean(row), deviation, gain, bias, value);
  const quotient = `(${terms.x} − ${factor(terms.mean)}) ÷ ${terms.deviation}`;
  const scaled = `${quotient} × ${factor(terms.gain)} + ${factor(terms.bias)}`;
  const written = h("span", { class: "normal", data: terms }, scaled);
  return [expression(written, " = ", result(shown)), hint(t("cell.norm.about", { n: formatNumber(row.length) }))];
}
