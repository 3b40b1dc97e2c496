// Numbers as they are shown, and arithmetic that a pencil can check.

import "./page.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeShares } from "../../assets/web/api/training-stream.ts";
import { dot } from "../../assets/web/engine/arrays.ts";
import { decodeFloats, unpackWeights } from "../../assets/web/state/state.ts";
import {
  attentionColumns,
  commonDigits,
  fixed,
  normalised,
  plain,
  products,
  scaled,
  softmax,
  sum,
} from "../../assets/web/ui/numbers.ts";

test("a minus is as wide as a plus, and zero has no sign", () => {
  assert.equal(fixed(-1.005, 1), "−1.0");
  assert.equal(fixed(-0.0004, 2), "0.00");
  assert.equal(plain(-1.25, 1), "-1.3");
});

/** Numbers like a network's, of 32 bits, from a seed. */
const random = (seed: number, count: number) =>
  Array.from(new Float32Array(count), (_, i) => Math.fround(4 * Math.sin(1e4 * Math.sin(seed * 997 + i))));
const number = (text: string) => Number(text.replace("−", "-"));
const total = (values: number[]) => values.reduce((all, value) => all + value, 0);

/** That a reader who works it out gets the digits that are shown. */
const gives = (value: number, shown: string) => assert.equal(fixed(value, shown.split(".")[1].length), shown);

test("shown terms give the shown result", () => {
  for (let seed = 0; seed < 50; seed++) {
    const [a, b, scores] = [random(seed, 16), random(seed + 0.3, 16), random(seed + 0.6, 6)];
    const shown = products(a, b, a[3], dot(a, b) + a[3]);
    gives(total(shown.terms.map(([x, y]) => number(x) * number(y))) + number(shown.bias ?? ""), shown.result);

    const added = sum(a[0], b[0], a[0] + b[0]);
    gives(number(added.terms[0]) + number(added.terms[1]), added.result);

    const divided = scaled(dot(a, b), 8, dot(a, b) / Math.sqrt(8));
    gives(number(divided.dot) / Math.sqrt(8), divided.result);

    const powers = scores.map(Math.exp);
    const weights = powers.map((power) => power / total(powers));
    const share = softmax(scores, 2, weights[2]);
    gives(number(share.powers[2]) / total(share.powers.map(number)), share.result);
    share.powers.forEach((power, i) => {
      gives(Math.exp(number(share.scores[i])), power);
    });

    const n = normalised(a[0], a[1], 1.5, b[0], b[1], ((a[0] - a[1]) / 1.5) * b[0] + b[1]);
    gives(((number(n.x) - number(n.mean)) / number(n.deviation)) * number(n.gain) + number(n.bias), n.result);

    const dots = scores.map((score) => score * 4);
    const row = attentionColumns(dots, 16, scores, Array(6).fill(true), weights);
    const shares = row.scores.map((score) => Math.exp(number(score)));
    row.weights.forEach((weight, i) => {
      gives(number(row.dots[i]) / 4, row.scores[i]);
      gives(shares[i] / total(shares), weight);
    });
    gives(total(row.weights.map(number)), row.total);
  }
});

test("columns have enough digits for their total, or none have", () => {
  assert.equal(commonDigits([[1], [2]], [3]), 2);
  assert.equal(commonDigits([[0.125], [0.125]], [0.25]), 3);
  assert.equal(commonDigits([[1], [0.5]], [1.6]), null);
});

test("a softmax whose powers are too large for a pencil is shifted", () => {
  assert.equal(softmax([1, 2], 0, 1 / (1 + Math.E)).shifted, false);
  assert.deepEqual(softmax([19.5], 0, 1), {
    scores: ["0.00"],
    powers: ["1.00"],
    total: "1.00",
    shifted: true,
    result: "1.00",
  });
});

test("a masked key has no part in the softmax", () => {
  const { weights, total } = attentionColumns([4, 4], 16, [1, 1], [true, false], [1, 0]);
  assert.deepEqual([weights, total], [["1.00", "0.00"], "1.0"]);
});

test("arrays of the server are little-endian", () => {
  assert.deepEqual([...decodeFloats(btoa("\0\0\x80\x3f\0\0\0\xc0"))], [1, -2]);
  assert.deepEqual([...decodeShares(btoa("\xff\xff\0\0"))], [1, 0]);
});

test("packed weights are whole numbers of half ticks, lowest bytes first", () => {
  const sent = unpackWeights(btoa("\0\x80\x01\0\x1a\0\0\x06\0")); // 0, 1 and 1 of 400,000
  assert.deepEqual([...sent], [0, 1, Math.fround(1 / 400_000)]);
});
