// Positions: the encoding, one dimension of it, one position of it, and how it joins the embedding of this sentence.

import { opening } from "../../api/schema.ts";
import type { Child, Run, View } from "../../api/types.ts";
import { shortened } from "../../charts/map-parts.ts";
import { numberCurve, numberMap } from "../../charts/number-charts.ts";
import { sinusoidalPositions } from "../../engine/arrays.ts";
import { findChange } from "../../state/changes.ts";
import { formatNumber, joinSentences, t } from "../../state/i18n.ts";
import { askAboutRun, failureText } from "../../state/server-cache.ts";
import { cosinesTo, waveOf } from "../../state/sinusoid.ts";
import { decodeFloats, STACKS, state, subscribe, update } from "../../state/state.ts";
import { h, namedChoice, setChildren, typeScale } from "../../ui/dom.ts";
import { pictureFrame } from "../../ui/export.ts";
import { formulas } from "../../ui/formula.ts";
import { fixed } from "../../ui/numbers.ts";
import { changeDetectors, hint, onResize, option } from "../../ui/parts.ts";

const SIZES = [16, 32, 64, 128, 256, 512];
const MIN_LENGTH = 5;
const POINTS = 16; // of a wave between two positions
const [MAP_HEIGHT, CURVE_HEIGHT, ROW] = [380, 118, 18]; // px

/** The visitor's choices, also when the view is built again. Without a chosen width it is the model's. */
const view = {
  length: 50,
  d_model: 0,
  sinusoid: "interleaved" as Run["model"]["sinusoid"], // the model's
  position: 2, // until one is chosen, one that the sentence has
  isPositionChosen: false,
  dimension: 4,
  isWidthChosen: false,
};

export function mount({ element, signal }: View) {
  const { d_model, max_positions: longest } = opening;
  view.d_model ||= d_model;
  const parts = build(element, longest);
  const { controls, figures } = parts;
  offerWidths(parts, d_model);
  controls.length.input.addEventListener("input", () => drawMap(parts));
  for (const each of [controls.position, controls.dimension]) each.input.addEventListener("input", () => follow(parts));
  controls.width.addEventListener("change", () => {
    Object.assign(view, { d_model: Number(controls.width.value), isWidthChosen: true });
    drawMap(parts);
  });
  subscribe(element, () => onState(parts));
  onResize(figures.map, () => drawMap(parts), signal);
  onResize(figures.sum, () => showSum(parts), signal);
}

function build(element: Element, longest: number) {
  const length = slider("length", t("positions.shown"), MIN_LENGTH, longest);
  const position = slider("position", t("figure.position"), 0, view.length - 1);
  const dimension = slider("dimension", t("figure.dimension"), 0, view.d_model - 1);
  const width = h("select", { name: "d_model" });
  const stack = namedChoice(t("positions.which"), STACKS, "positions", (stack) => update({ stack }));
  const [waveHeading, alikeHeading] = [h("h2"), h("h2")];
  const formula = h("p", { class: "formula", lang: "zxx" });
  const say = h("p", { class: "say", "aria-live": "polite" });
  const [sumSay, none] = [hint(), hint(t("positions.none"))];
  const figure = (name: string) =>
    h("div", { class: "figure", role: "figure", "aria-label": t(`positions.figure.${name}`) });
  const figures = { map: figure("map"), wave: figure("wave"), alike: figure("alike"), sum: figure("sum") };
  const [map, wave, alike, sum] = Object.values(figures).map((each, i) =>
    pictureFrame(each, () => `positions-${i + 1}`),
  );
  const card = (...children: Child[]) => h("section", { class: "card" }, children);
  const sliders = (...children: Child[]) => h("div", { class: "sliders" }, children);
  const sizes = sliders(length.element, h("label", {}, h("span", {}, t("positions.width")), width));
  const curves = [waveHeading, formula, wave, alikeHeading, alike, hint(t("positions.hint"))];
  const columns = [
    card(h("h2", {}, t("positions.rows")), none, map, sizes),
    card(sliders(position.element, dimension.element), curves),
  ];
  const sumHead = h("div", { class: "controls" }, h("h2", {}, t("positions.sum")), stack.element);
  const below = h("section", { class: "card below" }, sumHead, sum, sumSay);
  element.replaceChildren(say, h("div", { class: "columns" }, columns), below);
  return {
    ...{ controls: { length, position, dimension, width, stack }, figures },
    ...{ waveHeading, formula, alikeHeading, say, sumSay, none },
    values: new Float32Array(), // the encoding that the map shows
    map: null as ReturnType<typeof numberMap> | null,
    isNew: changeDetectors(),
  };
}

