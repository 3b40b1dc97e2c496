// A run by words: sums over the keys' pieces, means over the queries'.

import "./page.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Run } from "../../assets/web/api/types.ts";
import { headShapes, showRun, state, update } from "../../assets/web/state/state.ts";
import { byWords, outputToken, piecesOf, tokenIndex, tokenRun } from "../../assets/web/state/words.ts";

const SOURCE = { of: [0, 0, 1, 2], names: ["Biere", ".", "E"] };
const READ = { of: [0, 1, 1], names: ["S", "beers"] };
const OUTPUT = { of: [0, 0, 1], names: ["beers", "E"] };

/** Maps of one layer with one head. */
const maps = (queries: string[], keys: string[], weights: number[]) => ({
  layers: 1,
  heads: 1,
  queries,
  keys,
  values: new Float32Array(weights),
  allowed: queries.map((_, query) => keys.map((_, key) => weights[query * keys.length + key] > 0)),
});

function runOfPieces() {
  const [source, read] = [
    ["▁Bier", "e", ".", "E"],
    ["S", "▁beer", "s"],
  ];
  const step = (token: string, probability: number) => ({
    token,
    probability,
    candidates: [{ token, probability }],
  });
  const attention = {
    encoder: maps(source, source, [1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]),
    decoder: maps(read, read, [1, 0, 0, 0.5, 0.5, 0, 0.2, 0.3, 0.5]),
    cross: maps(read, source, [0.1, 0.2, 0.3, 0.4, 0.5, 0.25, 0.25, 0, 0, 0.5, 0, 0.5]),
  };
  return {
    ...{ checkpoint: "m", sentence: "Biere.", changes: [], reference: null, model: { pieces: true }, attention },
    ...{ source, typed: source, decoder_input: read, output: ["▁beer", "s", "E"] },
    steps: [step("▁beer", 0.5), step("s", 0.25), step("E", 0.75)],
    words: { source: SOURCE, decoder_input: READ, output: OUTPUT, typed: SOURCE.names },
  } as unknown as Run;
}

const rounded = (values: ArrayLike<number>) => Array.from(values, (each) => Number(each.toFixed(6)));

test("attention to a word is the sum over its pieces, attention from a word the mean", () => {
  const { attention, source, output, decoder_input: read } = byWords(runOfPieces());
  assert.deepEqual([source, read, output], [SOURCE.names, READ.names, OUTPUT.names]);
  assert.deepEqual(rounded(attention.cross.values), [0.3, 0.3, 0.4, 0.625, 0.125, 0.25]);
  assert.deepEqual(rounded(attention.decoder.values), [1, 0, 0.35, 0.65]);
  assert.deepEqual(attention.decoder.allowed, [
    [true, false],
    [true, true],
  ]);
});

test("a word's step has the product of its pieces' probabilities, and says where its first piece is", () => {
  const { steps } = byWords(runOfPieces());
  assert.deepEqual(
    steps.map(({ token, probability, first }) => [token, probability, first]),
    [
      ["beers", 0.125, 0],
      ["E", 0.75, 2],
    ],
  );
  assert.equal(outputToken(steps[0]), "▁beer");
});

test("entropy and distance are of words", () => {
  const [shape] = headShapes(byWords(runOfPieces()).attention.encoder);
  assert.deepEqual(shape, { layer: 0, head: 0, entropy: 0, distance: 0 });
});

test("what is left of the baseline is of its words", () => {
  const run = runOfPieces();
  const kept = (share: number | null) => ({ new_probability: share, same_input: share !== null });
  run.comparison = [kept(0.5), kept(0.5), kept(null)];
  assert.deepEqual(byWords(run, runOfPieces()).comparison, [kept(0.25), kept(null)]);
});

test("a place stays where it was when words are shown, or no longer", () => {
  const run = runOfPieces();
  update({ tab: "attention", kind: "cross" });
  showRun(run);
  update({ step: 1 });
  update({ inWords: true });
  assert.deepEqual([state.run.output, state.step, state.query], [OUTPUT.names, 0, 0]);
  update({ step: 1 });
  update({ tab: "inside" }); // where every number is a piece's
  assert.equal(state.run, run);
  assert.deepEqual([state.step, state.query], [2, 2]);
  update({ tab: "attention", kind: "encoder", query: 1 });
  assert.deepEqual([tokenRun(state.run), state.query, state.step], [run, 0, 1]);
  assert.deepEqual([tokenIndex(state.run, "encoder", 1), tokenIndex(state.run, "cross", 1)], [2, 2]);
  assert.deepEqual(piecesOf(state.run, "source", 0), [0, 1]);
  assert.deepEqual(piecesOf(run, "source", 1), [1]);
  const other = runOfPieces();
  showRun(other);
  assert.deepEqual([tokenRun(state.run) === other, state.step], [true, 1]);
});
