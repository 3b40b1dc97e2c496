// A model that is chosen and is not in the server's memory yet: the newest choice counts, and its time is told.

import "./page.ts";
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { setShippedModels } from "../../assets/web/api/models.ts";
import { cancelWait, secondsLeft, whenLoaded } from "../../assets/web/api/real-models.ts";

Object.assign(document, { baseURI: "https://example.org", dispatchEvent() {} });
const real = { languages: [], licence: "", size: 0 };
setShippedModels({ toy: {}, ...Object.fromEntries("abcdefg".split("").map((name) => [name, { real }])) } as any);

let streams: { checkpoint: string; send: (event: object) => void; end: () => void; signal: AbortSignal }[] = [];
let now = 0; // ms
performance.now = () => now;
const fetch = async (_: URL, { body, signal }: RequestInit) => {
  const { readable, writable } = new TransformStream();
  const lines = writable.getWriter();
  const send = (event: object) =>
    void lines.write(new TextEncoder().encode(`${JSON.stringify(event)}\n`)).catch(() => {});
  const { checkpoint } = JSON.parse(String(body));
  const end = () => void lines.close().catch(() => {});
  streams.push({ checkpoint, send, end, signal: signal as AbortSignal });
  return new Response(readable, { headers: { "Content-Type": "application/x-ndjson" } });
};
Object.assign(globalThis, { window: {}, fetch });
const settled = () => new Promise((done) => setTimeout(done, 5));

let heard: string[] = [];
const choose = (checkpoint: string, label: string = checkpoint) =>
  whenLoaded(
    checkpoint,
    () => heard.push(label),
    ({ key }) => heard.push(`${label}: ${key}`),
  );

beforeEach(() => {
  cancelWait();
  streams = [];
  heard = [];
});

test("another choice ends the wait; the same choice again goes on with it", async () => {
  choose("b");
  await settled();
  choose("b", "b again");
  await settled();
  assert.equal(streams.length, 1);
  choose("c");
  await settled();
  assert.deepEqual([streams[0].signal.aborted, streams[1].signal.aborted], [true, false]);
  streams[1].send({ event: "error", message: { key: "real.offline", values: {}, english: "" } });
  streams[1].end();
  await settled();
  assert.deepEqual(heard, ["c: real.offline"]);
  choose("b");
  await settled();
  choose("b", "b again");
  streams[2].send({ event: "ready" });
  streams[2].end();
  await settled();
  assert.deepEqual(heard, ["c: real.offline", "b again"]);
});

test("a stream that breaks off is an error, one that is cancelled is not", async () => {
  choose("d");
  await settled();
  streams[0].end();
  await settled();
  choose("e");
  await settled();
  cancelWait();
  assert.equal(streams[1].signal.aborted, true);
  streams[1].end();
  await settled();
  assert.deepEqual(heard, ["d: error.no_answer"]);
});

test("the time left follows from the bytes since this page waits", async () => {
  choose("f");
  await settled();
  assert.equal(secondsLeft(), null);
  streams[0].send({ event: "loading", fetched: 100, size: 1000 });
  await settled();
  assert.equal(secondsLeft(), null);
  streams[0].send({ event: "loading", fetched: 400, size: 1000 });
  await settled();
  now += 3000;
  assert.equal(secondsLeft(), 6);
});
