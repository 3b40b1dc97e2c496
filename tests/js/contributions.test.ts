// Contributions are weights times the lengths of values; their colours and lines are shares of the largest.

import "./page.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Run } from "../../assets/web/api/types.ts";
import { gridOf } from "../../assets/web/charts/map-canvas.ts";
import { cellReader } from "../../assets/web/charts/map-parts.ts";
import { contributionMaps, contributionShares, movedRows } from "../../assets/web/state/contributions.ts";

const WEIGHTS = {
  ...{ layers: 1, heads: 2, queries: ["a", "b"], keys: ["x", "y", "z"] },
  allowed: [
    [true, true, true],
    [true, true, false],
  ],
  values: [0.5, 0.25, 0.25, 0.75, 0.25, 0, 0, 0.5, 0.5, 1, 0, 0],
};
const NORMS = [1, 8, 2, 0, 0, 4]; // of each head's keys

test("a contribution is a weight times the length of its key's value in that head", () => {
  const maps = contributionMaps(WEIGHTS, NORMS);
  assert.deepEqual([...maps.values], [0.5, 2, 0.5, 0.75, 2, 0, 0, 0, 2, 0, 0, 0]);
  assert.equal(maps.most, 2);
  assert.deepEqual(movedRows(WEIGHTS, maps), { moved: 3, rows: 4 }); // a row without contributions has no largest
});

test("what words contribute at a step is the mean of all heads, as a share", () => {
  const maps = contributionMaps(WEIGHTS, NORMS);
  const run = { attention: { cross: maps } } as unknown as Run;
  assert.deepEqual(contributionShares(run, 0, [0, 1, 2]), [0.1, 0.4, 0.5]);
  assert.deepEqual(contributionShares(run, 1, [0, 1]), [0.75 / 2.75, 2 / 2.75]);
});

test("colours are of the share of the largest of all heads, numbers are contributions", () => {
  const maps = contributionMaps(WEIGHTS, NORMS);
  assert.deepEqual(Array.from(gridOf(maps, 0, 0).weights), [0.25, 1, 0.25, 0.375, 1, 0]);
  const run = { attention: { encoder: maps, decoder: maps, cross: maps }, reference: null, output: [] };
  const { value, share, open } = cellReader({ run, kind: "cross", layer: 0, head: 1 })(0, 2);
  assert.deepEqual([value, share, open], [2, 1, true]);
});

test("where nothing contributes, every colour is the lightest", () => {
  const maps = contributionMaps(
    WEIGHTS,
    NORMS.map(() => 0),
  );
  assert.deepEqual(Array.from(gridOf(maps, 0, 1).weights), [0, 0, 0, 0, 0, 0]);
});
