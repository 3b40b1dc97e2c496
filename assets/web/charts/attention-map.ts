// One head's attention map: cells on a canvas, words beside them, which stay in sight while a long one scrolls.

import type { DrawnRun, Kind } from "../api/types.ts";
import { argmax } from "../engine/arrays.ts";
import { formatPercent, joinSentences, nodes, t } from "../state/i18n.ts";
import { attentionRow, eachHead, SIDES, UNIFORM_MARGIN } from "../state/state.ts";
import { fontFamily, h, svg, textWidth, typeScale, word, wordAt } from "../ui/dom.ts";
import { fixed } from "../ui/numbers.ts";
import { paintedCanvas } from "../ui/painted-canvas.ts";
import { button, closest } from "../ui/parts.ts";
import { cellAt, gapOf, paintMap, palette, type Shown, strength } from "./map-canvas.ts";
import {
  type Cell,
  cellReader,
  cellsOf,
  contrastClass,
  describeCell,
  FIT_FROM,
  formatValue,
  formatWeight,
  label,
  MANY_CELLS,
  NARROW,
  rowLabel,
  scrolledTo,
  shownWords,
  spacedLabels,
  uncovered,
  widest,
} from "./map-parts.ts";

type Options = {
  width: number;
  maxCell?: number; // px, of a small map
  maxHeight?: number; // px of the whole, unless its rows would be too low to read
  zoom?: number; // a long sentence fits the width, this many times
  isOnPaper?: boolean; // nothing scrolls
  beside?: DrawnRun[]; // runs whose maps stand beside this one, with cells of the same size
};
type MapLayout = ReturnType<typeof layoutOf>;
export type DrawnMap = ReturnType<typeof heatmap>;
type Drawn = { shown: Shown; layout: MapLayout; rows: Element[]; columns: Element[]; frame: HTMLElement };

const SIZES = [15, 13, 12]; // px of the labels, the first that fit the columns
const SMALL_SIZES = [12, 11];
const LONG_SIZE = 12;
const MAX_CELL = 120; // px
const MAX_ROW = 56;
const MIN_CELL = 14;
export const MIN_TAP = 26; // px of a cell and its gap that a finger hits
const VALUES_FROM = 28; // px a cell, so that a number fits
const ROW_PITCH = 1.2; // sizes of a label between two rows of a long sentence that can be read
const COLUMN_PITCH = 1.25; // of two that are turned
const TURN = 55; // degrees
const [SINE, COSINE] = [Math.sin((TURN * Math.PI) / 180), Math.cos((TURN * Math.PI) / 180)];
const LOWEST = 4; // px a row
const MIN_ROW = 15; // px, where nothing makes it fit: its word can be read
const BOX = 0.8; // of the window's height: see .scroll:has(.heatmap.long) in style.css
const BESIDE = 16; // px between rows' words and the edge and the cells
const MARGIN = 4; // px right of the cells and below them
const ZOOMS = [1, 1.5, 2, 3, 4, 6, 8];
const MAX_ZOOMED = 40; // px a cell; of thousands of cells fewer, or else their canvas takes too much memory
const MAX_ZOOMED_MANY = 24;
const MANY = 4000; // cells
const MIN_CHANGE = 0.05; // of a weight, that has the strongest colour where all changes of a map are smaller

const nextZoom = (zoom: number, way: 1 | -1) =>
  ZOOMS[Math.max(0, Math.min(ZOOMS.indexOf(zoom) + way, ZOOMS.length - 1))];

function mapLayout(shown: Pick<Shown, "run" | "kind">, options: Options) {
  const { queries, keys } = shown.run.attention[shown.kind];
  const layout = layoutOf(shown, options, queries.length * keys.length > MANY_CELLS);
  const isTooWide = Math.max(queries.length, keys.length) > FIT_FROM && layout.width > options.width;
  return isTooWide ? layoutOf(shown, options, true) : layout;
}

