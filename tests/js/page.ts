// What the page is opened with, for tests without a browser: import this first.

import { readFileSync } from "node:fs";

const textContent = readFileSync(new URL("../../.venv/js/page.json", import.meta.url), "utf-8");
Object.assign(globalThis, { document: { getElementById: () => ({ textContent }), baseURI: "https://example.org/" } });
