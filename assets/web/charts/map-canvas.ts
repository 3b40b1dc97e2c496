// Attention maps, painted on canvases in the colours of the style: the thousands of cells of a long sentence are too many
// elements for a page. A weight of 0 has the lightest colour of the scale; a masked cell has none and is hatched.

import type { AttentionMaps, DrawnRun, Kind } from "../api/types.ts";
import { goldLink, state } from "../state/state.ts";
import { h, isDark } from "../ui/dom.ts";
import { contextOf, paintedCanvas } from "../ui/painted-canvas.ts";
import type { Word } from "./map-parts.ts";

const LEVELS = 101; // colours of a hue, one a per cent
const HATCH = 8.5; // px from one line of masked cells to the next
const MAX_CORNER = 4; // px
const MAX_ROUNDED = 400; // cells with round corners
const RING_FROM = 9; // px a cell: a smaller one has a dot instead of a gold ring

export type Shown = { run: DrawnRun; kind: Kind; layer: number; head: number };

/**
 * Per cent of the hue, the same 0 to 1 in every map; of a contribution, of its share of the largest. Dropout may leave
 * more than 1. Of a change the surface is 0.
 */
export const strength = (value: number, difference?: number) =>
  difference ? 96 * Math.min(1, Math.abs(value) / difference) : 4 + 96 * Math.min(1, value);

/** Which colour of a palette a weight has: those of the negative hue follow. */
const colourIndex = (value: number, difference?: number) =>
  (value < 0 ? LEVELS : 0) + Math.round(strength(value, difference));

/** The colours of a theme: RGBA as `ImageData` holds them, of every level and of what is masked; and the rest as CSS. */
type Palette = ReturnType<typeof readPalette>;

const palettes: Map<boolean, Palette> = new Map();

export function palette() {
  const known = palettes.get(isDark()) ?? readPalette();
  palettes.set(known.isDark, known);
  return known;
}

function readPalette() {
  const probe = h("span", { hidden: true, style: "forced-color-adjust: none" });
  document.body.append(probe);
  const resolved = (colour: string) => {
    probe.style.color = colour;
    return getComputedStyle(probe).color;
  };
  const mixed = (hue: string, level: number) => `color-mix(in oklab, var(--${hue}) ${level}%, var(--surface))`;
  const scale = (hue: string) => Array.from({ length: LEVELS }, (_, i) => resolved(mixed(hue, i)));
  const [surface, ink, ground, line] = ["surface", "ink", "bg", "hatch"].map((name) => resolved(`var(--${name})`));
  const pixels = asPixels([...scale("accent"), ...scale("negative"), line]);
  probe.remove();
  const [levels, masked] = [pixels.slice(0, 2 * LEVELS), pixels[2 * LEVELS]];
  return { isDark: isDark(), levels, masked, surface, ink, hatch: { ground, line } };
}

function asPixels(colours: string[]) {
  const context = contextOf(h("canvas", { width: colours.length, height: 1 }));
  for (const [i, fillStyle] of colours.entries()) Object.assign(context, { fillStyle }).fillRect(i, 0, 1, 1);
  return new Uint32Array(context.getImageData(0, 0, colours.length, 1).data.buffer);
}

/** Hatch places line by line: a pattern that cannot be made would leave them black, and to clip lines takes longer. */
function paintHatch(context: CanvasRenderingContext2D, places: Box[], corner = 0) {
  const { ground, line } = palette().hatch;
  const [shapes, lines] = [new Path2D(), new Path2D()];
  for (const { x, y, width, height } of places) {
    shapes.roundRect(x, y, width, height, corner);
    const [first, last] = [x + y + corner / 2, x + y + width + height - corner / 2]; // sums of both coordinates
    for (let sum = Math.ceil(first / HATCH) * HATCH; sum < last; sum += HATCH) {
      const [left, right] = [Math.max(x, sum - y - height), Math.min(x + width, sum - y)];
      lines.moveTo(left, sum - left);
      lines.lineTo(right, sum - right);
    }
  }
  Object.assign(context, { fillStyle: ground, strokeStyle: line, lineWidth: 1.5 });
  context.fill(shapes);
  context.stroke(lines);
}

/** One head's weights, or shares of the largest contribution, row by row, and 1 where the mask is open. */
type Grid = { across: number; down: number; weights: ArrayLike<number>; open: Uint8Array; difference?: number };

type Cells = Pick<Grid, "weights" | "difference"> & { open: ArrayLike<unknown> };

export function gridOf(maps: AttentionMaps, layer: number, head: number): Grid {
  const { heads, queries, keys, values, allowed, difference, most } = maps;
  const [across, down, map] = [keys.length, queries.length, layer * heads + head];
  const start = map * across * down;
  const end = start + across * down;
  const own = values instanceof Float32Array ? values.subarray(start, end) : values.slice(start, end);
  const weights = most ? own.map((value) => value / most) : own;
  const open = new Uint8Array(across * down);
  for (let i = 0; i < open.length; i++) open[i] = Number(allowed[Math.floor(i / across)][i % across]);
  return { across, down, weights, open, difference: difference?.[map] };
}

