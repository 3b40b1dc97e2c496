// What a stop of the lesson draws and asks (see stops/), and the data that it does it with: the run without its changes,
// at the visitor's place as far as that run has it.

import type { Child, Kind, Places, Run, Side } from "../../api/types.ts";
import { cellExplainer, type ShowArithmetic } from "../../charts/arithmetic.ts";
import { describedMap, describeLargestWeights, mapHeading } from "../../charts/attention-map.ts";
import { areMany, around, keyName, orderKeys } from "../../charts/key-order.ts";
import { type Shown, thumbnail } from "../../charts/map-canvas.ts";
import type { Stage } from "../../charts/sublayer-stages.ts";
import { fluidPicture, type Row, type StripOptions, vectorStrips } from "../../charts/vector-strip.ts";
import { argmax, parts } from "../../engine/arrays.ts";
import { isPresenting } from "../../state/address.ts";
import { formatNumber, t } from "../../state/i18n.ts";
import type { StopName } from "../../state/lesson-plan.ts";
import { askAboutRun, fetchSublayer } from "../../state/server-cache.ts";
import { attentionRow, baselineRun, decodeFloats, state } from "../../state/state.ts";
import { distinctWord } from "../../state/words.ts";
import { chip, h, setChildren, wordAt } from "../../ui/dom.ts";
import { narrow } from "../../ui/frame.ts";
import { hint, link } from "../../ui/parts.ts";

/**
 * A stop of the lesson. Its figure is a `stage` of a head, or drawn under a headline of its own: a formula and its
 * shapes. Until the question is answered a figure that would give the answer away (`hides`) is veiled, or `evidence`
 * stands in its place, from which the answer can be reasoned, and stays beside it where it `remains`; or a table of
 * scores has fewer `columns`. With the answer come more `columns`, or what `answer` draws. `howToRead` names a text that
 * stands beside the legend before and after. A `wide` figure stands above the text, another beside it. A text, also the
 * heading of a figure, is taken in the first of the `variants` that the catalogue has it in.
 */
export type Stop = {
  hides?: boolean;
  wide?: boolean;
  colours?: "strips" | Kind;
  layer?: number; // of the encoder, where the words of a sentence differ; else the visitor's
  query?: (view: LessonView) => Promise<number>; // the word to ask about where the visitor has chosen none
  howToRead?: string;
  variants?: (view: LessonView) => (string | false)[];
  evidence?: (view: LessonView) => Promise<Child>;
  remains?: boolean;
  ask: (view: LessonView) => Quiz | Promise<Quiz>;
} & (
  | { stage: Stage; columns?: { asked: string[]; answered?: string[] } }
  | {
      headline: (view: LessonView) => [formula: string, ...shapes: ((number | string)[] | string)[]];
      draw: (view: LessonView) => Child | Promise<Child>;
      answer?: (view: LessonView) => Promise<Child>;
    }
);

/** A choice; a wrong one with the key of the text that says why, filled from `places`. */
export type Choice = { text: string; why?: string; places?: Places };
/** `right` is the index of the right choice; `places` fill the texts of the stop. */
type Quiz = { choices: Choice[]; right: number; places: Places };

// ---- data ----

export type LessonView = ReturnType<typeof lessonView>;

/** @param signal ends what the stop has drawn @param showArithmetic shows the arithmetic of a cell */
export function lessonView(signal: AbortSignal, showArithmetic: ShowArithmetic, at = state.layer) {
  const run = baselineRun();
  const { encoder, cross } = run.attention;
  const lastWord = run.source.findLastIndex((token) => token !== "P" && token !== "E");
  const query = state.kind === "encoder" ? state.query : lastWord;
  const place = {
    step: Math.min(state.step, run.steps.length - 1), // a modified run may have more
    query,
    layer: Math.min(at, encoder.layers - 1),
    head: state.head,
    decoderLayer: Math.min(state.layer, cross.layers - 1),
  };
  const places = { word: sourceWord(run, query), layer: place.layer + 1, head: place.head + 1 };
  return { run, signal, showArithmetic, ...place, places };
}

