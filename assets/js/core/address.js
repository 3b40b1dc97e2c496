// The page's place as an address, and back. Whatever an address asks for that is not there falls back to the default.

import { checkpointFromAddress, modelAddress, models } from "../net/models.js";
import { formatChanges, parseChanges } from "./changes.js";
import { EXERCISES } from "./exercises.js";
import { LANGUAGES, language } from "./i18n.js";
import { DECODING_SETTINGS, KINDS, state, update } from "./state.js";

/** @import { DecodingSetting, RunRequest, State } from "./types.d.ts" */
/** @typedef {Partial<State>} Place */

const MAX_SENTENCE_LENGTH = 500;

/** From 1 in the address, as on the page. @type {("layer" | "head" | "query" | "step" | "stop")[]} */
const COUNTED = ["layer", "head", "query", "step", "stop"];
/** @type {(keyof State)[]} */
const OF_A_RUN = ["layer", "head", "query", "step", "forcedMistake"];
const SETTINGS = /** @type {DecodingSetting[]} */ (Object.keys(DECODING_SETTINGS));
const CHOICES = {
  tab: ["translate", "attention", "positions", "inside", "train", "break", "lesson"],
  part: ["whatif", "bugs", "roads"],
  exercise: Object.keys(EXERCISES),
  kind: KINDS,
  drawing: ["heatmap", "lines", "table"],
};
const CHOSEN = /** @type {(keyof typeof CHOICES)[]} */ (Object.keys(CHOICES));
const STRATEGIES = ["beam", "sampling", "forced"];
const OTHERS = ["checkpoint", "sentence", "changes", "mean", "gold", "language", "present", "road", "slip"];
const PARAMETERS = [...CHOSEN, ...COUNTED, ...SETTINGS, ...OTHERS];

/** The address of the visitor's place; as a presenter's, without the controls that a lesson does not need. */
export const pageAddress = (presenting = isPresenting(), run = /** @type {RunRequest} */ (state.run)) =>
  formatAddress(location.href, presenting, run);

/** The same, with what else stands in `href`. @param {string} href @param {boolean} presenting @param {RunRequest} run */
export function formatAddress(href, presenting, run) {
  const url = new URL(href);
  for (const name of PARAMETERS) url.searchParams.delete(name);
  const set = (/** @type {string} */ name, /** @type {unknown} */ value) => url.searchParams.set(name, String(value));
  set("checkpoint", modelAddress(run.checkpoint));
  set("sentence", run.sentence);
  if (run.changes.length) set("changes", formatChanges(run.changes));
  for (const name of CHOSEN) set(name, state[name]);
  for (const name of COUNTED) set(name, state[name] + 1);
  if (!state.averaged) set("mean", "no");
  if (state.gold) set("gold", "yes");
  if (state.part === "roads") {
    if (state.strategy !== "beam") set("road", state.strategy);
    for (const name of SETTINGS) if (state[name] !== DECODING_SETTINGS[name].default) set(name, state[name]);
    if (state.forcedMistake) set("slip", `${state.forcedMistake.step + 1}.${state.forcedMistake.word}`);
  }
  set("language", language);
  if (presenting) set("present", "yes");
  return url.href;
}

export const isPresenting = () => new URLSearchParams(location.search).get("present") === "yes";

/** @param {readonly string[]} choices @param {string} value */
const isOneOf = (choices, value) => choices.includes(value);

/**
 * What one parameter changes of the place; null for a value that cannot be.
 * @type {Record<string, (value: string) => Place | null>}
 */
const PARSE = {
  ...Object.fromEntries(
    CHOSEN.map((name) => [name, (value) => (isOneOf(CHOICES[name], value) ? { [name]: value } : null)]),
  ),
  road: (value) => (isOneOf(STRATEGIES, value) ? /** @type {Place} */ ({ strategy: value }) : null),
  ...Object.fromEntries(
    COUNTED.map((name) => [name, (value) => (/^[1-9]\d{0,3}$/.test(value) ? { [name]: Number(value) - 1 } : null)]),
  ),
  ...Object.fromEntries(SETTINGS.map((name) => [name, (value) => parseSetting(name, value)])),
  slip(value) {
    const [, step, word] = value.match(/^([1-9]\d{0,3})\.(.{1,100})$/s) ?? [];
    return step ? { forcedMistake: { step: Number(step) - 1, word } } : null;
  },
  mean: (value) => (isOneOf(["yes", "no"], value) ? { averaged: value === "yes" } : null),
  gold: (value) => (isOneOf(["yes", "no"], value) ? { gold: value === "yes" } : null),
  language: (value) => (Object.hasOwn(LANGUAGES, value) ? {} : null),
  present: (value) => (value === "yes" ? {} : null),
};

/** @param {DecodingSetting} name @param {string} value */
function parseSetting(name, value) {
  const { min, max, step } = DECODING_SETTINGS[name];
  const form = step === 1 ? /^\d{1,9}$/ : /^\d(\.\d{1,2})?$/;
  const number = Number(value);
  return form.test(value) && number >= min && number <= max ? { [name]: number } : null;
}

/**
 * What an address asks for; `wrong` are the parameters that cannot be.
 * @param {string} search
 * @returns {{ run: RunRequest | null, place: Place, wrong: string[] }}
 */
export function parseAddress(search) {
  const asked = new URLSearchParams(search);
  /** @type {Place} */
  const place = {};
  /** @type {string[]} */
  const wrong = [];
  for (const [name, parse] of Object.entries(PARSE)) {
    const value = asked.get(name);
    if (value === null) continue;
    const found = parse(value);
    if (found) Object.assign(place, found);
    else wrong.push(name);
  }
  const checkpoint = checkpointFromAddress(asked.get("checkpoint") ?? "toy");
  if (!checkpoint) {
    for (const name of OF_A_RUN) delete place[name]; // they were another model's
    return { run: null, place, wrong: [...wrong, "checkpoint"] };
  }
  let sentence = asked.get("sentence");
  if (sentence !== null && sentence.length > MAX_SENTENCE_LENGTH) {
    wrong.push("sentence");
    sentence = null;
  }
  const changes = parseChanges(asked.get("changes") ?? "");
  if (!changes) wrong.push("changes");
  if (asked.has("checkpoint") || changes?.length) sentence ??= models()[checkpoint].examples[0].sentence;
  return { run: sentence === null ? null : { checkpoint, sentence, changes: changes ?? [] }, place, wrong };
}

/** Go where an address asks; returns the names of what this run does not have. @param {Place} place */
export function restorePlace(place) {
  update(place);
  /** @type {string[]} */
  const missing = COUNTED.filter((name) => name in place && place[name] !== state[name]);
  return place.forcedMistake && !state.forcedMistake ? [...missing, "slip"] : missing;
}

/** @type {string | null} */
let last = null;
/** @type {ReturnType<typeof setTimeout> | undefined} */
let waiting;
/** @type {RunRequest | null} */
let asked = null;

/**
 * A run was asked for; or null: it was answered. Until then the address asks for it, so that a page which Gradio reloads
 * when the server is there again asks once more.
 * @param {RunRequest | null} run
 */
export function expectRun(run) {
  asked = run;
  updateAddressBar();
}

/** Keep the address bar at the visitor's place, so that a reload and a bookmark find it again. */
export function updateAddressBar() {
  last ??= pageAddress(); // an untouched page keeps the address that it was opened with
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    const now = pageAddress(isPresenting(), asked ?? state.run);
    if (now !== last) history.replaceState(history.state, "", now);
    last = now;
  }, 300);
}
