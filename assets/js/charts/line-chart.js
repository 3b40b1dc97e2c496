// Curves over the steps of a training. A plot is made once; then only its points and labels move, so that many updates a
// second cost little.

import { h, svg, textWidth, typeScale } from "../core/dom.js";
import { formatNumber, t } from "../core/i18n.js";

const MAX_POINTS = 600; // points that are drawn of a curve
const TYPE = 13; // px
const MAX_UNIFORM_LOSSES = 3; // times the loss of a uniform guess, that an axis of losses reaches at most
const LEADER_FROM = 24; // px: a label that is farther from its curve is led to it

/** So few points that a screen has room for them: each the mean of equally many neighbours. */
function thinned(points, column) {
  const many = Math.ceil(points.length / MAX_POINTS);
  if (many <= 1) return points.map((point) => [point[0], point[column]]);
  return Array.from({ length: Math.ceil(points.length / many) }, (_, i) => {
    const group = points.slice(i * many, (i + 1) * many);
    return [group.at(-1)[0], group.reduce((sum, point) => sum + point[column], 0) / group.length];
  });
}

/** 1, 2 or 5 times a power of ten: the least such number that is not below `value`. */
function roundUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  return [1, 2, 5, 10].find((each) => each * power >= value * 0.999) * power;
}

const upTo = (top, tick) => Array.from({ length: Math.floor(top / tick + 1.001) }, (_, i) => i * tick);

/**
 * A plot as wide as its place and `height` px high: {element, draw}.
 *
 * `draw({steps, top, ticks, say, series, longest, line, label})`: x goes from 0 to `steps`, y from 0 to `top` with `ticks`
 * (each written by `say`); `series` are {name, label, points, column}, with `label` of its last value at its end, the
 * `longest` of which there must be room for; `line` is {at, labels}, one value across the plot and what it is called, in
 * full and in short; `label` is the text alternative. `widest` is the widest text left of the plot.
 */
export function lineChart({ height, widest, signal }) {
  const axes = svg("g");
  const inside = svg("svg"); // cuts off what leaves at the top
  const ends = svg("g");
  const picture = svg("svg", { class: "plot", role: "img" }, axes, inside, ends);
  const element = h("div", { class: "plot-place", style: `height: ${height / 16}rem` }, picture);
  const parts = new Map(); // name -> {curve, dot, leader, text}
  let given = null;
  let framed = "";

  function part(name) {
    if (!parts.has(name)) {
      const each = {
        curve: svg("polyline", { class: `curve ${name}` }),
        dot: svg("circle", { r: 4, class: `dot ${name}` }),
        leader: svg("line", { class: `leader ${name}` }),
        text: svg("text", { class: `end ${name}`, style: `font-size: ${TYPE * typeScale()}px` }),
      };
      inside.append(each.curve);
      ends.append(each.leader, each.dot, each.text);
      parts.set(name, each);
    }
    return parts.get(name);
  }

  function draw(what = given) {
    given = what;
    const width = element.clientWidth;
    if (!given || !width) return;
    const { steps, top, ticks, say, series, longest, line, label } = given;
    const size = TYPE * typeScale();
    const high = height * typeScale();
    const [left, right] = [textWidth(widest, size) + 12, textWidth(longest, size) + 16];
    const x = (step) => left + (step / steps) * (width - left - right);
    const above = line ? size * 1.8 : 8; // the name of the line stands above the plot, where no curve comes
    const y = (value) => above + (1 - value / top) * (high - above - size * 2);

    const frame = JSON.stringify([width, high, right, steps, top, line]);
    if (frame !== framed) {
      framed = frame;
      picture.setAttribute("viewBox", `0 0 ${width} ${high}`);
      picture.setAttribute("width", width);
      picture.setAttribute("height", high);
      const box = { x: 0, y: above - 2, width, height: high - above };
      for (const [name, value] of Object.entries({ ...box, viewBox: Object.values(box).join(" ") }))
        inside.setAttribute(name, value);
      const style = `font-size: ${size}px`;
      const tick = Math.max(1, roundUp(steps / (width < 480 ? 4 : 8)));
      const last = t("train.curve.steps", { steps });
      const room = x(steps) - textWidth(last, size) / 2 - size;
      const along = upTo(steps, tick).filter((step) => x(step) + textWidth(formatNumber(step), size) / 2 < room);
      axes.replaceChildren(
        ...ticks.flatMap((tick) => [
          svg("line", { x1: left, x2: width - right, y1: y(tick), y2: y(tick), class: tick ? "grid" : "axis" }),
          svg("text", { x: left - 8, y: y(tick), class: "tick side", style }, say(tick)),
        ]),
        ...along.map((step) =>
          svg("text", { x: x(step), y: high - size * 0.6, class: "tick", style }, formatNumber(step)),
        ),
        svg("text", { x: x(steps), y: high - size * 0.6, class: "tick", style }, last),
      );
      if (line) {
        const sample = size * 2;
        const called = line.labels.find((text) => textWidth(text, size) <= width - left - sample) ?? line.labels.at(-1);
        axes.append(
          svg("line", { x1: left, x2: width - right, y1: y(line.at), y2: y(line.at), class: "uniform" }),
          svg("line", { x1: left, x2: left + sample, y1: size * 0.6, y2: size * 0.6, class: "uniform" }),
          svg("text", { x: left + sample + 6, y: size * 0.6, class: "uniform-label", style }, called),
        );
      }
    }

    const labels = [];
    for (const { name, label: said, points, column } of series) {
      const { curve, dot, leader, text } = part(name);
      const places = thinned(points, column).map(([step, value]) => [x(step), y(value)]);
      curve.setAttribute("points", places.map(([a, b]) => `${a.toFixed(1)},${b.toFixed(1)}`).join(" "));
      for (const node of [dot, leader, text]) node.setAttribute("visibility", places.length ? "visible" : "hidden");
      if (!places.length) continue;
      const [a, b] = [places.at(-1)[0], Math.max(places.at(-1)[1], y(top))];
      dot.setAttribute("cx", a);
      dot.setAttribute("cy", b);
      text.textContent = said;
      labels.push({ text, leader, from: { x1: a + 6, y1: b }, x: a + 10, y: b });
    }
    // Labels stand in a column, apart from each other and above the axis.
    labels.sort((one, other) => one.y - other.y);
    labels.forEach((end, i) => (end.y = Math.max(end.y, i ? labels[i - 1].y + size * 1.4 : 0)));
    labels
      .reverse()
      .forEach((end, i) => (end.y = Math.min(end.y, i ? labels[i - 1].y - size * 1.4 : y(0) - size * 0.7)));
    const column = Math.max(...labels.map((end) => end.x));
    for (const { text, leader, from, y: height } of labels) {
      text.setAttribute("x", column);
      text.setAttribute("y", height);
      const far = column - from.x1 > LEADER_FROM;
      leader.setAttribute("visibility", far ? "visible" : "hidden");
      for (const [name, value] of Object.entries({ ...from, x2: column - 4, y2: height }))
        leader.setAttribute(name, value);
    }
    picture.setAttribute("aria-label", label);
  }

  const sized = new ResizeObserver(() => draw());
  sized.observe(element);
  signal.addEventListener("abort", () => sized.disconnect());
  return { element, draw };
}