type Parts = ReturnType<typeof build>;

function slider(name: "length" | "position" | "dimension", label: string, min: number, max: number) {
  const oninput = () => {
    view[name] = input.valueAsNumber;
    view.isPositionChosen ||= name === "position";
  };
  const input = h("input", { type: "range", name, min, max, value: view[name], oninput });
  const out = h("output", {}, view[name]);
  const show = (max: number) => {
    input.max = String(max);
    input.value = String(view[name]);
    out.textContent = String(view[name]);
  };
  return { input, out, show, element: h("label", {}, h("span", {}, label, " ", out), input) };
}

function offerWidths({ controls }: Parts, own: number) {
  const widths = [...new Set([own, view.d_model, ...SIZES])].sort((a, b) => a - b);
  controls.width.replaceChildren(...widths.map((width) => option(view.d_model)([width, String(width)])));
}

function onState(parts: Parts) {
  const { run, stack } = state;
  const { controls, none } = parts;
  controls.stack.set(stack);
  if (parts.isNew("model", run.model)) {
    none.hidden = run.model.positions;
    const { d_model, sinusoid } = run.model;
    Object.assign(view, { sinusoid, d_model: view.isWidthChosen ? view.d_model : d_model });
    offerWidths(parts, d_model);
    drawMap(parts);
  }
  if (!parts.isNew("sum", run, stack)) return;
  showSum(parts);
  if (!view.isPositionChosen) follow(parts);
}

// ---- the encoding ----

function drawMap(parts: Parts) {
  const { map } = parts.figures;
  if (!map.clientWidth) return;
  const { length, d_model, sinusoid } = view;
  const values = sinusoidalPositions(length, d_model, sinusoid === "halves");
  parts.values = values;
  parts.controls.length.out.textContent = String(length);
  parts.map = numberMap({
    ...{ width: map.clientWidth, height: MAP_HEIGHT * typeScale(), values, largest: 1 },
    label: t("positions.figure.map"),
    columns: { count: d_model, title: t("figure.dimension") },
    rows: { count: length, title: t("figure.position") },
    hover: ({ column: x, row: y }) => t("positions.hover.map", { x, y, z: fixed(values[y * d_model + x], 3) }),
    choose({ column, row }) {
      Object.assign(view, { position: row, dimension: column, isPositionChosen: true });
      follow(parts);
    },
  });
  map.replaceChildren(parts.map.element);
  follow(parts);
}

