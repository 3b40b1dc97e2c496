// The server was restarted under an open page: the page finds it again.

const LOOK_MS = 2000;

let looking = null;

/** Whether any server answers at the page's address. */
export const answers = () =>
  fetch(new URL("health", document.baseURI), { cache: "no-store" }).then(
    ({ ok }) => ok,
    () => false,
  );

/** If none does: load the page again from its address as soon as one does. Tells whether it has to. */
export async function recover() {
  if (looking || (await answers())) return looking !== null;
  looking ??= setInterval(async () => (await answers()) && location.reload(), LOOK_MS);
  return true;
}
