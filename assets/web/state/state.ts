// The visitor's state. One page, one run, one state: every view draws from it and changes it through `update`.

import { decodeBytes } from "../api/bytes.ts";
import { schema } from "../api/schema.ts";
import type { AttentionMaps, DrawnRun, Kind, Run, Stack, State } from "../api/types.ts";
import { argmax } from "../engine/arrays.ts";
import { LESSON_STOPS, stopOrder, withStop } from "./lesson-plan.ts";
import { byWords, SIDES, tokenIndex, tokenRun } from "./words.ts";

export { SIDES };
export const KINDS = Object.keys(SIDES) as Kind[];
export const SUBLAYERS: Record<Stack, string[]> = { encoder: ["self", "ffn"], decoder: ["self", "cross", "ffn"] };
export const STACKS = Object.keys(SUBLAYERS) as Stack[];

/** What an address without parameters stands for. */
export const HOME: Partial<State> = Object.fromEntries(
  Object.values(schema.parameters).flatMap(({ state, default: usual }) => (state ? [[state, usual ?? null]] : [])),
);

export const state = { run: null as unknown as Run, baseline: null, stack: "encoder", ...HOME } as State;

const views: Map<Element, () => void> = new Map();

/** Call `draw` now and after every change, for as long as `element` is on the page. */
export function subscribe(element: Element, draw: () => void) {
  views.set(element, draw);
  if (state.run) draw();
}

export function update(changes: Partial<State>) {
  Object.assign(state, changes);
  if (!state.run) return;
  const before = state.run;
  Object.assign(state, inUnit(before, state.baseline));
  if (state.run !== before) Object.assign(state, placeIn(before));
  const { layers, heads, queries } = state.run.attention[state.kind];
  state.step = clamp(state.step, state.run.steps.length);
  if (state.kind !== "encoder" && ("step" in changes || "kind" in changes) && !("query" in changes))
    state.query = state.step;
  state.query = clamp(state.query, queries.length);
  state.stop = clamp(state.stop, LESSON_STOPS.length);
  const stops = lessonStops();
  if (!stops.includes(state.stop) || (changes.stops && !("stop" in changes))) state.stop = stops[0];
  const { forcedMistake: mistake } = state;
  if (mistake && !possibleMistakes(mistake.step).includes(mistake.word)) state.forcedMistake = null; // another run's
  state.layer = clamp(state.layer, layers);
  state.head = clamp(state.head, heads);
  for (const [element, draw] of views) {
    if (element.isConnected) draw();
    else views.delete(element);
  }
}

/** The stops of the lesson, in their order: a real model's lesson has one more. */
export const lessonStops = () => stopOrder(state.stops, state.run.model.pieces);

/** These stops, null for the whole lesson, and one more where they lack it. */
export function stopsWith(stop: number, stops: State["stops"] = state.stops) {
  const order = stopOrder(stops, state.run.model.pieces);
  return order.includes(stop) ? stops : withStop(order, stop);
}

const OF_WORDS = ["overview", "translate", "attention"]; // tabs that can show words

/** Whether a place of the page shows words: elsewhere each number belongs to a piece. */
export const canShowWords = ({ tab, part }: Partial<State> = state) =>
  OF_WORDS.includes(tab ?? "") || (tab === "break" && part === "whatif");

/** Runs as the visitor's place shows them: by words, or by the model's own tokens. */
function inUnit(run: Run, baseline: Run | null) {
  const [tokens, before] = [tokenRun(run), baseline && tokenRun(baseline)];
  if (!tokens.words || !state.inWords || !canShowWords()) return { run: tokens, baseline: before };
  return { run: byWords(tokens, before), baseline: before && byWords(before) };
}

/** Where the step and the query of a run are now that it is shown by words, or no longer. */
function placeIn(before: Run) {
  const { run, kind, step, query } = state;
  const { source, output } = run.words ?? {};
  const at = (run.pieces ? output?.of[step] : tokenIndex(before, "decoder", step)) ?? 0;
  const isOfSource = kind === "encoder";
  return {
    step: at,
    query: isOfSource ? ((run.pieces ? source?.of[query] : tokenIndex(before, kind, query)) ?? 0) : at,
  };
}

export const baselineRun = () => state.baseline ?? state.run;

/** Words that the model can be made to output by mistake at a step, the likeliest first. */
export function possibleMistakes(step: number) {
  const { steps, reference } = tokenRun(baselineRun());
  const wanted = reference ? reference.text.split(" ").length + 1 : steps.length; // E is wanted as well
  if (step >= Math.min(wanted, steps.length)) return [];
  return steps[step].candidates
    .map(({ token }) => token)
    .filter((token) => token !== steps[step].token && token !== "S" && token !== "P");
}

/** The head in view, or the nearest that a kind of attention has. */
export function shownHead(kind: Kind, run: DrawnRun = state.run) {
  const { layers, heads } = run.attention[kind];
  return { layer: clamp(state.layer, layers), head: clamp(state.head, heads) };
}

/** Follow another row: of the decoder, that is another step. */
export const selectQuery = (query: number) => update(state.kind === "encoder" ? { query } : { query, step: query });
const clamp = (value: number, count: number) => Math.max(0, Math.min(value, count - 1));

