// The server's answers about runs, each asked for once.

import { decodeFloats, state } from "./state.js";

/** @import { Refusal, Sublayer as RecordedSublayer } from "#schema" */
/** @import { AnswerOf, Kind, RequestOf, Run, Server, ServerFunctionName, Side } from "./types.d.ts" */

/**
 * One attention sublayer of a run, every number of it; `at(name, ...index)` is the vector at the first axes of an
 * array. `from` is the side of its queries, `to` that of its keys.
 * @typedef {RecordedSublayer & { at: (name: string, ...index: number[]) => number[], from: Side, to: Side }} Sublayer
 */

/** The name of a weight matrix. @typedef {RequestOf<"parameters">["part"]} Matrix */

const MAX_ANSWERS = 24;

/** @type {Map<string, Promise<any>>} */
const answers = new Map();

/**
 * The same question is asked once; a refusal is an error.
 * @template Question, Answer
 * @param {string} name @param {Question} question @param {(question: Question) => Promise<Answer | Refusal>} ask
 * @returns {Promise<Exclude<Answer, Refusal>>}
 */
export function askOnce(name, question, ask) {
  const key = JSON.stringify([name, question]);
  const known = answers.get(key);
  if (known) return known;
  const answer = ask(question).then((data) => {
    const error = /** @type {Partial<Refusal> | null} */ (data)?.error;
    if (!data || error) throw new Error(error?.key ?? "no answer");
    return /** @type {Exclude<Answer, Refusal>} */ (data);
  });
  answer.catch(() => answers.delete(key)); // the next call asks again
  answers.set(key, answer);
  if (answers.size > MAX_ANSWERS) answers.delete(answers.keys().next().value ?? key);
  return answer;
}

/** The first fields of every request about a run. @param {Run} run */
const runQuestion = (run = state.run) => ({
  checkpoint: run.checkpoint,
  sentence: run.sentence,
  changes: run.changes,
});

/**
 * @template {ServerFunctionName} Name
 * @param {Name} name @param {Server} server
 * @param {Omit<RequestOf<Name>, "checkpoint" | "sentence" | "changes">} [more] @param {Run} [run]
 * @returns {Promise<Exclude<AnswerOf<Name>, Refusal>>}
 */
export function askAboutRun(name, server, more, run = state.run) {
  const request = /** @type {RequestOf<Name>} */ ({ ...runQuestion(run), ...more });
  return /** @type {Promise<any>} */ (askOnce(name, request, /** @type {any} */ (server[name])));
}

/** The arrays of an answer as numbers, made once. @type {WeakMap<RecordedSublayer, Record<string, Float32Array>>} */
const decoded = new WeakMap();

/**
 * One sublayer of a run.
 * @param {Server} server @param {Kind} kind @param {number} layer @param {Run} run
 * @returns {Promise<Sublayer>}
 */
export async function fetchSublayer(server, kind, layer, run = state.run) {
  const data = await askAboutRun("inside", server, { kind, layer }, run);
  const arrays =
    decoded.get(data) ??
    Object.fromEntries(Object.entries(data.arrays).map(([name, array]) => [name, decodeFloats(array.data)]));
  decoded.set(data, arrays);
  const at = (/** @type {string} */ name, /** @type {number[]} */ ...index) => {
    const { shape } = data.arrays[name];
    const sizeFrom = (/** @type {number} */ axis) => shape.slice(axis).reduce((product, n) => product * n, 1);
    const start = index.reduce((sum, i, axis) => sum + i * sizeFrom(axis + 1), 0);
    return Array.from(arrays[name].subarray(start, start + sizeFrom(index.length)));
  };
  return { ...data, at, from: kind === "encoder" ? "source" : "target", to: kind === "decoder" ? "target" : "source" };
}

/**
 * A row of a weight matrix of a sublayer, and its bias.
 * @param {{ run: Run, kind: Kind, layer: number, server: Server }} view @param {Matrix} part @param {number} row
 * @returns {Promise<{ weights: number[], bias: number | null }>}
 */
export async function fetchParameters({ run: { checkpoint }, kind, layer, server }, part, row) {
  const data = await askOnce("parameters", { checkpoint, kind, layer, part, row }, server.parameters);
  return { weights: Array.from(decodeFloats(data.weights)), bias: data.bias };
}
