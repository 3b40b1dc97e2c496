// Numbers at places: a map of rows and columns, and a curve, each with its axes and what is pointed at.

import type { Side } from "../api/types.ts";
import { h, svg, textWidth, typeScale } from "../ui/dom.ts";
import { paintedCanvas } from "../ui/painted-canvas.ts";
import { cellColours, cellImage, palette } from "./map-canvas.ts";

/** `names` of its places, else their numbers from 0; `title` under or beside them. Without a title no numbers. */
type Axis = { count: number; title: string; names?: readonly string[]; side?: Side };
type Place = { column: number; row: number };
/** `height` px of the body. */
type Chart = { width: number; height: number; label: string; hover: (place: Place) => string };
type MapData = Chart & {
  columns: Axis;
  rows: Axis;
  values: Float32Array;
  largest: number;
  choose?: (place: Place) => void;
};
type CurveData = Chart & { columns: Axis; values: ArrayLike<number>; smooth?: [x: number, y: number][] };

const [LEFT, RIGHT, TOP, BOTTOM] = [56, 8, 8, 44]; // px around the body
const SIZE = 13; // px of a name
const TICK = 48; // px from one number of an axis to the next
const FINGER_AWAY = 12; // px from what is pointed at to what is said of it

/** Whole numbers along an axis, in round steps. */
function ticks(count: number, size: number) {
  const most = Math.max(1, Math.floor(size / TICK));
  const step = [1, 2, 5, 10, 20, 25, 50, 100, 200, 500].find((each) => count / each <= most) ?? count;
  return Array.from({ length: Math.ceil(count / step) }, (_, i) => i * step);
}

/** Coloured cells: indigo above 0, red below. */
export function numberMap({ columns, rows, values, largest, choose, ...chart }: MapData) {
  const frame = framed(chart, columns, rows, (y) => Math.floor((y / chart.height) * rows.count));
  const open = new Uint8Array(values.length).fill(1);
  const { canvas } = paintedCanvas(frame.across, chart.height, (context) => {
    const colours = cellColours({ weights: values, open, difference: largest }, palette().levels, 0);
    context.imageSmoothingEnabled = false;
    context.drawImage(cellImage(colours, columns.count, rows.count), 0, 0, frame.across, chart.height);
  });
  Object.assign(canvas.style, { position: "absolute", left: `${frame.left}px`, top: `${TOP}px` });
  Object.assign(canvas.style, { width: `${frame.across}px`, height: `${chart.height}px` });
  frame.element.prepend(canvas);
  const middle = (row: number) => TOP + ((row + 0.5) * chart.height) / rows.count;
  const named = rows.names ? [...rows.names.keys()] : ticks(rows.count, chart.height);
  for (const row of named) frame.write(rows.names?.[row] ?? String(row), frame.left - 8, middle(row), "end", rows.side);
  if (choose) frame.element.addEventListener("click", (event) => choose(frame.placeOf(event)));
  return {
    element: frame.element,
    mark: ({ column, row }: Place) => frame.mark(frame.middle(column), middle(row)),
  };
}

/** Values from -1 to 1, one a column; with a `smooth` line through them, as dots. */
export function numberCurve({ columns, values, smooth, ...chart }: CurveData) {
  const frame = framed(chart, columns, { title: "" }, () => 0);
  const at = (value: number) => TOP + ((1.1 - value) / 2.2) * chart.height;
  for (const value of [-1, 0, 1]) {
    const ends = { x1: frame.left, x2: chart.width - RIGHT, y1: at(value), y2: at(value) };
    frame.picture.append(svg("line", { class: "grid", ...ends }));
    frame.write(String(value).replace("-", "−"), frame.left - 8, at(value), "end");
  }
  const points: [number, number][] = smooth ?? Array.from(values, (value, column) => [column, value]);
  const path = points.map(([x, y], i) => `${i ? "L" : "M"}${frame.middle(x).toFixed(1)},${at(y).toFixed(1)}`).join("");
  frame.picture.append(svg("path", { class: "curve", d: path }));
  if (smooth)
    for (let column = 0; column < values.length; column++)
      frame.picture.append(svg("circle", { class: "dot", cx: frame.middle(column), cy: at(values[column]), r: 2.5 }));
  return { element: frame.element, mark: (column: number) => frame.mark(frame.middle(column)) };
}

function framed(chart: Chart, columns: Axis, rows: Pick<Axis, "title" | "names">, rowAt: (y: number) => number) {
  const { width, height, label, hover } = chart;
  const { title, names = [] } = rows;
  const left = Math.max(LEFT * typeScale(), ...names.map((name) => textWidth(name, SIZE * typeScale()) + 12));
  const across = Math.max(1, width - left - RIGHT);
  const total = TOP + height + (columns.title ? BOTTOM * typeScale() : TOP);
  const picture = svg("svg", {
    viewBox: `0 0 ${width} ${total}`,
    width,
    height: total,
    role: "img",
    "aria-label": label,
  });
  const said = h("output", { class: "pointed-number", hidden: true, "aria-hidden": "true" });
  const element = h("div", { class: "number-chart", style: `height: ${total}px` }, picture, said);
  const write = (text: string, x: number, y: number, anchor: string, side = "plain") =>
    picture.append(
      svg("text", { class: `tick ${side}`, x, y, "text-anchor": anchor, "dominant-baseline": "central" }, text),
    );
  const middle = (column: number) => left + ((column + 0.5) * across) / columns.count;
  for (const column of columns.title ? ticks(columns.count, across) : [])
    write(String(column), middle(column), TOP + height + 12 * typeScale(), "middle");
  write(columns.title, left + across / 2, TOP + height + 32 * typeScale(), "middle");
  if (title) {
    const place = `translate(${12 * typeScale()}, ${TOP + height / 2}) rotate(-90)`;
    picture.append(svg("text", { class: "tick plain", "text-anchor": "middle", transform: place }, title));
  }
  const placeOf = (event: MouseEvent) => {
    const box = element.getBoundingClientRect();
    const [x, y] = [event.clientX - box.x - left, event.clientY - box.y - TOP];
    const inside = (at: number, count: number) => Math.max(0, Math.min(count - 1, at));
    return { column: inside(Math.floor((x / across) * columns.count), columns.count), row: Math.max(0, rowAt(y)) };
  };
  element.addEventListener("pointermove", (event) => {
    const box = element.getBoundingClientRect();
    const [x, y] = [event.clientX - box.x, event.clientY - box.y];
    said.hidden = x < left || x > width - RIGHT || y < TOP || y >= TOP + height;
    if (said.hidden) return;
    said.textContent = hover(placeOf(event));
    said.style.left = `${Math.max(0, Math.min(x + FINGER_AWAY, width - said.offsetWidth))}px`;
    said.style.top = `${y + FINGER_AWAY}px`;
  });
  element.addEventListener("pointerleave", () => {
    said.hidden = true;
  });
  /** Lines across at a place in px, in place of those before. */
  const mark = (x: number, y?: number) => {
    for (const each of picture.querySelectorAll(".at")) each.remove();
    picture.append(svg("line", { class: "at", x1: x, x2: x, y1: TOP, y2: TOP + height }));
    if (y !== undefined) picture.append(svg("line", { class: "at", x1: left, x2: left + across, y1: y, y2: y }));
  };
  return { element, picture, left, across, write, middle, placeOf, mark };
}
