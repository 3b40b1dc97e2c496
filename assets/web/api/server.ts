// Questions over HTTP. A server that is busy or was restarted is dealt with here and nowhere else.

import { NO_ANSWER } from "./schema.ts";
import { sessionId } from "./session.ts";
import { controllerUnder, Refused, type Source } from "./source.ts";

const POLL_MS = 2000; // an answer takes milliseconds; after this the page asks how many wait, and again as often
const HEALTH_MS = 10_000; // a server that says nothing for longer is gone
const MAX_PAUSE = 10; // s, whatever a proxy says
const HUB_MS = 2000;

export const server: Source = { answers: () => true, answer, stream };

async function answer(name: string, request: unknown, signal: AbortSignal) {
  const sent = await send(`api/${name}`, asJson(request), signal);
  const read = await sent.json().catch(() => ({ error: NO_ANSWER })); // it was broken off
  if (!sent.ok || read?.error) throw new Refused(read?.error ?? NO_ANSWER, read);
  return read;
}

/** Events until they end or break off; an error among them is a refusal. */
async function* stream(name: string, request: unknown, signal?: AbortSignal) {
  const answer = await send(`api/${name}`, asJson(request, await hubHeaders()), signal);
  const isStream = answer.headers.get("Content-Type")?.includes("ndjson");
  if (!isStream || !answer.body) throw new Refused((await answer.json().catch(() => null))?.error ?? NO_ANSWER);
  const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  try {
    for (;;) {
      const { done, value } = await reader.read().catch(() => ({ done: true, value: "" }));
      if (done) return;
      const complete = (rest + value).split("\n");
      rest = complete.pop() ?? "";
      for (const line of complete.filter((each) => each.trim())) {
        const event = JSON.parse(line);
        if (signal?.aborted) return; // by what came before it
        if (event.event === "error") throw new Refused(event.message);
        yield event;
      }
    }
  } finally {
    reader.cancel().catch(() => {}); // it may be over
  }
}

const asJson = (request: unknown, more: Record<string, string> = {}) => ({
  headers: { "Content-Type": "application/json", ...more },
  body: JSON.stringify(request),
});

/** A model's file, which becomes one of this session's. */
export const uploadModel = async (file: File) => (await send("models", { body: file })).json();
export const fetchModelFile = (checkpoint: string) => send(`models/${checkpoint}`, { method: "GET" });

// ---- a busy server ----

const asking = new Set<AbortController>(); // questions without an answer
let refused = 0; // of these, refused: the queue was full
let timer: ReturnType<typeof setTimeout> | undefined;

/** A question that a full queue refuses is put again. */
async function send(path: string, init: RequestInit, signal?: AbortSignal) {
  const lost = controllerUnder(signal); // aborted when the server is gone, too
  if (!asking.size) timer = setTimeout(poll, POLL_MS);
  asking.add(lost);
  try {
    for (;;) {
      const answer = await fetch(new URL(path, document.baseURI), {
        method: "POST",
        ...init,
        headers: { Session: sessionId(), ...init.headers }, // proxies log addresses
        signal: lost.signal,
      });
      const seconds = Math.min(Number(answer.headers.get("Retry-After")), MAX_PAUSE);
      const isOurs = answer.ok || answer.headers.get("Content-Type")?.includes("json"); // else a proxy's, alone
      if (!isOurs && !seconds) reconnect();
      if (answer.status !== 503 || !seconds) return answer;
      refused++;
      tell({ full: true });
      await new Promise((done) => {
        setTimeout(done, seconds * 1000 * (0.5 + Math.random())); // not all at once
        signal?.addEventListener("abort", done); // whoever no longer asks may ask the same again
      });
      refused--;
    }
  } catch (error) {
    if (!signal?.aborted) reconnect();
    throw error;
  } finally {
    asking.delete(lost);
    if (!asking.size) {
      clearTimeout(timer);
      tell(null);
    }
  }
}

const tell = (news: { waiting: number } | { full: true } | null) =>
  document.dispatchEvent(new CustomEvent("queue:changed", { detail: news }));

async function poll() {
  const health = await fetchHealth();
  if (!asking.size) return;
  if (!health) {
    for (const lost of asking) lost.abort(new Refused(NO_ANSWER));
    return;
  }
  const { waiting, others } = health.queue; // a page alone waits for its own questions, also for those it has given up
  tell(refused ? { full: true } : waiting && others ? { waiting } : null);
  timer = setTimeout(poll, POLL_MS);
}

// ---- a server that was restarted ----

let polling: ReturnType<typeof setInterval> | undefined;

/** The server's health report; null if no server answers at the page's address. */
const fetchHealth = () =>
  fetch(new URL("health", document.baseURI), {
    cache: "no-store",
    headers: { Session: sessionId() },
    signal: AbortSignal.timeout(HEALTH_MS),
  })
    .then((answer) => (answer.ok ? answer.json() : null))
    .catch(() => null);

/** If no server answers: load the page again from its address as soon as one does. */
async function reconnect() {
  if (polling || (await fetchHealth())) return;
  polling ??= setInterval(async () => (await fetchHealth()) && location.reload(), POLL_MS);
}

// ---- a Space ----

/**
 * The headers by which the hub, whose frame this page may be in, counts the visitor's GPU time. Gradio's own client
 * asks for them in the same way (`supports-zerogpu-headers` in @gradio/client, src/utils/init_helpers.ts), and has
 * heard whether the hub gives them.
 */
const hubHeaders = (): Promise<Record<string, string>> =>
  new Promise((resolve) => {
    if (!("supports_zerogpu_headers" in window)) return resolve({});
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }) => resolve(data ?? {});
    setTimeout(() => resolve({}), HUB_MS);
    window.parent.postMessage("zerogpu-headers", "https://huggingface.co", [port2]);
  });
