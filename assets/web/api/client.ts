// The one way to the server: `await api.translate(request, { signal })`, `for await (const event of api.train(form))`.
// A server that is busy or was restarted is dealt with here and nowhere else.

import type { Wire } from "#schema";
import { schema } from "./schema.ts";
import { sessionId } from "./session.ts";
import type { Message } from "./types.ts";

type Questions = Wire["Questions"];
type Streams = Wire["Streams"];
export type QuestionName = keyof Questions;
export type RequestOf<Name extends QuestionName> = Questions[Name]["request"];
export type AnswerOf<Name extends QuestionName> = Exclude<Questions[Name]["answer"], Wire["Refusal"]>;
export type EventOf<Name extends keyof Streams> = Exclude<Streams[Name]["event"], { event: "error" }>;

type Options = { signal?: AbortSignal };
type Api = {
  [Name in QuestionName]: (request: RequestOf<Name>, options?: Options) => Promise<AnswerOf<Name>>;
} & {
  [Name in keyof Streams]: (request: Streams[Name]["request"], options?: Options) => AsyncGenerator<EventOf<Name>>;
};

const POLL_MS = 2000; // an answer takes milliseconds; after this the page asks how many wait, and again as often
const HEALTH_MS = 10_000; // a server that says nothing for longer is gone
const MAX_PAUSE = 10; // s, whatever a proxy says
const HUB_MS = 2000;
const SILENCE_MS = 25_000; // without a heartbeat: the connection is gone
const SILENCE_AWAKE_MS = 12_000; // likewise, when a phone wakes up
const MAX_RETRY_MS = 5000; // between two connections
/** A newer question of the same slot aborts the older one. */
const SLOTS: Record<string, string> = {
  translate: "run",
  surprise: "run",
  plan: "plan",
  candidates: "candidates",
  why: "why",
};

export const NO_ANSWER: Message = { key: "error.no_answer", values: {}, english: "" };

/** The server refuses: `reason` is a sentence for the visitor, `answer` all that it sent. */
export class Refused extends Error {
  reason: Message;
  answer: unknown;
  constructor(reason: Message, answer: unknown = null) {
    super(reason.key);
    this.reason = reason;
    this.answer = answer;
  }
}

export const reasonOf = (error: unknown) => (error instanceof Refused ? error.reason : NO_ANSWER);
export const isAborted = (error: unknown) => error instanceof DOMException && error.name === "AbortError";

/** Every question of the server by its name (transformer/web/api/table.py). */
export const api = new Proxy({} as Api, {
  get:
    (_, name: string) =>
    (request: unknown, options: Options = {}) =>
      (schema.streams.includes(name) ? stream : ask)(name, request, options),
});

const newest: Record<string, AbortController> = {}; // by slot

async function ask(name: string, request: unknown, { signal }: Options) {
  const slot = SLOTS[name];
  const mine = new AbortController();
  if (slot) {
    newest[slot]?.abort();
    newest[slot] = mine;
  }
  const answer = await send(name, request, signal ? AbortSignal.any([signal, mine.signal]) : mine.signal);
  const read = await answer.json().catch(() => ({ error: NO_ANSWER })); // it was broken off
  if (!answer.ok || read?.error) throw new Refused(read?.error ?? NO_ANSWER, read);
  return read;
}

/** Events until they end or break off; an error among them is a refusal. */
async function* stream(name: string, request: unknown, { signal }: Options) {
  const answer = await send(name, request, signal, await hubHeaders());
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

/** Events of a stream with heartbeats, which is asked for again until the signal or a refusal; null: it broke off. */
export async function* endless<Name extends keyof Streams>(
  name: Name,
  request: Streams[Name]["request"],
  signal: AbortSignal,
): AsyncGenerator<EventOf<Name> | null> {
  for (let failures = 0; !signal.aborted; failures++) {
    const connection = new AbortController();
    const either = AbortSignal.any([signal, connection.signal]);
    if (failures) {
      yield null;
      await retryPause(failures, either);
    }
    let heard = performance.now();
    const endIfSilent = (most: number) => performance.now() - heard > most && connection.abort();
    const watch = setInterval(() => endIfSilent(SILENCE_MS), 1000);
    onAwake(() => endIfSilent(SILENCE_AWAKE_MS), either);
    try {
      for await (const event of stream(name, request, { signal: either })) {
        heard = performance.now();
        failures = 0;
        yield event;
      }
    } catch (error) {
      if (error instanceof Refused && error.reason !== NO_ANSWER) throw error;
    } finally {
      clearInterval(watch);
      connection.abort();
    }
  }
}

/** Longer after each failure, and never all pages at once; a phone that wakes up does not wait. */
const retryPause = (failures: number, signal: AbortSignal) =>
  new Promise<void>((done) => {
    setTimeout(done, Math.min(MAX_RETRY_MS, 250 * 2 ** failures) * (0.5 + Math.random() / 2));
    onAwake(done, signal);
  });

function onAwake(react: () => void, signal: AbortSignal) {
  document.addEventListener("visibilitychange", () => document.hidden || react(), { signal });
  addEventListener("online", react, { signal });
}

// ---- a busy server ----

const asking = new Set<AbortController>(); // questions without an answer
let refused = 0; // of these, refused: the queue was full
let timer: ReturnType<typeof setTimeout> | undefined;

/** A question that a full queue refuses is put again. */
async function send(name: string, request: unknown, signal?: AbortSignal, more: Record<string, string> = {}) {
  const lost = new AbortController(); // aborted when the server is gone
  if (!asking.size) timer = setTimeout(poll, POLL_MS);
  asking.add(lost);
  try {
    for (;;) {
      const answer = await fetch(new URL(`api/${name}`, document.baseURI), {
        method: "POST",
        headers: { "Content-Type": "application/json", Session: sessionId(), ...more },
        body: JSON.stringify(request),
        signal: signal ? AbortSignal.any([signal, lost.signal]) : lost.signal,
      });
      const seconds = Math.min(Number(answer.headers.get("Retry-After")), MAX_PAUSE);
      const isOurs = answer.ok || answer.headers.get("Content-Type")?.includes("json"); // else a proxy's, alone
      if (!isOurs && !seconds) reconnect();
      if (answer.status !== 503 || !seconds) return answer;
      refused++;
      tell({ full: true });
      await new Promise((done) => setTimeout(done, seconds * 1000 * (0.5 + Math.random()))); // not all at once
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