/** @param isLong it fits its place, however small its cells are, and can be enlarged */
function layoutOf({ run, kind }: Pick<Shown, "run" | "kind">, options: Options, isLong: boolean) {
  const { width, maxCell, maxHeight, isOnPaper, beside = [] } = options;
  const type = typeScale();
  const zoom = (isLong && options.zoom) || 1;
  const isFitted = isOnPaper || (isLong && Boolean(options.zoom ?? maxCell));
  const isNarrow = width < NARROW * type;
  const all = [run, ...beside].map((each) => shownWords(each, kind, isLong, isNarrow));
  const [{ queries: reads, keys: columns, predicted }] = all;
  const rowCount = Math.max(...all.map(({ queries }) => queries.length));
  const columnCount = Math.max(...all.map(({ keys }) => keys.length));
  const tap = maxCell || width >= NARROW ? MIN_CELL : MIN_TAP;
  const most = (maxCell ?? (isLong ? MAX_ROW : MAX_CELL)) * type;
  const whole = maxHeight ?? (isLong && options.zoom ? BOX * innerHeight : Infinity);
  const measure = (points: number) => {
    const size = points * type;
    const left = Math.max(...all.map(({ names }) => widest(names, size))) + BESIDE;
    const free = width - left - MARGIN;
    const longest = Math.max(...all.map(({ keys }) => widest(keys, size)));
    const least = isOnPaper ? Math.min(MIN_CELL, free / columnCount) : isFitted ? 1 : tap;
    const sized = (fit: number) => Math.max(least, Math.min(most, fit >= MIN_CELL ? Math.floor(fit) : fit)) * zoom;
    const isTurned = longest > sized(free / columnCount) + 2;
    const turned = Math.min(...all.map(({ keys }) => turnedFit(keys, size, free)));
    const top = isTurned ? SINE * longest + 2 * size : 2.4 * size;
    const row = (whole - top - 2 * MARGIN) / rowCount; // its height, if the map is to fit
    return { size, left, top, row, isTurned, cell: sized(isTurned ? turned : free / columnCount) };
  };
  const measured = (isLong ? [LONG_SIZE] : maxCell ? SMALL_SIZES : SIZES).map(measure);
  const chosen = measured.find(({ isTurned, row, size }) => !isTurned && row >= ROW_PITCH * size);
  const { size, left, top, row, isTurned, cell } = chosen ?? measured[measured.length - 1];
  const twoLines = isNarrow && predicted[0] ? 2 * ROW_PITCH * size + MARGIN : 0; // which stand closer than two rows
  const readable = maxCell ? 1.05 * size : MIN_ROW * type;
  const lowest = Math.max(isLong && isFitted ? LOWEST : readable, twoLines);
  const highest = Math.min(cell / zoom, (maxCell ?? MAX_ROW) * type, row);
  const down = Math.max(lowest, highest) * zoom;
  const [count, across] = [reads.length, columns.length];
  const body = { x: 0, y: 0, width: across * cell, height: count * down };
  const wide = left + body.width + MARGIN + (isTurned ? overhang(columns, size, cell) : 0);
  const high = top + body.height + MARGIN;
  return {
    isWhole: wide <= width + 0.5 && high <= BOX * innerHeight, // in its place, which then scrolls nowhere
    ...{ isLong, isNarrow, isTurned, isWritten: Math.min(cell, down + 8) >= VALUES_FROM * type },
    ...{ reads, predicted, columns, count, across, size, left, top, cell, down, body, type },
    width: wide,
    height: high,
  };
}

/** The zoom at which a long sentence's words can be read. */
export function zoomToRead(shown: Pick<Shown, "run" | "kind">, width: number) {
  const { cell, isLong } = mapLayout(shown, { width, zoom: 1 });
  return isLong ? (ZOOMS.find((zoom) => zoom * cell >= MIN_ROW) ?? ZOOMS[ZOOMS.length - 1]) : 1;
}

function zoomRange({ isLong, across, count, cell }: MapLayout) {
  if (!isLong) return null;
  return { canGrow: cell < (across * count > MANY ? MAX_ZOOMED_MANY : MAX_ZOOMED) };
}

