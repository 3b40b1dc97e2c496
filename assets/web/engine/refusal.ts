// A request that cannot be met, in the words of the server: a key of assets/locales and the values of its places.

import type { MessageJSON } from "#schema";

export class Refusal extends Error {
  readonly reason: MessageJSON;

  constructor(key: string, values: MessageJSON["values"] = {}) {
    super(key);
    this.reason = { key, values, english: "" };
  }
}

/** A change that this model or this sentence has no place for. */
export const changesRefusal = () => new Refusal("error.changes");
/** A request that the page does not make. */
export const requestRefusal = () => new Refusal("error.request");

/** What is at a place of a request; a refusal where there is nothing. */
export function there<T>(found: T | undefined): T {
  if (found === undefined) throw requestRefusal();
  return found;
}