const sourceWord = (run: Run, query: number) => wordAt(run.source, query, "source");

/** With the word that the stop asks about. */
export async function viewOfStop({ query: find }: Stop, view: LessonView): Promise<LessonView> {
  if (!find || state.kind === "encoder") return view; // the visitor has chosen one
  const query = await find(view);
  return { ...view, query, places: { ...view.places, word: sourceWord(view.run, query) } };
}

export const encoderHead = async (view: LessonView) => ({
  ...view,
  kind: "encoder" as const,
  data: await fetchSublayer("encoder", view.layer, view.run),
  explain: cellExplainer(view.showArithmetic),
});

export async function encoderInput({ run }: LessonView) {
  const { tokens, d_model, ...sum } = await askAboutRun("input_sum", { stack: "encoder" }, run);
  const rows = (values: string) => toRows(decodeFloats(values), d_model);
  const [embedding, positions, input] = [sum.embedding, sum.positions, sum.input].map(rows);
  return { tokens, d_model, embedding, positions, input };
}

export async function wordInEveryLayer({ run, query }: LessonView) {
  const { encoder } = await askAboutRun("stack", {}, run);
  const [layers, tokens, width] = encoder.shape;
  const vectors = toRows(decodeFloats(encoder.data), width);
  return Array.from({ length: layers }, (_, layer) => vectors[layer * tokens + query]);
}

export const highestCrossStep = ({ run, decoderLayer, head }: LessonView) =>
  argmax(run.steps.map((_, step) => Math.max(...attentionRow("cross", decoderLayer, head, step, run))));

const toRows = (values: Float32Array, width: number) =>
  parts(values, values.length / width).map((row) => Array.from(row));

// ---- questions ----

export const NO_QUESTION: Quiz = { choices: [], right: -1, places: {} };

type Wrong = Record<string, number>;

/** Values as choices in their order, each text once. @param wrong by the name of the text that says why */
export function valueQuiz(stop: StopName, right: number, wrong: Wrong, places: Places, format = rounded) {
  const offered: (Choice & { value: number })[] = [{ value: right, text: format(right) }];
  for (const [name, value] of Object.entries(wrong)) {
    const text = format(value);
    if (offered.every((each) => each.text !== text)) offered.push({ value, text, why: `lesson.${stop}.why.${name}` });
  }
  offered.sort((a, b) => a.value - b.value);
  return orderedQuiz(offered, places);
}

/** Choices in the order that they are given in, of which the right one has no `why`. */
export const orderedQuiz = (choices: Choice[], places: Places): Quiz => ({
  choices,
  right: choices.findIndex(({ why }) => !why),
  places,
});

export const rounded = (value: number) => formatNumber(Math.round(value * 100) / 100);

const MAX_CHOICES = 9; // as many as there are keys to choose by

/** Choices by their names, whose texts the catalogue has under the stop's. @param why name of the text on a wrong one */
export function namedQuiz(stop: StopName, names: string[], right: string, places: Places, why = (n: string) => n) {
  const whyNot = (name: string) => (name === right ? undefined : `lesson.${stop}.why.${why(name)}`);
  const choices = names.map((name) => ({ text: t(`lesson.${stop}.${name}`, places), why: whyNot(name) }));
  return orderedQuiz(choices, places);
}

type Values = { words: string[]; values: number[]; format: (value: number) => string };

/** Which source word has the largest value? Of a long sentence, those with the largest are offered, in their order. */
export function largestWordQuiz(stop: StopName, { words, values, format }: Values, usual: Places): Quiz {
  const right = argmax(values);
  const key = (i: number) => wordAt(words, i, "source");
  const largest = [...words.keys()].sort((a, b) => values[b] - values[a] || a - b);
  const shown = largest.slice(0, MAX_CHOICES).sort((a, b) => a - b);
  const wrong = (i: number) => ({ why: `lesson.${stop}.why`, places: { chosen: key(i), own: format(values[i]) } });
  const choices = shown.map((i) => ({ text: distinctWord(words, i), ...(i === right ? {} : wrong(i)) }));
  return { choices, right: shown.indexOf(right), places: { ...usual, key: key(right), share: format(values[right]) } };
}