const reach = (token: string, size: number) => textWidth(token, size) * COSINE + size;

/** The widest cells whose columns, with their turned words, fit this many px. */
const turnedFit = (columns: string[], size: number, free: number) =>
  Math.min(free / columns.length, ...columns.map((token, i) => (free - reach(token, size)) / (i + 0.5)));

/** How far turned words reach beyond the last column, px. @param cell px */
const overhang = (columns: string[], size: number, cell: number) =>
  Math.max(0, ...columns.map((token, i) => reach(token, size) - (columns.length - i - 0.5) * cell));

/** Where a row's label stands, px: none of a long sentence is cut. */
const rowMiddle = ({ isLong, down, body, size }: MapLayout, i: number) =>
  isLong ? Math.max(0.75 * size, Math.min((i + 0.5) * down, body.height - 0.75 * size)) : (i + 0.5) * down;

export function heatmap({ run, kind, layer, head }: Shown, options: Options) {
  const shown = { run, kind, layer, head };
  const [from, at] = SIDES[kind];
  const layout = mapLayout(shown, options);
  const { isLong, left, top, body, reads, predicted, columns, cell, size, isNarrow, isTurned } = layout;
  const { canvas, repaint } = paintedCanvas(body.width, body.height, (context) => {
    paintMap(context, shown, body);
    if (layout.isWritten) writeWeights(context, shown, layout);
  });
  const rowLabels = reads.map((read, i) => {
    const place = { x: left - 10, y: rowMiddle(layout, i), anchor: "end" as const, size };
    return rowLabel(read, predicted[i], from, place, isNarrow, { "data-query": i });
  });
  const columnLabels = columns.map((token, i) => {
    const [x, y] = [(i + 0.5) * cell, top - 1.1 * size];
    const turn = isTurned ? { transform: `rotate(${-TURN} ${x} ${y})` } : {};
    const anchor = isTurned ? ("start" as const) : ("middle" as const);
    return label(token, at, { x, y, anchor, size }, { ...turn, "data-key": i });
  });
  const frame = h("i", { class: "marked", hidden: true });
  const sizes = `width: ${body.width}px; height: ${body.height}px`;
  const style = `width: ${layout.width}px; --left: ${left}px; --top: ${top}px`;
  const attributes = { class: isLong ? "heatmap long" : "heatmap", role: "img", tabindex: isLong ? 0 : null, style };
  const element = h("div", attributes, [
    h("div", { class: "body", "aria-hidden": "true", style: sizes }, canvas, frame),
    words("columns-words", layout.width - left, top, columnLabels),
    words("rows-words", left, body.height, rowLabels),
    h("div", { class: "corner" }),
  ]);
  const drawn = { shown, layout, rows: rowLabels, columns: columnLabels, frame };
  const revealIn = (query: number, key: number) => {
    const place = layout.isWhole ? null : element.closest(".scroll, .fluid");
    if (place) reveal(place, { parts: [cellBox(canvas, layout, query, key)], inset: { left, top } });
  };
  return {
    element,
    /** Another head of the same kind and run: only what the cells say changes. */
    paint(layer: number, head: number) {
      Object.assign(shown, { layer, head });
      queueMicrotask(repaint); // after what else changes: the browser computes all styles to write a number
    },
    mark: (query: number | null) => markWords(drawn, query), // a row, or none
    /** The cell that an event happened to, and where it is in the window. */
    cellAt: (event: PlaceOfEvent) => pointedCell(canvas, shown, layout, event),
    /** Scroll the place of a long sentence's map, so that a cell is in sight beside its words. */
    reveal: revealIn,
    zoomRange: zoomRange(layout), // null where the cells are not to be enlarged
    /** Where in the window the cell is that an arrow key leads to from another one, or at first (null). */
    cellByKey(name: string, from: Cell | null) {
      const to = isLong && cellByKey(layout, name, from);
      if (!to) return null;
      revealIn(to.query, to.key);
      const { x, y, width, height } = cellBox(canvas, layout, to.query, to.key);
      return { target: canvas, clientX: x + width / 2, clientY: y + height / 2 };
    },
  };
}

