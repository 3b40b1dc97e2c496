// The stages of one head, from the query to the end of the layer: formula, shapes and numbers.

import type { ShapeRow } from "#schema";
import type { Child, Kind, Run } from "../api/types.ts";
import { argmax, dot, range } from "../engine/arrays.ts";
import { isPresenting } from "../state/address.ts";
import { findChange, isAblated, temperatureOf } from "../state/changes.ts";
import { formatPercent, hasText, nodes, t } from "../state/i18n.ts";
import type { Sublayer } from "../state/server-cache.ts";
import { state } from "../state/state.ts";
import { tokenRun } from "../state/words.ts";
import { h, scrollBox, setChildren, word } from "../ui/dom.ts";
import { savable } from "../ui/export.ts";
import { formulas } from "../ui/formula.ts";
import { attentionColumns, commonDigits, fixed, mean, norm, variance } from "../ui/numbers.ts";
import { button, columnHeading, hint, link, rowHeading, table } from "../ui/parts.ts";
import { areMany, keyName, orderKeys } from "./key-order.ts";
import { chooseCell, fluidPicture, type Row, type StripOptions, vectorStrips } from "./vector-strip.ts";

/** One query of one head. */
export type SublayerView = {
  run: Run;
  data: Sublayer;
  kind: Kind;
  layer: number;
  head: number;
  query: number;
  signal?: AbortSignal;
  explain: (view: SublayerView, name: string, i: number) => Promise<void>; // shows the arithmetic of a cell
  columns?: string[]; // of the table of scores, where it does not have all
  fold?: number; // hidden units a line
  opened?: Set<string>; // lists of keys of which none is folded
  width?: number; // px of a figure, where it is known
};

/** Which residual connection: "" around the attention, "ff_" around the feed-forward network. */
export type Part = "" | "ff_";

export const headIsAblated = ({ run, kind, layer, head }: SublayerView) => isAblated(kind, layer, head, run.changes);

const headCount = ({ data }: SublayerView) => data.arrays.q.shape[0];

/** What the scores were divided by, besides √d: without what binary adds to a product of two decimals. */
export const temperatureIn = ({ run, kind }: SublayerView) => Number(temperatureOf(kind, run.changes).toFixed(8));

export function residualIsDropped({ run, kind, layer }: SublayerView, part: Part) {
  const stack = kind === "encoder" ? "encoder" : "decoder";
  const sublayer = part ? (stack === "encoder" ? 2 : 3) : kind === "cross" ? 2 : 1;
  return Boolean(findChange({ do: "drop_residual", stack, layer, sublayer }, run.changes));
}

const ACTIVATIONS = { relu: "ReLU", gelu: "GELU", silu: "SiLU" };
export const activationName = ({ activation }: { activation: keyof typeof ACTIVATIONS }) => ACTIVATIONS[activation];

const FLOORS = { relu: 0, gelu: -0.17, silu: -0.28 };
/** The lower bound of a network's activation, with two digits. */
export const activationFloor = ({ activation }: { activation: keyof typeof FLOORS }) => fixed(FLOORS[activation], 2);

export const concatenated = ({ data, query }: SublayerView) =>
  range(data.arrays.head_output.shape[0]).flatMap((head) => data.at("head_output", head, query));

export type Stage = "qkv" | "scores" | "values" | "concat" | "residual" | "ffn" | "ffn_residual";

/** The stage of Inside a head that a link leads to, until it is drawn. */
export const wanted = { stage: null as Stage | null };

const FEW = 5; // keys, and as many values, that a class can read on one screen

export const STAGES: Stage[] = ["qkv", "scores", "values", "concat", "residual", "ffn", "ffn_residual"];

