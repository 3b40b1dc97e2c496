// The server is busy: its requests wait in a queue. A waiting page says so, and comes back by itself where it
// was refused because the queue was full.

import { fetchHealth, reconnect } from "./reconnect.ts";

const POLL_MS = 2000; // an answer takes milliseconds; after this the page asks how many wait, and again as often
const WORK = /\/gradio_api\/(run|api|component_server)\b/;
const MAX_PAUSE = 10; // s, whatever a proxy says

let asking = 0; // requests without an answer
let refused = 0; // of these, refused: the queue was full
let timer: ReturnType<typeof setTimeout> | undefined;

/** Report the queue's state to the page: null once all answers have arrived. */
const tell = (news: { waiting: number } | { full: true } | null) =>
  document.dispatchEvent(new CustomEvent("queue:changed", { detail: news }));

async function poll() {
  const health = await fetchHealth();
  if (!asking) return;
  if (!health) {
    reconnect();
    return;
  }
  const waiting = health.queue?.waiting ?? 0;
  tell(refused ? { full: true } : waiting ? { waiting } : null);
  timer = setTimeout(poll, POLL_MS);
}

function begin() {
  if (!asking++) timer = setTimeout(poll, POLL_MS);
}

function end() {
  if (--asking) return;
  clearTimeout(timer);
  tell(null);
}

/** Gradio sends every request with `fetch`, so wrapping it covers all requests of the page. */
export function queueRequests() {
  const send = window.fetch.bind(window);
  window.fetch = async (address, options) => {
    if (!WORK.test(address instanceof Request ? address.url : String(address))) return send(address, options);
    begin();
    try {
      for (;;) {
        const answer = await send(address, options);
        const seconds = Math.min(Number(answer.headers.get("Retry-After")), MAX_PAUSE);
        if (answer.status !== 503 || !seconds) return answer;
        refused++;
        tell({ full: true });
        await new Promise((done) => setTimeout(done, seconds * 1000 * (0.5 + Math.random()))); // not all at once
        refused--;
      }
    } finally {
      end();
    }
  };
}
