// Attention maps painted on a canvas: thousands of cells are too many elements for a page. The colours are those of the
// style, so that a painted map and a built one are alike.

import type { AttentionMaps, DrawnRun, Kind } from "../api/types.ts";
import { goldLink, state } from "../state/state.ts";
import { h } from "../ui/dom.ts";
import { isDark, onThemeChange } from "../ui/theme.ts";

/** Cells of a map that is built of elements; a map of more is painted. */
export const MAX_ELEMENTS = 400;
export const LEVELS = 101; // colours of a hue, one a per cent
const HATCH = 17; // px of a tile of masked cells: two lines, as far from each other as in the style's pattern
const HATCH_LINES = 2;
const RING_FROM = 6; // px a cell: a smaller one has a dot instead of a gold ring
const MAX_THUMBNAIL = 64; // pixels across and down a thumbnail
const MAX_PIXELS = 16e6; // of a canvas
const STRIPE = 4; // cells between the stripes of masked cells where a cell is one pixel

/**
 * Per cent of the hue: from the surface to the accent, the same 0 to 1 in every map. Dropout may leave more than 1. Of
 * a change the surface is 0, and `difference` the change with the strongest colour.
 */
export const strength = (value: number, difference?: number) =>
  difference ? 96 * Math.min(1, Math.abs(value) / difference) : 4 + 96 * Math.min(1, value);

/** Which colour of a palette a weight has: those of the negative hue follow. */
export const colourIndex = (value: number, difference?: number) =>
  (value < 0 ? LEVELS : 0) + Math.round(strength(value, difference));

/** The colours of a theme: RGBA of every level, as `ImageData` holds them, and those of the rest as CSS. */
type Palette = {
  isDark: boolean;
  levels: Uint32Array;
  surface: string;
  ink: string;
  ground: string;
  line: string;
  stripes: [number, number];
  hatch: CanvasImageSource;
};

const palettes: Map<boolean, Palette> = new Map();

/** The colours of the page's theme, read once from its style. */
export function palette() {
  const known = palettes.get(isDark()) ?? readPalette();
  palettes.set(known.isDark, known);
  return known;
}

/** A level of a hue, as a style says it. @param level per cent */
export const mixed = (hue: string, level: number) => `color-mix(in oklab, var(--${hue}) ${level}%, var(--surface))`;

function readPalette(): Palette {
  const probe = h("span", { hidden: true });
  document.body.append(probe);
  const resolved = (colour: string) => {
    probe.style.color = colour;
    return getComputedStyle(probe).color;
  };
  const scale = (hue: string) => Array.from({ length: LEVELS }, (_, i) => resolved(mixed(hue, i)));
  const [surface, ink, ground, line] = ["surface", "ink", "bg", "hatch"].map((name) => resolved(`var(--${name})`));
  const pixels = asPixels([...scale("accent"), ...scale("negative"), ground, line]);
  probe.remove();
  const levels = pixels.slice(0, 2 * LEVELS);
  const stripes = [...pixels.slice(2 * LEVELS)] as [number, number];
  return { isDark: isDark(), levels, surface, ink, ground, line, stripes, hatch: hatchTile(ground, line) };
}

/** Colours as a canvas holds them. */
function asPixels(colours: string[]) {
  const context = contextOf(h("canvas", { width: colours.length, height: 1 }));
  colours.forEach((colour, i) => {
    context.fillStyle = colour;
    context.fillRect(i, 0, 1, 1);
  });
  return new Uint32Array(context.getImageData(0, 0, colours.length, 1).data.buffer);
}

/** Two lines of masked cells, as a tile that is as sharp as the screen. */
function hatchTile(ground: string, line: string) {
  const side = Math.round(HATCH * devicePixelRatio);
  const tile = h("canvas", { width: side, height: side });
  const context = contextOf(tile);
  context.fillStyle = ground;
  context.fillRect(0, 0, side, side);
  Object.assign(context, { strokeStyle: line, lineWidth: side / (2 * HATCH_LINES * Math.SQRT2) / 2 });
  for (let i = -HATCH_LINES; i <= 2 * HATCH_LINES; i++) {
    const at = (i * side) / HATCH_LINES;
    context.moveTo(at - side, side * 2);
    context.lineTo(at + side * 2, -side);
  }
  context.stroke();
  return tile;
}

const contextOf = (canvas: HTMLCanvasElement) => canvas.getContext("2d") as CanvasRenderingContext2D;

/** One head's weights, row by row, and 1 where the mask is open. */
type Grid = {
  across: number;
  down: number;
  weights: ArrayLike<number>;
  open: Uint8Array;
  difference: number | undefined;
};

