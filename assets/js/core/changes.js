// The run's interventions as the server takes them, and as a link writes them. All their numbers count from 0, except
// those of sublayers.

import { schema } from "./schema.js";
import { state } from "./state.js";
import { piecesOf, SIDES, tokenRun } from "./words.js";

/** @import { ChangeField } from "#schema" */
/** @import { Change, ChangeOf, DrawnRun, Kind } from "./types.d.ts" */
/** @typedef {{ [Name in Change["do"]]: { do: Name } & Partial<ChangeOf<Name>> }[Change["do"]]} Pattern */

/** @type {Change[] | null} */
let requested = null; // what was asked for last, until it is answered

/** The changes of the run, or of the one that is on its way. */
export const changes = () => requested ?? state.run.changes;

/** Make the run again, under these changes. @param {Change[]} next */
export function requestChanges(next) {
  requested = next;
  document.dispatchEvent(new Event("changes:wanted"));
}

/** The requested changes have been answered. */
export function settleChanges() {
  requested = null;
}

/** @param {object} pattern */
const matches = (pattern) => (/** @type {Change} */ one) =>
  Object.entries(pattern).every(
    ([name, value]) => /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (one))[name] === value,
  );

/**
 * The first change that has these values, if there is one.
 * @template {Change["do"]} Name
 * @param {{ do: Name } & Partial<ChangeOf<Name>>} pattern
 * @returns {ChangeOf<Name> | undefined}
 */
export const findChange = (pattern, list = changes()) =>
  /** @type {ChangeOf<Name> | undefined} */ (list.find(matches(pattern)));

/**
 * Put a change, or none, in the place of those that have these values.
 * @param {Pattern} pattern @param {Change | null} one
 */
export const replaceChange = (pattern, one = null) =>
  requestChanges([...changes().filter((each) => !matches(pattern)(each)), ...(one ? [one] : [])]);

/** Make a change, or undo it. @param {Change} one */
export const toggleChange = (one) => replaceChange(one, findChange(one) ? null : one);

/**
 * Close a cell of the mask that is open, or open one that is closed; once more undoes it. Between words, that are all
 * cells of their pieces.
 * @param {Kind} kind @param {number} query @param {number} key
 */
export function editMask(kind, query, key) {
  const { run } = state;
  const allowed = run.attention[kind].allowed[query]?.[key];
  if (allowed === undefined) return;
  const [from, to] = SIDES[kind];
  const cells = piecesOf(run, from, query).flatMap((query) => piecesOf(run, to, key).map((key) => ({ query, key })));
  const made = cells.flatMap((cell) => findChange({ do: "edit_mask", kind, ...cell }) ?? []);
  const open = tokenRun(run).attention[kind].allowed;
  const wanted = cells
    .filter((cell) => open[cell.query][cell.key] === allowed)
    .map((cell) => /** @type {Change} */ ({ do: "edit_mask", kind, ...cell, allowed: !allowed }));
  requestChanges([
    ...changes().filter((each) => !made.includes(/** @type {any} */ (each))),
    ...(made.length ? [] : wanted),
  ]);
}

/** @param {Change} one of the run, which is another object in what was asked for */
export const undoChange = (one) =>
  requestChanges(changes().filter((each) => formatChanges([each]) !== formatChanges([one])));

/** Whether a change means something for another sentence. @param {Change} one */
export const isLasting = (one) => !schema.interventions[one.do].of_sentence;
export const lastingChanges = () => changes().filter(isLasting);

/** Whether a head of the run is ablated. @param {Kind} kind @param {number} layer @param {number} head */
export const isAblated = (kind, layer, head, list = changes()) =>
  Boolean(findChange({ do: "ablate", kind, layer, head }, list)) ||
  list.some(
    (each) => each.do === "isolate" && each.kind === kind && each.layer === layer && !each.heads.includes(head),
  );

/** The divisor of a kind's scores besides √d: the temperature. @param {Kind} kind */
export const temperatureOf = (kind, list = changes()) =>
  list.reduce(
    (product, each) =>
      each.do === "temperature" && ["all", kind].includes(each.kind) ? product * each.temperature : product,
    1,
  );

/** Whether a position of the decoder could attend to later ones. @param {DrawnRun} run */
export const attendsAhead = (run) =>
  run.attention.decoder.allowed.some((row, query) => row.some((open, key) => open && key > query));

/**
 * Whether a change finds nothing to change in a run: a step that never came, a cell that is not there.
 * @param {Change} one
 */
export function hasNoEffect(one, run = tokenRun(state.run)) {
  if (one.do === "force_word") return one.step >= run.steps.length;
  if (one.do !== "edit_mask") return false;
  const { queries, keys } = run.attention[one.kind];
  return one.query >= queries.length || one.key >= keys.length;
}

// ---- in a link: ablate.cross.1.4*temperature.all.2 ----

/** @param {Change[]} list */
export const formatChanges = (list) =>
  list
    .map((one) => {
      const values = /** @type {Record<string, unknown>} */ (/** @type {unknown} */ (one));
      const { fields } = schema.interventions[one.do];
      return [one.do, ...Object.entries(fields).map(([name, field]) => formatField(field, values[name]))].join(".");
    })
    .join("*");

/** @param {ChangeField} field @param {unknown} value */
function formatField({ kind }, value) {
  if (kind === "position") return Number(value) + 1;
  if (kind === "positions") return /** @type {number[]} */ (value).map((each) => each + 1).join("-");
  if (kind === "switch") return value ? "open" : "closed";
  return String(value).replaceAll("%", "%25").replaceAll("*", "%2A");
}

/**
 * The same read; null where it is not of that form. Only the server knows whether the run has a place for it.
 * @param {string} text
 */
export function parseChanges(text) {
  const list = text === "" ? [] : text.split("*").map(parseChange);
  return list.includes(null) ? null : /** @type {Change[]} */ (list);
}

/** @param {string} text */
function parseChange(text) {
  const [written, ...rest] = text.split(".");
  const name = schema.old_interventions[written] ?? written;
  if (!Object.hasOwn(schema.interventions, name)) return null;
  const fields = Object.entries(schema.interventions[name].fields);
  const last = fields.length - 1;
  const values = [...rest.slice(0, last), rest.slice(last).join(".")]; // a word may be a full stop
  const read = fields.map(([, field], i) => parseField(field, values[i] ?? ""));
  if (read.includes(null)) return null;
  return /** @type {Change} */ ({ do: name, ...Object.fromEntries(fields.map(([each], i) => [each, read[i]])) });
}

/** @param {ChangeField} field @param {string} text */
function parseField({ kind }, text) {
  if (kind === "position") return /^[1-9]\d{0,3}$/.test(text) ? Number(text) - 1 : null;
  if (kind === "number") return /^\d{1,9}(\.\d{1,4})?$/.test(text) ? Number(text) : null;
  if (kind === "positions")
    return /^[1-9]\d{0,3}(-[1-9]\d{0,3})*$/.test(text) ? text.split("-").map((each) => Number(each) - 1) : null;
  if (kind === "switch") return ["open", "closed"].includes(text) ? text === "open" : null;
  try {
    return decodeURIComponent(text) || null;
  } catch {
    return null;
  }
}
