// Numbers as they are shown, and arithmetic that a pencil can check.

import "./page.js";
import assert from "node:assert/strict";
import { test } from "node:test";
import { roundUp, thinned } from "../../assets/js/charts/line-chart.js";
import { attentionColumns, commonDigits, fixed, plain, products, softmax, sum } from "../../assets/js/core/numbers.js";
import { argmax, decodeFloats } from "../../assets/js/core/state.js";
import { decodeShares } from "../../assets/js/net/training-stream.js";

test("a minus is as wide as a plus, and zero has no sign", () => {
  assert.equal(fixed(-1.005, 1), "−1.0");
  assert.equal(fixed(-0.0004, 2), "0.00");
  assert.equal(plain(-1.25, 1), "-1.3");
});

test("shown terms give the shown result", () => {
  const number = (/** @type {string} */ text) => Number(text.replace("−", "-"));
  for (const [a, b] of [
    [0.125, 0.25],
    [1.0049, -0.0001],
    [-0.004, 0.001],
  ]) {
    const { terms, result } = sum(a, b, a + b);
    assert.equal(fixed(number(terms[0]) + number(terms[1]), result.split(".")[1].length), result);
  }
  const shown = products([0.5, -0.125], [1, 2], 0.1, 0.35);
  const total = shown.terms.reduce((all, [a, b]) => all + number(a) * number(b), number(shown.bias ?? "0"));
  assert.equal(fixed(total, 2), "0.35");
  assert.equal(shown.result, "0.35");
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

test("the first of equal values is the largest", () => {
  assert.equal(argmax([0, 2, 2]), 1);
});

test("the ticks of an axis are 1, 2 or 5 times a power of ten", () => {
  for (const [value, tick] of [
    [1, 1],
    [1.1, 2],
    [0.03, 0.05],
    [70, 100],
  ])
    assert.ok(Math.abs(roundUp(value) - tick) < 1e-12, String(value));
});

test("a long curve is thinned by means of neighbours, and keeps its end", () => {
  const points = Array.from({ length: 1801 }, (_, i) => [i, 2 * i]);
  const few = thinned(points, 1);
  assert.ok(few.length <= 600);
  assert.equal(few.at(-1)?.[0], 1800);
  assert.deepEqual(thinned([[1, 0.5]], 1), [[1, 0.5]]);
});
