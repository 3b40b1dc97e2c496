// What a class can be asked, and its answers as a file.

import "./page.ts";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { LESSON_STOPS } from "../../assets/web/state/lesson-plan.ts";
import {
  csvCell,
  nextWordQuestion,
  parseAbout,
  sourceWordQuestion,
  voteShares,
} from "../../assets/web/ui/class-answers.ts";

const cross = { layers: 1, heads: 2, queries: ["S", "a"], keys: ["ich", "ich", "E"] };
const values = [0.2, 0.5, 0.3, 0.1, 0.1, 0.8, 0.6, 0.3, 0.1, 0.3, 0.3, 0.4];
const allowed = [
  [true, true, false],
  [true, true, true],
];
const candidates = ["want", "a", "the"].map((token, i) => ({ token, probability: 0.5 - i / 10 }));
const run = {
  source: cross.keys,
  decoder_input: ["S", "a"],
  steps: [
    { token: "the", candidates },
    { token: "a", candidates },
  ],
  attention: { cross: { ...cross, values, allowed } },
} as any;

test("the order of the next words does not tell which is likely, and the right one is the word of the run", () => {
  const question = nextWordQuestion(run, 0);
  assert.deepEqual(question?.choices, ["a", "the", "want"]);
  assert.equal(question?.right, 1);
  assert.deepEqual(parseAbout(question?.about ?? ""), { kind: "next", step: 0, before: "S" });
});

test("the source word with the most weight is that of the head, or of the mean where that is shown", () => {
  const place = { step: 0, layer: 0, head: 0, tab: "attention", averaged: true } as any;
  const ofHead = sourceWordQuestion(run, place);
  assert.deepEqual(ofHead?.choices, ["ich (1)", "ich (2)"]); // the masked one cannot be chosen
  assert.equal(ofHead?.right, 1);
  const ofMean = sourceWordQuestion(run, { ...place, step: 1, tab: "translate" });
  assert.deepEqual([ofMean?.choices.length, ofMean?.right], [3, 2]);
  assert.equal((parseAbout(ofMean?.about ?? "") as any).head, null);
});

test("a page leaves aside what it does not understand", () => {
  for (const text of ["", "{", "null", "3", '{"kind":"dance"}']) assert.equal(parseAbout(text), null);
});

test("no spreadsheet takes a cell for a formula, and every cell stays one", () => {
  for (const formula of ["=1+1", " @SUM(A1)", "+3", "-2", "＝1+1"]) assert.equal(csvCell(formula), `"'${formula}"`);
  const others = ["a,b", 'say "a"', "two\nlines", "beer", -2].map(csvCell);
  assert.deepEqual(others, ['"a,b"', '"say ""a"""', '"two\nlines"', "beer", "-2"]);
});

test("votes are shares of those who answered", () => {
  assert.deepEqual(voteShares([1, 3]), [0.25, 0.75]);
  assert.deepEqual(voteShares([0, 0]), [0, 0]);
});

test("every stop of the lesson has speaker notes", () => {
  const texts = JSON.parse(readFileSync(new URL("../../assets/locales/en.json", import.meta.url), "utf-8"));
  for (const stop of LESSON_STOPS)
    for (const part of ["say", "ask", "wrong"]) assert.ok(texts[`notes.${stop}.${part}`], `${stop} ${part}`);
});
