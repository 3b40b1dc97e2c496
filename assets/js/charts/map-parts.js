// Building blocks of attention pictures: cells, and the words beside them.

import { isSpecial, svg, textWidth } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { fixed } from "../core/numbers.js";
import { attentionRow, attentionWeight, goldLink, state } from "../core/state.js";
import { strength } from "./map-canvas.js";

/** @import { DrawnRun, Kind, Side } from "../core/types.d.ts" */

/**
 * A cell of a map: whose tokens it joins, whether the mask is open there, and how the gold alignment links them.
 * @typedef {{ query: number, key: number, from: string, to: string, open: boolean, gold: "sure" | "possible" | null,
 *   difference: number | undefined, value: number }} Cell
 */

/** A word beside a map. @typedef {{ axis: "query" | "key", index: number }} Word */

export const ARROW = " → "; // between what a row reads and what it predicts
const MAX_LETTERS = 12; // of a word beside a long sentence's map
export const NARROW = 480; // px a map: in less, what a row predicts stands below what it reads
export const MAX_ROW = 56; // px
export const VALUES_FROM = 28; // px a cell, so that a number fits

/** px of the numbers in cells, which take up to this share of them. @param {number} cell px @param {number} type */
export const digitSize =
  (cell, type) =>
  (share = 0.37) =>
    Math.min(13 * type, cell * share);

/** @param {number} value @param {number} [difference] */
export const hue = (value, difference) => `${value < 0 ? "less" : "more"}-${Math.round(strength(value, difference))}`;

/**
 * The text colour with a contrast of at least 4.5 : 1 on this share of a hue: black on faint and half in the light
 * theme, on half and full in the dark one.
 * @param {number} share @param {boolean} negative
 */
export function contrastClass(share, negative) {
  const [half, full] = negative ? [72.5, 84] : [61, 78.2];
  return share > full ? "full" : share > half ? "half" : "faint";
}

/** A weight, or by how much one has changed. @param {number} value @param {number} [difference] */
export const formatWeight = (value, difference) => (difference && value > 0.005 ? "+" : "") + fixed(value, 2);

/**
 * Reads a head's map cell by cell.
 * @param {DrawnRun} run @param {Kind} kind @param {number} layer @param {number} head
 * @returns {(query: number, key: number) => Cell}
 */
export function cellReader(run, kind, layer, head) {
  const { heads, queries, keys, values, allowed, difference } = run.attention[kind];
  const map = layer * heads + head;
  const start = map * queries.length * keys.length;
  const largest = difference?.[map];
  return (query, key) => {
    const gold = state.gold && kind === "cross" ? goldLink(query, key, run) : null;
    const value = values[start + query * keys.length + key];
    const cell = { query, key, from: queries[query], to: keys[key], open: allowed[query][key] };
    return { ...cell, gold, difference: largest, value };
  };
}

/**
 * Visit every cell of a head's map, row by row.
 * @param {DrawnRun} run @param {Kind} kind @param {number} layer @param {number} head
 * @param {(cell: Cell) => void} visit
 */
export function forEachCell(run, kind, layer, head, visit) {
  const { queries, keys } = run.attention[kind];
  const read = cellReader(run, kind, layer, head);
  for (let query = 0; query < queries.length; query++)
    for (let key = 0; key < keys.length; key++) visit(read(query, key));
}

/** @param {Cell} cell */
export const describeCell = ({ from, to, open, value, difference }) =>
  `${from} → ${to}: ${open ? formatWeight(value, difference) : t("masked")}`;

/**
 * A token on an axis, in its side's colour; `anchor` is where x lies. Special tokens are outlined.
 * @param {string} token @param {Side} side
 * @param {{ x: number, y: number, anchor: "start" | "middle" | "end", size: number }} place
 */
export function label(token, side, { x, y, anchor, size }, attributes = {}) {
  const style = `font-size: ${size}px`;
  const text = svg("text", { x, y, "text-anchor": anchor, class: `label ${side}`, style }, token);
  if (!isSpecial(token)) return svg("g", attributes, text);
  const width = textWidth(token, size) + 10;
  const left = { start: x - 5, middle: x - width / 2, end: x - width + 5 }[anchor];
  const box = { x: left, y: y - size * 0.8, width, height: size * 1.5, rx: 4 };
  return svg("g", attributes, svg("rect", { ...box, class: `outline ${side}` }), text);
}

/** The widest of these labels, px. @param {string[]} tokens @param {number} size */
export const widest = (tokens, size) => Math.max(...tokens.map((token) => textWidth(token, size)));

