// The engine in the browser answers as the server does: every string the same, every number to 1e-5. tests/js/
// engine_fixtures.py asks the server.

import "./page.ts";
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { makeEngine, refusalOf } from "../../assets/web/engine/engine.ts";
import { errorRates, headShapes } from "../../assets/web/state/state.ts";

const ROOT = new URL("../../", import.meta.url);
const FIXTURES = new URL(".venv/js/", ROOT);
const TOLERANCE = 1e-5; // of an array with numbers above 1, of the largest: a sum of such numbers rounds as they do
const MAX_TURNED = 2; // ranks

type Case = [name: string, request: Record<string, unknown>, answer: any];

const read = (path: string | URL) => readFileSync(path);
const json = (name: string) => JSON.parse(read(new URL(`engine-${name}.json`, FIXTURES)).toString());
const model = (name: string) => {
  const file = read(new URL(`checkpoints/${name}/model.safetensors`, ROOT));
  return {
    data: json(name),
    weights: file.buffer.slice(file.byteOffset, file.byteOffset + file.length) as ArrayBuffer,
  };
};

const engine = makeEngine({ toy: model("toy"), classroom: model("classroom") });
const cases: Case[] = json("cases");

const FLOATS = ["data", "weights", "values", "embedding", "positions", "input"]; // what holds float32 as base64
const floats = (text: string) => {
  const { buffer, byteOffset, length } = Buffer.from(text, "base64");
  return new Float32Array(buffer.slice(byteOffset, byteOffset + length));
};

const isFar = (ours: number, theirs: number, most = TOLERANCE * Math.max(1, Math.abs(theirs))) =>
  !(Math.abs(ours - theirs) <= most); // NaN is far from everything

type Ranked = { token: string; probability: number; rank?: number };
const RANKING = /\.(candidates|found)$/;

/** Where two rankings differ but for tokens as likely as each other, which another processor's rounding may swap. */
function rankingDifference(ours: Ranked[], theirs: Ranked[], place: string) {
  const last = theirs[theirs.length - 1];
  const isTied = (one: Ranked, other: Ranked) => !isFar(one.probability, other.probability, 2 * TOLERANCE);
  const missing = theirs.findIndex((each, rank) => {
    const mine = ours.find(({ token }) => token === each.token);
    if (!ours[rank] || !isTied(ours[rank], each)) return true;
    return mine
      ? !isTied(mine, each) || Math.abs((mine.rank ?? 0) - (each.rank ?? 0)) > MAX_TURNED
      : !isTied(each, last);
  });
  if (missing < 0 && ours.length === theirs.length) return "";
  return `${place}.${missing}: ${JSON.stringify(ours[missing])} instead of ${JSON.stringify(theirs[missing])}`;
}

/** Where two answers differ, or "". */
function difference(ours: any, theirs: any, place = ""): string {
  const told = (one: unknown, other: unknown) => `${place}: ${one} instead of ${other}`;
  if (typeof theirs === "number" && typeof ours === "number") return isFar(ours, theirs) ? told(ours, theirs) : "";
  if (typeof theirs === "string" && typeof ours === "string" && FLOATS.includes(place.split(".").at(-1) ?? "")) {
    const [mine, wanted] = [floats(ours), floats(theirs)];
    const most = TOLERANCE * wanted.reduce((largest, each) => Math.max(largest, Math.abs(each)), 1);
    const at = mine.length === wanted.length ? mine.findIndex((each, i) => isFar(each, wanted[i], most)) : 0;
    return at < 0 ? "" : told(`${mine.length} numbers, ${mine[at]}`, `${wanted.length} numbers, ${wanted[at]}`);
  }
  if (theirs === null || typeof theirs !== "object" || ours === null || typeof ours !== "object")
    return ours === theirs ? "" : told(ours, theirs);
  if (RANKING.test(place)) return rankingDifference(ours, theirs, place);
  const names = Object.keys(theirs);
  if (Object.keys(ours).length !== names.length) return told(Object.keys(ours), names);
  for (const name of names) {
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

/** The part of an answer that both can give: the engine has no English, and measures its own errors. */
function comparable(name: string, answered: any) {
  const copy = structuredClone(answered);
  for (const message of [copy.error, copy.refused]) if (message) message.english = "";
  if (name !== "checks" || copy.error) return copy;
  return copy.filter((each: any) => each.name !== "torch").map((each: any) => ({ ...each, error: 0 }));
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

test("what the page computes of heads is what the library computes", () => {
  for (const { request, rows, rates } of json("heads")) {
    const { run } = engine.answer("translate", request) as any;
    for (const maps of Object.values<any>(run.attention)) maps.values = floats(maps.weights);
    const kinds = ["encoder", "decoder", "cross"];
    const shapes = kinds.flatMap((kind) => headShapes(run.attention[kind]).map((each) => ({ kind, ...each })));
    assert.equal(difference({ shapes, rates: errorRates(run) }, { shapes: rows, rates }), "");
  }
});

test("enough is compared", () => {
  const changed = cases.filter(([name, { changes }]) => name === "translate" && (changes as unknown[])?.length);
  const sentences = new Set(cases.filter(([name]) => name === "translate").map(([, { sentence }]) => sentence));
  assert.ok(new Set(changed.map(([, { changes }]) => JSON.stringify(changes))).size >= 40);
  assert.ok(sentences.size >= 200);
  assert.ok(cases.filter(([, , { error }]) => error).length > 20);
});

test("whatever a page without a server asks is compared", () => {
  const compared = new Set(["surprise", ...cases.map(([name]) => name)]);
  const missing = json("questions").filter((name: string) => !compared.has(name));
  assert.deepEqual(missing, []);
});

test("a surprise is a sentence that training never saw", () => {
  const { run } = engine.answer("surprise", { checkpoint: "classroom" }) as any;
  assert.equal(run.reference.held_out, "held-out sentences");
  assert.equal((answer("surprise", { checkpoint: "toy" }) as any).error.key, "error.no_held_out");
});

test("a worker answers by the number of a question", async () => {
  const posted: any[] = [];
  let receive: (event: { data: unknown }) => void = () => {};
  Object.assign(globalThis, {
    addEventListener: (_: string, react: typeof receive) => (receive = react),
    postMessage: (message: unknown) => posted.push(message),
  });
  await import("../../assets/web/engine/worker.ts");
  receive({ data: { load: { toy: model("toy") } } });
  receive({ data: { id: 1, name: "translate", request: { checkpoint: "toy", sentence: "ein Cola" } } });
  receive({ data: { id: 2, name: "translate", request: { checkpoint: "toy", sentence: "ein Haus" } } });
  assert.deepEqual(
    posted.map(({ id, answer, error }) => [id, answer?.run.text, error?.key]),
    [
      [1, "i want a coke .", undefined],
      [2, undefined, "error.unknown"],
    ],
  );
});
