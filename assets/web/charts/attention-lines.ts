// One head's attention as lines, as wide as their weights; of a long sentence those of one row, unless all are wanted.

import type { DrawnRun, Kind } from "../api/types.ts";
import { t } from "../state/i18n.ts";
import { attentionRow, SIDES } from "../state/state.ts";
import { svg, typeScale } from "../ui/dom.ts";
import type { Shown } from "./map-canvas.ts";
import {
  type Cell,
  cellsOf,
  describeCell,
  FIT_FROM,
  label,
  NARROW,
  rowLabel,
  shownWords,
  spacedLabels,
  widest,
} from "./map-parts.ts";

type Axis = "query" | "key";
/** The row or the column that is drawn, from a share of the strongest colour on; all if neither is named. */
type Wanted = { threshold: number; query?: number | null; key?: number | null };
type LineLayout = ReturnType<typeof layoutOf>;

const AXES = ["query", "key"] as const;

const PITCH = 56; // px between two words: as far as the rows of a heatmap
const SIZE = 15;
const LONG = { size: 12, pitch: 22, least: 5, height: 640 }; // px, of a long sentence and of the whole
const ROW_PITCH = 1.25; // sizes of a label between two that can be read

/** Whether only one row's lines are drawn unless all are wanted. */
export const isLongDrawing = ({ attention }: DrawnRun, kind: Kind) =>
  Math.max(attention[kind].queries.length, attention[kind].keys.length) > FIT_FROM;

export function isDrawn(cell: Pick<Cell, "open" | "share" | Axis>, { threshold, query = null, key = null }: Wanted) {
  const isOfWord = (query === null || cell.query === query) && (key === null || cell.key === key);
  return cell.open && cell.share >= threshold && isOfWord;
}

const drawnCells = (shown: Shown, wanted: Wanted) => cellsOf(shown).filter((cell) => isDrawn(cell, wanted));

/** `row`: the only one that is drawn */
export type LineOptions = { width: number; threshold: number; row: number | null; zoom: number };

export function lineDrawing(shown: Shown, { width, threshold, row, zoom }: LineOptions) {
  const place = layoutOf(shown, width, zoom);
  const { height, isLong } = place;
  const links = svg("g");
  const box = { viewBox: `0 0 ${width} ${height}`, width, height };
  const picture = svg("svg", { ...box, class: isLong ? "lines long" : "lines", role: "group" }, links);
  const draw = (word: Partial<Wanted>) => links.replaceChildren(...linePaths(shown, place, { threshold, ...word }));
  draw({ query: row });
  const described = describeTokens(shown, threshold);
  const seen = seenLabels(shown, place, threshold, row);
  for (const axis of AXES)
    for (const [i, token] of place.tokens[axis].entries()) {
      const attributes = {
        ...(seen[axis].has(i) ? { tabindex: 0 } : { class: "crowded" }),
        ...{ role: "img", "aria-label": described(axis, i, token), [`data-${axis}`]: i },
      };
      const text = tokenLabel(axis, i, place, SIDES[shown.kind], attributes);
      onPointing(text, (isPointed) => {
        if (row !== null) draw(isPointed ? { [axis]: i } : { query: row });
        else isolate(picture, isPointed ? `[data-${axis}="${i}"]` : null);
      });
      picture.append(text);
    }
  return picture;
}

function layoutOf({ run, kind }: Shown, width: number, zoom: number) {
  const isLong = isLongDrawing(run, kind);
  const isNarrow = width < NARROW * typeScale();
  const { queries, keys, predicted, names } = shownWords(run, kind, isLong, isNarrow);
  const tokens = { query: queries, key: keys };
  const count = Math.max(tokens.query.length, tokens.key.length);
  const size = (isLong ? LONG.size : SIZE) * typeScale();
  const pitch = isLong
    ? Math.max(LONG.least, Math.min(LONG.pitch * typeScale(), LONG.height / count)) * zoom
    : PITCH * typeScale();
  return {
    ...{ isLong, isNarrow, tokens, predicted, size, pitch },
    left: widest(names, size) + 24,
    right: width - widest(tokens.key, size) - 24,
    height: count * pitch + (isLong ? size : 0),
    y: (i: number) => (i + 0.5) * pitch + (isLong ? size / 2 : 0),
  };
}

function linePaths(shown: Shown, { left, right, y }: LineLayout, wanted: Wanted) {
  const middle = (left + right) / 2;
  return drawnCells(shown, wanted).flatMap((cell) => {
    const { query, key, value, share, gold } = cell;
    const d = `M${left} ${y(query)} C${middle} ${y(query)} ${middle} ${y(key)} ${right} ${y(key)}`;
    const style = `stroke-width: ${1 + 6 * share}; stroke-opacity: ${0.06 + 0.94 * share}`;
    const ends = { "data-query": query, "data-key": key };
    const path = svg("path", { d, style, ...ends, "data-weight": value, "data-look": describeCell(cell) });
    return gold ? [path, svg("path", { d, class: `gold ${gold}`, ...ends, "data-gold": `${query} ${key}` })] : [path];
  });
}

function describeTokens(shown: Shown, threshold: number) {
  const { allowed } = shown.run.attention[shown.kind];
  const drawn = drawnCells(shown, { threshold });
  return (axis: Axis, i: number, token: string) => {
    const lines = drawn.filter((cell) => cell[axis] === i).map(describeCell);
    const isOpen = axis === "query" ? allowed[i].includes(true) : allowed.some((open) => open[i]);
    return lines.join(", ") || (isOpen ? token : `${token}: ${t("masked")}`);
  };
}

function seenLabels(shown: Shown, { tokens, pitch, size, isLong }: LineLayout, threshold: number, row: number | null) {
  const least = isLong ? ROW_PITCH * size : 0;
  const strongest = row === null ? [] : strongestKeys(shown, row, threshold);
  return {
    query: spacedLabels(tokens.query.length, pitch, least, row === null ? [] : [row]),
    key: spacedLabels(tokens.key.length, pitch, least, strongest),
  };
}

function tokenLabel(axis: Axis, i: number, layout: LineLayout, sides: (typeof SIDES)[Kind], attributes: object) {
  const { tokens, predicted, left, right, y, size, isNarrow } = layout;
  const token = tokens[axis][i];
  if (axis === "key") return label(token, sides[1], { x: right + 14, y: y(i), size, anchor: "start" }, attributes);
  const place = { x: left - 14, y: y(i), size, anchor: "end" } as const;
  return rowLabel(token, predicted[i], sides[0], place, isNarrow, attributes);
}

function strongestKeys({ run, kind, layer, head }: Shown, query: number, threshold: number) {
  const { most = 1 } = run.attention[kind];
  const weights = attentionRow(kind, layer, head, query, run);
  const keys = weights.flatMap((weight, key) => (weight / most >= threshold ? [key] : []));
  return keys.sort((a, b) => weights[b] - weights[a]);
}

function onPointing(text: SVGElement, show: (isPointed: boolean) => void) {
  for (const name of ["pointerenter", "focus"]) text.addEventListener(name, () => show(true));
  text.addEventListener("blur", () => show(false));
  text.addEventListener("pointerleave", () => {
    show(false);
    text.parentElement?.querySelector("g:focus")?.dispatchEvent(new Event("focus"));
  });
}

function isolate(picture: SVGElement, wanted: string | null) {
  picture.classList.toggle("isolated", wanted !== null);
  for (const path of picture.querySelectorAll("path"))
    path.classList.toggle("kept", wanted !== null && path.matches(wanted));
}
