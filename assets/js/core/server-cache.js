// The server's answers about runs, each asked for once.

import { decodeFloats, state } from "./state.js";

/** @import { Kind, Run, Server, ServerFunction, Side } from "./types.d.ts" */

/**
 * One attention sublayer of a run, every number of it; `at(name, ...index)` is the vector at the first axes of an array.
 * @typedef {{
 *   kind: Kind, layer: number, queries: string[], keys: string[], allowed: boolean[][], norm_first: boolean,
 *   head_dim: number, eps: number, arrays: Record<string, { shape: number[], data: string }>,
 *   at: (name: string, ...index: number[]) => number[], from: Side, to: Side,
 * }} Sublayer
 */

const MAX_ANSWERS = 24;

/** @type {Map<string, Promise<any>>} */
const answers = new Map();

/** The same question is asked once. @param {string} name @param {unknown} question @param {ServerFunction} ask */
export function askOnce(name, question, ask) {
  const key = JSON.stringify([name, question]);
  const known = answers.get(key);
  if (known) return known;
  const answer = ask(question).then((data) => {
    if (!data || data.error) throw new Error(data?.error?.key ?? "no answer");
    return data;
  });
  answer.catch(() => answers.delete(key)); // the next call asks again
  answers.set(key, answer);
  if (answers.size > MAX_ANSWERS) answers.delete(answers.keys().next().value ?? key);
  return answer;
}

/** What every question about a run begins with. @param {Run} run */
export const runQuestion = (run = state.run) => ({
  checkpoint: run.checkpoint,
  sentence: run.sentence,
  changes: run.changes,
});

/** @param {string} name @param {Server} server @param {object} more @param {Run} run */
export const askAboutRun = (name, server, more = {}, run = state.run) =>
  askOnce(name, { ...runQuestion(run), ...more }, server[name]);

/**
 * One sublayer of a run.
 * @param {Server} server @param {Kind} kind @param {number} layer @param {Run} run
 * @returns {Promise<Sublayer>}
 */
export async function fetchSublayer(server, kind, layer, run = state.run) {
  const data = await askAboutRun("inside", server, { kind, layer }, run);
  data.read ??= Object.fromEntries(
    Object.entries(data.arrays).map(([name, array]) => [
      name,
      { shape: array.shape, values: decodeFloats(array.data) },
    ]),
  );
  const at = (/** @type {string} */ name, /** @type {number[]} */ ...index) => {
    /** @type {{ shape: number[], values: Float32Array }} */
    const { shape, values } = data.read[name];
    const sizeFrom = (/** @type {number} */ axis) => shape.slice(axis).reduce((product, n) => product * n, 1);
    const start = index.reduce((sum, i, axis) => sum + i * sizeFrom(axis + 1), 0);
    return Array.from(values.subarray(start, start + sizeFrom(index.length)));
  };
  return { ...data, at, from: kind === "encoder" ? "source" : "target", to: kind === "decoder" ? "target" : "source" };
}

/**
 * A row of a weight matrix, and its bias.
 * @param {Server} server @param {Kind} kind @param {number} layer @param {string} part @param {number} row
 * @returns {Promise<{ weights: number[], bias: number | null }>}
 */
export async function fetchParameters(server, kind, layer, part, row) {
  const { checkpoint } = state.run;
  const data = await askOnce("parameters", { checkpoint, kind, layer, part, row }, server.parameters);
  return { weights: Array.from(decodeFloats(data.weights)), bias: data.bias };
}