// ---- figures ----

const MANY = 8; // heads, of which more stand in a row
const MAX_CELL = 44; // px a cell of the maps of all heads
const MAX_SHARE = 0.72; // of the screen's height that a map takes
const CLASS_SHARE = 0.58; // the same in front of a class, whose votes stand there, too
const ROWS_SHARE = 0.54; // and of all rows of small maps
const ALONE_ROWS_SHARE = 0.44; // the same under the header, on a wide screen
const MAX_ROWS = 8; // of a long sentence
const MAX_NAMED = 24; // rows and columns of a small map that stands beside others

export function colourLegend(what: "strips" | Kind, run: Run, howToRead?: string) {
  const isStrips = what === "strips";
  const [from, to] = isStrips ? ["below", "above"] : ["zero", "one"];
  const isMasked = !isStrips && run.attention[what].allowed.some((row) => row.includes(false));
  const scale = h("span", {}, t(`lesson.colours.${from}`), h("i", { class: "ramp" }), t(`lesson.colours.${to}`));
  const masked = isMasked ? h("span", {}, h("i", { class: "swatch hatched" }), t("masked")) : null;
  const how = howToRead ? h("span", {}, t(howToRead)) : null;
  return h("p", { class: `colours ${isStrips ? "strips" : "map"}` }, scale, masked, how);
}

export const strips = (view: LessonView, rows: Row[], options: StripOptions) =>
  fluidPicture((width) => vectorStrips(rows, { width, ...options }), view.signal);

/** A part of the input, a row a token: of a long sentence those around the word in question, and a link to all. */
export async function tokenStrips(view: LessonView, part: "embedding" | "input", label: string) {
  const input = await encoderInput(view);
  const rows = input.tokens.map((label, i): Row => ({ label, side: "source", values: input[part][i] }));
  if (!areMany(rows)) return strips(view, rows, { label });
  const shown = around(view.query, rows.length, MAX_ROWS).map((i) => rows[i]);
  const place = h("div", {}, strips(view, shown, { label }));
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
  const how = [hint(t("lesson.evidence.scores")), colourLegend("strips", view.run)];
  return [titled(t("inside.query"), [asks]), titled(t("inside.keys"), keys), how];
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
  const columns = heads > MANY ? 6 : 4;
  const rows = heads > 1 ? Math.ceil((heads + 3) / columns) : 2;
  const figures = Array.from({ length: heads }, (_, head) => {
    const draw = head > 0 || keys.length > MAX_NAMED ? wordlessMap : mapPicture;
    const picture = draw(view, { kind: "encoder", layer: view.layer, head }, null, head > 0 ? rows : rows / 2);
    return h("figure", { "data-head": head }, picture, h("small", {}, t("head_n", { head: head + 1 })));
  });
  return h("div", { class: "heads", style: `--columns: ${columns}` }, figures);
}

const rowShare = (rows: number) => (isPresenting() ? ROWS_SHARE : narrow.matches ? 1 : ALONE_ROWS_SHARE) / rows;

/** @param rows of a small map: as many of them share the screen */
const mapPicture = ({ run, signal }: LessonView, of: Of, query: number | null, rows?: number) =>
  fluidPicture((width) => {
    const maxHeight = innerHeight * (rows ? rowShare(rows) : isPresenting() ? CLASS_SHARE : MAX_SHARE);
    const limits = rows ? { maxCell: MAX_CELL, isOnPaper: true } : {};
    return describedMap({ run, ...of }, { width, maxHeight, ...limits }, query);
  }, signal);

/** A map whose words would be too small to read. */
const wordlessMap: typeof mapPicture = ({ run }, of, _query, rows = 1) => {
  const label = describeLargestWeights({ run, ...of });
  const picture = thumbnail(of.kind, of.layer, of.head, run);
  picture.style.maxWidth = `${100 * rowShare(rows)}vh`; // it is square
  return h("div", { class: "fluid", role: "img", "aria-label": label }, picture);
};
