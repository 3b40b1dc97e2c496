// One head's attention map as pictures. A weight of 0 has the lightest colour of the scale; a masked cell has none.

import type { DrawnRun, Kind, Side } from "../api/types.ts";
import { formatPercent, joinSentences, nodes, t } from "../state/i18n.ts";
import { argmax, attentionRow, SIDES, state, UNIFORM_MARGIN } from "../state/state.ts";
import { h, svg, typeScale, word } from "../ui/dom.ts";
import { closest, columnHeading, rowHeading, table } from "../ui/parts.ts";
import { type BuiltCells, type LongLayout, longLayout, longMap, readableZoom, type Shown } from "./long-map.ts";
import { LEVELS, MAX_ELEMENTS, mixed, paintedThumbnail, printedThumbnail, strength } from "./map-canvas.ts";
import {
  ARROW,
  type Cell,
  cellReader,
  contrastClass,
  type DrawnMap,
  describeCell,
  digitSize,
  forEachCell,
  formatWeight,
  hue,
  label,
  labelTexts,
  MAX_ROW,
  NARROW,
  predictions,
  rowLabel,
  shortened,
  VALUES_FROM,
  widest,
} from "./map-parts.ts";

const GAP = 2;
const MAX_CELL = [120, MAX_ROW]; // px a cell, across and down
const MIN_CELL = 14;
export const MIN_TAP = 26; // px of a cell and its gap that a finger hits
const TALL = 320; // px of rows: of more, the words of the columns stand above them as well
const TALL_ON_A_PHONE = 120; // where much stands above the map
const MIN_CHANGE = 0.05; // of a weight, that has the strongest colour where all changes of a map are smaller

let scale: CSSStyleSheet | null = null;

/**
 * The paint of all maps, added once a page: their colours, the pattern of masked cells, so that none is taken for a
 * zero, and that of an ablated map, which slants the other way. A class a per cent: cells share what the browser computes of a class, where styles of their own share nothing.
 */
export function mapPaint() {
  if (!scale) {
    scale = new CSSStyleSheet();
    const classes = (name: string, hue: string) =>
      Array.from({ length: LEVELS }, (_, i) => `.${name}-${i} { fill: ${mixed(hue, i)}; }`);
    scale.replaceSync([...classes("more", "accent"), ...classes("less", "negative")].join(""));
    document.adoptedStyleSheets.push(scale);
  }
  const hatch = (id: string, size: number, angle: number, ground: SVGElement | null) => {
    const attributes = { patternUnits: "userSpaceOnUse", patternTransform: `rotate(${angle})` };
    const line = svg("line", { y2: size, class: "hatch-line" });
    return svg("pattern", { id, width: size, height: size, ...attributes }, ground, line);
  };
  const masked = hatch("hatch", 6, 45, svg("rect", { width: 6, height: 6, class: "hatch-ground" }));
  const ablated = hatch("ablated-hatch", 8, -45, null);
  return svg("svg", { class: "visually-hidden", "aria-hidden": "true" }, masked, ablated);
}

/**
 * How large a heatmap's parts are in a place `width` px wide. A row's label stands in two lines where one would leave
 * the cells no room.
 * @param limits see `heatmap`
 */
