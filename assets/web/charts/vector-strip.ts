// Vectors as rows of coloured cells: indigo above 0, red below, the surface colour at 0. A cell can be chosen.

import type { Side } from "../api/types.ts";
import { isPresenting } from "../state/address.ts";
import { t } from "../state/i18n.ts";
import { h, svg, textWidth, typeScale } from "../ui/dom.ts";
import { fixed } from "../ui/numbers.ts";
import { onResize } from "../ui/parts.ts";
import { MIN_TAP } from "./attention-map.ts";
import { strength } from "./map-canvas.ts";
import { contrastClass, label } from "./map-parts.ts";

/** A vector, with the digits of its numbers: 2 unless it says otherwise, null for none. */
export type Row = {
  values: number[] | Float32Array;
  label?: string;
  side?: Side;
  name?: string;
  digits?: number | null;
};
export type StripOptions = {
  label?: string;
  labels?: string[]; // that fit as well
  largest?: number; // has the strongest colour
  mark?: number[]; // [from, to) of the cells that are outlined in every row
  fold?: number; // cells a line, of which a row then has several
  choose?: Choose;
};
type Choose = (name: string, index: number) => void;

const ROW = 27; // px a row, 3 of them a gap
const ROW_PRESENTED = 19; // px: larger words beside rows that all fit on the screen
const NUMBERS_FROM = 42; // px a cell, so that a number with two digits fits
const DIGIT = 8; // px more for each further digit
const MAX_CELL = 64;
const MIN_CELL = 3;
const FINGER = "(pointer: coarse), (width < 480px)";

function colour(value: number, largest: number) {
  const hue = value < 0 ? "negative" : "accent";
  return `fill: color-mix(in oklab, var(--${hue}) ${strength(value, largest).toFixed(1)}%, var(--surface))`;
}

function describeStrips(label: string | undefined, rows: Row[]) {
  const range = ({ label: name, values }: Row) => {
    const places = { count: values.length, least: fixed(Math.min(...values), 2), most: fixed(Math.max(...values), 2) };
    return [name, t("strips.range", places)].filter(Boolean).join(": ");
  };
  return [label, ...rows.map(range)].filter(Boolean).join(" · ");
}

type Layout = ReturnType<typeof stripLayout>;

function stripLayout(rows: Row[], width: number, { labels = [], fold = Infinity, largest }: StripOptions) {
  const size = 13 * typeScale();
  const named = [...labels, ...rows.map((row) => row.label ?? "")].filter(Boolean);
  const left = Math.max(0, ...named.map((text) => textWidth(text, size) + 24));
  const count = rows[0].values.length;
  const across = Math.min(fold, count);
  const cell = Math.max(MIN_CELL, Math.min(MAX_CELL * typeScale(), (width - left - 4) / across));
  const lines = Math.ceil(count / across);
  const pitch = (isPresenting() ? ROW_PRESENTED : ROW) * typeScale();
  const fits = ({ digits = 2 }: Row) => digits !== null && cell >= (NUMBERS_FROM + DIGIT * (digits - 2)) * typeScale();
  return {
    ...{ size, left, across, cell, lines, pitch },
    gap: cell > 8 ? 1.5 : 0,
    largest: (largest ?? Math.max(...rows.flatMap((row) => Array.from(row.values, Math.abs)))) || 1,
    hasNumbers: rows.every(fits),
    width: left + across * cell + 4,
    height: rows.length * lines * pitch + 2,
  };
}

export function vectorStrips(rows: Row[], { width, ...options }: StripOptions & { width: number }) {
  const { choose, mark } = options;
  const layout = stripLayout(rows, width, options);
  const { left, cell, lines, pitch } = layout;
  const size = { viewBox: `0 0 ${layout.width} ${layout.height}`, width: layout.width, height: layout.height };
  const attributes = { class: "strips", role: "group", tabindex: choose ? 0 : null };
  const picture = svg("svg", { ...size, ...attributes, "aria-label": describeStrips(options.label, rows) });
  for (const [r, row] of rows.entries()) {
    const y = r * lines * pitch + 1;
    const place = { x: left - 14, y: y + pitch / 2, anchor: "end" as const, size: layout.size };
    if (row.label) picture.append(label(row.label, row.side ?? "plain", place));
    picture.append(...rowCells(row, y, layout));
    if (mark) {
      const [from, to] = mark;
      const frame = { x: left + from * cell - 1, y: y - 1, width: (to - from) * cell, height: pitch - 1, rx: 4 };
      picture.append(svg("rect", { ...frame, class: "part" }));
    }
  }
  picture.addEventListener("pointerover", nameCell);
  if (choose) makeSelectable(picture, choose, rows.length, layout);
  return picture;
}

