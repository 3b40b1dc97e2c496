// The contributions of a real model's heads, streamed head by head until the server is done or stopped.

import type { HeadsRequest } from "#schema";
import { api, type EventOf, reasonOf } from "./client.ts";
import type { Message, Run } from "./types.ts";

type HeadsEvent = EventOf<"head_events">;
/** Phases: running, done, stopped, failed. */
export type HeadStream = ReturnType<typeof streamHeads>;

/** @param receive called for every part, and with null at the end */
export function streamHeads(what: HeadsRequest["what"], run: Run, receive: (event: HeadsEvent | null) => void) {
  const ended = new AbortController();
  const stream = {
    run,
    done: 0,
    of: 0,
    phase: "running",
    since: performance.now(),
    message: null as Message | null,
    stop: () => ended.abort(),
  };
  async function listen() {
    const { checkpoint, sentence } = run;
    try {
      for await (const event of api.head_events({ checkpoint, sentence, what }, ended)) {
        Object.assign(stream, { done: event.done, of: event.of });
        receive(event);
      }
    } catch (error) {
      stream.message = reasonOf(error);
    }
    const isDone = stream.of > 0 && stream.done === stream.of;
    stream.phase = isDone ? "done" : ended.signal.aborted ? "stopped" : "failed";
    receive(null);
  }
  listen();
  return stream;
}

export const secondsLeft = ({ done, of, since }: HeadStream) =>
  done ? ((performance.now() - since) / 1000 / done) * (of - done) : null;
