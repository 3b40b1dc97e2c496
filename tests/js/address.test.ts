// The page's place as an address, and back.

import "./page.ts";
import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { setShippedModels } from "../../assets/web/api/models.ts";
import { schema } from "../../assets/web/api/schema.ts";
import type { State } from "../../assets/web/api/types.ts";
import { formatAddress, openingTab, parseAddress, sharedAddress } from "../../assets/web/state/address.ts";
import { state } from "../../assets/web/state/state.ts";

const PAGE = "https://example.org/page/?theme=dark";
const RUN = { checkpoint: "toy", sentence: "ich", changes: [] };
const DEFAULTS = structuredClone(state);

/** The place that an address leads back to. */
const parse = (href: string) => parseAddress(new URL(href).search);

beforeEach(() => {
  Object.assign(state, structuredClone(DEFAULTS));
  const example = { sentence: "Ich möchte ein Bier", name: "", watch: "" };
  const model = { sentences: 2, examples: [example], words: {}, surprise: false, label_smoothing: 0 };
  setShippedModels({ toy: { checkpoint: "toy", ...model }, classroom: { checkpoint: "classroom", ...model } });
});

test("a Space in the hub's frame shares its own address, without what the hub added for this visitor", () => {
  const framed = "http://127.0.0.1:7860/?__theme=dark&__sign=secret&tab=break&sentence=ich";
  assert.equal(sharedAddress(framed, "a-b.hf.space"), "https://a-b.hf.space/?tab=break&sentence=ich");
  assert.equal(sharedAddress(framed, null), framed);
});

test("what an address says comes back from it", () => {
  const place: Partial<State> = {
    ...{ tab: "break", part: "decoding", exercise: "softmax_dim", kind: "decoder", drawing: "table" },
    ...{ layer: 4, head: 7, query: 2, step: 3, stop: 10, stops: [10, 3, 0], averaged: false, gold: true },
    ...{ strategy: "sampling", width: 2, alpha: 1.3, temperature: 0.7, top_k: 12, top_p: 0.85, seed: 42 },
    forcedMistake: { step: 3, word: "a.b" },
  };
  Object.assign(state, place);
  const run = { ...RUN, changes: [{ do: "swap_word" as const, position: 1, word: "*%." }] };
  const href = formatAddress(PAGE, true, run);
  assert.deepEqual(parse(href), { run, place, wrong: [] });
  const parameters = new URL(href).searchParams;
  assert.equal(parameters.get("theme"), "dark");
  assert.equal(parameters.get("present"), "yes");
  assert.equal(parameters.get("layer"), "5");
  assert.equal(parameters.get("mistake"), "4.a.b");
});

test("an address has every part of the place only where it is open", () => {
  Object.assign(state, { strategy: "forced", top_k: 12 });
  const parameters = new URL(formatAddress(PAGE, false, RUN)).searchParams;
  for (const name of ["strategy", "top_k", "mistake", "mean", "gold", "changes", "present"])
    assert.equal(parameters.has(name), false);
  assert.equal(parameters.get("tab"), schema.parameters.tab.default);
});

test("only an address without any parameter of the page opens on its first tab", () => {
  for (const search of ["", "?", "?__theme=dark"]) assert.deepEqual(openingTab(search), {});
  for (const search of ["?layer=2", "?checkpoint=toy", "?mistake=2.a"])
    assert.deepEqual(openingTab(search), { tab: "translate" });
});

test("a value that cannot be is named and left out", () => {
  const hostile = ["", "0", "-1", "1e9", "٣", "constructor", "__proto__", "<img src=x>", "x".repeat(600), "99999"];
  for (const [name, { kind, state: field }] of Object.entries(schema.parameters)) {
    if (["sentence", "changes", "checkpoint"].includes(kind)) continue;
    for (const value of hostile) {
      const { place, wrong } = parseAddress(`?${new URLSearchParams({ [name]: value })}`);
      if (wrong.length) assert.deepEqual([wrong, place], [[name], {}], `${name}=${value}`);
      else assert.deepEqual(Object.keys(place), [field], `${name}=${value}`);
    }
  }
  const { wrong } = parseAddress("?width=6&alpha=2.1&temperature=0.09&seed=1.5");
  assert.deepEqual(wrong, ["width", "alpha", "temperature", "seed"]);
  const broken = parseAddress("?step=%zz&tab=%E0%A4%A&=&&%=&head=3&head=99");
  assert.deepEqual([broken.wrong, broken.place], [["tab", "step"], { head: 2 }]);
});

test("a run that cannot be is named, and what else the address says holds", () => {
  assert.deepEqual(parseAddress(`?sentence=${"x".repeat(1001)}&tab=lesson`), {
    run: null,
    place: { tab: "lesson" },
    wrong: ["sentence"],
  });
  assert.deepEqual(parseAddress("?checkpoint=own:gone&sentence=ich&layer=2&stop=3"), {
    run: null,
    place: { stop: 2 }, // a layer is another model's
    wrong: ["checkpoint"],
  });
  for (const changes of ["ablate", "ablate.cross.0.1", "edit_mask.cross.1.1.constructor", "toString.a", "*"])
    assert.deepEqual(parseAddress(`?changes=${changes}&sentence=ich`), {
      run: { ...RUN, sentence: "ich" },
      place: {},
      wrong: ["changes"],
    });
});
