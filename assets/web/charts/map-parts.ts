// Building blocks of attention pictures: cells, and the words beside them.

import type { AttentionMaps, DrawnRun, Kind, Side } from "../api/types.ts";
import { formatPercent, t } from "../state/i18n.ts";
import { attentionRow, goldLink, state } from "../state/state.ts";
import { isSpecial, svg, textWidth } from "../ui/dom.ts";
import { fixed } from "../ui/numbers.ts";
import type { Shown } from "./map-canvas.ts";

export type Cell = ReturnType<ReturnType<typeof cellReader>>;

export type Word = { axis: "query" | "key"; index: number };

export const ARROW = " → "; // between what a row reads and what it predicts
const CLOSE = 0.5; // sizes of a label from the middle of two lines, which stand closer than two rows
const MAX_LETTERS = 12; // of a word beside a long sentence's map
export const NARROW = 480; // px a map: in less, what a row predicts stands below what it reads
export const FIT_FROM = 15; // words of an axis from which a drawing fits its place, however small its parts are
export const MANY_CELLS = 400; // from which a map is that of a long sentence

/** The text colour with a contrast of at least 4.5 : 1 on this share of a hue, in both themes. */
export function contrastClass(share: number, negative: boolean) {
  const [half, full] = negative ? [72.5, 84] : [61, 78.2];
  return share > full ? "full" : share > half ? "half" : "faint";
}

export const formatWeight = (value: number, difference?: number) =>
  (difference && value > 0.005 ? "+" : "") + fixed(value, 2);

/** A weight in per cent, a contribution as a number. */
export const formatValue = (value: number, { most }: AttentionMaps) => (most ? fixed(value, 2) : formatPercent(value));

export function cellReader({ run, kind, layer, head }: Shown) {
  const { heads, queries, keys, values, allowed, difference, most = 1 } = run.attention[kind];
  const map = layer * heads + head;
  const start = map * queries.length * keys.length;
  return (query: number, key: number) => {
    const gold = state.gold && kind === "cross" ? goldLink(query, key, run) : null;
    const value = values[start + query * keys.length + key];
    const cell = { query, key, from: queries[query], to: keys[key], open: allowed[query][key] };
    return { ...cell, gold, difference: difference?.[map], value, share: value / most };
  };
}

export function cellsOf(shown: Shown) {
  const { queries, keys } = shown.run.attention[shown.kind];
  const read = cellReader(shown);
  return queries.flatMap((_, query) => keys.map((_, key) => read(query, key)));
}

export const describeCell = ({ from, to, open, value, difference }: Cell) =>
  `${from} → ${to}: ${open ? formatWeight(value, difference) : t("masked")}`;

/** A token on an axis, in its side's colour; `anchor` is where x lies. Special tokens are outlined. */
type Place = { x: number; y: number; anchor: "start" | "middle" | "end"; size: number };

export function label(token: string, side: Side | "plain", { x, y, anchor, size }: Place, attributes = {}) {
  const style = `font-size: ${size}px`;
  const text = svg("text", { x, y, "text-anchor": anchor, class: `label ${side}`, style }, token);
  if (!isSpecial(token)) return svg("g", attributes, text);
  const width = textWidth(token, size) + 10;
  const left = { start: x - 5, middle: x - width / 2, end: x - width + 5 }[anchor];
  const box = { x: left, y: y - size * 0.6, width, height: size * 1.2, rx: 4 };
  return svg("g", attributes, svg("rect", { ...box, class: `outline ${side}` }), text);
}

export const widest = (tokens: string[], size: number) => Math.max(...tokens.map((token) => textWidth(token, size)));

/** What each row predicts: of the encoder nothing, nor of a difference of two runs whose outputs differ there. */
export const predictions = (kind: Kind, { attention, output }: DrawnRun): (string | undefined)[] =>
  attention[kind].queries.map((_, i) => (kind === "encoder" ? undefined : output[i]));

const labelTexts = (queries: string[], predicted: (string | undefined)[], isNarrow: boolean) =>
  queries.flatMap((read, i) => {
    const output = predicted[i];
    if (!output) return [read];
    return isNarrow ? [read, ARROW.trimStart() + output] : [read + ARROW + output];
  });