const words = (name: string, width: number, height: number, labels: Element[]) =>
  svg("svg", { class: name, "aria-hidden": "true", viewBox: `0 0 ${width} ${height}`, width, height }, labels);

function writeWeights(context: CanvasRenderingContext2D, shown: Shown, { cell, down, type }: MapLayout) {
  const { isDark } = palette();
  const { difference: changes, most = 1 } = shown.run.attention[shown.kind];
  const part = changes || most >= 10 ? 0.29 : 0.37; // of a cell, so that the numbers of two do not touch
  const font = `${Math.min(13 * type, cell * part)}px ${fontFamily()}`;
  Object.assign(context, { font, textAlign: "center", textBaseline: "middle" });
  for (const { query, key, open, value, share, difference } of cellsOf(shown)) {
    if (!open) continue;
    const contrast = contrastClass(strength(share, difference), value < 0);
    context.fillStyle = (isDark ? contrast === "faint" : contrast === "full") ? "#fff" : "#000";
    const [x, y] = [key * cell + (cell - gapOf(cell)) / 2, query * down + (down - gapOf(down)) / 2];
    context.fillText(formatWeight(value, difference), x, y);
  }
}

/** The strongest key of a row, or the one that has changed most. */
export function strongestKey({ run, kind, layer, head }: Shown, query: number) {
  const weights = attentionRow(kind, layer, head, query, run);
  return argmax(run.attention[kind].difference ? weights.map(Math.abs) : weights);
}

/** Mark a row and the word that it attends to most; where not all words fit, theirs do. */
function markWords({ shown, layout, rows, columns, frame }: Drawn, query: number | null) {
  const { size, cell, down, isLong, isTurned, isNarrow, predicted } = layout;
  const key = query === null ? null : strongestKey(shown, query);
  frame.hidden = query === null;
  const above = query ? 3 : 0; // the words of the columns lie over what is above the first row
  frame.style.top = `${(query ?? 0) * down - above}px`;
  frame.style.height = `${down + above + 1}px`;
  const lines = isNarrow && predicted[0] ? 2 : 1;
  const isAt = (at: number | null) => (at === null ? [] : [at]);
  const high = isLong ? size : 0; // all rows of a short sentence fit
  const spaced = spacedLabels(rows.length, down, lines * ROW_PITCH * high, isAt(query));
  const edges = [...isAt(query), 0, rows.length - 1];
  const seenRows = uncovered(spaced, edges, (i) => rowMiddle(layout, i), high);
  const pitch = isLong ? COLUMN_PITCH : 1;
  const seenColumns = spacedLabels(columns.length, cell, isTurned ? pitch * size : 0, isAt(key));
  const mark = (labels: Element[], at: number | null, seen: Set<number>) => {
    for (const [i, { classList }] of labels.entries()) {
      classList.toggle("now", i === at);
      classList.toggle("crowded", !seen.has(i));
    }
  };
  mark(rows, query, seenRows);
  mark(columns, key, seenColumns);
}

function cellBox(canvas: HTMLCanvasElement, { across, count }: MapLayout, query: number, key: number) {
  const { left, top, width, height } = canvas.getBoundingClientRect(); // in front of a class it may be drawn smaller
  const [cellWidth, cellHeight] = [width / across, height / count];
  return new DOMRect(left + key * cellWidth, top + query * cellHeight, cellWidth, cellHeight);
}

type PlaceOfEvent = Pick<MouseEvent, "target" | "clientX" | "clientY">;

function pointedCell(canvas: HTMLCanvasElement, shown: Shown, layout: MapLayout, event: PlaceOfEvent) {
  const { target, clientX, clientY } = event;
  if (target !== canvas) return null;
  const first = cellBox(canvas, layout, 0, 0);
  const body = { across: layout.across, down: layout.count, cellWidth: first.width, cellHeight: first.height };
  const at = cellAt(clientX - first.x, clientY - first.y, body);
  if (!at) return null;
  const { query, key } = at;
  return { cell: cellReader(shown)(query, key), box: cellBox(canvas, layout, query, key) };
}