function heatmapLayout(
  queries: string[],
  predicted: (string | undefined)[],
  keys: string[],
  width: number,
  { maxCell, maxHeight = Infinity }: { maxCell?: number; maxHeight?: number },
) {
  const type = typeScale();
  const [across, most] = maxCell ? [maxCell, maxCell] : MAX_CELL;
  const inOneLine = widest(labelTexts(queries, predicted, false), (maxCell ? 11 : 13) * type) + 24;
  const isCrowded = (width - inOneLine) / keys.length < VALUES_FROM * type;
  const isNarrow = width < NARROW || (width < NARROW * type && isCrowded);
  const names = labelTexts(queries, predicted, isNarrow);
  const measured = (maxCell ? [12, 11] : [15, 13]).map((points) => {
    const size = points * type;
    const left = widest(names, size) + 20;
    const least = maxCell ? MIN_CELL : leastCell(width);
    const cell = Math.max(least, Math.min(across * type, Math.floor((width - left - 4) / keys.length)));
    return { size, left, cell, fits: widest(keys, size) <= cell + 2 };
  });
  const { size, left, cell, fits } = measured.find((each) => each.fits) ?? measured[1];
  const slant = fits ? 0 : widest(keys, size); // px of a label that is turned, because it is wider than its cell
  const foot = slant ? slant * 0.82 + (maxCell ? 22 : 28) : 36 * type;
  const feet = maxHeight - 2 * foot > TALL * type ? 2 : 1; // the words of the columns, above as well
  const least = maxCell ? 1.05 * size : MIN_CELL * type; // of a small map as low as its words
  const room = Math.max(least, (maxHeight - feet * foot) / queries.length);
  const down = Math.max(Math.min(most * type, cell, room), isNarrow && predicted[0] ? 2.3 * size : 0);
  const isTall = queries.length * down > (isNarrow && !maxCell ? TALL_ON_A_PHONE : TALL) * type;
  return {
    size,
    left,
    cell,
    down,
    slant,
    isNarrow,
    isTall,
    isWritten: cell >= VALUES_FROM * type,
    digitSize: digitSize(cell, type),
    width: left + keys.length * cell + 4 + (slant && isTall ? slant * 0.6 : 0), // the last label above leans out
    top: isTall ? foot - 6 : 4,
    type,
    height: queries.length * down + foot,
  };
}

/**
 * A head's map as coloured cells, of the run at the top or of another one. One that is too large for its place, or for
 * as many elements, has words that stick to the place's edges.
 * @param options `maxCell`: px of the cells of a small one; `maxHeight`: px of the whole, unless its rows would be too
 * low to read; `zoom`: a long sentence fits the width, this many times; `isOnPaper`: one drawing, which nothing
 * scrolls; `beside`: runs whose long maps stand beside this one, with cells of the same size
 */
export function heatmap(
  kind: Kind,
  layer: number,
  head: number,
  {
    width,
    sides,
    run = state.run,
    isOnPaper = false,
    zoom,
    ...limits
  }: {
    width: number;
    sides: [Side, Side];
    run?: DrawnRun;
    maxCell?: number;
    maxHeight?: number;
    zoom?: number;
    isOnPaper?: boolean;
    beside?: DrawnRun[];
  },
): DrawnMap {
  const { queries, keys } = run.attention[kind];
  const predicted = predictions(kind, run);
  const layout = heatmapLayout(queries, predicted, keys, width, limits);
  if (!isOnPaper && isLarge(run, kind, layout.width, width)) {
    const options = { width, sides, least: leastCell(width), zoom, ...limits };
    const shown = { run, kind, layer, head };
    return longMap(shown, options, queries.length * keys.length > MAX_ELEMENTS ? null : builtCells(shown));
  }
  const picture = svg("svg", {
    viewBox: `0 ${-layout.top} ${layout.width} ${layout.height + layout.top}`,
    width: layout.width,
    height: layout.height + layout.top,
    class: "heatmap",
    role: "img",
  });
  const { paint, cellAt } = buildCells(picture, { run, kind, layer, head }, layout);
  picture.append(...heatmapLabels({ queries, predicted, keys }, sides, layout));
  const { left, cell, down } = layout;
  const frame = { x: left - 3, width: keys.length * cell + 4, height: down + 4, rx: 7 };
  const marked = svg("rect", { ...frame, class: "marked" });
  picture.append(marked);
  const mark = (query: number | null) => {
    marked.setAttribute("visibility", query === null ? "hidden" : "visible");
    marked.setAttribute("y", String((query ?? 0) * down - 2));
    markRow(picture, query);
  };
  return { element: picture, paint, mark, cellAt, reveal: () => {}, zoomRange: null };
}

