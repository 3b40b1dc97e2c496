// Which number's arithmetic is shown, and of which model, where answers come late.

import "./page.ts";
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { cellExplainer } from "../../assets/web/charts/arithmetic.ts";
import { chooseLanguage } from "../../assets/web/state/i18n.ts";

export type SublayerView = import("../../assets/web/charts/sublayer-stages.ts").SublayerView;

/** Elements hold nothing, and every text is its key: only headings are looked at. */
const createElement = () => ({ setAttribute() {}, append() {} });
Object.assign(document, { createElement, documentElement: {}, baseURI: "https://example.org", dispatchEvent() {} });
const texts = new Proxy({}, { get: (_, key) => key });
Object.assign(globalThis, { Node: class {}, fetch: async () => ({ ok: true, json: async () => texts }) });
await chooseLanguage("en");

/** The server answers when a test says so: a row of weights. */
const weights = Buffer.from(Float32Array.of(0.5).buffer).toString("base64");
const fetch = (_: URL, { body }: { body: string }) =>
  new Promise((done) =>
    asked.push({ question: JSON.parse(body), answer: () => done(Response.json({ weights, bias: null })) }),
  );
Object.assign(globalThis, { fetch });

let shown: string[] = [];
let asked: { question: any; answer: () => void }[] = [];
let drawn: AbortController;
let explain: ReturnType<typeof cellExplainer>;

/** A view of a model with one dimension. */
function viewOf(checkpoint: string): SublayerView {
  const at = (name: string) => (["x", "memory"].includes(name) ? [1] : [0.5]);
  return {
    ...{ run: { checkpoint }, kind: "cross", layer: 0, head: 0, query: 0, signal: drawn.signal },
    data: { queries: ["S"], keys: ["ich"], head_dim: 1, at },
  } as any;
}

beforeEach(() => {
  [shown, asked, drawn] = [[], [], new AbortController()];
  explain = cellExplainer((title) => shown.push(title));
});

test("only the number that was asked for last is shown", async () => {
  const view = viewOf("first");
  const early = explain(view, "q", 0);
  await explain(view, "x", 0);
  asked[0].answer();
  await early;
  assert.deepEqual(shown, ["cell.x"]);
});

test("nothing is shown of a view that is gone", async () => {
  const late = explain(viewOf("second"), "q", 0);
  drawn.abort();
  asked[0].answer();
  await late;
  assert.deepEqual(shown, []);
});

test("weights are those of the view's model", async () => {
  const shownThen = explain(viewOf("third"), "q", 0);
  asked[0].answer();
  await shownThen;
  assert.equal(asked[0].question.checkpoint, "third");
  assert.deepEqual(shown, ["cell.q"]);
});
