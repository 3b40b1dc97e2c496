// The run's interventions, as the server takes them and as a link writes them. Numbers count from 0, sublayers from 1.

import type { ChangeField } from "#schema";
import { opening, schema } from "../api/schema.ts";
import type { Change, ChangeOf, DrawnRun, Kind } from "../api/types.ts";
import { state } from "./state.ts";
import { piecesOf, SIDES, tokenRun } from "./words.ts";

type Pattern = { [Name in Change["do"]]: { do: Name } & Partial<ChangeOf<Name>> }[Change["do"]];

let requested: Change[] | null = null; // what was asked for last, until it is answered

/** The changes of the run, or of the one that is on its way. */
export const changes = () => requested ?? state.run.changes;

export function requestChanges(next: Change[]) {
  requested = next;
  document.dispatchEvent(new Event("changes:wanted"));
}

export function settleChanges() {
  requested = null;
}

const matches = (pattern: object) => (one: Change) =>
  Object.entries(pattern).every(([name, value]) => (one as unknown as Record<string, unknown>)[name] === value);

export const findChange = <Name extends Change["do"]>(
  pattern: { do: Name } & Partial<ChangeOf<Name>>,
  list = changes(),
): ChangeOf<Name> | undefined => list.find(matches(pattern)) as ChangeOf<Name> | undefined;

/** Put a change, or none, in the place of those that have these values. */
export const replaceChange = (pattern: Pattern, one: Change | null = null) =>
  requestChanges([...changes().filter((each) => !matches(pattern)(each)), ...(one ? [one] : [])]);

export const toggleChange = (one: Change) => replaceChange(one, findChange(one) ? null : one);

/** Close an open cell of the mask or open a closed one; once more undoes it. Of words, all cells of their pieces. */
export function editMask(kind: Kind, query: number, key: number) {
  const { run } = state;
  const allowed = run.attention[kind].allowed[query]?.[key];
  if (allowed === undefined) return;
  const [from, to] = SIDES[kind];
  const cells = piecesOf(run, from, query).flatMap((query) => piecesOf(run, to, key).map((key) => ({ query, key })));
  const made = cells.flatMap((cell) => findChange({ do: "edit_mask", kind, ...cell }) ?? []);
  const open = tokenRun(run).attention[kind].allowed;
  const wanted = cells
    .filter((cell) => open[cell.query][cell.key] === allowed)
    .map((cell) => ({ do: "edit_mask", kind, ...cell, allowed: !allowed }) as Change);
  requestChanges([...changes().filter((each) => !made.includes(each as any)), ...(made.length ? [] : wanted)]);
}

/** @param one of the run, which is another object in what was asked for */
export const undoChange = (one: Change) =>
  requestChanges(changes().filter((each) => formatChanges([each]) !== formatChanges([one])));

export const isLasting = (one: Change) => !schema.interventions[one.do].of_sentence;
export const lastingChanges = () => changes().filter(isLasting);

export const isAblated = (kind: Kind, layer: number, head: number, list = changes()) =>
  list
    .filter((each) => each.do === "ablate" || each.do === "isolate")
    .filter((each) => each.kind === kind && each.layer === layer)
    .some((each) => (each.do === "ablate" ? each.head === head : !each.heads.includes(head)));

/** The divisor of a kind's scores besides √d: the temperature. */
export const temperatureOf = (kind: Kind, list = changes()) =>
  list
    .flatMap((each) => (each.do === "temperature" && ["all", kind].includes(each.kind) ? [each.temperature] : []))
    .reduce((product, each) => product * each, 1);

export const attendsAhead = (run: DrawnRun) =>
  run.attention.decoder.allowed.some((row, query) => row.some((open, key) => open && key > query));

/** How a step has a word that the model did not choose: by force, or drawn by the program that saved its run. */
export function insteadOfChoice(step: number, run: { changes: Change[] }) {
  if (!findChange({ do: "force_word", step }, run.changes)) return null;
  return opening.drawn?.includes(step) ? "drawn" : "forced";
}

/** Whether a change finds nothing to change in a run: a step that never came, a cell that is not there. */
export function hasNoEffect(one: Change) {
  const run = tokenRun(state.run);
  if (one.do === "force_word") return one.step >= run.steps.length;
  if (one.do !== "edit_mask") return false;
  const { queries, keys } = run.attention[one.kind];
  return one.query >= queries.length || one.key >= keys.length;
}

// ---- in a link: ablate.cross.1.4*temperature.all.2 ----

export const formatChanges = (list: Change[]) =>
  list
    .map((one) => {
      const values = one as unknown as Record<string, unknown>;
      const { fields } = schema.interventions[one.do];
      return [one.do, ...Object.entries(fields).map(([name, field]) => formatField(field, values[name]))].join(".");
    })
    .join("*");

function formatField({ kind }: ChangeField, value: unknown) {
  if (kind === "position") return Number(value) + 1;
  if (kind === "positions") return (value as number[]).map((each) => each + 1).join("-");
  if (kind === "switch") return value ? "open" : "closed";
  return String(value).replaceAll("%", "%25").replaceAll("*", "%2A");
}

/** Read changes of an address; null where they are not of that form. Only the server knows whether the run has a place for it. */
export function parseChanges(text: string) {
  const list = text === "" ? [] : text.split("*").map(parseChange);
  return list.includes(null) ? null : (list as Change[]);
}

function parseChange(text: string) {
  const [name, ...rest] = text.split(".");
  if (!Object.hasOwn(schema.interventions, name)) return null;
  const fields = Object.entries(schema.interventions[name].fields);
  const last = fields.length - 1;
  const values = [...rest.slice(0, last), rest.slice(last).join(".")]; // a word may be a full stop
  const read = fields.map(([, field], i) => parseField(field, values[i] ?? ""));
  if (read.includes(null)) return null;
  return { do: name, ...Object.fromEntries(fields.map(([each], i) => [each, read[i]])) } as Change;
}

function parseField({ kind }: ChangeField, text: string) {
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
