// One head's attention as lines from queries to keys, as wide as their weights. Of a long sentence only the lines of
// one row are drawn, unless all are wanted, and of the words only those that have room.

import { svg, typeScale } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { attentionRow, state } from "../core/state.js";
import { FIT_FROM } from "./long-map.js";
import {
  describeCell,
  forEachCell,
  label,
  labelTexts,
  NARROW,
  predictions,
  rowLabel,
  shortened,
  spacedLabels,
  widest,
} from "./map-parts.js";

/** @import { DrawnRun, Kind, Side } from "../core/types.d.ts" */

const PITCH = 56; // px between two words: as far as the rows of a heatmap
const SIZE = 15;
const LONG = { size: 12, pitch: 22, least: 5, height: 640 }; // px, of a long sentence and of the whole
const ROW_PITCH = 1.25; // sizes of a label between two that can be read

/** Whether only one row's lines are drawn unless all are wanted. @param {DrawnRun} run @param {Kind} kind */
export const isLongDrawing = ({ attention }, kind) =>
  Math.max(attention[kind].queries.length, attention[kind].keys.length) > FIT_FROM;

/**
 * Which lines are drawn: of open cells, from the least weight on, of one row, of one column or of all.
 * @param {{ open: boolean, value: number, query: number, key: number }} cell
 * @param {{ threshold: number, query?: number | null, key?: number | null }} wanted
 */
export const isDrawn = ({ open, value, ...cell }, { threshold, query = null, key = null }) =>
  open && value >= threshold && (query === null || cell.query === query) && (key === null || cell.key === key);

/**
 * @param {Kind} kind @param {number} layer @param {number} head
 * @param {{ width: number, sides: [Side, Side], threshold: number, row: number | null, zoom: number }} options
 *   `row`: the only one that is drawn
 */
export function lineDrawing(kind, layer, head, { width, sides, threshold, row, zoom }) {
  const { run } = state;
  const isLong = isLongDrawing(run, kind);
  const name = isLong ? shortened : (/** @type {string} */ token) => token;
  const [queries, keys] = [run.attention[kind].queries, run.attention[kind].keys].map((words) => words.map(name));
  const isNarrow = width < NARROW * typeScale();
  const predicted = predictions(kind, run).map((token) => (isLong && isNarrow ? undefined : token && name(token)));
  const count = Math.max(queries.length, keys.length);
  const size = (isLong ? LONG.size : SIZE) * typeScale();
  const pitch = isLong
    ? Math.max(LONG.least, Math.min(LONG.pitch * typeScale(), LONG.height / count)) * zoom
    : PITCH * typeScale();
  const [left, right] = [widest(labelTexts(queries, predicted, isNarrow), size) + 24, widest(keys, size) + 24];
  const height = count * pitch + (isLong ? size : 0);
  const picture = svg("svg", {
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    class: isLong ? "lines long" : "lines",
    role: "group",
  });
  const links = svg("g");
  picture.append(links);
  const y = (/** @type {number} */ i) => (i + 0.5) * pitch + (isLong ? size / 2 : 0);
  /** @type {{ query: string[][], key: string[][] }} */
  const described = { query: queries.map(() => []), key: keys.map(() => []) };

  /** @param {{ query?: number | null, key?: number | null }} wanted */
  function draw(wanted) {
    /** @type {Element[]} */
    const paths = [];
    forEachCell(run, kind, layer, head, (cell) => {
      if (!isDrawn(cell, { threshold, ...wanted })) return;
      const { query, key, value, gold } = cell;
      const middle = (left + width - right) / 2;
      const d = `M${left} ${y(query)} C${middle} ${y(query)} ${middle} ${y(key)} ${width - right} ${y(key)}`;
      const style = `stroke-width: ${1 + 6 * value}; stroke-opacity: ${0.06 + 0.94 * value}`;
      const ends = { "data-query": query, "data-key": key };
      paths.push(svg("path", { d, style, ...ends, "data-weight": value, "data-look": describeCell(cell) }));
      if (gold) paths.push(svg("path", { d, class: `gold ${gold}`, ...ends, "data-gold": `${query} ${key}` }));
    });
    links.replaceChildren(...paths);
  }
  draw({ query: row });
  forEachCell(run, kind, layer, head, (cell) => {
    if (!isDrawn(cell, { threshold })) return;
    described.query[cell.query].push(describeCell(cell));
    described.key[cell.key].push(describeCell(cell));
  });
  const least = isLong ? ROW_PITCH * size : 0;
  const strongest = row === null ? [] : strongestKeys(kind, layer, head, row, threshold);
  const seen = {
    query: spacedLabels(queries.length, pitch, least, row === null ? [] : [row]),
    key: spacedLabels(keys.length, pitch, least, strongest),
  };
  const { allowed } = run.attention[kind];
  const isOpen = {
    query: (/** @type {number} */ i) => allowed[i].includes(true),
    key: (/** @type {number} */ i) => allowed.some((open) => open[i]),
  };
  for (const axis of /** @type {const} */ (["query", "key"]))
    (axis === "query" ? queries : keys).forEach((token, i) => {
      const read = described[axis][i].join(", ") || (isOpen[axis](i) ? token : `${token}: ${t("masked")}`);
      const isSeen = seen[axis].has(i);
      const attributes = {
        ...{ tabindex: isSeen ? 0 : null, class: isSeen ? null : "crowded" },
        ...{ role: "img", "aria-label": read, [`data-${axis}`]: i },
      };
      const x = axis === "query" ? left - 14 : width - right + 14;
      const place = { x, y: y(i), size };
      const text =
        axis === "query"
          ? rowLabel(token, predicted[i], sides[0], { ...place, anchor: "end" }, isNarrow, attributes)
          : label(token, sides[1], { ...place, anchor: "start" }, attributes);
      onPointing(text, (isPointed) => {
        if (row !== null) draw(isPointed ? { [axis]: i } : { query: row });
        else isolate(picture, isPointed ? `[data-${axis}="${i}"]` : null);
      });
      picture.append(text);
    });
  return picture;
}

/**
 * Which keys a row's lines lead to, the strongest first.
 * @param {Kind} kind @param {number} layer @param {number} head @param {number} query @param {number} threshold
 */
function strongestKeys(kind, layer, head, query, threshold) {
  const weights = attentionRow(kind, layer, head, query);
  const keys = weights.flatMap((weight, key) => (weight >= threshold ? [key] : []));
  return keys.sort((a, b) => weights[b] - weights[a]);
}

/** While a word is pointed at or has the focus. @param {SVGElement} text @param {(isPointed: boolean) => void} show */
function onPointing(text, show) {
  for (const name of ["pointerenter", "focus"]) text.addEventListener(name, () => show(true));
  text.addEventListener("blur", () => show(false));
  text.addEventListener("pointerleave", () => {
    show(false);
    const focused = text.parentElement?.querySelector("g:focus");
    focused?.dispatchEvent(new Event("focus"));
  });
}

/** Show only some of the lines, or all (null). @param {SVGElement} picture @param {string | null} wanted */
function isolate(picture, wanted) {
  picture.classList.toggle("isolated", wanted !== null);
  for (const path of picture.querySelectorAll("path"))
    path.classList.toggle("kept", wanted !== null && path.matches(wanted));
}