/** How high a map is, px. */
export function heatmapHeight(
  kind: Kind,
  { width, sides, run, zoom }: { width: number; sides: [Side, Side]; run: DrawnRun; zoom?: number },
) {
  const { queries, keys } = run.attention[kind];
  const layout = heatmapLayout(queries, predictions(kind, run), keys, width, {});
  if (!isLarge(run, kind, layout.width, width)) return layout.height + layout.top;
  return longLayout({ run, kind }, { width, sides, least: leastCell(width), zoom }).height;
}

/** The zoom at which a long sentence's words can be read. */
export const zoomToRead = (kind: Kind, { width, sides, run }: { width: number; sides: [Side, Side]; run: DrawnRun }) =>
  readableZoom(longLayout({ run, kind }, { width, sides, least: leastCell(width), zoom: 1 }).cell);

/**
 * Whether a map has too many cells for elements, or is wider than its place.
 * @param drawn px of the drawing @param width px of the place
 */
function isLarge(run: DrawnRun, kind: Kind, drawn: number, width: number) {
  const { queries, keys } = run.attention[kind];
  return queries.length * keys.length > MAX_ELEMENTS || drawn > width + 1;
}

/** On a phone a finger hits a cell. @param width px of a map's place */
const leastCell = (width: number) => (width < NARROW ? MIN_TAP : MIN_CELL);

/** The cells of a map beside words that stick. */
const builtCells = (shown: Shown) => (layout: LongLayout) => {
  const { width, height } = layout.body;
  return buildCells(svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height }), shown, { ...layout, left: 0 });
};

/** Put the cells of a map into a picture. */
function buildCells(
  picture: SVGElement,
  { run, kind, layer, head }: Shown,
  {
    left,
    cell,
    down,
    isWritten,
    digitSize,
  }: { left: number; cell: number; down: number; isWritten: boolean; digitSize: (share?: number) => number },
): BuiltCells {
  const { difference } = run.attention[kind];
  const boxOf = ({ query, key }: Cell) => ({
    ...{ x: left + key * cell, y: query * down + 1, width: cell - GAP, height: down - GAP },
    rx: Math.min(4, down / 5),
  });
  const colours = svg("g"); // of cells too small for a number, of which there may be hundreds: see `tiles`
  picture.append(colours);
  const digits = `font-size: ${digitSize(difference ? 0.29 : 0.37)}px`; // so that those of two cells do not touch
  const cells: { box: SVGRectElement; value: SVGTextElement | null }[] = []; // in the order of `forEachCell`
  forEachCell(run, kind, 0, 0, (each) => {
    const place = boxOf(each);
    const box = cellBox(each, place);
    picture.append(box, ...goldRings(each, place));
    const middle = { x: place.x + place.width / 2, y: place.y + place.height / 2, style: digits };
    const value = each.open && isWritten ? svg("text", middle) : null;
    if (value) picture.append(value);
    cells.push({ box, value });
  });
  let read = cellReader(run, kind, layer, head);
  const paint = (layer: number, head: number) => {
    let i = 0;
    read = cellReader(run, kind, layer, head);
    if (!isWritten)
      colours.replaceChildren(...tiles(run, kind, layer, head, (each) => (each.open ? tile(boxOf(each)) : "")));
    forEachCell(run, kind, layer, head, (each) => paintCell(each, cells[i++]));
  };
  paint(layer, head);
  const cellAt: DrawnMap["cellAt"] = ({ target }) => {
    const box = target instanceof SVGRectElement && target.dataset.key !== undefined ? target : null;
    const cell = box && read(Number(box.dataset.query), Number(box.dataset.key));
    return cell && { cell, box: box.getBoundingClientRect() };
  };
  return { element: picture, paint, cellAt };
}

export type Box = { x: number; y: number; width: number; height: number; rx: number };

const cellBox = (cell: Cell, box: Box) =>
  svg("rect", {
    ...box,
    "data-query": cell.query,
    "data-key": cell.key,
    "data-look": cell.open ? null : describeCell(cell),
    ...(cell.open ? { fill: "transparent" } : { class: "masked" }),
  });

