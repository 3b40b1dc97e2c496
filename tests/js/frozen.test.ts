// What a file holds is what was asked for, whatever the order of a request's fields.

import assert from "node:assert/strict";
import { test } from "node:test";
import { frozen } from "../../assets/web/api/frozen.ts";
import { Refused } from "../../assets/web/api/source.ts";

const [ONE, OTHER] = [Float32Array.of(0.1, 0.7, -3), Float32Array.of(0.2, 1e-9, 3)];
const SUM = Float32Array.from(ONE, (value, i) => value + OTHER[i]);
const base64 = (values: Float32Array) => Buffer.from(values.buffer).toString("base64");

function sorted(values: Float32Array) {
  const bytes = new Uint8Array(values.buffer);
  return Array.from(bytes, (_, i) => bytes[(i % values.length) * 4 + Math.floor(i / values.length)]);
}

const source = frozen({
  answers: [
    ["inside", { kind: "cross", layer: 1, changes: [{ do: "x", step: 2 }] }, { a: [{ data: { array: 1 } }], ok: true }],
    ["input_sum", {}, { input: { array: [0, 1] }, none: null }],
  ],
  arrays: [
    [12, 4],
    [12, 4],
  ],
  content: Uint8Array.from([...sorted(ONE), ...sorted(OTHER)]),
});
const { signal } = new AbortController();

test("an answer is found by its request and has its arrays", async () => {
  const asked = { changes: [{ step: 2, do: "x" }], layer: 1, kind: "cross" };
  assert.deepEqual(await source.answer("inside", asked, signal), { a: [{ data: base64(OTHER) }], ok: true });
  assert.deepEqual(await source.answer("input_sum", {}, signal), { input: base64(SUM), none: null });
});

test("what is not there is refused with a sentence", async () => {
  assert.equal(source.answers("inside"), true);
  assert.equal(source.answers("translate"), false);
  assert.equal(source.stream, undefined);
  for (const [name, request] of [
    ["translate", {}],
    ["inside", { kind: "cross" }],
  ] as const)
    await assert.rejects(source.answer(name, request, signal), (error) => {
      return error instanceof Refused && error.reason.key === "error.not_in_file";
    });
});
