// Who answers the page's questions: its server, the bundle of a saved run, or an engine in this browser.

import type { Message } from "./types.ts";

/** A view asks by `api` of client.ts and does not know which of them answers. */
export interface Source {
  /** Whether it has answers to a question at all: what asks others is not shown. */
  answers(name: string): boolean;
  /** Rejects with Refused where there is none. */
  answer(name: string, request: unknown, signal: AbortSignal): Promise<unknown>;
  /** Events until they end or break off; a refusal is thrown. Without it, no stream is answered. */
  stream?(name: string, request: unknown, signal?: AbortSignal): AsyncGenerator<any>;
}

/** Why there is no answer: `reason` is a sentence for the visitor, `answer` all that was sent. */
export class Refused extends Error {
  reason: Message;
  answer: unknown;
  constructor(reason: Message, answer: unknown = null) {
    super(reason.key);
    this.reason = reason;
    this.answer = answer;
  }
}

/** The reason is a text of assets/locales, which is `key`, with its places filled from `values`. */
export const refusal = (key: string, values: Message["values"] = {}) => new Refused({ key, values, english: "" });

/** A controller that the signal aborts, too, as AbortSignal.any, which Safari and Firefox lacked before 2024. */
export function controllerUnder(signal?: AbortSignal) {
  const controller = new AbortController();
  const abort = () => controller.abort(signal?.reason);
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort, { once: true, signal: controller.signal });
  return controller;
}
