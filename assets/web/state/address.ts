// The page's place as an address, and back. Whatever an address asks for that is not there falls back to the default.

import type { Parameter } from "#schema";
import { checkpointFromAddress, firstRun, modelAddress, models } from "../api/models.ts";
import { isSavedRun, parametersOf, schema } from "../api/schema.ts";
import type { RunRequest, State } from "../api/types.ts";
import { formatChanges, parseChanges } from "./changes.ts";
import { language } from "./i18n.ts";
import { formatStops, LESSON_STOPS, parseStops, plannedStops, USUAL_MINUTES } from "./lesson-plan.ts";
import { HOME, state, stopsWith, update } from "./state.ts";

type Place = Partial<State>;

const PARAMETERS = Object.entries(schema.parameters);

const OF_CLASS = ["room", "notes"]; // parameters of this page's part in a class

/** The address of the visitor's place without the class; a presenter's, without what a lesson does not need. */
export function pageAddress(presenting = isPresenting()) {
  const url = new URL(formatAddress(location.href, presenting, state.run));
  for (const name of OF_CLASS) url.searchParams.delete(name);
  return url.href;
}

/** The place as the parameters of a link, without what each page of a class chooses by itself. */
export function placeParameters() {
  const all = [...new URL(pageAddress(false)).searchParams];
  const known = all.filter(([name]) => name !== "language" && Object.hasOwn(schema.parameters, name));
  return `?${new URLSearchParams(known)}`;
}

/** The address of the place, with what else stands in `href`. */
export function formatAddress(href: string, presenting: boolean, run: RunRequest) {
  const url = new URL(href);
  // Each change of url.searchParams would write the whole address.
  const written = new URLSearchParams(isSavedRun ? url.hash.slice(1) : url.search);
  const special: Record<string, string | null> = {
    checkpoint: modelAddress(run.checkpoint),
    sentence: run.sentence,
    changes: run.changes.length ? formatChanges(run.changes) : null,
    language,
    present: presenting ? "yes" : null,
  };
  for (const [name, parameter] of PARAMETERS) {
    written.delete(name);
    const value = name in special ? special[name] : formatParameter(parameter);
    if (value !== null) written.set(name, value);
  }
  url[isSavedRun ? "hash" : "search"] = written.toString();
  return url.href;
}

/** The Space's address for who is in the hub's frame, without what the hub adds. @param spaceHost null elsewhere */
export function sharedAddress(href: string, spaceHost: string | null) {
  const url = new URL(href);
  if (!spaceHost) return href;
  for (const name of ["__sign", "__theme"]) url.searchParams.delete(name);
  return new URL(`${url.pathname}${url.search}`, `https://${spaceHost}`).href;
}

function formatParameter({ kind, state: name, default: usual, always, part }: Parameter) {
  const value = state[name as keyof State];
  if ((part && part !== state.part) || (!always && value === (usual ?? null))) return null;
  if (kind === "position") return String(Number(value) + 1); // as on the page
  if (kind === "switch") return value ? "yes" : "no";
  if (kind === "stops") return state.stops && formatStops(state.stops);
  if (kind === "mistake") return state.forcedMistake && `${state.forcedMistake.step + 1}.${state.forcedMistake.word}`;
  return String(value);
}

let presenting = globalThis.location && new URLSearchParams(parametersOf(location)).get("present") === "yes";
export const isPresenting = () => presenting;

export function forgetClass() {
  const url = new URL(location.href);
  url.searchParams.delete("room");
  url.hash = ""; // a teacher's link has the secret there
  history.replaceState(history.state, "", url.href);
  if (address !== null) updateAddressBar();
}

export function setPresenting(wanted: boolean) {
  presenting = wanted;
  updateAddressBar();
  writeAddress();
}

function parseParameter({ kind, choices = [], min = 0, max = 0, step }: Parameter, text: string) {
  if (kind === "choice") return choices.includes(text) ? text : null;
  if (kind === "position") return /^[1-9]\d{0,3}$/.test(text) ? Number(text) - 1 : null;
  if (kind === "switch") return ["yes", "no"].includes(text) ? text === "yes" : null;
  if (kind === "language") return schema.languages.includes(text) ? text : null;
  if (kind === "stops") return parseStops(text);
  if (kind === "mistake") {
    const [, place, word] = text.match(/^([1-9]\d{0,3})\.(.{1,100})$/s) ?? [];
    return place ? { step: Number(place) - 1, word } : null;
  }
  if (kind === "number") {
    const isForm = (step === 1 ? /^\d{1,9}$/ : /^\d(\.\d{1,2})?$/).test(text);
    return isForm && Number(text) >= min && Number(text) <= max ? Number(text) : null;
  }
  return text; // checkpoint, sentence and changes: see parseRun
}

