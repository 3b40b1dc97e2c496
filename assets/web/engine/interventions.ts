// Changes to a run as data, and the probe that makes them: transformer/inference/interventions.py.

import type { ChangeForm } from "#schema";
import type { Change, ChangeOf, Kind } from "../api/types.ts";
import { eachRow } from "./arrays.ts";
import type { Network } from "./network.ts";
import { permutation } from "./random.ts";
import { changesRefusal } from "./refusal.ts";

export const KINDS: readonly Kind[] = ["encoder", "decoder", "cross"];
export const ofKinds = <Value>(value: (kind: Kind) => Value) =>
  Object.fromEntries(KINDS.map((kind) => [kind, value(kind)])) as Record<Kind, Value>;

/** Where a kind of attention sits in its layer (§3.1): its number among the sublayers, and that of the feed-forward. */
export const LOCATIONS = {
  encoder: { stack: "encoder", sublayer: "self_attention", number: 1, feedForward: 2 },
  decoder: { stack: "decoder", sublayer: "self_attention", number: 1, feedForward: 3 },
  cross: { stack: "decoder", sublayer: "cross_attention", number: 2, feedForward: 3 },
} as const;

export const probeName = (kind: Kind, layer: number, part: string) =>
  `${LOCATIONS[kind].stack}.${layer}.${LOCATIONS[kind].sublayer}.${part}`;

/** Fields that say what a change does at its place, which all others name: two changes of one place contradict. */
const EFFECTS = ["heads", "allowed", "how", "seed", "temperature", "word"];
const COLLATOR = new Intl.Collator("en", { numeric: true }); // layer 2 before layer 10

/** The changes of a request in their order. Throws a refusal where one that a link had means nothing. */
export function parseChanges(given: unknown[], forms: Record<string, ChangeForm>): Change[] {
  const parsed = given.map((each) => parseChange(each, forms));
  const found = new Map(parsed.map((change) => [JSON.stringify(change), change]));
  const place = (change: Change) => JSON.stringify(change, (name, value) => (EFFECTS.includes(name) ? null : value));
  if (new Set(parsed.map(place)).size < found.size) throw changesRefusal();
  const order = ({ do: name }: Change) => Object.keys(forms).indexOf(name);
  return [...found]
    .sort(([one, a], [two, b]) => order(a) - order(b) || COLLATOR.compare(one, two))
    .map(([, change]) => change);
}

/** What the reader of links (changes.ts) leaves open is checked here. */
function parseChange(given: any, forms: Record<string, ChangeForm>): Change {
  const change: Record<string, unknown> = { do: given.do };
  for (const [name, { kind, choices }] of Object.entries(forms[given.do]?.fields ?? {})) {
    const value = given[name];
    const isNumber = name === "temperature" ? value >= 0.01 && value <= 100 : Number.isInteger(value);
    if (!(choices?.includes(value) ?? (kind !== "number" || isNumber))) throw changesRefusal();
    change[name] = kind === "positions" ? [...new Set<number>(value)].sort((a, b) => a - b) : value;
  }
  return change as unknown as Change;
}

type Replacement = { places: string[]; replace: (value: Float32Array, columns: number) => Float32Array };

/**
 * The network with the changes, which needs full passes; itself if they change only source and output. Throws a refusal
 * where it has no such layer, sublayer or head.
 *
 * @param reach - how many positions the decoder can reach
 */
export function changedNetwork(network: Network, changes: Change[], reach: number) {
  const made = changes.flatMap((change) => replacement(change, network, reach) ?? []);
  if (!made.length) return network;
  return network.watchedBy((name, value, columns) =>
    made.reduce((latest, { places, replace }) => (places.includes(name) ? replace(latest, columns) : latest), value),
  );
}

/** The intermediates that a change replaces, and by what; none if it changes a token. */
function replacement(change: Change, network: Network, reach: number): Replacement | undefined {
  const { config, headDim, weights } = network;
  const everyLayer = (kind: Kind, part: string) => network.layers.map((layer) => probeName(kind, layer, part));
  switch (change.do) {
    case "ablate":
    case "isolate": {
      const heads = change.do === "ablate" ? [change.head] : change.heads;
      checkWithin(change.layer, config.layers);
      for (const head of heads) checkWithin(head, config.heads);
      const isOff = (head: number) => heads.includes(head) === (change.do === "ablate");
      const place = probeName(change.kind, change.layer, "head_output");
      return { places: [place], replace: (value, width) => withoutHeads(value, width, headDim, isOff) };
    }
    case "remove_mask":
      return {
        places: everyLayer(change.kind, "mask"),
        replace: change.kind === "decoder" ? openFuture : (mask) => mask.map(() => 1),
      };
    case "edit_mask":
      return { places: everyLayer(change.kind, "mask"), replace: (mask, keys) => editMask(mask, keys, change) };
    case "positions": {
      const all = weights.positions.subarray(0, reach * config.d_model);
      return { places: [`${change.stack}.positions`], replace: (rows, width) => moved(rows, width, change, all) };
    }
    case "temperature": {
      const kinds = KINDS.filter((kind) => change.kind === "all" || kind === change.kind);
      const places = kinds.flatMap((kind) => everyLayer(kind, "scores"));
      return { places, replace: (scores) => scores.map((score) => score / change.temperature) };
    }
    case "drop_residual":
      checkWithin(change.layer, config.layers);
      checkWithin(change.sublayer, change.stack === "encoder" ? 2 : 3, 1);
      return {
        places: [`${change.stack}.${change.layer}.residual${change.sublayer}`],
        replace: (x) => x.map(() => 0),
      };
  }
}

function checkWithin(value: number, count: number, first = 0) {
  if (value < first || value >= first + count) throw changesRefusal();
}

/** Heads' outputs, of which some become zero before W_O (§3.2.2). */
export const withoutHeads = (value: Float32Array, width: number, headDim: number, isOff: (head: number) => boolean) =>
  value.map((each, at) => (isOff(Math.floor((at % width) / headDim)) ? 0 : each));

/** Every row as the last one, which has no future: only padding is masked in it. */
const openFuture: Replacement["replace"] = (mask, keys) => eachRow(mask, keys, () => mask.subarray(-keys));

function editMask(mask: Float32Array, keys: number, { query, key, allowed }: ChangeOf<"edit_mask">) {
  if (query * keys >= mask.length || key >= keys) return mask; // the decoder has not reached this cell yet
  return mask.with(query * keys + key, +allowed);
}

/** Positions that are removed or permuted. A source is permuted within its length; the decoder's input grows and earlier
 * words must not move, so its positions are drawn from all that the run can reach. */
function moved(rows: Float32Array, width: number, { stack, how, seed }: ChangeOf<"positions">, all: Float32Array) {
  if (how === "removed") return rows.map(() => 0);
  const these = stack === "encoder" ? rows : all;
  const order = permutation(these.length / width, seed);
  return eachRow(rows, width, (_, at) => {
    const from = order[at / width] * width;
    return these.subarray(from, from + width);
  });
}