function cellByKey({ across, count }: MapLayout, name: string, from: Cell | null) {
  const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[name];
  const to = (at: number, by: number, of: number) => Math.max(0, Math.min(at + by, of - 1));
  if (!move || !from) return move && { query: 0, key: 0 };
  return { query: to(from.query, move[0], count), key: to(from.key, move[1], across) };
}

/** Scroll a place so that parts of what it holds are in sight, as far as they fit, beside what covers its edges. */
export function reveal(place: Element, { parts, inset }: { parts: DOMRect[]; inset: { left: number; top: number } }) {
  if (!parts.length) return;
  if (place.scrollWidth <= place.clientWidth && place.scrollHeight <= place.clientHeight) return;
  const frame = place.getBoundingClientRect();
  const { scrollLeft: x, scrollTop: y } = place;
  const [left, right] = [Math.min(...parts.map((box) => box.left)), Math.max(...parts.map((box) => box.right))];
  const [top, bottom] = [Math.min(...parts.map((box) => box.top)), Math.max(...parts.map((box) => box.bottom))];
  const across = { now: x, size: place.clientWidth, inset: inset.left };
  const downwards = { now: y, size: place.clientHeight, inset: inset.top };
  place.scrollTo({
    left: scrolledTo(across, left - frame.left + x, right - frame.left + x),
    top: scrolledTo(downwards, top - frame.top + y, bottom - frame.top + y),
  });
}

/** Whether some query of a kind can attend to nothing: every cell of its row was closed by hand. */
export const hasFullyMaskedRow = (run: DrawnRun, kind: Kind) =>
  run.attention[kind].allowed.some((row) => !row.includes(true));

/** Whether there is padding, masked for every query, as it is unless an intervention changes the mask. */
export function paddingMasked(run: DrawnRun, kind: Kind) {
  const { keys, allowed } = run.attention[kind];
  const isMasked = (key: number) => !allowed.some((row) => row[key]);
  return keys.includes("P") && keys.every((token, key) => token !== "P" || isMasked(key));
}

export function mapHeading(kind: Kind, layer: number, head: number, key = "attention.axes", places = {}) {
  const axis = (i: 0 | 1, arrow: string) => word(`${t(`side.${SIDES[kind][i]}`)}\u00a0${arrow}`, SIDES[kind][i]);
  return nodes(key, { head: head + 1, layer: layer + 1, from: axis(0, "↓"), at: axis(1, "→"), ...places });
}

export function describeLargestWeights({ run, kind, layer, head }: Shown) {
  const { queries, keys } = run.attention[kind];
  const largest = queries.map((from, query) => {
    const values = attentionRow(kind, layer, head, query, run);
    const key = argmax(values);
    return `${from} → ${keys[key]} ${formatValue(values[key], run.attention[kind])}`;
  });
  return t("mistakes.map", { looks: largest.join(", ") });
}

/** The cell of a kind's maps, or of one head's, whose weight is the largest or has changed most. */
export function largestCell({ attention }: DrawnRun, kind: Kind, of?: { layer: number; head: number }) {
  const { heads, queries, keys, values } = attention[kind];
  const size = queries.length * keys.length;
  const start = of ? (of.layer * heads + of.head) * size : 0;
  const at = start + argmax(values.slice(start, of ? start + size : undefined).map(Math.abs));
  const [map, query, key] = [Math.floor(at / size), Math.floor((at % size) / keys.length), at % keys.length];
  const place = { kind, layer: Math.floor(map / heads), head: map % heads };
  return { ...place, query, from: queries[query], to: keys[key], value: values[at] };
}

/** A map without a marked row, or with one, whose text alternative is its rows' largest weights. */
export function describedMap(shown: Shown, options: Options, query: number | null = null) {
  const map = heatmap(shown, options);
  map.mark(query);
  map.element.setAttribute("aria-label", describeLargestWeights(shown));
  return map.element;
}

