// Curves over the steps of a training. A chart is made once; then only its points and labels move, so that many updates
// a second cost little.

import { h, svg, textWidth, typeScale } from "../core/dom.js";
import { formatNumber, t } from "../core/i18n.js";
import { onResize } from "../core/parts.js";

/** @import { Point } from "../net/training-stream.js" */

/**
 * A curve: its value at a step is `point[column]`; `label` stands at its end.
 * @typedef {{ name: string, label: string, points: Point[], column: number }} Series
 */
/**
 * `x` goes from 0 to `steps`, `y` from 0 to `top` with `ticks` (each written by `say`); `longest` is the longest label
 * of a series that there must be room for; `line` is one value across the chart and what it is called, in full and in
 * short; `label` is the text alternative.
 * @typedef {{ steps: number, top: number, ticks: number[], say: (tick: number) => string, series: Series[],
 *   longest: string, line?: { at: number, labels: string[] } | null, label: string }} ChartData
 */
/** @typedef {{ curve: SVGElement, dot: SVGElement, leader: SVGElement, text: SVGElement }} Part */
/**
 * Where a curve ends, and where its label stands.
 * @typedef {{ text: SVGElement, leader: SVGElement, from: { x1: number, y1: number }, x: number, y: number }} End
 */

const MAX_POINTS = 600; // that are drawn of a curve
const TYPE = 13; // px
const MAX_UNIFORM_LOSSES = 3; // an axis of losses reaches this many times the loss of a uniform guess at most
const LEADER_FROM = 24; // px: a label that is farther from its curve is led to it

/**
 * Few enough points for a screen: each the mean of equally many neighbours.
 * @param {Point[]} points @param {number} column
 */
export function thinned(points, column) {
  const group = Math.ceil(points.length / MAX_POINTS);
  if (group <= 1) return points.map((point) => [point[0], point[column]]);
  return Array.from({ length: Math.ceil(points.length / group) }, (_, i) => {
    const some = points.slice(i * group, (i + 1) * group);
    return [some[some.length - 1][0], some.reduce((sum, point) => sum + point[column], 0) / some.length];
  });
}

/** 1, 2 or 5 times a power of ten: the least such number that is not below `value`. @param {number} value */
export function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return ([1, 2, 5].find((each) => each * power >= value * 0.999) ?? 10) * power;
}

/** @param {number} top @param {number} tick */
const upTo = (top, tick) => Array.from({ length: Math.floor(top / tick + 1.001) }, (_, i) => i * tick);

/** @param {Element} node @param {Record<string, unknown>} attributes */
function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
}

/**
 * A chart as wide as its place and `height` px high; `widest` is the widest text left of it.
 * @param {{ height: number, widest: string, signal: AbortSignal }} options
 */
export function lineChart({ height, widest, signal }) {
  const axes = svg("g");
  const inside = svg("svg"); // cuts off what leaves at the top
  const ends = svg("g");
  const picture = svg("svg", { class: "plot", role: "img" }, axes, inside, ends);
  const element = h("div", { class: "plot-place", style: `height: ${height / 16}rem` }, picture);
  /** @type {Map<string, Part>} */
  const parts = new Map();
  /** @type {ChartData | null} */
  let data = null;
  let framed = "";

  function draw() {
    const width = element.clientWidth;
    if (!data || !width) return;
    const layout = chartLayout(data, width, height * typeScale(), widest);
    const frame = JSON.stringify([width, layout.height, layout.right, data.steps, data.top, data.line]);
    if (frame !== framed) {
      framed = frame;
      set(picture, { viewBox: `0 0 ${width} ${layout.height}`, width, height: layout.height });
      const box = { x: 0, y: layout.above - 2, width, height: layout.height - layout.above };
      set(inside, { ...box, viewBox: Object.values(box).join(" ") });
      axes.replaceChildren(...drawAxes(data, layout), ...drawLine(data, layout));
    }
    const labels = data.series.flatMap((series) => {
      let part = parts.get(series.name);
      if (!part) {
        part = makePart(series.name);
        inside.append(part.curve);
        ends.append(part.leader, part.dot, part.text);
        parts.set(series.name, part);
      }
      return drawSeries(series, part, data?.top ?? 1, layout);
    });
    placeLabels(labels, layout);
    picture.setAttribute("aria-label", data.label);
  }

  onResize(element, draw, signal);
  return {
    element,
    draw(/** @type {ChartData} */ given) {
      data = given;
      draw();
    },
  };
}

