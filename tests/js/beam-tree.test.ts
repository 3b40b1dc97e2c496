// Where the nodes of a beam search's tree stand.

import "./page.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { branchPath, treeLayout } from "../../assets/web/features/decoding/beam-tree.ts";

/** A tree as the server sends it: children after their parents. @param random in [0, 1) */
function grown(count: number, random: () => number) {
  const branches: { parent: number | null }[] = Array.from({ length: 1 + Math.floor(random() * 3) }, () => ({
    parent: null,
  }));
  while (branches.length < count) branches.push({ parent: Math.floor(random() * branches.length) });
  return branches;
}

/** A linear congruential generator, whose numbers are the same every time. */
const numbers = (seed: number) => () => {
  seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
  return seed / 2 ** 31;
};

test("a path leads from the first step", () => {
  const branches = [{ parent: null }, { parent: 0 }, { parent: 1 }];
  assert.deepEqual(branchPath(branches, 2), [0, 1, 2]);
  assert.deepEqual(branchPath(branches, null), []);
});

test("every node has a place of its own, below no higher than its elders, and no lines cross", () => {
  for (let seed = 0; seed < 300; seed++) {
    const random = numbers(seed);
    const branches = grown(1 + Math.floor(random() * 25), random);
    const best = Math.floor(random() * branches.length);
    const { columns, row, height } = treeLayout(branches, best);
    assert.deepEqual(
      columns.flat().sort((a, b) => a - b),
      branches.map((_, n) => n),
    );
    for (const [step, column] of columns.entries()) {
      const rows = column.map((n) => row[n]);
      assert.ok(
        rows.every((each, i) => each >= 0 && each < height && (!i || each > rows[i - 1])),
        `seed ${seed}`,
      );
      const parents = column.map((n) => (step ? row[branches[n].parent as number] : 0));
      assert.ok(
        parents.every((each, i) => !i || each >= parents[i - 1]),
        `lines cross, seed ${seed}`,
      );
    }
  }
});

test("the chosen path comes first among its siblings", () => {
  const { columns } = treeLayout([{ parent: null }, { parent: null }, { parent: 1 }, { parent: 1 }], 3);
  assert.equal(columns.join(" "), "1,0 3,2");
});
