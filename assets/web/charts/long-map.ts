// A map of a long sentence: as wide as its place, or zoomed; its words stay in sight while its cells scroll.

import type { DrawnRun, Kind, Side } from "../api/types.ts";
import { argmax, attentionRow } from "../state/state.ts";
import { h, svg, textWidth, typeScale } from "../ui/dom.ts";
import { cellAt, gapOf, keepPainted, paintMap, palette, sharpCanvas, strength } from "./map-canvas.ts";
import {
  type Cell,
  cellReader,
  contrastClass,
  type DrawnMap,
  digitSize,
  formatWeight,
  label,
  labelTexts,
  MAX_ROW,
  NARROW,
  predictions,
  rowLabel,
  scrolledTo,
  shortened,
  spacedLabels,
  uncovered,
  VALUES_FROM,
  widest,
} from "./map-parts.ts";

export type LongLayout = ReturnType<typeof longLayout>;
/** `beside`: runs whose maps stand beside this one, with cells of the same size */
type Options = {
  width: number;
  sides: [Side, Side];
  least: number;
  maxCell?: number;
  maxHeight?: number;
  zoom?: number;
  beside?: DrawnRun[];
};
export type Shown = { run: DrawnRun; kind: Kind; layer: number; head: number };
type Drawn = { shown: Shown; layout: LongLayout; rows: Element[]; columns: Element[]; frame: HTMLElement };

/** The cells of a map, as elements or on a canvas. */
export type BuiltCells = { element: Element } & Pick<DrawnMap, "paint" | "cellAt">;

/** Words of an axis: a map of more fits its place, however small its cells are. */
export const FIT_FROM = 15;
const SIZE = 12; // px of the labels
const ROW_PITCH = 1.2; // sizes of a label between two rows that can be read
const COLUMN_PITCH = 1.25; // of two that are turned
const TURN = 55; // degrees
const [SINE, COSINE] = [Math.sin((TURN * Math.PI) / 180), Math.cos((TURN * Math.PI) / 180)];
const LOWEST = 4; // px a row
const MIN_ROW = 15; // px, where nothing makes it fit: its word can be read
const BOX = 0.8; // of the window's height: see .scroll:has(.parts) in style.css
const BESIDE = 16; // px between rows' words and the edge and the cells
const MARGIN = 4; // px right of the cells and below them
const ZOOMS = [1, 1.5, 2, 3, 4, 6, 8];
const MAX_ZOOMED = 40; // px a cell; of thousands of cells fewer, or else their canvas takes too much memory
const MAX_ZOOMED_MANY = 24;
const MANY = 4000; // cells

/** The next zoom above or below this one. */
export const nextZoom = (zoom: number, way: 1 | -1) =>
  ZOOMS[Math.max(0, Math.min(ZOOMS.indexOf(zoom) + way, ZOOMS.length - 1))];

/** The least zoom at which each row's word can be read. @param cell px, where the whole fits */
export const readableZoom = (cell: number) => ZOOMS.find((zoom) => zoom * cell >= MIN_ROW) ?? ZOOMS[ZOOMS.length - 1];

function zoomRange(layout: LongLayout) {
  if (!layout.isLong) return null;
  const most = layout.across * layout.count > MANY ? MAX_ZOOMED_MANY : MAX_ZOOMED;
  return { canGrow: layout.cell < most };
}