/** The formula of each stage, and of what a run can make of it: see `variants`. */
const FORMULAS: Record<string, string> = {
  qkv: "q = x W^Q + b^Q    K = X W^K + b^K    V = X W^V + b^V",
  qkv_first: "x̂ = LayerNorm(x)    q = x̂ W^Q + b^Q    K = X̂ W^K + b^K    V = X̂ W^V + b^V",
  qkv_first_cross: "x̂ = LayerNorm(x)    q = x̂ W^Q + b^Q    K = X W^K + b^K    V = X W^V + b^V", // X of the encoder
  scores: "w = softmax(q K^T ÷ √d_k)",
  scores_heated: "w = softmax(q K^T ÷ √d_k ÷ τ),  τ = ",
  values: "z = Σ_j w_j v_j",
  values_ablated: "z = 0",
  concat: "o = [z_1 … z_h] W^O + b^O",
  residual: "y = LayerNorm(x + o)",
  residual_dropped: "y = LayerNorm(o)",
  residual_first: "x̂ = LayerNorm(x),  o = Attention(x̂),  y = x + o",
  residual_dropped_first: "x̂ = LayerNorm(x),  o = Attention(x̂),  y = o",
  ffn: "FFN(y) = max(0, y W_1 + b_1) W_2 + b_2",
  ffn_first: "ŷ = LayerNorm(y),  FFN(ŷ) = max(0, ŷ W_1 + b_1) W_2 + b_2",
  ffn_residual: "LayerNorm(y + FFN(y))",
  ffn_residual_dropped: "LayerNorm(FFN(y))",
  ffn_residual_first: "ŷ = LayerNorm(y),  y + FFN(ŷ)",
  ffn_residual_dropped_first: "ŷ = LayerNorm(y),  FFN(ŷ)",
};

/**
 * What this run makes of a stage, as its formulas and texts are called, the most special first. Pre-norm (`first`): a
 * sublayer reads the LayerNorm of the stream, x̂ or ŷ, and is added to the stream as it is.
 */
function variants(stage: Stage, view: SublayerView) {
  const { norm_first: isFirst } = view.data;
  const part = { residual: "", ffn_residual: "ff_" }[stage as string] as Part | undefined;
  const isDropped = part !== undefined && residualIsDropped(view, part);
  const endings: [string, boolean][] = [
    ["_dropped_first", isDropped && isFirst],
    ["_dropped", isDropped],
    ["_heated", temperatureIn(view) !== 1],
    ["_ablated", headIsAblated(view)],
    ["_first_cross", isFirst && view.kind === "cross"],
    ["_first", isFirst],
    ["_alone", headCount(view) === 1],
    ["", true],
  ];
  return endings.flatMap(([ending, holds]) => (holds ? [`${stage}${ending}`] : []));
}

/** A formula in the notation of ui/formula.ts, and the shapes on the way through it. */
export function formulaRow(text: string, shapes: Child) {
  const formula = h("p", { class: "formula", lang: "zxx" }, formulas(text));
  return h("div", { class: "formula-row" }, formula, h("p", { class: "shape" }, shapes));
}

export function stageHeadline(stage: Stage, view: SublayerView) {
  const count = view.data.queries.length;
  return formulaRow(stageFormula(stage, view), `${t("inside.of_queries", { count })} ${stageShapes(stage, view.data)}`);
}

function stageFormula(stage: Stage, view: SublayerView) {
  const name = variants(stage, view).find((each) => each in FORMULAS) as string;
  const { model } = view.run;
  const unit = model.activation === "relu" ? "max(0, " : `${activationName(model)}(`;
  return FORMULAS[name].replace("max(0, ", unit) + (name === "scores_heated" ? temperatureIn(view) : "");
}

export const stageFigure = (stage: Stage, view: SublayerView) => [FIGURES[stage](view)].flat(2);