/** @param {ChartData} data @param {number} width @param {number} height @param {string} widest */
function chartLayout({ steps, top, longest, line }, width, height, widest) {
  const size = TYPE * typeScale();
  const [left, right] = [textWidth(widest, size) + 12, textWidth(longest, size) + 16];
  const above = line ? size * 1.8 : 8; // the name of the line stands above the chart, where no curve comes
  return {
    size,
    style: `font-size: ${size}px`,
    width,
    height,
    left,
    right,
    above,
    x: (/** @type {number} */ step) => left + (step / steps) * (width - left - right),
    y: (/** @type {number} */ value) => above + (1 - value / top) * (height - above - size * 2),
  };
}

/** @typedef {ReturnType<typeof chartLayout>} ChartLayout */

/** @param {ChartData} data @param {ChartLayout} layout */
function drawAxes({ steps, ticks, say }, { size, style, width, height, left, right, x, y }) {
  const last = t("train.curve.steps", { steps });
  const room = x(steps) - textWidth(last, size) / 2 - size;
  const along = upTo(steps, Math.max(1, roundUp(steps / (width < 480 ? 4 : 8)))).filter(
    (step) => x(step) + textWidth(formatNumber(step), size) / 2 < room,
  );
  const below = (/** @type {number} */ step, /** @type {string} */ text) =>
    svg("text", { x: x(step), y: height - size * 0.6, class: "tick", style }, text);
  return [
    ...ticks.flatMap((tick) => [
      svg("line", { x1: left, x2: width - right, y1: y(tick), y2: y(tick), class: tick ? "grid" : "axis" }),
      svg("text", { x: left - 8, y: y(tick), class: "tick side", style }, say(tick)),
    ]),
    ...along.map((step) => below(step, formatNumber(step))),
    below(steps, last),
  ];
}

/** The value across the chart, with its name. @param {ChartData} data @param {ChartLayout} layout */
function drawLine({ line }, { size, style, width, left, right, y }) {
  if (!line) return [];
  const sample = size * 2;
  const name = line.labels.find((text) => textWidth(text, size) <= width - left - sample) ?? line.labels.at(-1);
  return [
    svg("line", { x1: left, x2: width - right, y1: y(line.at), y2: y(line.at), class: "uniform" }),
    svg("line", { x1: left, x2: left + sample, y1: size * 0.6, y2: size * 0.6, class: "uniform" }),
    svg("text", { x: left + sample + 6, y: size * 0.6, class: "uniform-label", style }, name),
  ];
}

/** @param {string} name @returns {Part} */
const makePart = (name) => ({
  curve: svg("polyline", { class: `curve ${name}` }),
  dot: svg("circle", { r: 4, class: `dot ${name}` }),
  leader: svg("line", { class: `leader ${name}` }),
  text: svg("text", { class: `end ${name}`, style: `font-size: ${TYPE * typeScale()}px` }),
});

/** @param {Series} series @param {Part} part @param {number} top @param {ChartLayout} layout @returns {End[]} */
function drawSeries({ label, points, column }, { curve, dot, leader, text }, top, { x, y }) {
  const places = thinned(points, column).map(([step, value]) => [x(step), y(value)]);
  curve.setAttribute("points", places.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(" "));
  for (const node of [dot, leader, text]) node.setAttribute("visibility", places.length ? "visible" : "hidden");
  const end = places.at(-1);
  if (!end) return [];
  const [a, b] = [end[0], Math.max(end[1], y(top))];
  set(dot, { cx: a, cy: b });
  text.textContent = label;
  return [{ text, leader, from: { x1: a + 6, y1: b }, x: a + 10, y: b }];
}