/** Which row is meant. @param output the word that the model outputs there, if it does */
export const describeReading = ({ run, kind }: Shown, query: number, output: string | null) =>
  nodes(output ? "row.reading_and_saying" : "row.reading", {
    word: word(run.attention[kind].queries[query], SIDES[kind][0]),
    output: output && word(output, "target"),
  });

/** One row of a head in words. @param output the word that the model outputs there, if it does */
export function describeRow(shown: Shown, query: number, output: string | null) {
  const { run, kind, layer, head } = shown;
  const { keys, allowed } = run.attention[kind];
  const weights = attentionRow(kind, layer, head, query, run);
  const key = argmax(weights);
  const open = allowed[query].filter(Boolean).length;
  const places = {
    head: head + 1,
    layer: layer + 1,
    count: open,
    word: wordAt(keys, key, SIDES[kind][1]),
    share: formatPercent(weights[key]),
    equal: formatPercent(1 / open),
  };
  const uniform = weights[key] - 1 / open < UNIFORM_MARGIN;
  const attends = open === 0 ? "nothing" : open === 1 ? "only" : uniform ? "evenly" : "mostly";
  return joinSentences(describeReading(shown, query, output), nodes(`row.${attends}`, places));
}

/** What a row's highest weight contributes, and which word contributes most. @param weighted the run with its weights */
export function describeContribution({ run, kind, layer, head }: Shown, weighted: DrawnRun, query: number) {
  const side = SIDES[kind][1];
  const { keys, allowed } = run.attention[kind];
  const [weights, parts] = [weighted, run].map((each) => attentionRow(kind, layer, head, query, each));
  const [attended, most] = [argmax(weights), argmax(parts)];
  const places = {
    head: head + 1,
    layer: layer + 1,
    weight: fixed(weights[attended], 2),
    word: wordAt(keys, attended, side),
    contribution: fixed(parts[attended], 2),
    other: wordAt(keys, most, side),
    other_weight: fixed(weights[most], 2),
    most: fixed(parts[most], 2),
  };
  if (!allowed[query].includes(true)) return nodes("row.nothing", places);
  return nodes(`contribution.${parts[most] === 0 ? "none" : attended === most ? "same" : "other"}`, places);
}

/** A tooltip for the frame around `picture`: the cell under the pointer. `map()` is null for other drawings. */
export function cellTips(picture: Element, map: () => DrawnMap | null, signal: AbortSignal) {
  const tip = h("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  const hide = () => {
    tip.hidden = true;
  };
  const show = (text: string | undefined, box: DOMRect) => {
    tip.hidden = !text;
    if (!text || !tip.parentElement) return;
    tip.textContent = text;
    const frame = tip.parentElement.getBoundingClientRect();
    const left = box.left - frame.left + box.width / 2;
    tip.style.left = `${Math.max(tip.offsetWidth / 2, Math.min(left, frame.width - tip.offsetWidth / 2))}px`;
    tip.style.top = `${box.top - frame.top}px`;
  };
  const point = (event: Event) => {
    const found = map()?.cellAt(event as PointerEvent);
    if (found) show(describeCell(found.cell), found.box);
    else if (event.type === "pointermove") return;
    else if (!(event.target instanceof SVGElement)) hide();
    else show(event.target.dataset.look, event.target.getBoundingClientRect());
  };
  for (const name of ["pointerover", "pointermove"]) picture.addEventListener(name, point);
  onCellKeys(picture, map, show);
  // A finger leaves as soon as it lifts; what it touched is read until the next touch.
  picture.addEventListener("pointerleave", (event) => (event as PointerEvent).pointerType === "touch" || hide());
  const hideOutside = ({ target }: Event) => picture.contains(target as Node) || hide();
  document.addEventListener("pointerdown", hideOutside, { signal });
  return tip;
}