/** The section of a stage: its heading, formula and text, and its figure. @param isDrawn false: without the figure */
export function stageContent(stage: Stage, view: SublayerView, isDrawn: boolean = true) {
  const { kind, layer, head } = view;
  const figure = h("div", { class: "stage-figure" }, isDrawn ? stageFigure(stage, view) : null);
  const names = variants(stage, view);
  const title = names.map((each) => `inside.${each}`).find(hasText) ?? "";
  const about = names.map((each) => `inside.${each}.about`).find(hasText) ?? "";
  const { model } = view.run;
  const unit = { activation: activationName(model), floor: activationFloor(model) };
  const more = furtherTexts(stage, view).map((key) => [" ", t(key, unit)]);
  if (isDrawn) savable(figure, figure, () => `${kind}-layer-${layer + 1}-head-${head + 1}-${stage}`);
  return [h("h3", {}, t(title)), stageHeadline(stage, view), hint(nodes(about, textPlaces(view)), more), figure];
}

function furtherTexts(stage: Stage, view: SublayerView): string[] {
  if (stage === "scores") return view.data.allowed[view.query].includes(true) ? [] : ["inside.scores.closed"];
  if (stage === "concat")
    return range(headCount(view)).some((head) => headIsAblated({ ...view, head })) ? ["inside.concat.ablated"] : [];
  if (stage !== "ffn") return [];
  const hidden = view.run.model.activation === "relu" ? "inside.ffn.relu" : "inside.ffn.smooth";
  return view.kind === "decoder" ? [hidden, "inside.between"] : [hidden];
}

function textPlaces(view: SublayerView) {
  const { data, head, layer, query } = view;
  return {
    word: word(data.queries[query], data.from),
    heads: headCount(view),
    width: data.head_dim,
    head: head + 1,
    layer: layer + 1,
    temperature: String(temperatureIn(view)),
  };
}

export const shapeChain = (...shapes: (number | string)[][]) =>
  shapes.map((each) => `(${each.join(", ")})`).join(" → ");

function stageShapes(stage: Stage, { arrays, head_dim: d, keys }: Sublayer) {
  const [heads, width, hidden] = [arrays.q.shape[0], arrays.x.shape[1], arrays.ff_hidden.shape[1]];
  const row = (n: number) => [1, n];
  const all = {
    qkv: [row(width), row(d)],
    scores: [row(d), [keys.length, d], row(keys.length)],
    values: [row(keys.length), [keys.length, d], row(d)],
    concat: [[heads, d], row(heads * d), row(width)],
    residual: [row(width), row(width)],
    ffn: [row(width), row(hidden), row(width)],
    ffn_residual: [row(width), row(width)],
  };
  return shapeChain(...all[stage]);
}

// ---- figures ----

function strips(view: SublayerView, rows: Row[], options: StripOptions = {}) {
  const choose = (name: string, i: number) => view.explain(view, name, i);
  return fluidPicture((width) => vectorStrips(rows, { width, choose, ...options }), view.signal, view.width);
}

const titledStrips = (view: SublayerView, title: string, rows: Row[], options: StripOptions = {}) => [
  h("h4", {}, title),
  strips(view, rows, { label: title, ...options }),
];

/** A query's keys: where there are many, the strongest, and a button that opens the rest. */
function foldable(view: SublayerView, list: string, draw: (shown: number[], rest: number[]) => Child[]) {
  const { data, head, query, opened = new Set() } = view;
  const weights = data.at("weights", head, query);
  if (!areMany(weights)) return draw(orderKeys(weights).shown, []);
  const place = h("div", { class: "foldable" });
  const redraw = () => {
    const isOpen = opened.has(list);
    const most = isPresenting() && (list === "k" || list === "v") ? FEW : undefined;
    const { shown, rest } = orderKeys(weights, { isOpen, most });
    const text = isOpen ? t("inside.strongest") : t("inside.show_more", { count: rest.length });
    const toggle = link(text, () => {
      if (!opened.delete(list)) opened.add(list);
      redraw();
    });
    setChildren(place, draw(shown, rest), toggle);
  };
  redraw();
  return [place];
}

const FIGURES: Record<Stage, (view: SublayerView) => Child> = {
  qkv: drawProjections,
  scores: drawScores,
  values: drawValues,
  concat: drawConcat,
  residual: (view) => drawResidual(view, ""),
  ffn: drawFeedForward,
  ffn_residual: (view) => drawResidual(view, "ff_"),
};

