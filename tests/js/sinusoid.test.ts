// The waves of positions, and how alike two positions are.

import assert from "node:assert/strict";
import { test } from "node:test";
import { sinusoidalPositions } from "../../assets/web/engine/arrays.ts";
import { cosinesTo, waveOf } from "../../assets/web/state/sinusoid.ts";

for (const order of ["interleaved", "halves"] as const)
  for (const width of [15, 16])
    test(`a wavelength is what one turn takes: ${width} dimensions, ${order}`, () => {
      const values = sinusoidalPositions(20, width, order === "halves");
      for (let dimension = 0; dimension < width; dimension++) {
        const { name, wavelength } = waveOf(dimension, width, order);
        for (let at = 0; at < 20; at++) {
          const expected = Math[name]((2 * Math.PI * at) / wavelength);
          assert.ok(Math.abs(values[at * width + dimension] - expected) < 1e-5);
        }
      }
    });

test("a position is most like itself, and the zero vector like nothing", () => {
  const values = sinusoidalPositions(20, 16);
  for (let at = 0; at < 20; at++) {
    const cosines = cosinesTo(at, values, 16);
    assert.ok(Math.abs(cosines[at] - 1) < 1e-5);
    assert.equal(cosines.indexOf(Math.max(...cosines)), at);
  }
  assert.deepEqual(cosinesTo(0, sinusoidalPositions(3, 1), 1), [0, 0, 0]);
});
