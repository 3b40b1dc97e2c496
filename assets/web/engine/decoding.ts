// Greedy decoding, sampling and beam search (§3.1, §6.1): transformer/inference/decoding.py.
//
// V target vocabulary.

import type { Hypothesis } from "#schema";
import { argmax, ranked, softmax } from "./arrays.ts";
import { type Encoded, type Network, startCache } from "./network.ts";
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
    return network.logits(network.decode(read, encoded).slice(-network.config.d_model));
  };
}

type Ends = { start: number; end: number; limit: number };
type Choices = { forced?: (number | undefined)[]; choose?: (distribution: Float32Array) => number };

/** Output one token after another until E or the limit; a forced token takes the place of the model's choice, which is
 * greedy. */
export function decode(next: Decoder, { start, end, limit }: Ends, { forced = [], choose = argmax }: Choices = {}) {
  const steps: Step[] = [];
  for (let token = start; steps.length < limit; ) {
    const distribution = softmax(next(token));
    token = forced[steps.length] ?? choose(distribution);
    steps.push({ token, distribution });
    if (token === end) break;
  }
  return steps;
}

type Sampling = { temperature: number; top_k: number; top_p: number };

/** The distribution to draw from: temperature, top-k and top-p in this order, renormalised after each. */
export function sampledFrom(model: Float32Array, { temperature, top_k, top_p }: Sampling) {
  const drawnFrom = new Float64Array(model.length);
  const highest = argmax(model);
  if (temperature === 0) return drawnFrom.fill(1, highest, highest + 1);
  const powers = Float64Array.from(model, (p) => Math.exp((Math.log(p) - Math.log(model[highest])) / temperature));
  const kept = ranked(powers, top_k || model.length);
  const total = kept.reduce((sum, id) => sum + powers[id], 0);
  let reached = 0;
  for (const id of kept) {
    if (top_p === 1 || reached < top_p) drawnFrom[id] = powers[id] / total; // the tokens before this one do not reach it
    reached += powers[id] / total;
  }
  const left = drawnFrom.reduce((sum, p) => sum + p);
  return drawnFrom.map((p) => p / left);
}

/** The first seed that draws another token than greedy decoding outputs; 0 if none of the first thousand does. */
export function firstOtherSeed(steps: Step[], sampling: Sampling) {
  const drawnFrom = steps.map(({ distribution }) => sampledFrom(distribution, sampling));
  for (let seed = 0; seed <= MAX_FIRST_SEED; seed++) {
    const generator = new Generator(seed);
    if (drawnFrom.some((each, t) => draw(each, generator) !== argmax(steps[t].distribution))) return seed;
  }
  return 0;
}

type Branch = Omit<Hypothesis, "token"> & { token: number };

/**
 * A beam search with the paper's length penalty.
 *
 * @param mostDropped - how many dropped branches of a step are kept, the likeliest
 * @returns the tree, parents before children; how many branches of each step are left out; and the numbers of those that
 * the search chose from, the best first
 */
export function beamSearch(
  network: Network,
  encoded: Encoded,
  { start, end, limit }: Ends,
  { width, alpha, mostDropped }: { width: number; alpha: number; mostDropped: number },
) {
  const branches: Branch[] = [];
  const [finished, leftOut]: number[][] = [[], []];
  let live = [{ branch: null as number | null, cache: startCache() }];
  for (let step = 0; step < limit && live.length; step++) {
    const places = width - finished.length;
    const penalty = ((5 + step + 1) / 6) ** alpha;
    const found = live.flatMap(({ branch, cache }) => {
      const { token, log_probability } = branch === null ? { token: start, log_probability: 0 } : branches[branch];
      const distribution = softmax(network.logits(network.decode([token], encoded, cache)));
      return ranked(distribution, width + 1).map((token) => {
        const probability = distribution[token];
        return { token, parent: branch, cache, probability, log: log_probability + Math.log(probability) };
      });
    });
    live = [];
    leftOut.push(Math.max(0, found.length - places - mostDropped));
    found.sort((a, b) => b.log - a.log).splice(places + mostDropped);
    for (const [rank, { token, parent, cache, probability, log }] of found.entries()) {
      const fate = rank >= places ? "dropped" : token === end ? "finished" : "kept";
      if (fate === "finished") finished.push(branches.length);
      // Each continues with its own copy of the lists, whose arrays never change.
      if (fate === "kept") live.push({ branch: branches.length, cache: { ...cache, self: [...cache.self] } });
      branches.push({ token, parent, step, probability, log_probability: log, score: log / penalty, fate });
    }
  }
  const chosenFrom = finished.length ? finished : live.map(({ branch }) => branch as number);
  return { branches, leftOut, chosenFrom: chosenFrom.sort((a, b) => branches[b].score - branches[a].score) };
}