/** Parse an address; `wrong` has the parameters that are invalid. */
export function parseAddress(search: string): { run: RunRequest | null; place: Place; wrong: string[] } {
  const asked = new URLSearchParams(search);
  const place: Record<string, unknown> = {};
  const wrong: string[] = [];
  for (const [name, parameter] of PARAMETERS) {
    const text = asked.get(name);
    if (text === null) continue;
    const value = parseParameter(parameter, text);
    if (value === null || (name === "present" && !value)) wrong.push(name);
    else if (parameter.state) place[parameter.state] = value;
  }
  const run = parseRun(asked, wrong);
  if (wrong.includes("checkpoint"))
    for (const [, { state: name, of_run }] of PARAMETERS) if (name && of_run) delete place[name]; // another model's
  return { run, place, wrong };
}

/** Whether it leads to the lesson alone, which then begins as its tab does. */
const isWholeLesson = (asked: URLSearchParams) =>
  asked.get("tab") === "lesson" && !["checkpoint", "sentence", "stop", "stops"].some((name) => asked.has(name));

/** An address that names no tab opens the first; with other parameters Translate, as links from before do. */
export function openingTab(search: string): Place {
  const asked = new URLSearchParams(search);
  if (isWholeLesson(asked)) return { stops: plannedStops(USUAL_MINUTES, false) };
  const isOurs = PARAMETERS.some(([name]) => name !== "language" && name !== "present" && asked.has(name));
  return isOurs ? { tab: "translate" } : {};
}

/** @param wrong takes what of a run cannot be */
function parseRun(asked: URLSearchParams, wrong: string[]): RunRequest | null {
  if (isSavedRun) return null;
  const usual = isWholeLesson(asked) && models().classroom ? "classroom" : "toy";
  const checkpoint = checkpointFromAddress(asked.get("checkpoint") ?? usual);
  if (!checkpoint) {
    wrong.push("checkpoint");
    return null;
  }
  let sentence = asked.get("sentence");
  if (sentence !== null && sentence.length > schema.max_sentence) {
    wrong.push("sentence");
    sentence = null;
  }
  const changes = parseChanges(asked.get("changes") ?? "");
  if (!changes) wrong.push("changes");
  if (asked.has("checkpoint") || usual !== "toy" || changes?.length) sentence ??= firstRun(checkpoint).sentence;
  return sentence === null ? null : { checkpoint, sentence, changes: changes ?? [] };
}

let address: string | null = null;
/** The part of the address whose changes make a history entry: tab, stop, exercise or part. */
let entry = "";
let isRestoring = false;
let isAhead = false; // the address bar, of the page: a run is on its way
let waiting: ReturnType<typeof setTimeout> | undefined;
let asked: RunRequest | null = null;

const entryOf = ({ tab, stop, part, exercise }: Place) =>
  [tab, tab === "lesson" && stop, tab === "break" && part, tab === "break" && part === "mistakes" && exercise].join();

/** Go where an address leads; returns what this run does not have. @param whole whether the rest goes back home */
export function restorePlace(place: Place, whole: boolean) {
  isAhead = false;
  isRestoring = true;
  const target = { ...(whole ? HOME : {}), ...place };
  const { stop = -1, stops } = place;
  if (stop in LESSON_STOPS && !stops) target.stops = stopsWith(stop, target.stops);
  const { tab = state.tab, part = state.part, inWords = state.inWords } = target;
  if (state.run.words) update({ tab, part, inWords }); // by these, steps are words or pieces
  update(target);
  isRestoring = false;
  entry = entryOf(state);
  return PARAMETERS.flatMap(([name, { kind, state: key }]) => {
    if (kind !== "position" && kind !== "mistake") return [];
    const field = key as keyof State;
    const isMissing = kind === "mistake" ? place.forcedMistake && !state.forcedMistake : place[field] !== state[field];
    return field in place && isMissing ? [name] : [];
  });
}

/** A run was asked for: the address asks for it, too, for a reload, until it is answered (null). */
export function expectRun(run: RunRequest | null) {
  asked = run;
  updateAddressBar();
}

/** What changes within a place is written after a pause: a browser allows no more than a few changes a second. */
export function updateAddressBar() {
  if (isAhead) return;
  const now = formatAddress(location.href, presenting, asked ?? state.run);
  const isAnotherPlace = address !== null && !isRestoring && entryOf(state) !== entry;
  if (isAnotherPlace) {
    writeAddress(); // of the place that is left
    writeHistory("pushState", now);
  }
  const isUntouched = address === null || address === now;
  address = now; // an untouched page keeps the address that it was opened with
  entry = entryOf(state);
  if (isUntouched) return;
  clearTimeout(waiting);
  waiting = setTimeout(writeAddress, 300);
}

/** The browser went to another entry of its history: until `restorePlace`, its address stays. */
export function holdAddress(wanted: boolean) {
  clearTimeout(waiting);
  isAhead = wanted;
}

function writeAddress() {
  clearTimeout(waiting);
  if (address && address !== location.href) writeHistory("replaceState", address);
}

/** A browser refuses what comes too often, as while a key is held: Safari 100 in 10 seconds, Firefox 200. */
function writeHistory(how: "pushState" | "replaceState", href: string) {
  try {
    history[how](history.state, "", href);
  } catch {} // the next change writes it
}
