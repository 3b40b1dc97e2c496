// A request that cannot be met, in the words of the server.

import { refusal } from "../api/source.ts";

/** A change that this model or this sentence has no place for. */
export const changesRefusal = () => refusal("error.changes");
/** A request that the page does not make. */
export const requestRefusal = () => refusal("error.request");

/** What is at a place of a request; a refusal where there is nothing. */
export function there<T>(found: T | undefined): T {
  if (found === undefined) throw requestRefusal();
  return found;
}
