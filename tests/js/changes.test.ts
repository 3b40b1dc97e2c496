// Interventions as a link writes them, and back.

import "./page.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { opening, schema } from "../../assets/web/api/schema.ts";
import type { Change } from "../../assets/web/api/types.ts";
import {
  formatChanges,
  insteadOfChoice,
  isAblated,
  isLasting,
  parseChanges,
  temperatureOf,
} from "../../assets/web/state/changes.ts";

/** One of each kind. */
const CHANGES: Change[] = [
  { do: "ablate", kind: "cross", layer: 1, head: 5 },
  { do: "isolate", kind: "encoder", layer: 0, heads: [0, 7] },
  { do: "remove_mask", kind: "decoder" },
  { do: "edit_mask", kind: "cross", query: 2, key: 0, allowed: false },
  { do: "positions", stack: "encoder", how: "shuffled", seed: 3 },
  { do: "temperature", kind: "all", temperature: 0.25 },
  { do: "drop_residual", stack: "decoder", layer: 0, sublayer: 3 },
  { do: "swap_word", position: 0, word: "." },
  { do: "force_word", step: 0, word: "100%*.ü<b>" },
];

test("every kind of change is read as it was written", () => {
  assert.deepEqual(CHANGES.map((each) => each.do).sort(), Object.keys(schema.interventions).sort());
  assert.deepEqual(parseChanges(formatChanges(CHANGES)), CHANGES);
  assert.deepEqual(parseChanges(formatChanges([])), []);
});

test("links count from 1, as the page does", () => {
  const text = "ablate.cross.2.6*isolate.encoder.1.1-8*remove_mask.decoder*edit_mask.cross.3.1.closed";
  assert.equal(formatChanges(CHANGES.slice(0, 4)), text);
});

test("text of another form is not a change", () => {
  const heads = ["ablate.cross.1", "ablate.cross.1.0", "ablate.cross.1.1e3", "isolate.cross.1.1-"];
  const values = ["edit_mask.cross.1.1.yes", "temperature.all.1.23456", "swap_word.1.", "force_word.1.%"];
  for (const text of [...heads, ...values, "nothing", "*", "__proto__.cross", "constructor"])
    assert.equal(parseChanges(text), null, text);
});

test("a head is silenced by itself, or where others of its layer are isolated", () => {
  assert.equal(isAblated("cross", 1, 5, CHANGES), true);
  assert.equal(isAblated("cross", 1, 4, CHANGES), false);
  assert.equal(isAblated("encoder", 0, 7, CHANGES), false);
  assert.equal(isAblated("encoder", 0, 1, CHANGES), true);
});

test("temperatures of a kind and of all multiply", () => {
  const changes = [...CHANGES, { do: "temperature" as const, kind: "cross" as const, temperature: 2 }];
  assert.equal(temperatureOf("cross", changes), 0.5);
  assert.equal(temperatureOf("encoder", changes), 0.25);
});

test("only changes that name a sentence's words or cells end with it", () => {
  assert.deepEqual(
    CHANGES.filter((each) => !isLasting(each)).map((each) => each.do),
    ["edit_mask", "swap_word", "force_word"],
  );
});

test("a word that a saved run drew is not a forced one", () => {
  const how = () => [0, 1].map((step) => insteadOfChoice(step, { changes: CHANGES }));
  assert.deepEqual(how(), ["forced", null]);
  opening.drawn = [0, 1];
  assert.deepEqual(how(), ["drawn", null]);
  delete opening.drawn;
});