/**
 * Labels stand in a column, apart from each other and above the axis.
 * @param {End[]} labels @param {ChartLayout} layout
 */
function placeLabels(labels, { size, y }) {
  labels.sort((one, other) => one.y - other.y);
  labels.forEach((end, i) => {
    end.y = Math.max(end.y, i ? labels[i - 1].y + size * 1.4 : 0);
  });
  labels.reverse().forEach((end, i) => {
    end.y = Math.min(end.y, i ? labels[i - 1].y - size * 1.4 : y(0) - size * 0.7);
  });
  const column = Math.max(...labels.map((end) => end.x));
  for (const { text, leader, from, y: height } of labels) {
    set(text, { x: column, y: height });
    const isFar = column - from.x1 > LEADER_FROM;
    set(leader, { ...from, x2: column - 4, y2: height, visibility: isFar ? "visible" : "hidden" });
  }
}

/** An axis from 0 that `most` fits on: {top, ticks}. @param {number} most */
function axis(most) {
  const tick = roundUp(most / 4);
  const top = Math.ceil(most / tick) * tick;
  return { top, ticks: upTo(top, tick) };
}

/**
 * The axis of a training's losses. Those far above the loss of a uniform guess leave at the top: what matters is below.
 * @param {{ points: Point[], heldOut: Point[], uniform: number }} training
 */
export function lossAxis({ points, heldOut, uniform }) {
  const most = [...points, ...heldOut].reduce((highest, [, loss]) => Math.max(highest, loss), uniform * 1.2);
  return axis(Math.min(most, uniform * MAX_UNIFORM_LOSSES));
}

/**
 * A small curve beside a slider from 0 to `steps`, with the step that the slider is at and the value there.
 * `inset` is half the width of the slider's thumb, whose middle does not reach the ends.
 *
 * @typedef {{ points: Point[], marked: number[], steps: number, top: number, step: number, value: number | null }} SparklineData
 * @param {{ height: number, inset: number, name: string, signal: AbortSignal }} options
 */
export function sparkline({ height, inset, name, signal }) {
  const curve = svg("polyline", { class: `curve ${name}` });
  const marks = svg("g");
  const at = svg("line", { class: "at", y1: 0, y2: height });
  const dot = svg("circle", { r: 4, class: `dot ${name}` });
  const picture = svg("svg", { class: "plot", height }, marks, curve, at, dot);
  const element = h("div", { class: "ribbon", "aria-hidden": "true", style: `height: ${height}px` }, picture); // said beside it
  /** @type {SparklineData | null} */
  let data = null;
  function draw() {
    const width = element.clientWidth;
    if (!data || !width) return;
    const { points, marked, steps, top, step, value } = data;
    const x = (/** @type {number} */ each) => inset + (each / steps) * (width - 2 * inset);
    const y = (/** @type {number} */ value) => 5 + (1 - Math.min(1, value / top)) * (height - 10);
    picture.setAttribute("width", String(width));
    const places = thinned(points, 1).map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`);
    curve.setAttribute("points", places.join(" "));
    marks.replaceChildren(
      ...marked.map((each) => svg("line", { x1: x(each), x2: x(each), y1: height - 4, y2: height, class: "mark" })),
    );
    set(at, { x1: x(step), x2: x(step) });
    set(dot, { cx: x(step), visibility: value === null ? "hidden" : "visible" });
    if (value !== null) dot.setAttribute("cy", String(y(value)));
  }
  onResize(element, draw, signal);
  return {
    element,
    draw(/** @type {SparklineData} */ given) {
      data = given;
      draw();
    },
  };
}