/** A ring around a gold link, so that it shows on a dark cell and on a light one. */
function goldRings({ query, key, gold }: Cell, { x, y, width, height, rx }: Box) {
  if (!gold) return [];
  const ring = { x: x + 2, y: y + 2, width: width - 4, height: height - 4, rx };
  return [
    svg("rect", { ...ring, class: "gold ground" }),
    svg("rect", { ...ring, class: `gold ${gold}`, "data-gold": `${query} ${key}` }),
  ];
}

function paintCell(cell: Cell, { box, value }: { box: SVGRectElement; value: SVGTextElement | null }) {
  if (!cell.open) return;
  box.setAttribute("data-weight", String(cell.value));
  if (!value) return;
  box.setAttribute("class", hue(cell.value, cell.difference));
  value.setAttribute("class", `value ${contrastClass(strength(cell.value, cell.difference), cell.value < 0)}`);
  value.textContent = formatWeight(cell.value, cell.difference);
}

/** The words of the rows, and those of the columns below them; of a tall map above them as well. */
function heatmapLabels(
  { queries, predicted, keys }: { queries: string[]; predicted: (string | undefined)[]; keys: string[] },
  sides: [Side, Side],
  layout: ReturnType<typeof heatmapLayout>,
) {
  const { left, cell, down, size, slant, isNarrow, isTall, type } = layout;
  const rows = queries.map((read, i) => {
    const place = { x: left - 12, y: (i + 0.5) * down, anchor: "end" as const, size };
    return rowLabel(read, predicted[i], sides[0], place, isNarrow, { "data-query": i });
  });
  const lower = slant ? 1 : type; // a word that is not turned stands around its place
  const column = (token: string, i: number, isAbove = false) => {
    const [x, y] = [left + i * cell + (cell - GAP) / 2, isAbove ? -16 * lower : queries.length * down + 18 * lower];
    const turn = slant ? { transform: `rotate(-55 ${x} ${y})` } : {};
    const end = isAbove ? ("start" as const) : ("end" as const);
    const anchor = slant ? end : ("middle" as const);
    return label(token, sides[1], { x, y, anchor, size }, { ...turn, class: isAbove ? "above" : null });
  };
  const above = isTall ? keys.map((token, i) => column(token, i, true)) : [];
  return [...rows, ...above, ...keys.map((token, i) => column(token, i))];
}

/** A head's map as a table, tinted like the heatmap. */
export function weightTable(kind: Kind, layer: number, head: number, { sides }: { sides: [Side, Side] }) {
  const { queries, keys } = state.run.attention[kind];
  const predicted = predictions(kind, state.run);
  const isLong = queries.length * keys.length > MAX_ELEMENTS;
  const named = (token: string, side: Side) => word(isLong ? shortened(token) : token, side);
  const read = cellReader(state.run, kind, layer, head);
  const rows = queries.map((token, query) => {
    const output = predicted[query];
    const heading = rowHeading([named(token, sides[0]), output ? [ARROW, named(output, sides[0])] : null]);
    heading.setAttribute("data-query", String(query));
    const row = h("tr", {}, heading);
    return row;
  });
  const complete = (query: number) => {
    if (rows[query].children.length === 1)
      // its heading
      rows[query].append(...keys.map((_, key) => tableCell(read(query, key), isLong)));
  };
  const completeAll = () => [...rows.keys()].forEach(complete);
  const headings = keys.map((token, i) => columnHeading(named(token, sides[1]), { "data-key": i }));
  const drawn = table({ class: isLong ? "weights long" : "weights" }, [h("td"), ...headings], rows);
  if (isLong) completeInSight(rows, complete);
  else completeAll();
  return { element: drawn, complete, completeAll };
}

