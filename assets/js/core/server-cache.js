// What one recorded pass computed inside an attention sublayer, as the server sent it; asked for once a run and layer.

import { floats, state } from "./state.js";

const KEPT = 24; // sublayers
const known = new Map();

const KIND_OF = { encoder: "source", decoder: "target", cross: "target" };

/** The same question of the same run is asked once. `ask` is a server function. */
export function once(name, question, ask) {
  const key = JSON.stringify([name, question]);
  if (!known.has(key)) {
    const answer = ask(question).then((said) => {
      if (!said || said.error) throw new Error(said?.error ?? "no answer");
      return said;
    });
    answer.catch(() => known.delete(key)); // the next look asks again
    known.set(key, answer);
    if (known.size > KEPT) known.delete(known.keys().next().value);
  }
  return known.get(key);
}

/** What every question about a run begins with. */
export const question = (run = state.run) => ({
  checkpoint: run.checkpoint,
  sentence: run.sentence,
  changes: run.changes,
});
export const about = (name, server, more = {}, run = state.run) =>
  once(name, { ...question(run), ...more }, server[name]);

/** One sublayer of a run: tokens, flags, and `at(name, ...index)`, the vector at the first axes of an array. */
export async function inside(server, kind, layer, run = state.run) {
  const said = await about("inside", server, { kind, layer }, run);
  said.read ??= Object.fromEntries(
    Object.entries(said.arrays).map(([name, { shape, data }]) => [name, { shape, values: floats(data) }]),
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
export async function parameters(server, kind, layer, part, row) {
  const { checkpoint } = state.run;
  const said = await once("parameters", { checkpoint, kind, layer, part, row }, server.parameters);
  return { weights: Array.from(floats(said.weights)), bias: said.bias };
}