const masks: WeakMap<boolean[][], Uint8Array> = new WeakMap(); // of the maps of a kind, which have one

function maskOf(allowed: boolean[][]) {
  const known = masks.get(allowed) ?? Uint8Array.from(allowed.flat(), Number);
  masks.set(allowed, known);
  return known;
}

export function gridOf(
  { heads, queries, keys, values, allowed, difference }: AttentionMaps,
  layer: number,
  head: number,
): Grid {
  const [across, down, map] = [keys.length, queries.length, layer * heads + head];
  const start = map * across * down;
  const end = start + across * down;
  const weights = values instanceof Float32Array ? values.subarray(start, end) : values.slice(start, end);
  return { across, down, weights, open: maskOf(allowed), difference: difference?.[map] };
}

/**
 * A grid in which several cells are one: the largest weight, and open where any of them is.
 * @param merged cells across and down
 */
export function mergedCells(grid: Grid, merged: number): Grid {
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
export function cellColours(
  { across, down, weights, open, difference }: Grid,
  levels: Uint32Array,
  masked: (query: number, key: number) => number,
) {
  const colours = new Uint32Array(across * down);
  for (let query = 0, i = 0; query < down; query++)
    for (let key = 0; key < across; key++, i++)
      colours[i] = open[i] ? levels[colourIndex(weights[i], difference)] : masked(query, key);
  return colours;
}

/** Which cell is at a point of a map's body; null beside it. @param body cells, and px a cell */
export function cellAt(
  x: number,
  y: number,
  { across, down, cellWidth, cellHeight }: { across: number; down: number; cellWidth: number; cellHeight: number },
) {
  const [query, key] = [Math.floor(y / cellHeight), Math.floor(x / cellWidth)];
  return query >= 0 && query < down && key >= 0 && key < across ? { query, key } : null;
}

/** px between two cells of this size. @param cell px */
export const gapOf = (cell: number) => (cell >= 14 ? 2 : cell >= 7 ? 1 : 0);

let scratch: HTMLCanvasElement | null = null; // a pixel a cell

function cellImage(colours: Uint32Array, across: number, down: number) {
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

/**
 * Paint a head's map: the colours of its weights, masked cells hatched, and a ring around every gold link where the
 * alignment is laid over it. Call it again after a change of theme: see `keepPainted`.
 * @param place px of the context
 */
export function paintMap(
  context: CanvasRenderingContext2D,
  run: DrawnRun,
  kind: Kind,
  layer: number,
  head: number,
  {
    x = 0,
    y = 0,
    cellWidth,
    cellHeight = cellWidth,
  }: { x?: number; y?: number; cellWidth: number; cellHeight?: number },
) {
  const maps = run.attention[kind];
  const { levels, surface, hatch } = palette();
  const [across, down] = [maps.keys.length, maps.queries.length];
  const [width, height] = [across * cellWidth, down * cellHeight];
  const { a: wide, d: high } = context.getTransform(); // pixels a px
  context.save();
  const grid = gridOf(maps, layer, head);
  if (grid.open.includes(0)) {
    const pattern = context.createPattern(hatch, "repeat") as CanvasPattern;
    pattern.setTransform(new DOMMatrix().scale(1 / wide, 1 / high));
    context.fillStyle = pattern;
    context.fillRect(x, y, width, height);
  }
  context.imageSmoothingEnabled = Math.min(cellWidth * wide, cellHeight * high) < 1;
  const colours = cellColours(grid, levels, () => 0);
  const image = cellImage(colours, across, down);
  context.drawImage(image, x, y, width, height);
  context.fillStyle = surface;
  const sharp = (at: number, pixels: number) => Math.round(at * pixels) / pixels;
  const [beside, below] = [gapOf(cellWidth), gapOf(cellHeight)];
  for (let i = 1; beside && i <= across; i++)
    context.fillRect(sharp(x + i * cellWidth, wide) - beside, y, beside, height);
  for (let i = 1; below && i <= down; i++) context.fillRect(x, sharp(y + i * cellHeight, high) - below, width, below);
  if (state.gold && kind === "cross") paintGold(context, run, { x, y, cellWidth, cellHeight });
  context.restore();
}

function paintGold(
  context: CanvasRenderingContext2D,
  run: DrawnRun,
  { x, y, cellWidth, cellHeight }: { x: number; y: number; cellWidth: number; cellHeight: number },
) {
  const { queries, keys } = run.attention.cross;
  const { ink, surface } = palette();
  const cell = Math.min(cellWidth, cellHeight);
  queries.forEach((_, query) => {
    keys.forEach((_, key) => {
      const link = goldLink(query, key, run);
      if (!link) return;
      const [left, top] = [x + key * cellWidth, y + query * cellHeight];
      if (cell < RING_FROM) {
        const inset = cell < 2 ? 0 : 0.25; // of the cell
        context.fillStyle = ink;
        context.fillRect(
          left + inset * cellWidth,
          top + inset * cellHeight,
          (1 - 2 * inset) * cellWidth,
          (1 - 2 * inset) * cellHeight,
        );
        return;
      }
      const size = [cellWidth - 3 - gapOf(cellWidth), cellHeight - 3 - gapOf(cellHeight)];
      for (const [colour, width] of [
        [surface, 4],
        [ink, 2],
      ] as [string, number][]) {
        context.setLineDash(colour === ink && link === "possible" ? [4, 3] : []);
        Object.assign(context, { strokeStyle: colour, lineWidth: width });
        context.strokeRect(left + 1.5, top + 1.5, size[0], size[1]);
      }
    });
  });
}

/**
 * A map without words, a pixel a cell: it is as large as its place. Of very many cells, several are one pixel, which
 * has the colour of the largest.
 */
export function paintedThumbnail(run: DrawnRun, kind: Kind, layer: number, head: number) {
  const maps = run.attention[kind];
  const { queries, keys } = maps;
  const merged = Math.ceil(Math.max(queries.length, keys.length) / MAX_THUMBNAIL);
  const [width, height] = [keys, queries].map((words) => Math.ceil(words.length / merged));
  const canvas = h("canvas", { class: "painted", width, height, "aria-hidden": "true" });
  keepPainted(canvas, () => {
    const { levels, stripes } = palette();
    const masked = (query: number, key: number) => stripes[(query + key) % STRIPE ? 0 : 1];
    const grid = gridOf(maps, layer, head);
    putColours(canvas, cellColours(merged > 1 ? mergedCells(grid, merged) : grid, levels, masked));
    const cell = 1 / merged;
    const place = { x: 0, y: 0, cellWidth: cell, cellHeight: cell };
    if (state.gold && kind === "cross") paintGold(contextOf(canvas), run, place);
  });
  return canvas;
}

/**
 * The same as an image, in the colours of paper: as drawings, all heads of a long sentence would take tens of
 * megabytes.
 */
export function printedThumbnail(run: DrawnRun, kind: Kind, layer: number, head: number) {
  const { classList } = document.body;
  const isDark = classList.contains("dark");
  classList.remove("dark"); // until the end of this function: no frame is drawn meanwhile
  const src = paintedThumbnail(run, kind, layer, head).toDataURL();
  classList.toggle("dark", isDark);
  return h("img", { class: "painted", src, alt: "" });
}

/** Weights as a strip of colours, as wide as its place. */
export function weightStrip(weights: ArrayLike<number>, open: boolean[]) {
  const strip = h("canvas", { class: "painted strip", width: weights.length, height: 1, "aria-hidden": "true" });
  paintStrip(strip, weights, open);
  return strip;
}

export function paintStrip(strip: HTMLCanvasElement, weights: ArrayLike<number>, open: boolean[]) {
  const { levels, stripes } = palette();
  const colour = (weight: number, i: number) => (open[i] ? levels[colourIndex(weight)] : stripes[1]);
  putColours(strip, Uint32Array.from(weights, colour));
}

const canvases: Set<WeakRef<HTMLCanvasElement>> = new Set();
let isWatchingTheme = false;

/** Paint a canvas now, and again whenever the theme changes. */
export function keepPainted(canvas: HTMLCanvasElement, paint: () => void) {
  canvases.add(new WeakRef(canvas));
  canvas.addEventListener("theme", paint);
  if (!isWatchingTheme) onThemeChange(repaintAll);
  isWatchingTheme = true;
  paint();
}

function repaintAll() {
  for (const each of canvases) {
    const canvas = each.deref();
    if (canvas) canvas.dispatchEvent(new Event("theme"));
    else canvases.delete(each);
  }
}

/**
 * A canvas of this size, sharp unless it would take too much memory, and its context in px of the page.
 * @param height px of the page
 */
export function sharpCanvas(width: number, height: number) {
  const pixels = Math.min(devicePixelRatio, Math.sqrt(MAX_PIXELS / (width * height)));
  const size = { width: Math.ceil(width * pixels), height: Math.ceil(height * pixels) };
  const canvas = h("canvas", { class: "painted", ...size, style: `width: ${width}px; height: ${height}px` });
  const context = contextOf(canvas);
  context.scale(size.width / width, size.height / height);
  return { canvas, context };
}