/** An axis from 0 that `most` fits on: {top, ticks}. */
function axis(most) {
  const tick = roundUp(most / 4);
  const top = Math.ceil(most / tick) * tick;
  return { top, ticks: upTo(top, tick) };
}

/** The axis of a training's losses. Those far above the loss of a uniform guess leave at the top: what matters is below. */
export function lossAxis({ points, heldOut, uniform }) {
  const most = [...points, ...heldOut].reduce((highest, [, loss]) => Math.max(highest, loss), uniform * 1.2);
  return axis(Math.min(most, uniform * MAX_UNIFORM_LOSSES));
}

/**
 * A small curve beside a slider from 0 to `steps`, with the step that the slider is at and the value there: {element, draw}.
 * `inset` is half the width of the slider's thumb, whose middle does not reach the ends.
 */
export function sparkline({ height, inset, name, signal }) {
  const curve = svg("polyline", { class: `curve ${name}` });
  const marks = svg("g");
  const at = svg("line", { class: "at", y1: 0, y2: height });
  const dot = svg("circle", { r: 4, class: `dot ${name}` });
  const picture = svg("svg", { class: "plot", height }, marks, curve, at, dot);
  const element = h("div", { class: "ribbon", "aria-hidden": "true", style: `height: ${height}px` }, picture); // said beside it
  let given = null;
  function draw(what = given) {
    given = what;
    const width = element.clientWidth;
    if (!given || !width) return;
    const { points, marked, steps, top, step, value } = given;
    const x = (each) => inset + (each / steps) * (width - 2 * inset);
    const y = (value) => 5 + (1 - Math.min(1, value / top)) * (height - 10);
    picture.setAttribute("width", width);
    curve.setAttribute(
      "points",
      thinned(points, 1)
        .map(([a, b]) => `${x(a).toFixed(1)},${y(b).toFixed(1)}`)
        .join(" "),
    );
    marks.replaceChildren(
      ...marked.map((each) => svg("line", { x1: x(each), x2: x(each), y1: height - 4, y2: height, class: "mark" })),
    );
    at.setAttribute("x1", x(step));
    at.setAttribute("x2", x(step));
    dot.setAttribute("cx", x(step));
    dot.setAttribute("visibility", value === null ? "hidden" : "visible");
    if (value !== null) dot.setAttribute("cy", y(value));
  }
  const sized = new ResizeObserver(() => draw());
  sized.observe(element);
  signal.addEventListener("abort", () => sized.disconnect());
  return { element, draw };
}
