import assert from "node:assert/strict";
import { test } from "node:test";
import { percentText, percentTexts, withPlurals } from "../../assets/web/state/message-format.ts";

const english = new Intl.PluralRules("en");
const chinese = new Intl.PluralRules("zh");
const format = (share: number, digits: number) =>
  new Intl.NumberFormat("en", {
    style: "percent",
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
  }).format(share);

test("a plural takes the form of its number, and its placeholder for #", () => {
  const text = "{name}: {pairs, plural, one {# pair of {all}} other {# pairs of {all}}}.";
  assert.equal(withPlurals(text, { pairs: 1 }, english), "{name}: {pairs} pair of {all}.");
  assert.equal(withPlurals(text, { pairs: 2 }, english), "{name}: {pairs} pairs of {all}.");
  assert.equal(withPlurals(text, { pairs: 1 }, chinese), "{name}: {pairs} pairs of {all}.");
  assert.equal(withPlurals("no {plural}", {}, english), "no {plural}");
});

test("a share is never rounded to all or nothing", () => {
  const texts = [0, 0.00001, 0.0003, 0.05, 0.3, 0.97, 0.994, 0.9996, 0.99999, 1].map((share) =>
    percentText(share, format),
  );
  const seen = texts.join(" ").replaceAll("\u00a0", "_");
  assert.equal(seen, "0% <_0.01% 0.03% 5.0% 30% 97% 99.4% >_99.9% >_99.9% 100%");
});

test("two shares that differ look different where two more digits can show it", () => {
  assert.deepEqual(percentTexts(0.5, 0.6, format), ["50%", "60%"]);
  assert.deepEqual(percentTexts(0.981, 0.979, format), ["98.1%", "97.9%"]);
  assert.deepEqual(percentTexts(0.98, 0.98, format), ["98%", "98%"]);
  assert.deepEqual(percentTexts(0.99999, 0.99998, format), [">\u00a099.9%", ">\u00a099.9%"]);
});