/**
 * The output of each row of a map: a row of the decoder reads one word and predicts the next. The encoder's predict
 * nothing, nor does a difference of two runs whose outputs differ there.
 * @param {Kind} kind @param {DrawnRun} run @returns {(string | undefined)[]}
 */
export const predictions = (kind, { attention, output }) =>
  attention[kind].queries.map((_, i) => (kind === "encoder" ? undefined : output[i]));

/**
 * The lines of rows' labels: what each row reads and, where it is known, what it predicts.
 * @param {string[]} queries @param {(string | undefined)[]} predicted @param {boolean} isNarrow in two lines
 */
export const labelTexts = (queries, predicted, isNarrow) =>
  queries.flatMap((read, i) => {
    const output = predicted[i];
    if (!output) return [read];
    return isNarrow ? [read, ARROW.trimStart() + output] : [read + ARROW + output];
  });

/**
 * The words of a row, that end at x: what it reads and, where it is known, what it predicts.
 * @param {string} read @param {string | undefined} output @param {Side} side
 * @param {{ x: number, y: number, anchor: "end", size: number }} place @param {boolean} isNarrow in two lines
 */
export function rowLabel(read, output, side, place, isNarrow, attributes = {}) {
  if (!output) return label(read, side, place, attributes);
  const { x, y, size } = place;
  const arrow = isNarrow ? ARROW.trimStart() : ARROW;
  const text = { "text-anchor": "end", style: `font-size: ${size}px` };
  const second = svg(
    "text",
    { x, y: isNarrow ? y + 0.6 * size : y, class: `label ${side} output`, ...text },
    arrow + output,
  );
  const first = isNarrow
    ? { ...place, y: y - 0.6 * size }
    : { ...place, x: x - textWidth(arrow + output, size) - (isSpecial(read) ? 5 : 0) };
  const group = label(read, side, first, attributes);
  group.append(second);
  return group;
}

/** A word that leaves a long sentence's map its room. @param {string} token */
export function shortened(token) {
  const letters = [...token];
  return letters.length > MAX_LETTERS ? `${letters.slice(0, MAX_LETTERS - 1).join("")}…` : token;
}

/**
 * Which labels of an axis have room: those of `first`, and at even distances all that touch none of them.
 * @param {number} count @param {number} pitch px between two labels @param {number} least px that two need
 * @param {number[]} first the most wanted first
 */
export function spacedLabels(count, pitch, least, first = []) {
  const apart = Math.max(1, Math.ceil(least / pitch));
  /** @type {Set<number>} */
  const placed = new Set();
  const crowded = new Uint8Array(count);
  for (const i of first) {
    if (crowded[i]) continue;
    placed.add(i);
    crowded.fill(1, Math.max(0, i - apart + 1), i + apart);
  }
  for (let i = 0; i < count; i += apart) if (!crowded[i]) placed.add(i);
  return placed;
}

/**
 * Without labels that one of `first` covers: at the edges of a map, labels stand closer than their rows.
 * @param {Iterable<number>} seen @param {number[]} first the most important one first
 * @param {(i: number) => number} middle of a label, px @param {number} size px
 */
export function uncovered(seen, first, middle, size) {
  const covers = (/** @type {number} */ one, /** @type {number} */ i) => Math.abs(middle(one) - middle(i)) < size;
  const kept = new Set(seen);
  for (const one of first) if (kept.has(one)) for (const i of kept) if (i !== one && covers(one, i)) kept.delete(i);
  return kept;
}

/**
 * Where a place that shows `size` px from `now` on scrolls, so that the px from `start` to `end` are in sight: nowhere
 * if they are, else to their middle. The first `inset` px are covered by labels.
 * @param {{ now: number, size: number, inset: number }} place @param {number} start @param {number} end
 */
export function scrolledTo({ now, size, inset }, start, end) {
  if (start >= now + inset && end <= now + size) return now;
  return Math.max(0, (start + end) / 2 - inset - (size - inset) / 2);
}

/**
 * What every head attends to from a word, or from where it is attended to: the words of the other axis, whether the
 * mask is open there, and a head's weights. `count`: words of its own axis.
 * @param {Kind} kind @param {Word} word
 */
export function weightsOfWord(kind, { axis, index }) {
  const { queries, keys, allowed } = state.run.attention[kind];
  const [count, words] = axis === "query" ? [queries.length, keys] : [keys.length, queries];
  const open = axis === "query" ? allowed[index] : allowed.map((row) => row[index]);
  const of = (/** @type {number} */ layer, /** @type {number} */ head) =>
    axis === "query"
      ? attentionRow(kind, layer, head, index)
      : queries.map((_, query) => attentionWeight(kind, layer, head, query, index));
  return { count, words, open, of };
}