/** The arrow keys lead through the cells of a painted map, Enter clicks one. */
function onCellKeys(picture: Element, map: () => DrawnMap | null, show: (text: string, box: DOMRect) => void) {
  let at: { map: DrawnMap; cell: Cell; middle: { target: Element; clientX: number; clientY: number } } | null = null;
  picture.addEventListener("keydown", (event) => {
    const { key } = event as KeyboardEvent;
    const drawn = map();
    if (!drawn || event.target !== drawn.element) return;
    const from = at?.map === drawn ? at : null;
    if (key === "Enter" && from) {
      from.middle.target.dispatchEvent(new MouseEvent("click", { bubbles: true, ...from.middle }));
      return event.preventDefault();
    }
    const middle = drawn.cellByKey(key, from?.cell ?? null);
    const found = middle && drawn.cellAt(middle);
    if (!found) return;
    at = { map: drawn, cell: found.cell, middle };
    drawn.element.setAttribute("aria-description", describeCell(found.cell));
    show(describeCell(found.cell), found.box);
    event.preventDefault();
  });
}

/** A run's maps minus its baseline's, as a run that `heatmap` draws; on the rows and columns that both have. */
export function mapDifference(run: DrawnRun, baseline: DrawnRun): DrawnRun {
  const kinds = Object.keys(baseline.attention) as Kind[];
  const maps = kinds.map((kind) => [kind, mapsDifference(kind, run, baseline)]);
  const output = baseline.output.map((token, i) => (token === run.output[i] ? token : ""));
  return { ...baseline, attention: Object.fromEntries(maps), reference: null, output };
}

function mapsDifference(kind: Kind, run: DrawnRun, baseline: DrawnRun) {
  const [before, after] = [baseline.attention[kind], run.attention[kind]];
  const both = (axis: "queries" | "keys") =>
    before[axis]
      .slice(0, after[axis].length)
      .map((token, i) => (token === after[axis][i] ? token : `${token}/${after[axis][i]}`));
  const [queries, keys] = [both("queries"), both("keys")];
  const allowed = queries.map((_, query) =>
    keys.map((_, key) => before.allowed[query][key] || after.allowed[query][key]),
  );
  const changesOf = (layer: number, head: number) =>
    queries.flatMap((_, query) => {
      const [old, now] = [baseline, run].map((each) => attentionRow(kind, layer, head, query, each));
      return keys.map((_, key) => now[key] - old[key]);
    });
  const changes = eachHead(before, changesOf).flat();
  const difference = changes.map((each) => Math.max(MIN_CHANGE, ...each.map(Math.abs)));
  return { ...before, queries, keys, allowed, values: changes.flat(), difference };
}

/** Which cell of a map or row of another drawing (null) an event happened to. */
export function cellOf(event: MouseEvent, map: DrawnMap | null): { query: number; key: number | null } | null {
  const found = map?.cellAt(event);
  if (found) return found.cell;
  const { query } = closest(event, "[data-query]")?.dataset ?? {};
  return query === undefined ? null : { query: Number(query), key: null };
}

export function zoomControl(redraw: () => void) {
  let zoom = 1;
  const set = (value: number) => {
    zoom = value;
    redraw();
  };
  const step = (sign: string, name: string, way: 1 | -1) =>
    button(null, sign, () => set(nextZoom(zoom, way)), { "aria-label": t(name), title: t(name) });
  const [out, closer] = [step("−", "zoom.out", -1), step("+", "zoom.in", 1)];
  const fit = button(null, t("zoom.fit"), () => set(1), { title: t("zoom.fit_title") });
  const element = h("div", { class: "segmented zoom", role: "group", "aria-label": t("zoom.title") }, out, fit, closer);
  element.hidden = true;
  return {
    element,
    value: () => zoom,
    /** Set the first value; `draw` follows. */
    begin(value: number) {
      zoom = value;
    },
    /** `range`: of what is shown; null where it cannot be zoomed. */
    draw(range: { canGrow: boolean } | null) {
      element.hidden = !range;
      out.disabled = zoom === 1;
      closer.disabled = !range?.canGrow || nextZoom(zoom, 1) === zoom;
      fit.setAttribute("aria-pressed", String(zoom === 1));
    },
  };
}
