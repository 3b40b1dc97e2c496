// The server was restarted under an open page: the page finds it again.

const POLL_MS = 2000;

let polling = null;

/** What the server says of itself; null if none answers at the page's address. */
export const fetchHealth = () =>
  fetch(new URL("health", document.baseURI), { cache: "no-store" })
    .then((answer) => (answer.ok ? answer.json() : null))
    .catch(() => null);

/** If none does: load the page again from its address as soon as one does. Tells whether it has to. */
export async function reconnect() {
  if (polling || (await fetchHealth())) return polling !== null;
  polling ??= setInterval(async () => (await fetchHealth()) && location.reload(), POLL_MS);
  return true;
}
