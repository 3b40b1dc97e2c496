// A class goes where its teacher goes.

import "./page.ts";
import assert from "node:assert/strict";
import { test } from "node:test";
import { room } from "../../assets/web/api/room.ts";
import { followRoom } from "../../assets/web/features/class/follow.ts";
import { state, update } from "../../assets/web/state/state.ts";

const page = new EventTarget();
const addEventListener = page.addEventListener.bind(page);
Object.assign(document, { addEventListener, dispatchEvent: page.dispatchEvent.bind(page) });
Object.assign(globalThis, { location: { search: "" } });
const wanted: string[] = [];
page.addEventListener("place:wanted", (event) => wanted.push((event as CustomEvent).detail));

const map = { layers: 1, heads: 1, queries: ["a"], keys: ["a"] };
const run = {
  source: ["a"],
  steps: [{ token: "a", candidates: [] }],
  attention: { encoder: map, decoder: map, cross: map },
  model: { pieces: false },
  changes: [],
} as any;
const settled = () => new Promise((done) => setTimeout(done, 5));

for (const [who, known] of Object.entries({
  "a student": { role: "student" },
  "a second teacher": { role: "teacher", isJoined: true },
}))
  test(`${who} whose page hears of the class before its first run goes there with it`, async () => {
    const mounted = new AbortController();
    wanted.length = 0;
    state.run = null as any;
    followRoom({ isConnected: true } as any, mounted.signal);
    Object.assign(room, { role: null, shown: null });
    document.dispatchEvent(new Event("room:changed"));
    Object.assign(room, { phase: "connected", shown: { place: "?tab=lesson&stop=3" }, ...known });
    document.dispatchEvent(new Event("room:changed"));
    assert.deepEqual(wanted, []);
    update({ run });
    await settled();
    mounted.abort();
    room.role = null;
    assert.deepEqual([...new Set(wanted)], ["?tab=lesson&stop=3"]);
  });
