// What heads contribute, beside what they attend to: value-weighted attention, ‖w · v W_O‖ (Kobayashi et al., 2020).

import type { AttentionMaps, Kind, Run } from "../api/types.ts";
import { argmax, range, sum } from "../engine/arrays.ts";
import { askAboutRun } from "./server-cache.ts";
import { attentionRow, decodeFloats, state } from "./state.ts";
import { byWords, largest, tokenRun } from "./words.ts";

const known: WeakMap<Run, Run> = new WeakMap();

/** The run with what the visitor looks at in its maps: its own weights, or contributions; null until they have come. */
export function measuredRun(run: Run = state.run) {
  if (state.measure !== "contribution") return run;
  const found = known.get(tokenRun(run));
  return (run.pieces && found ? byWords(found) : found) ?? null;
}

export async function fetchMeasured(run: Run = state.run) {
  if (!measuredRun(run)) await fetchContributions(run);
  return measuredRun(run) ?? run;
}

/**
 * The run, by tokens, with contributions in its maps. Only the lengths of the values travel: times the weights, which
 * are here, they are the contributions.
 */
export async function fetchContributions(run: Run) {
  const tokens = tokenRun(run);
  const ready = known.get(tokens);
  if (ready) return ready;
  const norms = await askAboutRun("value_norms", undefined, tokens);
  const maps = Object.entries(norms).map(([kind, { data }]) => [
    kind,
    contributionMaps(tokens.attention[kind as Kind], decodeFloats(data)),
  ]);
  const found: Run = { ...tokens, attention: Object.fromEntries(maps) };
  known.set(tokens, found);
  return found;
}

/** What each of some source words contributes at a step: the mean of all layers and heads, as a share. */
export function contributionShares(run: Run, step: number, keys: number[]) {
  const layers = range(run.attention.cross.layers).map((layer) => attentionRow("cross", layer, null, step, run));
  const sums = keys.map((key) => sum(layers.map((row) => row[key])));
  const all = sum(sums) || 1;
  return sums.map((each) => each / all);
}

/** @param norms ‖v W_O‖ of every key, (L, H, K) */
export function contributionMaps(maps: AttentionMaps, norms: ArrayLike<number>): AttentionMaps {
  const [across, size] = [maps.keys.length, maps.queries.length * maps.keys.length];
  const norm = (i: number) => norms[Math.floor(i / size) * across + (i % across)];
  const values = Float32Array.from(maps.values, (weight, i) => weight * norm(i));
  return { ...maps, values, most: largest(values) };
}

/** In how many rows of all heads another word contributes most than has the highest weight. */
export function movedRows({ values: weights, keys }: AttentionMaps, { values: parts }: AttentionMaps) {
  let moved = 0;
  for (let at = 0; at < parts.length; at += keys.length) {
    const [attended, most] = [weights, parts].map((values) => argmax(values.slice(at, at + keys.length)));
    if (attended !== most && parts[at + most] > 0) moved++;
  }
  return { moved, rows: parts.length / keys.length };
}