function drawProjections(view: SublayerView) {
  const { data, head, query } = view;
  const token = { label: data.queries[query], side: data.from };
  const largest = (name: "k" | "v") => Math.max(...data.at(name, head).map(Math.abs));
  const row = (name: string, j: number) => ({
    ...keyLabel(data, j),
    name: `${name}:${j}`,
    values: data.at(name, head, j),
  });
  const rows = (name: "k" | "v", title: string) =>
    foldable(view, name, (shown) => {
      const drawn = shown.map((j) => row(name, j));
      return titledStrips(view, title, drawn, { largest: largest(name) });
    });
  return [
    titledStrips(view, t("inside.reads", textPlaces(view)), [{ ...token, name: "x", values: data.at("x", query) }]),
    titledStrips(view, t("inside.query"), [{ ...token, name: "q", values: data.at("q", head, query) }]),
    rows("k", t("inside.keys")),
    rows("v", t("inside.values_rows")),
  ];
}

const keyLabel = ({ keys, to }: Sublayer, key: number) => ({ label: keyName(keys, key), side: to });

function drawScores(view: SublayerView) {
  const { data, head, query } = view;
  const q = data.at("q", head, query);
  const dots = data.keys.map((_, j) => dot(q, data.at("k", head, j)));
  const [scores, weights] = [data.at("scores", head, query), data.at("weights", head, query)];
  const open = data.allowed[query];
  const temperature = temperatureIn(view);
  const shown = attentionColumns(dots, data.head_dim * temperature ** 2, scores, open, weights);
  const columns = view.columns ?? ["dot", "scaled", "mask", "softmax"];
  const headings = ["key", ...columns].map((name) => [
    t(`inside.column.${name}`, { d: data.head_dim }),
    name === "scaled" && temperature !== 1 ? ` ÷ ${temperature}` : null,
  ]);
  const row = (j: number) => {
    const cells: Record<string, () => Node> = {
      dot: () => scoreCell(view, "dot", j, shown.dots[j], dots[j]),
      scaled: () => scoreCell(view, "score", j, shown.scores[j], scores[j]),
      mask: () => scoreCell(view, "mask", j, open[j] ? shown.scores[j] : "−∞", open[j] ? scores[j] : -Infinity),
      softmax: () => scoreCell(view, "weight", j, shown.weights[j], weights[j]),
    };
    const row = columns.map((column) => cells[column]());
    return h("tr", { class: open[j] ? "" : "masked" }, rowHeading(keyHeading(view, j)), row);
  };
  /** The sum of what is folded, of the digits that are shown. */
  const restRow = (rest: number[]) => {
    const digits = shown.weights[0].split(".")[1]?.length ?? 0;
    const share = rest.reduce((sum, j) => sum + Number(shown.weights[j]), 0);
    const row = columns.map((column) => h("td", {}, column === "softmax" ? fixed(share, digits) : null));
    return h("tr", { class: "rest" }, rowHeading(t("inside.more", { count: rest.length })), row);
  };
  const foot = () => {
    const total = h("td", { class: "total" }, shown.total);
    return h("tfoot", {}, h("tr", {}, rowHeading("Σ"), h("td"), h("td"), h("td"), total));
  };
  return foldable(view, "scores", (ordered, rest) => {
    const rows = [ordered.map(row), rest.length ? restRow(rest) : null];
    return [scrollBox(table({ class: "look" }, headings, rows, columns.includes("softmax") ? foot() : null))];
  });
}

const keyHeading = ({ data }: SublayerView, j: number) => [
  word(data.keys[j], data.to),
  areMany(data.keys) ? h("small", {}, ` ${j + 1}`) : null,
];

function scoreCell(view: SublayerView, name: string, index: number, text: string, value: number) {
  const explain = ({ currentTarget }: MouseEvent) => {
    chooseCell(currentTarget as Element);
    view.explain(view, name, index);
  };
  return h("td", {}, button("cell", text, explain, { data: { name, index, value } }));
}

