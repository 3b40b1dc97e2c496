import assert from "node:assert/strict";
import { test } from "node:test";
import "./page.ts";

const { bestHead, scoreHeads } = await import("../../assets/web/state/alignment.ts");

// One layer of two heads over three output tokens: the first head looks at the word that is predicted, the second at the
// one that was read a step before.
const cross = { layers: 1, heads: 2, queries: ["S", "a", "b"], keys: ["x", "y", "z"] };
const largest = [0, 1, 2, 2, 0, 1];
const values = largest.flatMap((key) => [0, 1, 2].map((each) => (each === key ? 0.8 : 0.1)));
const run = { output: ["a", "b", "E"], attention: { cross: { ...cross, values } } } as any;
const links = [new Set([0]), new Set([1]), new Set([2])];

test("a row is about the token that it predicts, or about the one that is read there", () => {
  assert.deepEqual(scoreHeads(run, links, "predicted"), { right: [[3, 0]], count: 3 });
  assert.deepEqual(scoreHeads(run, links, "read"), { right: [[0, 2]], count: 2 }); // the last token is never read
});

const some = [new Set([1, 2]), new Set<number>(), new Set([0, 2])];

test("tokens without a link do not count, and one of several links is enough", () => {
  assert.deepEqual(scoreHeads(run, some, "predicted"), { right: [[1, 1]], count: 2 });
  const none = links.map(() => new Set<number>());
  assert.deepEqual(scoreHeads(run, none, "read"), { right: [[0, 0]], count: 0 });
});

test("the best head, of several the first", () => {
  assert.deepEqual(bestHead(scoreHeads(run, links, "read")), { layer: 0, head: 1, right: 2 });
  assert.deepEqual(bestHead(scoreHeads(run, some, "predicted")), { layer: 0, head: 0, right: 1 });
});
