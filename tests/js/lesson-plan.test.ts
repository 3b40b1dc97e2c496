import assert from "node:assert/strict";
import { test } from "node:test";
import {
  formatStops,
  LESSON_STOPS,
  PLANS,
  parseStops,
  planMinutes,
  plannedStops,
  stopOrder,
} from "../../assets/web/state/lesson-plan.ts";

const names = (stops: number[]) => stops.map((stop) => LESSON_STOPS[stop]);

test("the lessons take as long as they say, and a real model's whole lesson has one stop more, after cross-attention", () => {
  const short = names(plannedStops(20, false) ?? []);
  assert.deepEqual(short, ["tokens", "embeddings", "qkv", "softmax", "cross", "logits", "recap"]);
  for (const minutes of PLANS) assert.equal(planMinutes(stopOrder(plannedStops(minutes, false), false)), minutes);
  for (const minutes of [20, 45]) assert.deepEqual(plannedStops(minutes, true), plannedStops(minutes, false));
  const [usual, real] = [stopOrder(null, false), stopOrder(null, true)];
  assert.equal(plannedStops(90, true), null);
  assert.deepEqual(names(real.toSpliced(real.indexOf(14), 1)), names([...usual]));
  assert.deepEqual(names(real.slice(11, 14)), ["cross", "align", "logits"]);
  assert.deepEqual(names(usual.slice(12, 16)), ["logits", "knows", "explains", "loop"]);
});

test("links go on to count as they did", () => {
  assert.deepEqual(names(parseStops("12,13,14") ?? []), ["cross", "logits", "loop"]);
  assert.equal(formatStops([14, 0]), "15,1");
  assert.deepEqual(names(parseStops("16,17") ?? []), ["recap", "since"]);
  assert.deepEqual(names(parseStops("18,19") ?? []), ["knows", "explains"]);
  assert.equal(parseStops("20"), null);
});
