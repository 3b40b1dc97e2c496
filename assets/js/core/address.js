// The page's place as an address, and back. Whatever an address asks for that is not there falls back to the default.

import { parseChanges, formatChanges } from "./changes.js";
import { EXERCISES } from "./exercises.js";
import { LANGUAGES, language } from "./i18n.js";
import { modelAddress, checkpointFromAddress, models } from "../net/models.js";
import { DECODING_SETTINGS, state, update } from "./state.js";

const MAX_SENTENCE_LENGTH = 500; // characters of a sentence
const COUNTED = ["layer", "head", "query", "step", "stop"]; // from 1 in the address, as on the page
const OF_A_RUN = ["layer", "head", "query", "step", "forcedMistake"];
const CHOICES = {
  tab: ["translate", "attention", "positions", "inside", "train", "break", "lesson"],
  part: ["whatif", "bugs", "roads"],
  exercise: Object.keys(EXERCISES),
  kind: ["encoder", "decoder", "cross"],
  drawing: ["heatmap", "lines", "table"],
};
const STRATEGIES = ["beam", "sampling", "forced"];
const OURS = [
  "checkpoint",
  "sentence",
  "changes",
  ...Object.keys(CHOICES),
  ...COUNTED,
  "mean",
  "gold",
  "language",
  "present",
  "road",
  ...Object.keys(DECODING_SETTINGS),
  "slip",
];

/** The address of what is looked at now; as a presenter's, without the controls that a lesson does not need. */
export function pageAddress(presenting = isPresenting(), run = state.run) {
  const url = new URL(location.href);
  for (const name of OURS) url.searchParams.delete(name);
  const set = (name, value) => url.searchParams.set(name, value);
  set("checkpoint", modelAddress(run.checkpoint));
  set("sentence", run.sentence);
  if (run.changes.length) set("changes", formatChanges(run.changes));
  for (const name of Object.keys(CHOICES)) set(name, state[name]);
  for (const name of COUNTED) set(name, state[name] + 1);
  if (!state.averaged) set("mean", "no");
  if (state.gold) set("gold", "yes");
  if (state.part === "roads") setStrategy(set);
  set("language", language);
  if (presenting) set("present", "yes");
  return url.href;
}

/** Of the other roads of decoding only what is not the usual. */
function setStrategy(set) {
  if (state.strategy !== "beam") set("road", state.strategy);
  for (const [name, setting] of Object.entries(DECODING_SETTINGS))
    if (state[name] !== setting.default) set(name, state[name]);
  if (state.forcedMistake) set("slip", `${state.forcedMistake.step + 1}.${state.forcedMistake.word}`);
}

export const isPresenting = () => new URLSearchParams(location.search).get("present") === "yes";

/** What an address asks for: {run: {checkpoint, sentence, changes} or null, place, wrong: names of what cannot be}. */
export function parseAddress(search) {
  const asked = new URLSearchParams(search);
  const place = {};
  const wrong = [];
  for (const [name, choices] of Object.entries({ ...CHOICES, road: STRATEGIES })) {
    const value = asked.get(name);
    if (value === null) continue;
    if (choices.includes(value)) place[name === "road" ? "strategy" : name] = value;
    else wrong.push(name);
  }
  for (const name of COUNTED) {
    const value = asked.get(name);
    if (value === null) continue;
    if (/^[1-9]\d{0,3}$/.test(value)) place[name] = Number(value) - 1;
    else wrong.push(name);
  }
  for (const [name, { min, max, step }] of Object.entries(DECODING_SETTINGS)) {
    const value = asked.get(name);
    if (value === null) continue;
    const form = step === 1 ? /^\d{1,9}$/ : /^\d(\.\d{1,2})?$/;
    if (form.test(value) && value >= min && value <= max) place[name] = Number(value);
    else wrong.push(name);
  }
  if (asked.has("slip")) {
    const [, step, word] = asked.get("slip").match(/^([1-9]\d{0,3})\.(.{1,100})$/s) ?? [];
    if (step) place.forcedMistake = { step: Number(step) - 1, word };
    else wrong.push("slip");
  }
  for (const [name, key] of [
    ["mean", "averaged"],
    ["gold", "gold"],
  ]) {
    const value = asked.get(name);
    if (["yes", "no"].includes(value)) place[key] = value === "yes";
    else if (value !== null) wrong.push(name);
  }
  if (asked.has("language") && !Object.hasOwn(LANGUAGES, asked.get("language"))) wrong.push("language");
  if (asked.has("present") && asked.get("present") !== "yes") wrong.push("present");
  const checkpoint = checkpointFromAddress(asked.get("checkpoint") ?? "toy");
  if (!checkpoint) {
    for (const name of OF_A_RUN) delete place[name]; // they were another model's
    return { run: null, place, wrong: [...wrong, "checkpoint"] };
  }
  let sentence = asked.get("sentence");
  if (sentence?.length > MAX_SENTENCE_LENGTH) {
    wrong.push("sentence");
    sentence = null;
  }
  const changes = parseChanges(asked.get("changes") ?? "");
  if (!changes) wrong.push("changes");
  if (asked.has("checkpoint") || changes?.length) sentence ??= models()[checkpoint].examples[0].sentence;
  return { run: sentence === null ? null : { checkpoint, sentence, changes: changes ?? [] }, place, wrong };
}

/** Go where an address asks; returns the names of what this run does not have. */
export function restorePlace(place) {
  update(place);
  const missing = COUNTED.filter((name) => name in place && place[name] !== state[name]);
  return place.forcedMistake && !state.forcedMistake ? [...missing, "slip"] : missing;
}

let last = null;
let waiting = null;
let asked = null;

/** A run {checkpoint, sentence, changes} was asked for; or null: it was answered. Until then the address asks for it, so
 * that a page which Gradio reloads when the server is there again asks once more. */
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
