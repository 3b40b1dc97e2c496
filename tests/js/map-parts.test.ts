// Which words stand beside a long sentence's map, what is scrolled into sight, and which lines are drawn.

import "./page.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import type { DrawnRun } from "../../assets/web/api/types.ts";
import { isDrawn } from "../../assets/web/charts/attention-lines.ts";
import { scrolledTo, shownWords, spacedLabels, uncovered } from "../../assets/web/charts/map-parts.ts";

test("labels keep their distance; the wanted ones come first", () => {
  assert.deepEqual([...spacedLabels(4, 20, 15)], [0, 1, 2, 3]);
  for (const [count, pitch, first] of [
    [128, 4, [7]],
    [33, 9, [32, 0]],
    [50, 5.5, []],
  ] as [number, number, number[]][]) {
    const seen = [...spacedLabels(count, pitch, 15, first)].sort((a, b) => a - b);
    for (const each of first) assert(seen.includes(each));
    for (const [i, each] of seen.entries()) if (i) assert((each - seen[i - 1]) * pitch >= 15);
    for (let i = 0; i < count; i++)
      assert(
        seen.some((each) => Math.abs(each - i) * pitch < 30),
        `a label near ${i}`,
      );
  }
});

test("a part in sight scrolls nothing; another comes to the middle of what no label covers", () => {
  const place = { now: 100, size: 300, inset: 80 };
  for (const [start, end] of [
    [180, 190],
    [390, 400],
  ])
    assert.equal(scrolledTo(place, start, end), 100);
  for (const [start, end] of [
    [170, 180],
    [395, 405],
    [2000, 2010],
  ]) {
    const to = scrolledTo(place, start, end);
    assert.equal(to, Math.max(0, (start + end) / 2 - (80 + 220 / 2)));
  }
  assert.equal(scrolledTo(place, 81, 90), 0);
});

test("lines are drawn from a weight on, of open cells, of one row, one column or all", () => {
  const cell = { open: true, share: 0.2, query: 3, key: 5 };
  assert(isDrawn(cell, { threshold: 0.2 }));
  assert(isDrawn(cell, { threshold: 0, query: 3 }));
  assert(isDrawn(cell, { threshold: 0, key: 5 }));
  for (const wanted of [{ threshold: 0.21 }, { threshold: 0, query: 5 }, { threshold: 0, key: 3 }])
    assert(!isDrawn(cell, wanted));
  assert(!isDrawn({ ...cell, open: false }, { threshold: 0 }));
});

test("a label at an edge covers none beside it", () => {
  const middle = (i: number) => Math.max(9, Math.min(i * 5 + 2.5, 91));
  assert.deepEqual([...uncovered([0, 3, 6, 16, 19], [0, 19], middle, 12)], [0, 6, 19]);
  assert.deepEqual([...uncovered([0, 3, 6], [3, 0], middle, 12)], [3, 6]);
});

test("words beside a long sentence's map are whole up to twelve letters, wherever they stand", () => {
  const words = ["S", "Donau", "Schifffahrtsgesellschaft"];
  const run = { attention: { decoder: { queries: words, keys: words } }, output: words } as unknown as DrawnRun;
  const { queries, keys, predicted } = shownWords(run, "decoder", true, false);
  for (const shown of [queries, keys, predicted]) assert.deepEqual(shown, ["S", "Donau", "Schifffahrt…"]);
});
