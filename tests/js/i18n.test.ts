// The language that was chosen last is spoken, whichever texts come first; at first it is the browser's.

import "./page.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { fetchAsset } from "../../assets/web/api/schema.ts";
import { chooseLanguage, formatList, language, speakPreferredLanguage } from "../../assets/web/state/i18n.ts";

test("texts that come late do not undo a later choice", async ({ mock }) => {
  Object.assign(document, { baseURI: "https://example.org/", documentElement: {}, dispatchEvent() {} });
  const answers: Record<string, (answer: unknown) => void> = {};
  const fetched = (address: string) =>
    new Promise((resolve) => {
      answers[String(address).includes("zh") ? "zh" : "en"] = () => resolve(new Response("{}"));
    });
  mock.method(globalThis, "fetch", fetched);
  const [first, second] = [chooseLanguage("zh-Hans"), chooseLanguage("en")];
  answers.en(null);
  await second;
  answers.zh(null);
  await first;
  assert.equal(language, "en");
});

test("a browser is answered in its own language", async ({ mock }) => {
  Object.assign(document, { documentElement: {}, dispatchEvent() {} });
  Object.assign(globalThis, { location: { search: "", hash: "" } });
  mock.method(globalThis, "fetch", async () => new Response("{}"));
  for (const [tag, spoken] of Object.entries({ "zh-HK": "zh-Hant", "zh-CN": "zh-Hans", "de-DE": "en" })) {
    Object.defineProperty(navigator, "languages", { value: [tag], configurable: true });
    await speakPreferredLanguage();
    assert.equal(language, spoken);
  }
});

test("a packed file is read whether or not its host had the browser unpack it", async ({ mock }) => {
  for (const content of [gzipSync("{}"), "{}"]) {
    mock.method(globalThis, "fetch", async () => new Response(content));
    assert.deepEqual(await (await fetchAsset("/locales/en.json.gz")).json(), {});
  }
});

test("a Chinese list has a space between Chinese and Latin letters, as the texts have", async ({ mock }) => {
  Object.assign(document, { documentElement: {}, dispatchEvent() {} });
  mock.method(globalThis, "fetch", async () => new Response("{}"));
  await chooseLanguage("zh-Hant");
  assert.equal(formatList(["ich", "ein", "Bier"]).join(""), "ich、ein 和 Bier");
  assert.equal(formatList([["ich", " 45%"], ["bier"]]).join(""), "ich 45% 和 bier");
  assert.equal(formatList(["第 1 步", "第 2 步"]).join(""), "第 1 步和第 2 步");
  assert.equal(formatList(["ich 91%", "第 2 步"]).join(""), "ich 91% 和第 2 步");
  await chooseLanguage("en");
  assert.equal(formatList(["a", "b", "c"]).join(""), "a, b and c");
});