function drawValues(view: SublayerView) {
  const { data, head, query } = view;
  const weights = data.at("weights", head, query);
  const part = (j: number) => data.at("v", head, j).map((value) => weights[j] * value);
  const output = data.at("head_output", head, query);
  const isSilent = headIsAblated(view);
  const largest = Math.max(...[...data.keys.flatMap((_, j) => part(j)), ...output].map(Math.abs));
  const sum = [{ label: isSilent ? "z" : "Σ", name: "head_output", values: output }];
  const drawParts = (shown: number[], rest: number[]) => {
    const parts: Row[] = shown.map((j) => ({ ...keyLabel(data, j), name: `part:${j}`, values: part(j) }));
    if (rest.length) {
      const values = output.map((_, i) => rest.reduce((all, j) => all + part(j)[i], 0));
      parts.push({ label: t("inside.more", { count: rest.length }), name: "rest", values });
    }
    const columns = parts.map((row) => Array.from(row.values));
    const digits = isSilent ? 2 : commonDigits(columns, output);
    const rows = parts.map((row) => ({ ...row, digits }));
    return titledStrips(view, t("inside.parts"), rows, { largest });
  };
  const title = t(isSilent ? "inside.ablated" : "inside.head_output");
  const sums = titledStrips(view, title, sum, { largest, labels: data.keys });
  return [foldable(view, "parts", drawParts), sums, isSilent ? null : drawContributions(view)];
}

/** How long each value is, and what it adds: Kobayashi et al. (2020). */
function drawContributions(view: SublayerView) {
  const { data, head, query } = view;
  const [weights, norms] = [data.at("weights", head, query), data.at("value_norm", head)];
  const parts = weights.map((weight, j) => weight * norms[j]);
  const lengths = ["‖v‖", "‖v Wᴼ‖", "‖w · v Wᴼ‖"];
  const columns = lengths.map((text) => columnHeading(text, { class: "formula", lang: "zxx" }));
  const headings = [t("inside.column.key"), ...columns];
  const row = (j: number) => {
    const numbers = { length: norm(data.at("v", head, j)), value: norms[j], contribution: parts[j] };
    const cells = Object.entries(numbers).map(([name, value]) => scoreCell(view, name, j, fixed(value, 3), value));
    return h("tr", { class: data.allowed[query][j] ? "" : "masked" }, rowHeading(keyHeading(view, j)), cells);
  };
  const most = argmax(parts);
  const places = { word: word(data.keys[most], data.to), weight: fixed(weights[most], 2), most: fixed(parts[most], 2) };
  return [
    h("h4", {}, t("inside.contributions")),
    parts[most] ? h("p", { class: "fact" }, nodes("inside.contributions.most", places)) : null,
    foldable(view, "contributions", (shown) => [scrollBox(table({ class: "look" }, headings, shown.map(row)))]),
  ];
}

function drawConcat(view: SublayerView) {
  const { data, head, query } = view;
  const d = data.head_dim;
  const isOnlyHead = headCount(view) === 1;
  const title = isOnlyHead ? t("inside.concat_row_alone") : t("inside.concat_row", textPlaces(view));
  const mark = isOnlyHead ? undefined : [head * d, (head + 1) * d];
  return [
    titledStrips(view, title, [{ name: "concat", values: concatenated(view) }], { mark }),
    titledStrips(view, t("inside.output"), [{ name: "output", values: data.at("output", query) }]),
  ];
}

function drawFeedForward(view: SublayerView) {
  const { data, query } = view;
  const hidden = data.at("ff_hidden", query);
  const firing = hidden.filter((value) => value > 0).length;
  const fold = view.fold ?? data.arrays.x.shape[1];
  const isRelu = view.run.model.activation === "relu";
  const places = { count: firing, of: hidden.length, share: formatPercent(firing / hidden.length) };
  return [
    h("p", { class: "fact", "data-firing": firing }, nodes(isRelu ? "inside.firing" : "inside.firing.smooth", places)),
    strips(view, [{ name: "hidden", values: hidden }], { label: t("inside.hidden"), fold }),
    titledStrips(view, t("inside.ff_output"), [{ name: "ff_output", values: data.at("ff_output", query) }]),
  ];
}

