// The server was restarted under an open page: the page finds it again.

const POLL_MS = 2000;

let polling: ReturnType<typeof setInterval> | null = null;

/** The server's health report; null if no server answers at the page's address. */
export const fetchHealth = () =>
  fetch(new URL("health", document.baseURI), { cache: "no-store" })
    .then((answer) => (answer.ok ? answer.json() : null))
    .catch(() => null);

/** If no server answers: load the page again from its address as soon as one does. Returns whether it has to. */
export async function reconnect() {
  if (polling || (await fetchHealth())) return polling !== null;
  polling ??= setInterval(async () => (await fetchHealth()) && location.reload(), POLL_MS);
  return true;
}