/** How large the parts of a long sentence's map are. */
export function longLayout(
  { run, kind }: { run: DrawnRun; kind: Kind },
  { width, least, maxCell, maxHeight, zoom, beside = [] }: Options,
) {
  const { queries, keys } = run.attention[kind];
  const type = typeScale();
  const size = SIZE * type;
  const isNarrow = width < NARROW * type;
  const isLong = Math.max(queries.length, keys.length) > FIT_FROM;
  const wordsOf = (each: DrawnRun) => {
    const { queries, keys } = each.attention[kind];
    const [reads, columns] = [queries, keys].map((words) => words.map(shortened));
    const outputs = predictions(kind, each);
    const predicted = outputs.map((token) => (isLong && isNarrow ? undefined : token && shortened(token)));
    return { reads, columns, predicted, names: labelTexts(reads, predicted, isNarrow) };
  };
  const own = wordsOf(run);
  const { reads, columns, predicted } = own;
  const all = [own, ...beside.map(wordsOf)];
  const left = Math.max(...all.map(({ names }) => widest(names, size))) + BESIDE;
  const [count, across] = [queries.length, keys.length];
  const [most, mostAcross] = [
    Math.max(...all.map(({ reads }) => reads.length)),
    Math.max(...all.map(({ columns }) => columns.length)),
  ];
  const isFitted = isLong && Boolean(zoom ?? maxCell);
  const tap = isLong && !matchMedia("(pointer: coarse)").matches ? Math.min(least, MIN_ROW) : least;
  const sized = (fit: number) => Math.max(isFitted ? 1 : tap, Math.min(maxCell ?? MAX_ROW * type, fit)) * (zoom ?? 1);
  const room = width - left - MARGIN;
  const widestColumn = Math.max(...all.map(({ columns }) => widest(columns, size)));
  const isTurned = widestColumn > sized(room / mostAcross) - 2;
  const turned = () => Math.min(...all.map(({ columns }) => turnedFit(columns, size, room)));
  const cell = sized(isTurned ? turned() : room / mostAcross);
  const top = isTurned ? SINE * widestColumn + 2 * size : 2.4 * size;
  const height = (maxHeight ?? (zoom ? BOX * innerHeight : Infinity)) - top - 2 * MARGIN;
  const twoLines = isNarrow && predicted[0] ? 2 * ROW_PITCH * size + MARGIN : 0; // which stand closer than two rows
  const lowest = Math.max(isFitted ? LOWEST : MIN_ROW * type, twoLines);
  const down = Math.max(lowest, Math.min(cell / (zoom ?? 1), MAX_ROW * type, height / most)) * (zoom ?? 1);
  const body = { width: across * cell, height: count * down };
  const lean = isTurned ? overhang(columns, size, cell) : 0;
  const wide = left + body.width + MARGIN + lean;
  const high = top + body.height + MARGIN;
  return {
    isWhole: wide <= width + 0.5 && high <= BOX * innerHeight, // in its place, which then scrolls nowhere
    ...{ isLong, isNarrow, isTurned, isWritten: Math.min(cell, down + 8) >= VALUES_FROM * type },
    ...{ reads, predicted, columns, count, across, size, left, top, cell, down, body },
    digitSize: digitSize(cell, type),
    width: wide,
    height: high,
  };
}

/** How far a turned word of a column reaches right of its cell's middle, px. */
const reach = (token: string, size: number) => textWidth(token, size) * COSINE + size;

/** The widest cells whose columns, with their turned words, have this room. */
const turnedFit = (columns: string[], size: number, room: number) =>
  Math.min(room / columns.length, ...columns.map((token, i) => (room - reach(token, size)) / (i + 0.5)));

/** How far turned words reach beyond the last column, px. @param cell px */
const overhang = (columns: string[], size: number, cell: number) =>
  Math.max(0, ...columns.map((token, i) => reach(token, size) - (columns.length - i - 0.5) * cell));

/** Where a row's label stands, px: none is cut. */
const rowMiddle = ({ down, body, size }: LongLayout, i: number) =>
  Math.max(0.75 * size, Math.min((i + 0.5) * down, body.height - 0.75 * size));

/**
 * A head's map whose words stick to the edges of the place that it scrolls in.
 * @param built the cells, unless painted
 */