/** Stream + change = sum, and the norm that goes with it. */
function drawResidual(view: SublayerView, part: Part) {
  const { data, query } = view;
  const rows = ["residual", "output", "sum"].map((name) => ({
    label: t(name === "residual" && residualIsDropped(view, part) ? "inside.row.dropped" : `inside.row.${part}${name}`),
    name: `${part}${name}`,
    values: data.at(`${part}${name}`, query),
  }));
  const digits = commonDigits([rows[0].values, rows[1].values], rows[2].values);
  const named = t(data.norm_first ? "inside.row.norm_first" : "inside.row.norm");
  const labels = [...rows.map((row) => row.label), named];
  const written = rows.map((row, i) => ({ ...row, digits: i < 2 || digits === null ? digits : 2 }));
  const norm = [{ label: named, name: `${part}norm`, values: data.at(`${part}norm`, query) }];
  const pictures = [strips(view, written, { labels }), strips(view, norm, { labels })];
  return [...(data.norm_first ? pictures.reverse() : pictures), normFacts(data, query, part)]; // as they come about
}

function normFacts({ at, eps }: Sublayer, query: number, part: Part) {
  const [input, output] = [at(`${part}norm_input`, query), at(`${part}norm`, query)];
  const bare = input.map((value) => (value - mean(input)) / Math.sqrt(variance(input) + eps));
  const data = { mean: mean(input), variance: variance(input), after: mean(output), kept: variance(output) };
  const places = {
    before: fixed(data.mean, 2),
    spread: fixed(data.variance, 2),
    after: fixed(data.after, 2),
    kept: fixed(data.kept, 2),
    bare_mean: fixed(mean(bare), 2),
    bare_variance: fixed(variance(bare), 2),
  };
  return h("p", { class: "fact", data }, nodes("inside.norm", places));
}

// ---- the table of shapes, here and in the paper's base model ----

/** Rows that are called otherwise in a model without positions. */
const NAMES_WITHOUT_POSITIONS: Record<string, string> = {
  source_input: "shapes.bare_encoder",
  target_input: "shapes.bare_decoder",
};
/** Rows that are called otherwise in a model that does not scale its embeddings. */
const NAMES_UNSCALED: Record<string, string> = {
  source_embedding: "shapes.plain_source",
  target_embedding: "shapes.plain_target",
};

/** The table, and what its letters mean. @param nameCell what stands for a row's name */
export function shapeTable(rows: ShapeRow[], nameCell: (name: string, stage: string) => Child = (name) => name) {
  const { source, decoder_input: target, model } = tokenRun(state.run);
  const { positions, scaled } = model;
  const names = { ...(positions ? {} : NAMES_WITHOUT_POSITIONS), ...(scaled ? {} : NAMES_UNSCALED) };
  const name = (stage: string) => t(names[stage] ?? `shapes.${stage}`);
  const lengths = { source: source.length, target: target.length };
  const shape = (sizes: ShapeRow["here"]) =>
    h("td", {}, `(${sizes.map((size) => (typeof size === "string" ? lengths[size] : size)).join(", ")})`);
  const tableRows = rows.map(({ stage, layers, here, paper }) => {
    const heading = rowHeading([nameCell(name(stage), stage), layers > 1 ? h("small", {}, ` × ${layers}`) : null]);
    return h("tr", { "data-stage": stage }, heading, shape(here), shape(paper));
  });
  const headings = ["stage", "here", "paper"].map((each) => t(`shapes.${each}`));
  return [scrollBox(table({ class: "shapes" }, headings, tableRows)), hint(t("shapes.letters"))];
}