function tableCell({ query, key, open, value, gold }: Cell, isLong: boolean) {
  if (!open) return h("td", { class: "masked" }, t("masked"));
  const tint = strength(value);
  return h(
    "td",
    {
      class: `tint ${contrastClass(tint, false)}${gold ? ` gold ${gold}` : ""}`,
      style: `--tint: ${tint}%`,
      "data-weight": value,
      "data-gold": gold ? `${query} ${key}` : null,
    },
    value.toFixed(isLong ? 2 : 3),
  );
}

/** The thousands of cells of a long table are drawn once their rows are in sight. */
function completeInSight(rows: Element[], complete: (query: number) => void) {
  const observer = new IntersectionObserver(
    (seen) => {
      for (const { isIntersecting, target } of seen) {
        if (!isIntersecting) continue;
        complete(rows.indexOf(target));
        observer.unobserve(target);
      }
    },
    { scrollMargin: "160px" } as IntersectionObserverInit,
  );
  for (const row of rows) observer.observe(row);
}

/** Mark the words of a row, or of a table the row, or none (null). */
export function markRow(picture: Element, query: number | null) {
  [...picture.querySelectorAll("g[data-query]")].forEach((each, i) => {
    each.classList.toggle("now", i === query);
  });
  [...picture.querySelectorAll("tbody tr")].forEach((each, i) => {
    each.classList.toggle("marked", i === query);
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

/** The heading of a large map: which head it is, and what its rows and columns are. */
export function mapHeading(kind: Kind, layer: number, head: number, key = "attention.axes", places = {}) {
  const axis = (i: 0 | 1, arrow: string) => word(`${t(`side.${SIDES[kind][i]}`)} ${arrow}`, SIDES[kind][i]);
  return nodes(key, { head: head + 1, layer: layer + 1, from: axis(0, "↓"), at: axis(1, "→"), ...places });
}

/** The largest weight of every row of a head, in words. */
export function describeLargestWeights(kind: Kind, layer: number, head: number, run: DrawnRun = state.run) {
  const { queries, keys } = run.attention[kind];
  const largest = queries.map((from, query) => {
    const values = attentionRow(kind, layer, head, query, run);
    const key = argmax(values);
    return `${from} → ${keys[key]} ${formatPercent(values[key])}`;
  });
  return t("mistakes.map", { looks: largest.join(", ") });
}

/** One row of a head in words. @param output the word that the model outputs there, if it does */
export function describeRow(
  kind: Kind,
  layer: number,
  head: number,
  query: number,
  output: string | null,
  run: DrawnRun = state.run,
) {
  const { queries, keys, allowed } = run.attention[kind];
  const [from, at] = SIDES[kind];
  const weights = attentionRow(kind, layer, head, query, run);
  const key = argmax(weights);
  const open = allowed[query].filter(Boolean).length;
  const places = {
    head: head + 1,
    layer: layer + 1,
    count: open,
    word: word(keys[key], at),
    share: formatPercent(weights[key]),
    equal: formatPercent(1 / open),
  };
  const reading = nodes(output ? "row.reading_and_saying" : "row.reading", {
    word: word(queries[query], from),
    output: output && word(output, "target"),
  });
  const uniform = weights[key] - 1 / open < UNIFORM_MARGIN;
  const attends = open === 0 ? "nothing" : open === 1 ? "only" : uniform ? "evenly" : "mostly";
  return joinSentences(reading, nodes(`row.${attends}`, places));
}

/**
 * A tooltip for the cell under the pointer: an element to put into the frame that `picture` stands in. `map()` is the
 * map in it, null for other drawings.
 */
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
  picture.addEventListener("pointerleave", (event) => {
    if ((event as PointerEvent).pointerType !== "touch") hide();
  });
  document.addEventListener(
    "pointerdown",
    ({ target }) => {
      if (!picture.contains(target as Node)) hide();
    },
    { signal },
  );
  return tip;
}

/** The arrow keys lead through the cells of a painted map, Enter clicks one. */
function onCellKeys(picture: Element, map: () => DrawnMap | null, show: (text: string, box: DOMRect) => void) {
  let at: { map: DrawnMap; cell: Cell; middle: { target: Element; clientX: number; clientY: number } } | null = null;
  picture.addEventListener("keydown", (event) => {
    const { key } = event as KeyboardEvent;
    const drawn = map();
    if (!drawn?.cellByKey || event.target !== drawn.element) return;
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
      .map((token, i) => (token === after[axis][i] ? token : `${token}→${after[axis][i]}`));
  const [queries, keys] = [both("queries"), both("keys")];
  const allowed = queries.map((_, query) =>
    keys.map((_, key) => before.allowed[query][key] || after.allowed[query][key]),
  );
  const heads = Array.from({ length: before.layers * before.heads }, (_, i) => i);
  const changes = heads.map((i) =>
    queries.flatMap((_, query) => {
      const row = (each: DrawnRun) => attentionRow(kind, Math.floor(i / before.heads), i % before.heads, query, each);
      const [old, now] = [row(baseline), row(run)];
      return keys.map((_, key) => now[key] - old[key]);
    }),
  );
  const difference = changes.map((each) => Math.max(MIN_CHANGE, ...each.map(Math.abs)));
  return { ...before, queries, keys, allowed, values: changes.flat(), difference };
}

/** A map without words, small. @param isOnPaper nothing scrolls or changes */
export function thumbnail(
  kind: Kind,
  layer: number,
  head: number,
  run: DrawnRun = state.run,
  isOnPaper: boolean = false,
) {
  const { queries, keys } = run.attention[kind];
  const isLarge = queries.length * keys.length > MAX_ELEMENTS; // too small for visible round corners
  if (isLarge) return (isOnPaper ? printedThumbnail : paintedThumbnail)(run, kind, layer, head);
  const picture = svg("svg", { viewBox: `0 0 ${keys.length * 8} ${queries.length * 8}`, "aria-hidden": "true" });
  const size = { width: 7.4, height: 7.4, rx: 1 };
  picture.append(...tiles(run, kind, layer, head, ({ query, key }) => tile({ x: key * 8, y: query * 8, ...size })));
  forEachCell(run, kind, layer, head, ({ query, key, gold }) => {
    if (gold) picture.append(svg("circle", { cx: key * 8 + 3.7, cy: query * 8 + 3.7, r: 1.6, class: `gold ${gold}` }));
  });
  return picture;
}

/**
 * Cells as paths, one a colour: the longest sentence then takes a hundred elements a head, not thousands.
 * @param outline the path of a cell
 */
function tiles(run: DrawnRun, kind: Kind, layer: number, head: number, outline: (cell: Cell) => string) {
  const paths: Map<string, string> = new Map(); // class -> path
  forEachCell(run, kind, layer, head, (cell) => {
    const name = cell.open ? hue(cell.value, cell.difference) : "masked";
    const d = outline(cell);
    if (d) paths.set(name, (paths.get(name) ?? "") + d);
  });
  return [...paths].map(([name, d]) => svg("path", { d, class: name }));
}

/** A rectangle with round corners, as a path. */
function tile({ x, y, width, height, rx: r }: Box) {
  const [across, down] = [width - 2 * r, height - 2 * r];
  if (!r) return `M${x} ${y}h${across}v${down}h${-across}z`;
  const turn = (dx: number, dy: number) => `a${r} ${r} 0 0 1 ${dx * r} ${dy * r}`;
  const right = `h${across}${turn(1, 1)}v${down}${turn(-1, 1)}`;
  return `M${x + r} ${y}${right}h${-across}${turn(-1, -1)}v${-down}${turn(1, -1)}z`;
}

/** Which cell of a map or row of another drawing (null) an event happened to. */
export function cellOf(event: MouseEvent, map: DrawnMap | null): { query: number; key: number | null } | null {
  const found = map?.cellAt(event);
  if (found) return found.cell;
  const { query } = closest(event, "[data-query]")?.dataset ?? {};
  return query === undefined ? null : { query: Number(query), key: null };
}