/** Follow the crosshair: one column as a curve, one position against all others. */
function follow({ controls, figures, values, map, formula, waveHeading, alikeHeading, say }: Parts) {
  if (!figures.map.clientWidth) return;
  const { length: count, d_model: width, sinusoid } = view;
  const offered = view.isPositionChosen ? count : Math.min(count, state.run.source.length);
  view.position = Math.min(view.position, offered - 1);
  view.dimension = Math.min(view.dimension, width - 1);
  const { position, dimension } = view;
  controls.position.show(count - 1);
  controls.dimension.show(width - 1);
  const wave = Array.from({ length: count }, (_, p) => values[p * width + dimension]);
  const alike = cosinesTo(position, values, width);
  const { name, pair, wavelength } = waveOf(dimension, width, sinusoid);
  const places = {
    position,
    dimension,
    wave: t(name === "sin" ? "positions.sine" : "positions.cosine"),
    sines: Math.ceil(width / 2),
    wavelength: wavelength < 100 ? wavelength.toFixed(1) : formatNumber(Math.round(wavelength)),
  };
  waveHeading.textContent = t("positions.turn", places);
  alikeHeading.textContent = t("positions.similar", places);
  const next = position + 1 < count ? t("positions.next", { cosine: fixed(alike[position + 1], 2) }) : "";
  const described = t("positions.say", { ...places, value: fixed(wave[position], 3) });
  const order = t(`positions.order.${sinusoid}`, places);
  say.replaceChildren(...joinSentences(described, order, next));
  const angle = `${position} ÷ 10000^{${2 * pair} ÷ ${width}}`;
  setChildren(formula, formulas(`PE(${position}, ${dimension}) = ${name}(${angle}) = ${fixed(wave[position], 3)}`));
  figures.map.setAttribute("aria-label", say.textContent ?? "");
  figures.wave.setAttribute("aria-label", waveHeading.textContent);
  figures.alike.setAttribute("aria-label", alikeHeading.textContent);
  map?.mark({ column: dimension, row: position });
  const x = Array.from({ length: (count - 1) * POINTS + 1 }, (_, i) => i / POINTS);
  const smooth = x.map((at): [number, number] => [at, Math[name]((2 * Math.PI * at) / wavelength)]);
  drawCurve(figures.wave, "curve", wave, smooth);
  drawCurve(figures.alike, "similar", alike);
}

/** Values at positions, with a line at the chosen one. */
function drawCurve(element: HTMLElement, name: string, values: number[], smooth?: [number, number][]) {
  const curve = numberCurve({
    ...{ width: element.clientWidth, height: CURVE_HEIGHT * typeScale(), values, smooth },
    label: element.ariaLabel ?? "",
    columns: { count: values.length, title: t("figure.position") },
    hover: ({ column: x }) => t(`positions.hover.${name}`, { x, value: fixed(values[x], 3) }),
  });
  curve.mark(view.position);
  element.replaceChildren(curve.element);
}

// ---- embedding + position = input ----

const showSum = (parts: Parts) =>
  drawSum(parts).catch((error) => {
    parts.sumSay.textContent = failureText(error);
  });

async function drawSum(parts: Parts) {
  const { run, stack } = state;
  const { figures, sumSay } = parts;
  const answer = await askAboutRun("input_sum", { stack }, run);
  if (run !== state.run || stack !== state.stack) return; // another sum is wanted by now
  const { tokens, d_model } = answer;
  const names = tokens.map((token) => shortened(token));
  const strips = [answer.embedding, answer.positions, answer.input].map(decodeFloats);
  const largest = strips.reduce((most, strip) => strip.reduce((high, each) => Math.max(high, Math.abs(each)), most), 0);
  const width = figures.sum.clientWidth;
  if (!width) return;
  const maps = ["embedding", "+ position", "= input"].map((name, i) => {
    const title = t(`figure.${name}`);
    const { element } = numberMap({
      ...{ width, height: ROW * typeScale() * tokens.length, values: strips[i], largest, label: title },
      columns: { count: d_model, title: i === strips.length - 1 ? t("figure.dimension") : "" },
      rows: { count: tokens.length, title: "", names, side: stack === "encoder" ? "source" : "target" },
      hover({ column: x, row }) {
        return t("positions.hover.sum", { x, token: tokens[row], z: fixed(strips[i][row * d_model + x], 3) });
      },
    });
    return [h("h3", {}, title), element];
  });
  setChildren(figures.sum, maps);
  const embedding = t(run.model.scaled ? "positions.embedding" : "positions.embedding_unscaled", { d_model });
  const places = { count: tokens.length, d_model, embedding, largest: largest.toFixed(1) };
  sumSay.textContent = t(sumText(), places);
  figures.sum.setAttribute("aria-label", sumSay.textContent);
}

function sumText() {
  const { run, stack } = state;
  const changed = findChange({ do: "positions", stack }, run.changes);
  if (changed) return `positions.changed.${changed.how}`;
  return run.model.positions ? `positions.sum.${stack}` : `positions.bare.${stack}`;
}