function rowCells({ name, values, digits }: Row, y: number, layout: Layout) {
  const { left, across, cell, lines, pitch, gap, largest, hasNumbers } = layout;
  const frame = {
    x: Math.max(0.5, left - 1),
    y: y - 1,
    width: across * cell - gap + 2,
    height: lines * pitch - (lines > 1 ? gap : 3) + 2,
  };
  const cells = Array.from(values).flatMap((value, i) => {
    const at = { x: left + (i % across) * cell, y: y + Math.floor(i / across) * pitch };
    const box = { ...at, width: cell - gap, height: pitch - (lines > 1 ? gap : 3), rx: gap ? 3 : 0 };
    const data = { name, index: i, value };
    const rect = svg("rect", { ...box, data, class: "cell", style: colour(value, largest) });
    if (!hasNumbers) return [rect];
    const middle = { x: at.x + (cell - gap) / 2, y: at.y + (pitch - 3) / 2 };
    const type = `value ${contrastClass(strength(value, largest), value < 0)}`;
    return [rect, svg("text", { ...middle, class: type }, fixed(value, digits ?? 2))];
  });
  return [svg("rect", { ...frame, class: "frame", rx: 3 }), ...cells]; // zeros are as white as what is around
}

/** The number of the cell under the pointer, found on demand because there are thousands. */
function nameCell({ target }: Event) {
  if (!(target instanceof SVGElement) || !target.matches(".cell") || target.hasChildNodes()) return;
  target.append(svg("title", {}, fixed(Number(target.dataset.value), 3)));
}

export function chooseCell(cell: Element) {
  for (const each of document.querySelectorAll(".cell.chosen")) each.classList.remove("chosen");
  cell.classList.add("chosen");
}

function makeSelectable(picture: SVGSVGElement, choose: Choose, rows: number, { across, cell: size, left }: Layout) {
  picture.classList.add("choosable");
  const cells = [...picture.querySelectorAll<SVGElement>(".cell")];
  const count = cells.length / rows;
  const pick = (cell: SVGElement) => {
    chooseCell(cell);
    choose(cell.dataset.name ?? "", Number(cell.dataset.index));
  };
  picture.addEventListener("click", ({ target }) => {
    if (!(target instanceof SVGElement) || !target.matches(".cell")) return;
    const column = Number(target.dataset.index) % across;
    // Where the cells are too small for a finger, the first tap brings them closer.
    const width = size < MIN_TAP && matchMedia(FINGER).matches ? left + across * MIN_TAP + 4 : 0;
    const detail = { width, at: left + (column + 0.5) * MIN_TAP };
    if (!width || picture.dispatchEvent(new CustomEvent("zoom", { detail, bubbles: true, cancelable: true })))
      pick(target);
  });
  picture.addEventListener("keydown", (event) => {
    const now = cells.findIndex((cell) => cell.matches(".chosen"));
    const down = Math.min(count, across);
    const ways: Record<string, number> = {
      ArrowLeft: now - 1,
      ArrowRight: now + 1,
      ArrowUp: now - down,
      ArrowDown: now + down,
      Enter: now,
      Home: now - (now % count),
      End: now - (now % count) + count - 1,
    };
    const to = ways[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    if (now < 0) pick(cells[0]);
    else if (cells[to]) pick(cells[to]);
  });
}

/** Drawn again when its place has another width. @param width px of the place, if known: then it is there at once */
export function fluidPicture(draw: (width: number) => Element, signal?: AbortSignal, width: number = 0) {
  const place = h("div", { class: "fluid" }, width ? draw(width) : null);
  let drawn = width;
  const redraw = ([{ contentRect }]: ResizeObserverEntry[]) => {
    if (!contentRect.width || Math.abs(contentRect.width - drawn) < 1) return;
    drawn = contentRect.width;
    place.replaceChildren(draw(drawn));
  };
  onResize(place, redraw, signal);
  place.addEventListener("zoom", (event) => {
    const { width, at } = (event as CustomEvent<{ width: number; at: number }>).detail;
    event.preventDefault();
    place.classList.add("zoomed");
    place.replaceChildren(draw(width));
    place.scrollLeft = at - place.clientWidth / 2;
  });
  return place;
}
