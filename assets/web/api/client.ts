// The one way to an answer: `await api.translate(request, { signal })`, `for await (const event of api.train(form))`.

import type { Wire } from "#schema";
import { NO_ANSWER, schema } from "./schema.ts";
import { server } from "./server.ts";
import { controllerUnder, Refused, refusal, type Source } from "./source.ts";

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

export { NO_ANSWER, Refused };

export const reasonOf = (error: unknown) => (error instanceof Refused ? error.reason : NO_ANSWER);
export const isAborted = (error: unknown) => error instanceof DOMException && error.name === "AbortError";

let source: Source = server;

/** A page without a server says who answers it, before anything is asked. */
export function askOf(other: Source) {
  source = other;
}

/** Whether a question can be answered here: what asks others is not shown. */
export const canAsk = (name: QuestionName | keyof Streams) => source.answers(name);

/** Every question by its name (transformer/web/api/table.py). */
export const api = new Proxy({} as Api, {
  get:
    (_, name: string) =>
    (request: unknown, options: Options = {}) =>
      (schema.streams.includes(name) ? stream : ask)(name, request, options),
});

const newest: Record<string, AbortController> = {}; // by slot

async function ask(name: string, request: unknown, { signal }: Options) {
  const slot = SLOTS[name];
  const mine = controllerUnder(signal);
  if (slot) {
    newest[slot]?.abort();
    newest[slot] = mine;
  }
  const answer = await source.answer(name, request, mine.signal);
  mine.signal.throwIfAborted();
  return answer as any;
}

function stream(name: string, request: unknown, { signal }: Options) {
  const events = source.stream?.(name, request, signal);
  if (!events) throw refusal("error.needs_server");
  return events;
}

/** Events of a stream with heartbeats, which is asked for again until the signal or a refusal; null: it broke off. */
export async function* endless<Name extends keyof Streams>(
  name: Name,
  request: Streams[Name]["request"],
  signal: AbortSignal,
): AsyncGenerator<EventOf<Name> | null> {
  for (let failures = 0; !signal.aborted; failures++) {
    const connection = controllerUnder(signal);
    if (failures) {
      yield null;
      await retryPause(failures, connection.signal);
    }
    let heard = performance.now();
    const endIfSilent = (most: number) => performance.now() - heard > most && connection.abort();
    const watch = setInterval(() => endIfSilent(SILENCE_MS), 1000);
    onAwake(() => endIfSilent(SILENCE_AWAKE_MS), connection.signal);
    try {
      for await (const event of stream(name, request, { signal: connection.signal })) {
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
