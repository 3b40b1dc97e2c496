// The contributions of a real model's heads, streamed head by head until the server is done or stopped.

import { streamEvents } from "./stream.js";

/** @import { HeadsRequest } from "#schema" */
/** @import { Message, Run } from "../core/types.d.ts" */
/** @typedef {import("#schema").Wire["HeadsEvent"]} HeadsEvent */
/** Phases: running, done, stopped, failed. @typedef {ReturnType<typeof streamHeads>} HeadStream */

/**
 * @param {HeadsRequest["what"]} what @param {Run} run
 * @param {(event: HeadsEvent | null) => void} receive called for every part, and with null at the end
 */
export function streamHeads(what, run, receive) {
  const ended = new AbortController();
  const stream = {
    run,
    done: 0,
    of: 0,
    phase: "running",
    since: performance.now(),
    message: /** @type {Message | null} */ (null),
    stop: () => ended.abort(),
  };
  const onEvent = (/** @type {HeadsEvent} */ event) => {
    if (event.event === "error") stream.message = event.message;
    else Object.assign(stream, { done: event.done, of: event.of });
    receive(event);
  };
  const { checkpoint, sentence } = run;
  streamEvents("heads", { checkpoint, sentence, what }, onEvent, ended.signal).then((refusal) => {
    stream.message ??= refusal;
    const isDone = stream.of > 0 && stream.done === stream.of;
    stream.phase = isDone ? "done" : ended.signal.aborted ? "stopped" : "failed";
    receive(null);
  });
  return stream;
}

/** Seconds until the last head, at the pace so far; null while nothing is done. @param {HeadStream} stream */
export const secondsLeft = ({ done, of, since }) =>
  done ? ((performance.now() - since) / 1000 / done) * (of - done) : null;
