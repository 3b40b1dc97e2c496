// The engine in the browser answers as the server does: every string the same, every number to 1e-5. tests/js/
// engine_fixtures.py asks the server.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { makeEngine, refusalOf } from "../../assets/web/engine/engine.ts";

const ROOT = new URL("../../", import.meta.url);
const FIXTURES = process.env.FIXTURES ?? new URL(".venv/js/", ROOT).pathname;
const TOLERANCE = 1e-5; // of a number above 1, of its size
const ROUNDED = 1.01e-4; // the server rounds the table of heads to four decimals, so that a rounding may turn the last one

type Case = [name: string, request: Record<string, unknown>, answer: any];

const read = (path: string | URL) => readFileSync(path);
const json = (name: string) => JSON.parse(read(`${FIXTURES}/engine-${name}.json`).toString());
const model = (name: string) => {
  const file = read(new URL(`checkpoints/${name}/model.safetensors`, ROOT));
  return {
    data: json(name),
    weights: file.buffer.slice(file.byteOffset, file.byteOffset + file.length) as ArrayBuffer,
  };
};

const engine = makeEngine({ toy: model("toy"), classroom: model("classroom") });
const cases: Case[] = json("cases");

const FLOATS = ["data", "weights", "similarity", "bdata"]; // what holds float32 as base64
const floats = (text: string) => {
  const { buffer, byteOffset, length } = Buffer.from(text, "base64");
  return Array.from(new Float32Array(buffer.slice(byteOffset, byteOffset + length)));
};

/** Where two answers differ, or "". */
function difference(ours: any, theirs: any, place = ""): string {
  const key = place.split(".").at(-1) ?? "";
  if (typeof theirs === "number" && typeof ours === "number") {
    const isRounded = /\.heads\.data\.\d+\.[34]$/.test(place);
    const most = isRounded ? ROUNDED : TOLERANCE * Math.max(1, Math.abs(theirs));
    return Math.abs(ours - theirs) <= most ? "" : `${place}: ${ours} instead of ${theirs}`;
  }
  if (typeof theirs === "string" && typeof ours === "string" && FLOATS.includes(key))
    return difference(floats(ours), floats(theirs), place);
  if (theirs === null || typeof theirs !== "object" || ours === null || typeof ours !== "object")
    return ours === theirs ? "" : `${place}: ${ours} instead of ${theirs}`;
  if (Object.keys(ours).length !== Object.keys(theirs).length)
    return `${place}: ${Object.keys(ours)} instead of ${Object.keys(theirs)}`;
  for (const name of Object.keys(theirs)) {
    const found = difference(ours[name], theirs[name], `${place}.${name}`);
    if (found) return found;
  }
  return "";
}

function answer(name: string, request: unknown) {
  try {
    return engine.answer(name, request);
  } catch (error) {
    return refusalOf(error);
  }
}

/** Of an answer what both can say: the engine has no English, and measures its own errors. */
function comparable(name: string, answered: any) {
  const copy = structuredClone(answered);
  for (const message of [copy.error, copy.refused]) if (message) message.english = "";
  if (name === "checks" && copy.checks)
    copy.checks = copy.checks.filter((each: any) => each.name !== "torch").map((each: any) => ({ ...each, error: 0 }));
  return copy;
}

for (const name of new Set(cases.map(([name]) => name)))
  test(`${name} is answered as the server answers it`, () => {
    const differing = cases
      .filter(([question]) => question === name)
      .map(([, request, theirs]) => {
        const found = difference(comparable(name, answer(name, request)), comparable(name, theirs));
        return found && `${JSON.stringify(request)} ${found}`;
      })
      .filter(Boolean);
    assert.equal(differing.length, 0, `${differing.length}: ${differing.slice(0, 12).join("\n")}`);
  });
