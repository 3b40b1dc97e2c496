// The figures of the lesson's stops, with a legend of their colours.

import type { Kind, Run, Side } from "../../api/types.ts";
import { describedMap, describeLargestWeights, mapHeading } from "../../charts/attention-map.ts";
import { areMany, keyName, orderKeys } from "../../charts/key-order.ts";
import { type Shown, thumbnail } from "../../charts/map-canvas.ts";
import { fluidPicture, type Row, type StripOptions, vectorStrips } from "../../charts/vector-strip.ts";
import { isPresenting } from "../../state/address.ts";
import { t } from "../../state/i18n.ts";
import { fetchSublayer } from "../../state/server-cache.ts";
import { chip, h, setChildren } from "../../ui/dom.ts";
import { link } from "../../ui/parts.ts";
import { encoderInput, type LessonView, MAX_CHOICES } from "./stop.ts";

const [FEW, MANY] = [4, 8];
const MAX_CELL = 44; // px a cell of the maps of all heads
const MAX_SHARE = 0.72; // of the screen's height that a map takes
const CLASS_SHARE = 0.58; // the same in front of a class, whose votes stand there, too
const ROWS_SHARE = 0.54; // and of all rows of small maps
const MAX_ROWS = 8; // of a long sentence
const MAX_NAMED = 24; // rows and columns of a small map that stands beside others

export function colourLegend(what: "strips" | Kind, run: Run) {
  const isStrips = what === "strips";
  const [from, to] = isStrips ? ["below", "above"] : ["zero", "one"];
  const isMasked = !isStrips && run.attention[what].allowed.some((row) => row.includes(false));
  const scale = h("span", {}, t(`lesson.colours.${from}`), h("i", { class: "ramp" }), t(`lesson.colours.${to}`));
  const masked = isMasked ? h("span", {}, h("i", { class: "swatch hatched" }), t("masked")) : null;
  return h("p", { class: `colours ${isStrips ? "strips" : "map"}` }, scale, masked);
}

export const strips = (view: LessonView, rows: Row[], options: StripOptions) =>
  fluidPicture((width) => vectorStrips(rows, { width, ...options }), view.signal);

/** A part of the input, a row a token: of a long sentence those around the word in question, and a link to all. */
export async function tokenStrips(view: LessonView, part: "embedding" | "input", label: string) {
  const input = await encoderInput(view);
  const rows: Row[] = input.tokens.map((token: string, i: number) => ({
    label: token,
    side: "source",
    values: input[part][i],
  }));
  if (!areMany(rows)) return strips(view, rows, { label });
  const from = Math.max(0, Math.min(view.query - MAX_ROWS / 2, rows.length - MAX_ROWS));
  const place = h("div", {}, strips(view, rows.slice(from, from + MAX_ROWS), { label }));
  const open = () => setChildren(place, strips(view, rows, { label }));
  place.append(link(t("inside.show_more", { count: rows.length - MAX_ROWS }), open));
  return place;
}

/** What a query's scores are made of: its numbers, and under them those of the keys that a question offers. */
export async function queryAndKeys(view: LessonView, kind: Kind, layer: number, query: number) {
  const { head } = view;
  const data = await fetchSublayer(kind, layer, view.run);
  const offered = orderKeys(data.at("scores", head, query), { most: MAX_CHOICES }).shown.toSorted((a, b) => a - b);
  const keys: Row[] = offered.map((key) => ({
    label: keyName(data.keys, key),
    side: data.to,
    name: `k:${key}`,
    values: data.at("k", head, key),
  }));
  const asks: Row = { label: data.queries[query], side: data.from, name: "q", values: data.at("q", head, query) };
  const labels = [asks, ...keys].map(({ label = "" }) => label);
  const titled = (label: string, rows: Row[]) => [h("h4", {}, label), strips(view, rows, { label, labels })];
  return [
    titled(t("inside.query"), [asks]),
    titled(t("inside.keys"), keys),
    h("p", { class: "hint" }, t("lesson.evidence.scores")),
  ];
}

export function tokenIds(side: Side, words: string[], ids: number[]) {
  const items = words.map((token, i) =>
    h("li", { "data-id": ids[i] }, chip("span", token, side), h("small", {}, ids[i])),
  );
  return h("div", { class: "token-ids" }, h("h4", {}, t(`side.${side}`)), h("ol", {}, items));
}

/** A map of the stop's run. */
type Of = Omit<Shown, "run">;

export const map = (view: LessonView, of: Of, query: number | null) => [
  h("h4", {}, mapHeading(of.kind, of.layer, of.head)),
  mapPicture(view, of, query),
];

/** The maps of all heads of a layer of the encoder; the first, twice as wide and high, names the words of all. */
export function headMaps(view: LessonView) {
  const { heads, keys } = view.run.attention.encoder;
  const columns = heads > (isPresenting() ? MANY : FEW) ? 6 : 4;
  const rows = heads > 1 ? Math.ceil((heads + 3) / columns) : 2;
  const figures = Array.from({ length: heads }, (_, head) => {
    const draw = head > 0 || keys.length > MAX_NAMED ? wordlessMap : mapPicture;
    const size = { maxCell: MAX_CELL, rows: head > 0 ? rows : rows / 2 };
    const picture = draw(view, { kind: "encoder", layer: view.layer, head }, null, size);
    return h("figure", { "data-head": head }, picture, h("small", {}, t("head_n", { head: head + 1 })));
  });
  return h("div", { class: "heads", style: `--columns: ${columns}` }, figures);
}

/** Of a small map, px a cell, and the rows of them in front of a class. */
type Small = { maxCell: number; rows: number };

const mapPicture = ({ run, signal }: LessonView, of: Of, query: number | null, small?: Small) =>
  fluidPicture((width) => {
    const share = small ? ROWS_SHARE / small.rows : CLASS_SHARE;
    const maxHeight = innerHeight * (isPresenting() ? share : MAX_SHARE);
    const limits = small ? { maxCell: small.maxCell, isOnPaper: true } : {};
    return describedMap({ run, ...of }, { width, maxHeight, ...limits }, query);
  }, signal);

/** A map whose words would be too small to read. */
const wordlessMap: typeof mapPicture = ({ run }, of, _query, small) => {
  const label = describeLargestWeights({ run, ...of });
  const picture = thumbnail(of.kind, of.layer, of.head, run);
  // It is square.
  if (small && isPresenting()) picture.setAttribute("style", `max-width: ${(100 * ROWS_SHARE) / small.rows}vh`);
  return h("div", { class: "fluid", role: "img", "aria-label": label }, picture);
};
