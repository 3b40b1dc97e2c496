// Real models on their way into the server's memory, while the page goes on with the model that it has.

import { api, NO_ANSWER, reasonOf } from "./client.ts";
import { isReal } from "./models.ts";
import type { Message } from "./types.ts";

/** `since` is when this page first heard of `fetched` bytes; `go` or `fail` is called in the end. */
type Wait = {
  checkpoint: string;
  fetched: number;
  size: number;
  since: { fetched: number; time: number } | null;
  go: () => void;
  fail: (error: Message) => void;
};

const TELLING = 0.01; // of all bytes tell the pace: the small files that come first take longer by the byte

/** Those that have been loaded for this page. */
const ready: Set<string> = new Set();
let wait: Wait | null = null;
let abort = new AbortController(); // ends the stream

export const awaitedModel = () => wait;

export function secondsLeft() {
  if (!wait?.since) return null;
  const [fetched, time] = [wait.fetched - wait.since.fetched, performance.now() - wait.since.time];
  return fetched > TELLING * wait.size ? (time / 1000 / fetched) * (wait.size - wait.fetched) : null;
}

function changed(now: Wait | null) {
  wait = now;
  document.dispatchEvent(new Event("model:awaited"));
}

/** Wait no longer. The server goes on for others who do. */
export function cancelWait() {
  abort.abort();
  if (wait) changed(null);
}

/** Wait for a model, if it is one that has to be loaded, and then go on with it. The newest choice counts. */
export async function whenLoaded(checkpoint: string, go: () => void, fail: (error: Message) => void) {
  if (wait?.checkpoint === checkpoint) {
    Object.assign(wait, { go, fail });
    return;
  }
  cancelWait();
  if (!isReal(checkpoint) || ready.has(checkpoint)) {
    go();
    return;
  }
  const mine = new AbortController();
  abort = mine;
  const asked: Wait = { checkpoint, fetched: 0, size: 0, since: null, go, fail };
  changed(asked);
  let error = NO_ANSWER;
  try {
    for await (const event of api.load_model({ checkpoint }, mine)) {
      if (event.event === "ready") ready.add(checkpoint);
      else {
        const { fetched, size } = event;
        const since = asked.since ?? (size ? { fetched, time: performance.now() } : null);
        changed(Object.assign(asked, { fetched, size, since }));
      }
    }
  } catch (refusal) {
    error = reasonOf(refusal);
  }
  if (mine.signal.aborted) return;
  changed(null);
  if (ready.has(checkpoint)) asked.go();
  else asked.fail(error);
}