export function longMap(shown: Shown, options: Options, built: ((layout: LongLayout) => BuiltCells) | null): DrawnMap {
  const layout = longLayout(shown, options);
  const { left, top, body, reads, predicted, columns, cell, down, size, count, isNarrow, isTurned } = layout;
  const cells = built?.(layout) ?? paintedCells(shown, layout);
  const rowLabels = reads.map((read, i) => {
    const place = { x: left - 10, y: rowMiddle(layout, i), anchor: "end" as const, size };
    return rowLabel(read, predicted[i], options.sides[0], place, isNarrow, { "data-query": i });
  });
  const columnLabels = columns.map((token, i) => {
    const [x, y] = [(i + 0.5) * cell, top - 1.1 * size];
    const turn = isTurned ? { transform: `rotate(${-TURN} ${x} ${y})` } : {};
    const anchor = isTurned ? ("start" as const) : ("middle" as const);
    return label(token, options.sides[1], { x, y, anchor, size }, { ...turn, "data-key": i });
  });
  const frame = h("i", { class: "marked", hidden: true });
  const wide = layout.width - left;
  const root = h(
    "div",
    {
      class: "heatmap parts",
      role: "img",
      tabindex: built ? null : 0,
      style: `width: ${layout.width}px; --left: ${left}px; --top: ${top}px`,
    },
    h(
      "div",
      { class: "body", "aria-hidden": "true", style: `width: ${body.width}px; height: ${body.height}px` },
      cells.element,
      frame,
    ),
    words("columns-words", wide, top, columnLabels),
    words("rows-words", left, count * down, rowLabels),
    h("div", { class: "corner" }),
  );
  const drawn = { shown, layout, rows: rowLabels, columns: columnLabels, frame };
  const revealIn = (query: number, key: number) => revealCell(root, layout, query, key);
  return {
    element: root,
    paint(layer, head) {
      Object.assign(shown, { layer, head });
      cells.paint(layer, head);
    },
    mark: (query) => markWords(drawn, query),
    cellAt: cells.cellAt,
    reveal: revealIn,
    zoomRange: zoomRange(layout),
    ...(built ? {} : { cellByKey: (name, from) => cellByKey(cells.element, layout, name, from, revealIn) }),
  };
}

const words = (name: string, width: number, height: number, labels: Element[]) =>
  svg("svg", { class: name, "aria-hidden": "true", viewBox: `0 0 ${width} ${height}`, width, height }, labels);

/** The cells on a canvas, with their weights where they have room. */
function paintedCells(shown: Shown, layout: LongLayout): BuiltCells {
  const { body, cell, down, isWritten, digitSize } = layout;
  const { canvas, context } = sharpCanvas(body.width, body.height);
  const paint = () => {
    const { run, kind, layer, head } = shown;
    context.clearRect(0, 0, body.width, body.height);
    paintMap(context, run, kind, layer, head, { cellWidth: cell, cellHeight: down });
    if (isWritten) writeWeights(context, shown, { cell, down, size: digitSize() });
  };
  keepPainted(canvas, paint);
  return { element: canvas, paint, cellAt: (event) => paintedCell(canvas, shown, layout, event) };
}

