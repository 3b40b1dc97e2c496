// How alike two positions are.

import assert from "node:assert/strict";
import { test } from "node:test";
import { sinusoidalPositions } from "../../assets/web/engine/arrays.ts";
import { cosinesTo } from "../../assets/web/state/sinusoid.ts";

test("a position is most like itself, and the zero vector like nothing", () => {
  const values = sinusoidalPositions(20, 16);
  for (let at = 0; at < 20; at++) {
    const cosines = cosinesTo(at, values, 16);
    assert.ok(Math.abs(cosines[at] - 1) < 1e-5);
    assert.equal(cosines.indexOf(Math.max(...cosines)), at);
  }
  assert.deepEqual(cosinesTo(0, sinusoidalPositions(3, 1), 1), [0, 0, 0]);
});