/** Several cells as one: the largest weight, and open where any of them is. @param merged cells across and down */
export function mergedCells(grid: Grid, merged: number): Grid {
  if (merged === 1) return grid;
  const [across, down] = [Math.ceil(grid.across / merged), Math.ceil(grid.down / merged)];
  const weights = new Float32Array(across * down);
  const open = new Uint8Array(across * down);
  for (let query = 0, i = 0; query < grid.down; query++) {
    const row = Math.floor(query / merged) * across;
    for (let key = 0; key < grid.across; key++, i++) {
      if (!grid.open[i]) continue;
      const at = row + Math.floor(key / merged);
      open[at] = 1;
      if (Math.abs(grid.weights[i]) > Math.abs(weights[at])) weights[at] = grid.weights[i];
    }
  }
  return { ...grid, across, down, weights, open };
}

/** The colour of every cell, row by row. @param levels of a palette @param masked the colour of a masked cell */
export function cellColours({ weights, open, difference }: Cells, levels: Uint32Array, masked: number) {
  const colours = new Uint32Array(weights.length);
  for (let i = 0; i < weights.length; i++) colours[i] = open[i] ? levels[colourIndex(weights[i], difference)] : masked;
  return colours;
}

type Body = { across: number; down: number; cellWidth: number; cellHeight: number };

/** Which cell is at a point of a map's body; null beside it. */
export function cellAt(x: number, y: number, { across, down, cellWidth, cellHeight }: Body) {
  const [query, key] = [Math.floor(y / cellHeight), Math.floor(x / cellWidth)];
  return query >= 0 && query < down && key >= 0 && key < across ? { query, key } : null;
}

/** px between two cells of this size. @param cell px */
export const gapOf = (cell: number) => (cell >= 14 ? 2 : cell >= 7 ? 1 : 0);

let scratch: HTMLCanvasElement | null = null; // a pixel a cell

/** A pixel a cell, until the next one is asked for. */
export function cellImage(colours: Uint32Array, across: number, down: number) {
  scratch ??= h("canvas");
  Object.assign(scratch, { width: across, height: down });
  putColours(scratch, colours);
  return scratch;
}

/** @param canvas a pixel a cell */
function putColours(canvas: HTMLCanvasElement, colours: Uint32Array) {
  const data = new Uint8ClampedArray(colours.buffer as ArrayBuffer);
  contextOf(canvas).putImageData(new ImageData(data, canvas.width, canvas.height), 0, 0);
}

type Box = { x: number; y: number; width: number; height: number };

/**
 * Where a pixel is several cells, it has the largest of their weights: their mean would hide a head that attends to one
 * word of a hundred. @param box px of the context
 */
export function paintMap(context: CanvasRenderingContext2D, { run, kind, layer, head }: Shown, box: Box) {
  const { x, y, width, height } = box;
  const maps = run.attention[kind];
  const { a: pixels } = context.getTransform();
  const merged = Math.ceil(Math.max(1, maps.keys.length / width / pixels, maps.queries.length / height / pixels));
  const grid = mergedCells(gridOf(maps, layer, head), merged);
  context.save();
  context.beginPath();
  context.rect(x, y, width, height);
  context.clip();
  const hasCorners = gapOf(width / grid.across) && gapOf(height / grid.down);
  if (hasCorners && grid.open.length <= MAX_ROUNDED) paintCells(context, grid, box, pixels);
  else {
    if (grid.open.includes(0)) paintHatch(context, [box]);
    context.imageSmoothingEnabled = false;
    const image = cellImage(cellColours(grid, palette().levels, 0), grid.across, grid.down);
    context.drawImage(image, x, y, width, height);
    clearGaps(context, grid, box, pixels);
  }
  context.restore();
  if (state.gold && kind === "cross") paintGold(context, run, box);
}

/** The cells of a map, which has gaps between them. @param pixels a px */
function cellBoxes({ across, down }: Grid, box: Box, pixels: number) {
  const edges = (start: number, size: number, count: number) => {
    const gap = gapOf(size / count);
    const sharp = (i: number) => Math.round((start + (i * size) / count) * pixels) / pixels;
    return Array.from({ length: count }, (_, i) => ({ at: sharp(i), size: sharp(i + 1) - gap - sharp(i), gap }));
  };
  return { columns: edges(box.x, box.width, across), rows: edges(box.y, box.height, down) };
}

