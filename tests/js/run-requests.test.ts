// Which answer a question's place belongs to, and where Back leads while a question is on its way.

import "./page.ts";
import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { setShippedModels } from "../../assets/web/api/models.ts";
import type { Run } from "../../assets/web/api/types.ts";
import { RunRequests } from "../../assets/web/features/run-bar/requests.ts";
import { pageAddress } from "../../assets/web/state/address.ts";
import { changes, requestChanges, undoChange } from "../../assets/web/state/changes.ts";
import { openExperiment } from "../../assets/web/state/experiments.ts";
import { showRun, state, update } from "../../assets/web/state/state.ts";

const page = Object.assign(new EventTarget(), {
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

let sent: any[] = [];
const ended = new AbortController();
const trigger = (_: string, question: any) => sent.push(question);
const view = { props: { value: "" }, signal: ended.signal, trigger };
const box = { value: "" };
const reactions = { complain() {}, showBusy() {}, focusSteps() {} };
const requests = new RunRequests(view as any, box as any, reactions);

/** The server answers the question that is on its way. */
function answer(sentence: string) {
  view.props.value = JSON.stringify({ run: { sentence }, baseline: null, error: null, sentence });
  showRun(runOf(sentence));
  document.dispatchEvent(new CustomEvent("translate:answered"));
}

beforeEach(() => {
  const model = { checkpoint: "toy", sentences: 2, examples: [], words: {}, surprise: false, label_smoothing: 0 };
  setShippedModels({ toy: model as any });
  sent = [];
  showRun(runOf("here"));
  update({ tab: "translate", head: 0, layer: 0, step: 0 });
});
after(() => ended.abort());

test("an experiment's place waits for its own run", () => {
  requests.askSentence("before");
  openExperiment({ checkpoint: "toy", sentence: "found", changes: [], settings: { head: 3 } }, { tab: "attention" });
  assert.equal(state.tab, "attention");
  answer("before");
  assert.equal(state.head, 0);
  answer("found");
  assert.equal(state.head, 3);
  assert.deepEqual(
    sent.map(({ sentence }) => sentence),
    ["before", "found"],
  );
});

test("a sentence that is asked for after an experiment is looked at where the visitor is", () => {
  openExperiment({ checkpoint: "toy", sentence: "found", changes: [], settings: { head: 3 } }, {});
  requests.askSentence("later");
  answer("found");
  answer("later");
  assert.equal(state.head, 0);
});

test("an answer's sentence goes into the box, unless something was typed meanwhile", () => {
  const example = { name: "", sentence: "found", watch: "" };
  Object.assign(box, { value: "before" });
  requests.askExample(example);
  answer("found");
  assert.equal(box.value, "found");
  requests.askExample({ ...example, sentence: "another" });
  Object.assign(box, { value: "typed" });
  answer("another");
  answer("another"); // to a question that was put twice
  assert.equal(box.value, "typed");
});

test("a change is undone before the answer to what was asked is settled", () => {
  const [kept, undone] = [0, 1].map((head) => ({ do: "ablate", kind: "cross", layer: 0, head }));
  requestChanges([kept, undone] as any);
  undoChange({ ...undone } as any);
  assert.deepEqual(changes(), [kept]);
  answer("here");
  answer("here");
});

test("Back while a question is on its way asks for the run of its address", ({ mock }) => {
  const soon = (run: () => void, delay = 0) => delay || run();
  mock.method(globalThis, "setTimeout", soon);
  Object.assign(globalThis, { location: new URL(pageAddress()) });
  requests.askSentence("late");
  requests.followAddress(true);
  answer("late");
  answer("here");
  assert.deepEqual(
    sent.map(({ sentence }) => sentence),
    ["late", "here"],
  );
});
