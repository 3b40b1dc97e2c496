// What is changed in the run: a list of objects as the server takes them, how people read each, and how a link writes them.
// All numbers in them are from 0, but for those of sublayers.

import { word } from "./dom.js";
import { nodes, t } from "./i18n.js";
import { SIDES } from "../charts/attention-map.js";
import { state } from "./state.js";

let requested = null; // what was asked for last, until it is answered

/** The changes of the run, or of the one that is on its way. */
export const changes = () => requested ?? state.run.changes;

/** Make the run again, under these changes. */
export function requestChanges(next) {
  requested = next;
  document.dispatchEvent(new Event("changes:wanted"));
}

/** What was asked for has been answered. */
export const settleChanges = () => (requested = null);

const matches = (pattern) => (one) => Object.entries(pattern).every(([name, value]) => one[name] === value);

/** The first change that has these values, if there is one. */
export const findChange = (pattern, list = changes()) => list.find(matches(pattern));

/** Put a change, or none, in the place of those that have these values. */
export const replaceChange = (pattern, one = null) =>
  requestChanges([...changes().filter((each) => !matches(pattern)(each)), ...(one ? [one] : [])]);

/** Make a change, or undo it. */
export const toggleChange = (one) => replaceChange(one, findChange(one) ? null : one);

/** Close a cell of the mask that is open, or open one that is closed; once more, and it is as it was. */
export function editMask(kind, query, key) {
  const at = { do: "edit_mask", kind, query, key };
  const allowed = state.run.attention[kind].allowed[query]?.[key];
  if (allowed === undefined) return;
  toggleChange(findChange(at) ?? { ...at, allowed: !allowed });
}

export const undoChange = (one) => requestChanges(changes().filter((each) => each !== one));

const OF_A_SENTENCE = ["edit_mask", "swap_word", "force_word"];

/** Whether a change means something for another sentence. */
export const isLasting = (one) => !OF_A_SENTENCE.includes(one.do);
export const lastingChanges = () => changes().filter(isLasting);

/** Whether a head of the run adds nothing. */
export const isSilenced = (kind, layer, head, list = changes()) =>
  Boolean(findChange({ do: "silence", kind, layer, head }, list)) ||
  Boolean(list.some((each) => matches({ do: "isolate", kind, layer })(each) && !each.heads.includes(head)));

/** What the scores of a kind were divided by, besides √d. */
export const temperatureOf = (kind, list = changes()) =>
  list
    .filter((each) => each.do === "temperature" && ["all", kind].includes(each.kind))
    .reduce((product, each) => product * each.temperature, 1);

/** Whether a decoder's word may have looked at later ones. */
export const attendsAhead = (run) =>
  run.attention.decoder.allowed.some((row, query) => row.some((open, key) => open && key > query));

/** Whether a change finds nothing to change in a run: a step that never came, a cell that is not there. */
export function hasNoEffect(one, run = state.run) {
  if (one.do === "force_word") return one.step >= run.steps.length;
  if (one.do !== "edit_mask") return false;
  const { queries, keys } = run.attention[one.kind];
  return one.query >= queries.length || one.key >= keys.length;
}

/** A change in words. */
export function describeChange(one, run = state.run) {
  const token = (kind, side, i) => {
    const { queries, keys } = run.attention[kind];
    const tokens = [queries, keys][side];
    if (i >= tokens.length) return String(i + 1);
    const several = tokens.filter((each) => each === tokens[i]).length > 1;
    return [word(tokens[i], SIDES[kind][side]), ...(several ? [` (${i + 1})`] : [])];
  };
  const places = {
    ...one,
    kind: one.kind && t(`change.of.${one.kind}`),
    stack: one.stack && t(`change.of.${one.stack}`),
  };
  for (const name of ["layer", "head", "step", "position"]) if (name in one) places[name] = one[name] + 1;
  if (one.do === "isolate")
    places.heads = one.heads.map((head) => t("head_n", { head: head + 1 })).join(t("list.comma"));
  if (one.do === "edit_mask")
    Object.assign(places, { from: token(one.kind, 0, one.query), at: token(one.kind, 1, one.key) });
  if ("word" in one) places.word = word(one.word, one.do === "swap_word" ? "source" : "target");
  if (one.do === "temperature") places.temperature = String(one.temperature);
  const finer = {
    remove_mask: () => `change.remove_mask.${one.kind}`,
    edit_mask: () => `change.edit_mask.${one.allowed ? "open" : "closed"}`,
    positions: () => `change.positions.${one.how}`,
  }[one.do];
  return nodes(finer?.() ?? `change.${one.do}`, places);
}

// ---- in a link: silence.cross.1.4*temperature.all.2 ----

const FIELDS = {
  silence: ["kind", "layer", "head"],
  isolate: ["kind", "layer", "heads"],
  remove_mask: ["kind"],
  edit_mask: ["kind", "query", "key", "allowed"],
  positions: ["stack", "how", "seed"],
  temperature: ["kind", "temperature"],
  drop_residual: ["stack", "layer", "sublayer"],
  swap_word: ["position", "word"],
  force_word: ["step", "word"],
};
const COUNTED = ["layer", "head", "query", "key", "position", "step"]; // from 1 in a link, as on the page
const NUMBERS = ["seed", "sublayer", "temperature"];

export const formatChanges = (list) =>
  list.map((one) => [one.do, ...FIELDS[one.do].map((name) => formatField(name, one[name]))].join(".")).join("*");

function formatField(name, value) {
  if (COUNTED.includes(name)) return value + 1;
  if (name === "heads") return value.map((head) => head + 1).join("-");
  if (name === "allowed") return value ? "open" : "closed";
  return String(value).replaceAll("%", "%25").replaceAll("*", "%2A");
}

/** The same read; null where it is not of that form. Whether the run has a place for them only the server knows. */
export function parseChanges(text) {
  const list = text === "" ? [] : text.split("*").map(parseChange);
  return list.includes(null) ? null : list;
}

function parseChange(text) {
  const [name, ...rest] = text.split(".");
  if (!Object.hasOwn(FIELDS, name)) return null;
  const fields = FIELDS[name];
  const values = [...rest.slice(0, fields.length - 1), rest.slice(fields.length - 1).join(".")]; // a word may be a full stop
  const read = fields.map((each, i) => parseField(each, values[i] ?? ""));
  return read.includes(null) ? null : { do: name, ...Object.fromEntries(fields.map((each, i) => [each, read[i]])) };
}

function parseField(name, text) {
  if (COUNTED.includes(name)) return /^[1-9]\d{0,3}$/.test(text) ? Number(text) - 1 : null;
  if (NUMBERS.includes(name)) return /^\d{1,9}(\.\d{1,4})?$/.test(text) ? Number(text) : null;
  if (name === "heads")
    return /^[1-9]\d{0,3}(-[1-9]\d{0,3})*$/.test(text) ? text.split("-").map((head) => Number(head) - 1) : null;
  if (name === "allowed") return ["open", "closed"].includes(text) ? text === "open" : null;
  try {
    return decodeURIComponent(text) || null;
  } catch {
    return null;
  }
}
