// Which answer a question's place belongs to, and where Back leads while a question is on its way.

import "./page.ts";
import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { setShippedModels } from "../../assets/web/api/models.ts";
import type { Run } from "../../assets/web/api/types.ts";
import * as requests from "../../assets/web/features/run-bar/requests.ts";
import { pageAddress, updateAddressBar } from "../../assets/web/state/address.ts";
import { changes, requestChanges, undoChange } from "../../assets/web/state/changes.ts";
import { openExperiment } from "../../assets/web/state/experiments.ts";
import { showRun, state, update } from "../../assets/web/state/state.ts";

const page = Object.assign(new EventTarget(), {
  baseURI: "https://example.org/",
  body: { classList: { toggle() {}, remove() {} } },
  activeElement: null,
});
Object.assign(globalThis, {
  document: page,
  location: new URL("https://example.org"),
  history: { state: null, pushState() {}, replaceState() {} },
});

function runOf(sentence: string): Run {
  const maps = { layers: 2, heads: 4, queries: ["S", "a"], keys: ["ich", "b"], values: new Float32Array(32) };
  const attention = { encoder: maps, decoder: maps, cross: maps };
  const steps = [0, 1].map(() => ({ candidates: [], token: "a" }));
  return {
    checkpoint: "toy",
    sentence,
    changes: [],
    attention,
    steps,
    output: ["a", "E"],
    model: {},
  } as any;
}

type Asked = {
  sentence: string;
  changes: unknown[];
  reply: (body: unknown) => void;
  breakOff: () => void;
  signal: AbortSignal;
};
let sent: Asked[] = [];
const settled = () => new Promise((done) => setTimeout(done, 2));
const ended = new AbortController();
const box = { value: "" };
requests.serveRequests({ box: box as any, complain() {}, showBusy() {}, focusSteps() {} }, ended.signal);

globalThis.fetch = ((_: unknown, { body, signal }: { body: string; signal: AbortSignal }) =>
  new Promise((done, fail) => {
    const reply = (answer: unknown) => done(Response.json(answer));
    signal.addEventListener("abort", () => fail(signal.reason));
    sent.push({ ...JSON.parse(body), reply, breakOff: () => done(new Response()), signal });
  })) as any;

/** The server answers the newest question. */
async function answer() {
  const { sentence, changes, reply } = sent[sent.length - 1];
  reply({ run: { ...runOf(sentence), changes }, baseline: null, refused: null });
  await settled();
}
const sentences = () => sent.map(({ sentence }) => sentence);

beforeEach(() => {
  const model = { checkpoint: "toy", sentences: 2, examples: [], words: {}, surprise: false, label_smoothing: 0 };
  setShippedModels({ toy: model as any });
  sent = [];
  showRun(runOf("here"));
  update({ tab: "translate", head: 0, layer: 0, step: 0 });
});
after(() => ended.abort());

test("an experiment is looked at where it leads, once its run is there", async () => {
  openExperiment({ checkpoint: "toy", sentence: "found", changes: [], settings: { head: 3 } }, { tab: "attention" });
  assert.equal(state.head, 0);
  await answer();
  assert.deepEqual([state.run.sentence, state.tab, state.head], ["found", "attention", 3]);
});

test("a newer question aborts the older one, whose place is not gone to", async () => {
  openExperiment({ checkpoint: "toy", sentence: "found", changes: [], settings: { head: 3 } }, {});
  requests.askSentence("later");
  assert.deepEqual([sent[0].signal.aborted, sent[1].signal.aborted], [true, false]);
  await answer();
  assert.deepEqual([state.run.sentence, state.head], ["later", 0]);
});

test("an answer's sentence goes into the box, unless something was typed meanwhile", async () => {
  const example = { name: "", sentence: "found", watch: "" };
  Object.assign(box, { value: "before" });
  requests.askExample(example);
  await answer();
  assert.equal(box.value, "found");
  requests.askExample({ ...example, sentence: "another" });
  Object.assign(box, { value: "typed" });
  await answer();
  assert.equal(box.value, "typed");
});

test("a change is undone before the answer to what was asked is settled", async () => {
  const [kept, undone] = [0, 1].map((head) => ({ do: "ablate", kind: "cross", layer: 0, head }));
  requestChanges([kept, undone] as any);
  undoChange({ ...undone } as any);
  assert.deepEqual(changes(), [kept]);
  await answer();
  assert.deepEqual(state.run.changes, [kept]);
});

test("a change is made in the sentence that is on its way", () => {
  requests.askSentence("later");
  requestChanges([{ do: "ablate", kind: "cross", layer: 0, head: 1 }] as any);
  assert.deepEqual(sentences(), ["later", "later"]);
});

test("Back while a question is on its way asks for the run of its address", async () => {
  Object.assign(globalThis, { location: new URL(pageAddress()) });
  requests.askSentence("late");
  requests.followAddress(true);
  await answer();
  assert.deepEqual(sentences(), ["late", "here"]);
  assert.equal(state.run.sentence, "here");
});

test("a link that no answer comes to stays in the address and in the box, for a reload", async () => {
  Object.assign(box, { value: state.run.sentence });
  const link = "https://example.org/?checkpoint=toy&sentence=linked&tab=attention";
  const written: string[] = [];
  Object.assign(globalThis, { location: new URL(link) });
  Object.assign(history, { replaceState: (_state: null, _title: string, now: string) => written.push(now) });
  requests.followAddress(false);
  sent[0].breakOff();
  await settled();
  updateAddressBar();
  await new Promise((done) => setTimeout(done, 350)); // after which the address is written
  assert.equal(box.value, "linked");
  const last = new URL(written.at(-1) ?? link).searchParams;
  assert.deepEqual([last.get("sentence"), last.get("tab")], ["linked", "attention"]);
});