/** Another model's heads are other heads: its first run opens on one that shows something. @param watch a source word */
export function showRun(run: Run, baseline: Run | null = null, watch: string | null = null) {
  for (const each of [run, baseline])
    for (const map of Object.values(each?.attention ?? {}))
      map.values ??= (map.packed ? unpackWeights : decodeFloats)(map.weights ?? "");
  const isAnotherModel = state.run?.checkpoint !== run.checkpoint;
  Object.assign(state, inUnit(run, baseline));
  const step = watch === null ? -1 : stepOfWord(run, watch);
  update({ ...(isAnotherModel ? openingPlace(state.run) : {}), ...(step >= 0 ? { step } : {}) });
}

export function goldLink(step: number, key: number, run: DrawnRun = state.run) {
  const links = run.reference?.gold;
  if (links?.sure[step]?.includes(key)) return "sure";
  return links?.possible[step]?.includes(key) ? "possible" : null;
}

function stepOfWord(run: Run, word: string) {
  const links = run.reference?.gold;
  if (!links) return -1;
  const key = run.source.indexOf(word);
  const named = links.sure.findIndex((keys) => keys.includes(key));
  return named >= 0 ? named : links.possible.findIndex((keys) => keys.includes(key));
}

export const likelihood = (run: Run) => run.steps.reduce((product, step) => product * step.probability, 1);

/** The weights of one head's row, or the mean of all heads of the layer (null). */
export function attentionRow(kind: Kind, layer: number, head: number | null, query: number, run: DrawnRun = state.run) {
  const { heads, queries, keys, values } = run.attention[kind];
  const asked = head === null ? [...Array(heads).keys()] : [head];
  const starts = asked.map((each) => ((layer * heads + each) * queries.length + query) * keys.length);
  return keys.map((_, key) => starts.reduce((sum, start) => sum + values[start + key], 0) / asked.length);
}

/** What each head of every layer has, [layer][head]. */
export const eachHead = <Value>(
  { layers, heads }: Record<"layers" | "heads", number>,
  value: (layer: number, head: number) => Value,
) => Array.from({ length: layers }, (_, layer) => Array.from({ length: heads }, (_, head) => value(layer, head)));

/** The mean entropy (nats) and the mean attention distance (positions) of every head's rows. */
export const headShapes = ({ layers, heads, queries, keys, values }: AttentionMaps) =>
  Array.from({ length: layers * heads }, (_, map) => {
    const size = queries.length * keys.length;
    let [entropy, distance] = [0, 0];
    for (let i = 0; i < size; i++) {
      const weight = values[map * size + i];
      if (weight > 0) entropy -= (weight * Math.log(weight)) / queries.length;
      distance += (weight * Math.abs(Math.floor(i / keys.length) - (i % keys.length))) / queries.length;
    }
    return { layer: Math.floor(map / heads), head: map % heads, entropy, distance };
  });

export const decodeFloats = (base64: string) => new Float32Array(decodeBytes(base64).buffer);

const TICKS = 200_000; // of a weight of 1, as in transformer/web/api/payload.py

/** As `packed` of payload.py makes them: whole numbers of half ticks, first the lowest byte of each, last the highest. */
export function unpackWeights(base64: string) {
  const bytes = decodeBytes(base64);
  const count = bytes.length / 3;
  const ticks = (i: number) => (bytes[i] + 0x100 * bytes[count + i] + 0x10000 * bytes[2 * count + i]) / 2;
  return new Float32Array(count).map((_, i) => ticks(i) / TICKS);
}

/** Attention counts as uniform while its largest weight is no more than this above an equal share. */
export const UNIFORM_MARGIN = 0.03;

const MAX_ALIGNED_ERROR = 0.2; // a head with a lower error rate aligns,
const MIN_ALIGNED_WORDS = 5; // over this many words at least: of many heads, one always aligns a few by chance

/** Whether a run has gold links for enough words that aligning them is more than luck. */
export const hasEnoughGold = (run: DrawnRun) =>
  (run.reference?.gold?.sure.filter((keys) => keys.length).length ?? 0) >= MIN_ALIGNED_WORDS;

/** The alignment error rate of every cross-attention head, [layer][head] (Och and Ney 2003): each aligned word predicts the
 * source word with the head's highest weight. Null where a run has no gold links. */
export function errorRates(run: DrawnRun) {
  const gold = run.reference?.gold;
  if (!gold) return null;
  const links = gold.sure.flat().length;
  const rate = (layer: number, head: number) => {
    let [predicted, right] = [0, 0];
    gold.sure.forEach((sure, t) => {
      const row = attentionRow("cross", layer, head, t, run);
      const key = argmax(row);
      if (!row[key] || !(sure.length || gold.possible[t].length)) return; // a fully masked row predicts none
      predicted++;
      right += sure.includes(key) ? 2 : Number(gold.possible[t].includes(key));
    });
    return predicted + links ? 1 - right / (predicted + links) : 0;
  };
  return eachHead(run.attention.cross, rate);
}

/** The head that aligns best, if one does, else the one with the highest weight; at the first step. */
function openingPlace(run: Run) {
  const { heads, queries, keys, values } = run.attention.cross;
  const size = queries.length * keys.length;
  const rates = (hasEnoughGold(run) && errorRates(run)?.flat()) || [];
  const best = rates.lastIndexOf(Math.min(...rates)); // of several the one in the highest layer, which is read last
  const head = rates[best] <= MAX_ALIGNED_ERROR ? best : Math.floor(argmax(values) / size);
  return { step: 0, head: head % heads, layer: Math.floor(head / heads) };
}
