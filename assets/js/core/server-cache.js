// What one recorded pass computed inside an attention sublayer, as the server sent it; asked for once a run and layer.

import { decodeFloats, state } from "./state.js";

const KEPT = 24; // sublayers
const answers = new Map();

const KIND_OF = { encoder: "source", decoder: "target", cross: "target" };

/** The same question of the same run is asked once. `ask` is a server function. */
export function askOnce(name, question, ask) {
  const key = JSON.stringify([name, question]);
  if (!answers.has(key)) {
    const answer = ask(question).then((said) => {
      if (!said || said.error) throw new Error(said?.error ?? "no answer");
      return said;
    });
    answer.catch(() => answers.delete(key)); // the next look asks again
    answers.set(key, answer);
    if (answers.size > KEPT) answers.delete(answers.keys().next().value);
  }
  return answers.get(key);
}

/** What every question about a run begins with. */
export const runQuestion = (run = state.run) => ({
  checkpoint: run.checkpoint,
  sentence: run.sentence,
  changes: run.changes,
});
export const askAboutRun = (name, server, more = {}, run = state.run) =>
  askOnce(name, { ...runQuestion(run), ...more }, server[name]);

/** One sublayer of a run: tokens, flags, and `at(name, ...index)`, the vector at the first axes of an array. */
export async function fetchSublayer(server, kind, layer, run = state.run) {
  const said = await askAboutRun("inside", server, { kind, layer }, run);
  said.read ??= Object.fromEntries(
    Object.entries(said.arrays).map(([name, { shape, data }]) => [name, { shape, values: decodeFloats(data) }]),
  );
  const at = (name, ...index) => {
    const { shape, values } = said.read[name];
    const size = shape.slice(index.length).reduce((product, n) => product * n, 1);
    const start = index.reduce(
      (sum, i, axis) => sum + i * shape.slice(axis + 1).reduce((product, n) => product * n, 1),
      0,
    );
    return Array.from(values.subarray(start, start + size));
  };
  const from = KIND_OF[kind];
  return { ...said, at, from, to: kind === "decoder" ? "target" : "source" };
}

/** A row of a weight matrix: {weights, bias}. */
export async function fetchParameters(server, kind, layer, part, row) {
  const { checkpoint } = state.run;
  const said = await askOnce("parameters", { checkpoint, kind, layer, part, row }, server.parameters);
  return { weights: Array.from(decodeFloats(said.weights)), bias: said.bias };
}
