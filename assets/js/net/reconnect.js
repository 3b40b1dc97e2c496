// The server was restarted under an open page: the page finds it again.

const LOOK_MS = 2000;

let looking = null;

/** What the server says of itself; null if none answers at the page's address. */
export const look = () =>
  fetch(new URL("health", document.baseURI), { cache: "no-store" })
    .then((answer) => (answer.ok ? answer.json() : null))
    .catch(() => null);

/** If none does: load the page again from its address as soon as one does. Tells whether it has to. */
export async function recover() {
  if (looking || (await look())) return looking !== null;
  looking ??= setInterval(async () => (await look()) && location.reload(), LOOK_MS);
  return true;
}
