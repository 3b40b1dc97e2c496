// What this visitor looks at. One page, one run, one store: every view draws from it and changes it through `update`.

import { EXERCISES } from "./exercises.js";

/** What the other roads of decoding can be set to, by their names in an address. */
export const DECODING_SETTINGS = {
  width: { min: 1, max: 5, step: 1, default: 4 }, // places in the beam
  alpha: { min: 0, max: 2, step: 0.1, default: 0.6 }, // of the length penalty
  temperature: { min: 0.1, max: 3, step: 0.1, default: 1 },
  top_k: { min: 0, max: 999_999, step: 1, default: 0 }, // 0 for all
  top_p: { min: 0.05, max: 1, step: 0.05, default: 1 },
  seed: { min: 0, max: 999_999_999, step: 1, default: 0 },
};
const defaultSettings = Object.entries(DECODING_SETTINGS).map(([name, setting]) => [name, setting.default]);

export const state = {
  run: null, // the latest good run
  baseline: null, // the same without its changes; null where it has none
  tab: "translate",
  step: 0, // decoding step, from 0
  query: 0, // the row that Inside a head follows; in decoder and cross it moves with the step
  kind: "cross",
  layer: 0,
  head: 0,
  averaged: true, // Translate shows the mean of a layer's heads
  drawing: "heatmap", // of a map: heatmap, lines or table
  gold: false, // lay the gold alignment over cross-attention
  stop: 0, // of the lesson
  stack: "encoder", // whose input Positions adds up
  part: "whatif", // of Break it: whatif, bugs or roads
  exercise: Object.keys(EXERCISES)[0], // of Spot the bug
  strategy: "beam", // of decoding: beam, sampling or forced
  ...Object.fromEntries(defaultSettings),
  forcedMistake: null, // {step, word} that it is made to say by mistake, beside teacher forcing
};

export const LESSON_STOPS = 14; // of the lesson, in lesson.js

const views = new Map(); // element -> draw

/** Call `draw` now and after every change, for as long as `element` is on the page. */
export function subscribe(element, draw) {
  views.set(element, draw);
  if (state.run) draw();
}

export function update(changes) {
  Object.assign(state, changes);
  if (!state.run) return;
  const { layers, heads, queries } = state.run.attention[state.kind];
  state.step = clamp(state.step, state.run.steps.length);
  if (state.kind !== "encoder" && ("step" in changes || "kind" in changes) && !("query" in changes))
    state.query = state.step;
  state.query = clamp(state.query, queries.length);
  state.stop = clamp(state.stop, LESSON_STOPS);
  if (state.forcedMistake && !possibleMistakes(state.forcedMistake.step).includes(state.forcedMistake.word))
    state.forcedMistake = null; // another run's
  state.layer = clamp(state.layer, layers);
  state.head = clamp(state.head, heads);
  for (const [element, draw] of views) {
    if (element.isConnected) draw();
    else views.delete(element);
  }
}

/** The run without changes. */
export const baselineRun = () => state.baseline ?? state.run;

/** Words that it may be made to say by mistake at a step, the likeliest first. */
export function possibleMistakes(step) {
  const { steps, reference } = baselineRun();
  const wanted = reference ? reference.text.split(" ").length + 1 : steps.length; // E is wanted as well
  if (step >= Math.min(wanted, steps.length)) return [];
  return steps[step].candidates
    .map(({ token }) => token)
    .filter((token) => token !== steps[step].token && token !== "S" && token !== "P");
}

/** Follow another row: of the decoder, that is another step. */
export const selectQuery = (query) => update(state.kind === "encoder" ? { query } : { query, step: query });

const clamp = (value, count) => Math.max(0, Math.min(value, count - 1));

/**
 * Show a run that the server sent. The visitor's place is kept, but another model's heads are other heads: its first
 * run opens where one is worth looking at. `baseline` is the same run without its changes, if it has any; `watch` is a source
 * word to go to the step of.
 */
export function showRun(run, baseline = null, watch = null) {
  for (const each of [run, baseline])
    for (const map of Object.values(each?.attention ?? {})) map.values ??= decodeFloats(map.weights);
  const other = state.run?.checkpoint !== run.checkpoint;
  Object.assign(state, { run, baseline });
  const step = watch === null ? -1 : stepOfWord(run, watch);
  update({ ...(other ? openingPlace(run) : {}), ...(step >= 0 ? { step } : {}) });
}

/** The gold source words of a step: sure, or as one may see it ("possible"); null where there is none. */
export function goldLink(step, key, run = state.run) {
  const links = run.reference?.gold;
  if (links?.sure[step]?.includes(key)) return "sure";
  return links?.possible[step]?.includes(key) ? "possible" : null;
}

/** The first step that says a source word's translation, -1 if none is known. */
function stepOfWord(run, watch) {
  const links = run.reference?.gold;
  if (!links) return -1;
  const key = run.source.indexOf(watch);
  const named = links.sure.findIndex((keys) => keys.includes(key));
  return named >= 0 ? named : links.possible.findIndex((keys) => keys.includes(key));
}

/** The probability of all that a run said, word by word. */
export const likelihood = (run) => run.steps.reduce((product, step) => product * step.probability, 1);

/** The weight of one head's look from a query to a key. */
export function attentionWeight(kind, layer, head, query, key, run = state.run) {
  const { heads, queries, keys, values } = run.attention[kind];
  return values[((layer * heads + head) * queries.length + query) * keys.length + key];
}

/** One head's row, or the mean of all heads of the layer. */
export function attentionRow(kind, layer, head, query, run = state.run) {
  const { heads, keys } = run.attention[kind];
  return keys.map((_, key) => {
    if (head !== null) return attentionWeight(kind, layer, head, query, key, run);
    let sum = 0;
    for (let each = 0; each < heads; each++) sum += attentionWeight(kind, layer, each, query, key, run);
    return sum / heads;
  });
}

/** Base64 of little-endian 32-bit floats. */
export function decodeFloats(base64) {
  const bytes = Uint8Array.from(atob(base64), (char) => char.charCodeAt(0));
  return new Float32Array(bytes.buffer);
}

/** A look is called even while its largest weight is so little above an equal share. */
export const UNIFORM_MARGIN = 0.03;

export const argmax = (values) => values.reduce((best, value, i) => (value > values[best] ? i : best), 0);

const ALIGNS = 0.2; // an error rate below which a head is said to align,
const ENOUGH = 5; // over so many words at min: of many heads, one always aligns a few by chance

/** Whether a run has gold links for so many words that aligning them is no luck. */
export const hasEnoughGold = (run) => run.reference?.gold?.sure.filter((keys) => keys.length).length >= ENOUGH;

/** The head that aligns best, if one does, else the one that looks hardest; at the step of its hardest look. */
function openingPlace(run) {
  const { heads, queries, keys, values } = run.attention.cross;
  const size = queries.length * keys.length;
  const rates = hasEnoughGold(run) ? run.reference.error_rates.flat() : [];
  const best = rates.lastIndexOf(Math.min(...rates)); // of several the one in the highest layer, which is read last
  const head = rates[best] <= ALIGNS ? best : Math.floor(argmax(values) / size);
  const cell = argmax(values.slice(head * size, (head + 1) * size));
  return { step: Math.floor(cell / keys.length), head: head % heads, layer: Math.floor(head / heads) };
}
