// What is computed of a painted attention map before it is painted.

import "./page.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { mapDifference } from "../../assets/web/charts/attention-map.ts";
import { cellAt, cellColours, gridOf, mergedCells } from "../../assets/web/charts/map-canvas.ts";

const LEVELS = Uint32Array.from({ length: 202 }, (_, i) => i); // every colour is its own index

test("a small change has a strong colour where no change of its map is larger", () => {
  const run = (values: number[]) => {
    const maps = { layers: 1, heads: 2, queries: ["S"], keys: ["a", "b"], allowed: [[true, true]], values };
    return { attention: { encoder: maps, decoder: maps, cross: maps }, reference: null, output: [] };
  };
  const { cross } = mapDifference(run([0.6, 0.4, 0.01, 0.99]), run([0.5, 0.5, 0, 1])).attention;
  const coloured = (head: number) => [...cellColours(gridOf(cross, 0, head), LEVELS, 0)];
  assert.deepEqual(coloured(0), [96, 101 + 96]);
  assert.deepEqual(coloured(1), [19, 101 + 19]);
});

test("the cells of one head, row by row; a masked one has none of the scale's colours", () => {
  const [queries, keys] = [
    ["a", "b"],
    ["x", "y", "z"],
  ];
  const allowed = [
    [true, true, true],
    [true, false, true],
  ];
  const values = Array.from({ length: 2 * 2 * 6 }, (_, i) => i / 100);
  const maps = { layers: 2, heads: 2, queries, keys, allowed, values };
  const expected = [18, 19, 20, 21, 22, 23].map((i) => 4 + Math.round(0.96 * i));
  expected[4] = 1000;
  assert.deepEqual([...cellColours(gridOf(maps, 1, 1), LEVELS, 1000)], expected);
});

test("a point is in the cell under it, or in none", () => {
  const body = { across: 3, down: 2, cellWidth: 10, cellHeight: 5 };
  assert.deepEqual(cellAt(0, 0, body), { query: 0, key: 0 });
  assert.deepEqual(cellAt(29.9, 9.9, body), { query: 1, key: 2 });
  for (const [x, y] of [
    [-0.1, 0],
    [30, 0],
    [0, 10],
    [0, -1],
  ])
    assert.equal(cellAt(x, y, body), null);
});

test("where several cells are one, it has the largest weight, and is masked where all of them are", () => {
  const weights = [0.1, 0.9, 0.2, 0.3, -0.4, 0.5, 0.6, 0.7, 0.8];
  const grid = { across: 3, down: 3, weights, difference: undefined };
  const merged = mergedCells({ ...grid, open: Uint8Array.of(1, 1, 1, 1, 1, 1, 0, 0, 0) }, 2);
  assert.deepEqual([merged.across, merged.down], [2, 2]);
  assert.deepEqual(Array.from(merged.weights), [...Float32Array.from([0.9, 0.5, 0, 0])]);
  assert.deepEqual([...merged.open], [1, 1, 0, 0]);
  const less = { ...grid, weights: weights.map((each) => -each), open: new Uint8Array(9).fill(1) };
  assert.equal(mergedCells(less, 3).weights[0], Math.fround(-0.9));
});
