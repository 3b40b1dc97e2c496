// A Space has no build step: the bundle is committed.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { bundled } from "./bundle.ts";

for (const { path, text } of bundled())
  test(`${path.split("/").at(-1)} is made of today's sources`, () => {
    const isFresh = readFileSync(path, "utf-8") === text;
    assert.ok(isFresh, "assets/dist is older than its sources: run `make bundle` and commit it.");
  });
