// Greedy decoding, sampling and beam search (§3.1, §6.1): transformer/inference/decoding.py.
//
// V target vocabulary.

import type { Hypothesis } from "#schema";
import { type Cache, type Encoded, logSoftmax, type Network, softmax, startCache } from "./network.ts";
import { draw, Generator } from "./random.ts";

const MAX_FIRST_SEED = 1000;

/** The id that was output, and the model's own distribution (V,). */
export type Step = { token: number; distribution: Float32Array };

/** Reads the newest decoder input; returns the logits of the next token, (V,). */
type Decoder = (token: number) => Float32Array;

/** One that reads each token once, and keeps keys and values. */
export function cachedDecoder(network: Network, encoded: Encoded): Decoder {
  const cache = startCache();
  return (token) => network.logits(network.decode([token], encoded, cache));
}

/** One that reads the whole prefix at each step, so that a position may attend to later ones. */
export function fullPassDecoder(network: Network, encoded: Encoded): Decoder {
  const read: number[] = [];
  return (token) => {
    read.push(token);
    return network.logits(network.decode(read, encoded, startCache()).slice(-network.config.d_model));
  };
}

/** The greedy choice. */
export const mostLikely = (distribution: ArrayLike<number>) => {
  let best = 0;
  for (let i = 1; i < distribution.length; i++) if (distribution[i] > distribution[best]) best = i;
  return best;
};

type Ends = { start: number; end: number; limit: number };
type Choices = { forced?: (number | undefined)[]; choose?: (distribution: Float32Array) => number };

/** Output one token after another until E or the limit; a forced token takes the place of the model's choice. */
export function decode(next: Decoder, { start, end, limit }: Ends, { forced = [], choose = mostLikely }: Choices = {}) {
  const steps: Step[] = [];
  for (let token = start; steps.length < limit; ) {
    const distribution = softmax(next(token));
    token = forced[steps.length] ?? choose(distribution);
    steps.push({ token, distribution });
    if (token === end) break;
  }
  return steps;
}

/** Ids by their probability, as many as are wanted, the highest first; of equal ones the lower id first. */
export function ranked(distribution: ArrayLike<number>, most: number) {
  const ids: number[] = [];
  for (let id = 0; id < distribution.length; id++) {
    if (ids.length === most && !(distribution[id] > distribution[ids[most - 1]])) continue;
    let place = ids.length;
    while (place && distribution[id] > distribution[ids[place - 1]]) place--;
    ids.splice(place, 0, id);
    if (ids.length > most) ids.pop();
  }
  return ids;
}

export type Sampling = { temperature: number; top_k: number; top_p: number };

/** The distribution to draw from: temperature, top-k and top-p in this order, renormalised after each. */
export function sampledFrom(model: Float32Array, { temperature, top_k, top_p }: Sampling) {
  const drawnFrom = new Float64Array(model.length);
  if (temperature === 0) {
    drawnFrom[mostLikely(model)] = 1;
    return drawnFrom;
  }
  const highest = Math.log(Math.max(...model));
  const powers = Float64Array.from(model, (p) => Math.exp((Math.log(p) - highest) / temperature));
  const kept = ranked(powers, top_k || model.length);
  const total = kept.reduce((sum, id) => sum + powers[id], 0);
  let reached = 0;
  for (const id of kept) {
    const p = powers[id] / total;
    reached += p;
    if (reached - p < top_p) drawnFrom[id] = p; // the tokens before this one do not reach it
  }
  const left = drawnFrom.reduce((sum, p) => sum + p);
  return drawnFrom.map((p) => p / left);
}

export function sampler(sampling: Sampling, seed: number) {
  const generator = new Generator(seed);
  return (distribution: Float32Array) => draw(sampledFrom(distribution, sampling), generator);
}

/** The first seed that draws another token than greedy decoding outputs; 0 if none of the first thousand does. */
export function firstOtherSeed(steps: Step[], sampling: Sampling) {
  const drawnFrom = steps.map(({ distribution }) => sampledFrom(distribution, sampling));
  const greedy = steps.map(({ distribution }) => mostLikely(distribution));
  for (let seed = 0; seed <= MAX_FIRST_SEED; seed++) {
    const generator = new Generator(seed);
    if (drawnFrom.some((each, t) => draw(each, generator) !== greedy[t])) return seed;
  }
  return 0;
}

/** A hypothesis with its token's id. */
export type Branch = Omit<Hypothesis, "token"> & { token: number };
type Live = { branch: number | null; cache: Cache };

/** The tree of a beam search with the paper's length penalty, parents before children, and the best branch. */
export function beamSearch(network: Network, encoded: Encoded, ends: Ends, width: number, alpha: number) {
  const branches: Branch[] = [];
  const finished: number[] = [];
  let live: Live[] = [{ branch: null, cache: startCache() }];
  for (let step = 0; step < ends.limit && live.length; step++) {
    const places = width - finished.length;
    const penalty = ((5 + step + 1) / 6) ** alpha;
    const found = live.flatMap(({ branch, cache }) => {
      const before = branch === null ? 0 : branches[branch].log_probability;
      const logits = network.logits(
        network.decode([branch === null ? ends.start : branches[branch].token], encoded, cache),
      );
      const distribution = softmax(logits);
      const logs = logSoftmax(logits);
      const extended = (token: number) => ({
        token,
        parent: branch,
        cache,
        p: distribution[token],
        log: before + logs[token],
      });
      return ranked(logs, width + 1).map(extended);
    });
    live = [];
    for (const [rank, { token, parent, cache, p, log }] of found.sort((a, b) => b.log - a.log).entries()) {
      const fate = rank >= places ? "dropped" : token === ends.end ? "finished" : "kept";
      if (fate === "finished") finished.push(branches.length);
      // Each continues with its own copy of the lists, whose arrays never change.
      if (fate === "kept") live.push({ branch: branches.length, cache: { ...cache, self: [...cache.self] } });
      branches.push({ token, parent, step, probability: p, log_probability: log, score: log / penalty, fate });
    }
  }
  const last = finished.length ? finished : live.map(({ branch }) => branch as number);
  const best = last.reduce((a, b) => (branches[b].score > branches[a].score ? b : a));
  return { branches, best };
}