/** Cell by cell, with round corners: of thousands this would take longer than a frame has. */
function paintCells(context: CanvasRenderingContext2D, grid: Grid, box: Box, pixels: number) {
  const { columns, rows } = cellBoxes(grid, box, pixels);
  const corner = Math.min(MAX_CORNER, box.width / grid.across / 6, box.height / grid.down / 6);
  const colours = cellColours(grid, palette().levels, 0);
  const masked: Box[] = [];
  for (const [i, colour] of colours.entries()) {
    const [column, row] = [columns[i % grid.across], rows[Math.floor(i / grid.across)]];
    if (!grid.open[i]) {
      masked.push({ x: column.at, y: row.at, width: column.size, height: row.size });
      continue;
    }
    context.fillStyle = cssColour(colour);
    context.beginPath();
    context.roundRect(column.at, row.at, column.size, row.size, corner);
    context.fill();
  }
  paintHatch(context, masked, corner);
}

/** @param colour as `ImageData` holds it */
const cssColour = (colour: number) => `rgb(${new Uint8Array(new Uint32Array([colour]).buffer).slice(0, 3).join()})`;

function clearGaps(context: CanvasRenderingContext2D, grid: Grid, box: Box, pixels: number) {
  const { columns, rows } = cellBoxes(grid, box, pixels);
  for (const { at, size, gap } of columns) if (gap) context.clearRect(at + size, box.y, gap, box.height);
  for (const { at, size, gap } of rows) if (gap) context.clearRect(box.x, at + size, box.width, gap);
}

function paintGold(context: CanvasRenderingContext2D, run: DrawnRun, { x, y, width, height }: Box) {
  const { queries, keys } = run.attention.cross;
  const { ink, surface } = palette();
  const [cellWidth, cellHeight] = [width / keys.length, height / queries.length];
  const isRing = Math.min(cellWidth, cellHeight) >= RING_FROM;
  const inset = Math.min(cellWidth, cellHeight) < 2 ? 0 : 0.25; // of a dot's cell
  const ring = [cellWidth - 3 - gapOf(cellWidth), cellHeight - 3 - gapOf(cellHeight)];
  const stroke = (left: number, top: number, colour: string, lineWidth: number, dash: number[]) => {
    context.setLineDash(dash);
    Object.assign(context, { strokeStyle: colour, lineWidth });
    context.strokeRect(left + 1.5, top + 1.5, ring[0], ring[1]);
  };
  context.save();
  for (let query = 0; query < queries.length; query++)
    for (let key = 0; key < keys.length; key++) {
      const link = goldLink(query, key, run);
      if (!link) continue;
      const [left, top] = [x + key * cellWidth, y + query * cellHeight];
      if (isRing) {
        stroke(left, top, surface, 4, []);
        stroke(left, top, ink, 2, link === "possible" ? [4, 3] : []);
      } else {
        const size = [(1 - 2 * inset) * cellWidth, (1 - 2 * inset) * cellHeight];
        context.fillStyle = ink;
        context.globalAlpha = link === "possible" ? 0.6 : 1;
        context.fillRect(left + inset * cellWidth, top + inset * cellHeight, size[0], size[1]);
      }
    }
  context.restore();
}

const FEW = 20; // words across or down a small map
const MANY = 64; // likewise, and px of a map with more
const SMALL = 120; // px of a map of few words

/** A map without words, whose place says how large it is. */
export function smallMap(shown: Shown) {
  const { queries, keys } = shown.run.attention[shown.kind];
  const most = Math.max(queries.length, keys.length);
  const cell = most > MANY ? MANY / most : most > FEW ? 3 : Math.max(8, SMALL / most); // px
  const box = { x: 0, y: 0, width: keys.length * cell, height: queries.length * cell };
  const { canvas, repaint } = paintedCanvas(box.width, box.height, (context) => paintMap(context, shown, box));
  canvas.setAttribute("aria-hidden", "true");
  return { canvas, repaint };
}

export const thumbnail = (kind: Kind, layer: number, head: number, run: DrawnRun = state.run) =>
  smallMap({ run, kind, layer, head }).canvas;

/** `weights` of a word in every map, and where the mask is `open`; `count`: words of the word's axis. */
type Weights = { weights: number[][]; open: boolean[]; count: number; most?: number };

/** Show in small maps a strip of a word's weights, and veil the rest; of no word (null), the whole maps. */
export function pointInMaps(grid: HTMLElement, maps: Element[], word: Word | null, theirs: Weights) {
  const { weights, open, count, most = 1 } = theirs;
  grid.classList.toggle("pointed", word !== null);
  for (const [i, map] of maps.entries()) {
    const known = map.querySelector<HTMLCanvasElement>(".strip");
    const strip = known ?? h("canvas", { class: "strip", "aria-hidden": "true" });
    strip.hidden = !word;
    if (!word) continue;
    Object.assign(strip, { width: open.length, height: 1 });
    const shares = weights[i].map((weight) => weight / most);
    putColours(strip, cellColours({ weights: shares, open }, palette().levels, palette().masked));
    map.append(strip);
  }
  if (!word) return;
  grid.style.setProperty("--way", word.axis === "query" ? "to bottom" : "to right");
  grid.style.setProperty("--from", `${(100 * word.index) / count}%`);
  grid.style.setProperty("--to", `${(100 * (word.index + 1)) / count}%`);
}