/** The words beside a drawing; those of a long sentence are shortened, and in a narrow place say less. */
export function shownWords(run: DrawnRun, kind: Kind, isLong: boolean, isNarrow: boolean) {
  const name = (token: string) => (isLong ? shortened(token) : token);
  const [queries, keys] = [run.attention[kind].queries.map(name), run.attention[kind].keys.map(name)];
  const predicted = predictions(kind, run).map((token) => (isLong && isNarrow ? undefined : token && name(token)));
  return { queries, keys, predicted, names: labelTexts(queries, predicted, isNarrow) };
}

/** The words of a row, which end at x: what it reads and, if known, predicts. @param isNarrow in two lines */
export function rowLabel(
  read: string,
  output: string | undefined,
  side: Side,
  place: Place & { anchor: "end" },
  isNarrow: boolean,
  attributes = {},
) {
  if (!output) return label(read, side, place, attributes);
  const { x, y, size } = place;
  const arrow = isNarrow ? ARROW.trimStart() : ARROW;
  const text = { class: `label ${side} output`, "text-anchor": "end", style: `font-size: ${size}px` };
  const second = svg("text", { x, y: isNarrow ? y + CLOSE * size : y, ...text }, arrow + output);
  const first = isNarrow
    ? { ...place, y: y - CLOSE * size }
    : { ...place, x: x - textWidth(arrow + output, size) - (isSpecial(read) ? 5 : 0) };
  const group = label(read, side, first, attributes);
  group.append(second);
  return group;
}

/** The beginning of a text, by default of a word that leaves a long sentence's map its width. */
export function shortened(text: string, most = MAX_LETTERS) {
  const letters = [...text];
  const start = letters.slice(0, most - 1).join("");
  return letters.length > most ? `${start.trimEnd()}…` : text;
}

/** Which labels fit, px `pitch` apart where they need `least`: `first` in its order, and others evenly. */
export function spacedLabels(count: number, pitch: number, least: number, first: number[] = []) {
  const apart = Math.max(1, Math.ceil(least / pitch));
  const placed: Set<number> = new Set();
  const crowded = new Uint8Array(count);
  for (const i of first) {
    if (crowded[i]) continue;
    placed.add(i);
    crowded.fill(1, Math.max(0, i - apart + 1), i + apart);
  }
  for (let i = 0; i < count; i += apart) if (!crowded[i]) placed.add(i);
  return placed;
}

/** Without labels that one of `first` covers, the most important first. @param middle of a label, px @param size px */
export function uncovered(seen: Iterable<number>, first: number[], middle: (i: number) => number, size: number) {
  const covers = (one: number, i: number) => Math.abs(middle(one) - middle(i)) < size;
  const kept = new Set(seen);
  for (const one of first) if (kept.has(one)) for (const i of kept) if (i !== one && covers(one, i)) kept.delete(i);
  return kept;
}

/** Where a place scrolls to show the px from `start` to `end`: nowhere if it does; `inset` px of it are covered. */
export function scrolledTo({ now, size, inset }: Record<"now" | "size" | "inset", number>, start: number, end: number) {
  if (start >= now + inset && end <= now + size) return now;
  return Math.max(0, (start + end) / 2 - inset - (size - inset) / 2);
}

/** What each head of these layers attends to from a word, or from where; `count`: words of its own axis. */
export function weightsOfWord(run: DrawnRun, kind: Kind, { axis, index }: Word, layers: number[]) {
  const { heads, queries, keys, values, allowed, most } = run.attention[kind];
  const [count, words] = axis === "query" ? [queries.length, keys] : [keys.length, queries];
  const open = axis === "query" ? allowed[index] : allowed.map((row) => row[index]);
  const of = (layer: number, head: number) =>
    axis === "query"
      ? attentionRow(kind, layer, head, index, run)
      : queries.map((_, query) => values[((layer * heads + head) * queries.length + query) * keys.length + index]);
  const weights = layers.flatMap((layer) => Array.from({ length: heads }, (_, head) => of(layer, head)));
  return { count, words, open, weights, most };
}
