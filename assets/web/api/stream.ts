// Requests to the server's own routes, and answers whose events come as lines of JSON.

import { sessionId } from "./models.ts";
import type { Message } from "./types.ts";

export const post = (path: string, body: unknown, signal?: AbortSignal, headers?: Record<string, string>) =>
  fetch(new URL(path, document.baseURI), {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
    signal,
  });

/** Why the server refused, if it says so. */
export const refusalOf = async (answer: Response | null): Promise<Message | null> =>
  (await answer?.json().catch(() => null))?.error ?? null;

/**
 * Receive events until they end, break off or are aborted. A heartbeat is an empty line.
 * @param heard after whatever arrives
 */
export async function readEvents(
  body: NonNullable<Response["body"]>,
  receive: (event: any) => void,
  heard: () => void = () => {},
) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read().catch(() => ({ done: true, value: "" }));
    if (done) return;
    const complete = (rest + value).split("\n");
    rest = complete.pop() ?? "";
    for (const line of complete) if (line.trim()) receive(JSON.parse(line));
    heard();
  }
}

/**
 * The headers by which the hub, whose frame this page may be in, counts the visitor's GPU time. Gradio's client has
 * heard whether it gives them.
 */
const hubHeaders = (): Promise<Record<string, string>> =>
  new Promise((resolve) => {
    if (!("supports_zerogpu_headers" in window)) return resolve({});
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = ({ data }) => resolve(data ?? {});
    setTimeout(() => resolve({}), 2000);
    window.parent.postMessage("zerogpu-headers", "https://huggingface.co", [port2]);
  });

/** Ask for something of this session whose events come one by one. @returns why the server refused */
export async function streamEvents(
  path: string,
  question: object,
  receive: (event: any) => void,
  signal?: AbortSignal,
): Promise<Message | null> {
  const headers = await hubHeaders();
  const answer = await post(path, { ...question, session: sessionId() }, signal, headers).catch(() => null);
  if (!answer?.ok || !answer.body) return refusalOf(answer);
  await readEvents(answer.body, receive);
  return null;
}