function writeWeights(
  context: CanvasRenderingContext2D,
  { run, kind, layer, head }: Shown,
  { cell, down, size }: { cell: number; down: number; size: number },
) {
  const { queries, keys } = run.attention[kind];
  const read = cellReader(run, kind, layer, head);
  const { isDark } = palette();
  const { fontFamily } = getComputedStyle(document.body);
  Object.assign(context, { font: `${size}px ${fontFamily}`, textAlign: "center", textBaseline: "middle" });
  for (let query = 0; query < queries.length; query++)
    for (let key = 0; key < keys.length; key++) {
      const { open, value, difference } = read(query, key);
      if (!open) continue;
      const contrast = contrastClass(strength(value, difference), value < 0);
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

/** Mark a row and the word that it attends to most; where not all words have room, theirs have. */
function markWords({ shown, layout, rows, columns, frame }: Drawn, query: number | null) {
  const { size, cell, down, isTurned, isNarrow, predicted } = layout;
  const key = query === null ? null : strongestKey(shown, query);
  frame.hidden = query === null;
  frame.style.top = `${(query ?? 0) * down - 3}px`;
  frame.style.height = `${down + 4}px`;
  const lines = isNarrow && predicted[0] ? 2 : 1;
  const isAt = (at: number | null) => (at === null ? [] : [at]);
  const spaced = spacedLabels(rows.length, down, lines * ROW_PITCH * size, isAt(query));
  const edges = [...isAt(query), 0, rows.length - 1];
  const seenRows = uncovered(spaced, edges, (i) => rowMiddle(layout, i), size);
  const flat = isTurned ? COLUMN_PITCH * size : 0;
  const seenColumns = spacedLabels(columns.length, cell, flat, isAt(key));
  rows.forEach((each, i) => {
    each.classList.toggle("now", i === query);
    each.classList.toggle("crowded", !seenRows.has(i));
  });
  columns.forEach((each, i) => {
    each.classList.toggle("now", i === key);
    each.classList.toggle("crowded", !seenColumns.has(i));
  });
}

function paintedCell(
  canvas: HTMLCanvasElement,
  { run, kind, layer, head }: Shown,
  { across, count, cell, down }: LongLayout,
  { target, clientX, clientY }: Parameters<DrawnMap["cellAt"]>[0],
) {
  if (target !== canvas) return null;
  const frame = canvas.getBoundingClientRect();
  const body = { across, down: count, cellWidth: cell, cellHeight: down };
  const at = cellAt(clientX - frame.left, clientY - frame.top, body);
  if (!at) return null;
  const box = new DOMRect(frame.left + at.key * cell, frame.top + at.query * down, cell, down);
  return { cell: cellReader(run, kind, layer, head)(at.query, at.key), box };
}

/** @param name of the key of the keyboard @param revealIn scrolls a cell into sight */
function cellByKey(
  target: Element,
  { across, count, cell, down }: LongLayout,
  name: string,
  from: Cell | null,
  revealIn: DrawnMap["reveal"],
) {
  const move = { ArrowLeft: [0, -1], ArrowRight: [0, 1], ArrowUp: [-1, 0], ArrowDown: [1, 0] }[name];
  if (!move) return null;
  const to = (at: number | undefined, by: number, of: number) =>
    at === undefined ? 0 : Math.max(0, Math.min(at + by, of - 1));
  const [query, key] = [to(from?.query, move[0], count), to(from?.key, move[1], across)];
  revealIn(query, key);
  const frame = target.getBoundingClientRect();
  return { target, clientX: frame.left + (key + 0.5) * cell, clientY: frame.top + (query + 0.5) * down };
}

function revealCell(picture: Element, { left, top, cell, down, isWhole }: LongLayout, query: number, key: number) {
  const place = picture.closest(".scroll, .fluid");
  if (!place || isWhole) return;
  const [x, y] = [left + key * cell, top + query * down];
  const across = { now: place.scrollLeft, size: place.clientWidth, inset: left };
  const downwards = { now: place.scrollTop, size: place.clientHeight, inset: top };
  place.scrollTo({ left: scrolledTo(across, x, x + cell), top: scrolledTo(downwards, y, y + down) });
}

/** Scroll a place so that parts of what it holds are in sight, as far as they fit, beside what covers its edges. */
export function reveal(place: Element, { parts, inset }: { parts: Element[]; inset: { left: number; top: number } }) {
  if (!parts.length) return;
  if (place.scrollWidth <= place.clientWidth && place.scrollHeight <= place.clientHeight) return;
  const frame = place.getBoundingClientRect();
  const boxes = parts.map((part) => part.getBoundingClientRect());
  const { scrollLeft: x, scrollTop: y } = place;
  const [left, right] = [Math.min(...boxes.map((box) => box.left)), Math.max(...boxes.map((box) => box.right))];
  const [top, bottom] = [Math.min(...boxes.map((box) => box.top)), Math.max(...boxes.map((box) => box.bottom))];
  const across = { now: x, size: place.clientWidth, inset: inset.left };
  const downwards = { now: y, size: place.clientHeight, inset: inset.top };
  place.scrollTo({
    left: scrolledTo(across, left - frame.left + x, right - frame.left + x),
    top: scrolledTo(downwards, top - frame.top + y, bottom - frame.top + y),
  });
}
