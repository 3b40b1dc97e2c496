import assert from "node:assert/strict";
import { test } from "node:test";
import { areMany, keyName, orderKeys } from "../../assets/web/charts/key-order.ts";

const many = Array.from({ length: 33 }, (_, key) => (key % 10) / 100);

test("a short sentence keeps its order", () => {
  assert.deepEqual(orderKeys([0.1, 0.2, 0.7]), { shown: [0, 1, 2], rest: [] });
  assert.equal(keyName(["ein", "bier"], 1), "bier");
});

test("of a long one the strongest come first, equal ones in its order, and nothing is lost", () => {
  const { shown, rest } = orderKeys(many);
  assert.deepEqual(shown, [9, 19, 29, 8, 18, 28, 7, 17]);
  assert.deepEqual(
    [...shown, ...rest].toSorted((a, b) => a - b),
    [...many.keys()],
  );
  assert.deepEqual(
    rest,
    rest.toSorted((a, b) => a - b),
  );
  const whole = orderKeys(many, { isOpen: true });
  assert.deepEqual(whole, { shown: [...shown, ...rest], rest: [] });
  assert.ok(areMany(many));
});

test("a word that a text names is shown although it is weak", () => {
  const { shown, rest } = orderKeys(many, { most: 2, named: [10] });
  assert.deepEqual(shown, [9, 19, 10]);
  assert.equal(rest.length, 30);
  assert.equal(keyName(Array(33).fill("hund"), 10), "hund 11");
});
