// Many ask at once: the server has them wait in line. A page that waits says so, and comes back by itself where it was
// sent away because the line was full.

import { fetchHealth, reconnect } from "./reconnect.js";

const LOOK_MS = 2000; // an answer takes milliseconds; whoever has none by then asks how many wait, and again as often
const WORK = /\/gradio_api\/(run|api|component_server)\b/;

const send = window.fetch.bind(window);
const MAX_PAUSE = 10; // s, whatever a proxy says

let asking = 0; // questions that have no answer yet
let away = 0; // of these, sent away: the line was full
let timer = null;

/** What a page is to be told: {waiting: how many are in line} or {full: true}; null when it has its answers. */
function tell(news) {
  document.dispatchEvent(new CustomEvent("line:news", { detail: news }));
}

async function watch() {
  const health = await fetchHealth();
  if (!asking) return;
  if (!health) return reconnect();
  const waiting = health.line?.waiting ?? 0;
  tell(away ? { full: true } : waiting ? { waiting } : null);
  timer = setTimeout(watch, LOOK_MS);
}

function begin() {
  if (!asking++) timer = setTimeout(watch, LOOK_MS);
}

function end() {
  if (--asking) return;
  clearTimeout(timer);
  tell(null);
}

/** Gradio asks for everything by this one function, so it stands before all questions of the page. */
window.fetch = async (address, how) => {
  if (!WORK.test(address?.url ?? String(address))) return send(address, how);
  begin();
  try {
    for (;;) {
      const answer = await send(address, how);
      const seconds = Math.min(Number(answer.headers.get("Retry-After")), MAX_PAUSE);
      if (answer.status !== 503 || !seconds) return answer;
      away++;
      tell({ full: true });
      await new Promise((done) => setTimeout(done, seconds * 1000 * (0.5 + Math.random()))); // so that not all come back at once
      away--;
    }
  } finally {
    end();
  }
};
