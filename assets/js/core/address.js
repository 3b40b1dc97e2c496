// The page's place as an address, and back. Whatever an address asks for that is not there falls back to the default.

import { parsed, written } from "./changes.js";
import { EXERCISES } from "./exercises.js";
import { LANGUAGES, language } from "./i18n.js";
import { addressOf, checkpointOf, models } from "../net/models.js";
import { DIALS, state, update } from "./state.js";

const LONGEST = 500; // characters of a sentence
const COUNTED = ["layer", "head", "query", "step", "stop"]; // from 1 in the address, as on the page
const OF_A_RUN = ["layer", "head", "query", "step", "slip"];
const CHOICES = {
  tab: ["translate", "attention", "positions", "inside", "train", "break", "lesson"],
  part: ["whatif", "bugs", "roads"],
  exercise: Object.keys(EXERCISES),
  kind: ["encoder", "decoder", "cross"],
  drawing: ["heatmap", "lines", "table"],
};
const ROADS = ["beam", "sampling", "forced"];
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
  ...Object.keys(DIALS),
  "slip",
];

/** The address of what is looked at now; as a presenter's, without the controls that a lesson does not need. */
export function address(presenting = presents(), run = state.run) {
  const url = new URL(location.href);
  for (const name of OURS) url.searchParams.delete(name);
  const set = (name, value) => url.searchParams.set(name, value);
  set("checkpoint", addressOf(run.checkpoint));
  set("sentence", run.sentence);
  if (run.changes.length) set("changes", written(run.changes));
  for (const name of Object.keys(CHOICES)) set(name, state[name]);
  for (const name of COUNTED) set(name, state[name] + 1);
  if (!state.averaged) set("mean", "no");
  if (state.gold) set("gold", "yes");
  if (state.part === "roads") setRoad(set);
  set("language", language);
  if (presenting) set("present", "yes");
  return url.href;
}

/** Of the other roads of decoding only what is not the usual. */
function setRoad(set) {
  if (state.road !== "beam") set("road", state.road);
  for (const [name, { usual }] of Object.entries(DIALS)) if (state[name] !== usual) set(name, state[name]);
  if (state.slip) set("slip", `${state.slip.step + 1}.${state.slip.word}`);
}

export const presents = () => new URLSearchParams(location.search).get("present") === "yes";

/** What an address asks for: {run: {checkpoint, sentence, changes} or null, place, wrong: names of what cannot be}. */
export function read(search) {
  const asked = new URLSearchParams(search);
  const place = {};
  const wrong = [];
  for (const [name, choices] of [...Object.entries(CHOICES), ["road", ROADS]]) {
    const value = asked.get(name);
    if (value === null) continue;
    if (choices.includes(value)) place[name] = value;
    else wrong.push(name);
  }
  for (const name of COUNTED) {
    const value = asked.get(name);
    if (value === null) continue;
    if (/^[1-9]\d{0,3}$/.test(value)) place[name] = Number(value) - 1;
    else wrong.push(name);
  }
  for (const [name, { least, most, step }] of Object.entries(DIALS)) {
    const value = asked.get(name);
    if (value === null) continue;
    const form = step === 1 ? /^\d{1,9}$/ : /^\d(\.\d{1,2})?$/;
    if (form.test(value) && value >= least && value <= most) place[name] = Number(value);
    else wrong.push(name);
  }
  if (asked.has("slip")) {
    const [, step, word] = asked.get("slip").match(/^([1-9]\d{0,3})\.(.{1,100})$/s) ?? [];
    if (step) place.slip = { step: Number(step) - 1, word };
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
  const checkpoint = checkpointOf(asked.get("checkpoint") ?? "toy");
  if (!checkpoint) {
    for (const name of OF_A_RUN) delete place[name]; // they were another model's
    return { run: null, place, wrong: [...wrong, "checkpoint"] };
  }
  let sentence = asked.get("sentence");
  if (sentence?.length > LONGEST) {
    wrong.push("sentence");
    sentence = null;
  }
  const changes = parsed(asked.get("changes") ?? "");
  if (!changes) wrong.push("changes");
  if (asked.has("checkpoint") || changes?.length) sentence ??= models()[checkpoint].examples[0].sentence;
  return { run: sentence === null ? null : { checkpoint, sentence, changes: changes ?? [] }, place, wrong };
}

/** Go where an address asks; returns the names of what this run does not have. */
export function restore(place) {
  update(place);
  const missing = COUNTED.filter((name) => name in place && place[name] !== state[name]);
  return place.slip && !state.slip ? [...missing, "slip"] : missing;
}

let last = null;
let waiting = null;
let asked = null;

/** A run {checkpoint, sentence, changes} was asked for; or null: it was answered. Until then the address asks for it, so
 * that a page which Gradio reloads when the server is there again asks once more. */
export function expect(run) {
  asked = run;
  keep();
}

/** Keep the address bar at the visitor's place, so that a reload and a bookmark find it again. */
export function keep() {
  last ??= address(); // an untouched page keeps the address that it was opened with
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    const now = address(presents(), asked ?? state.run);
    if (now !== last) history.replaceState(history.state, "", now);
    last = now;
  }, 300);
}
