// What a reload of this tab finds again, and what the next visit does. A page inside another site's frame may have no
// storage; then a choice lasts as long as the page.

/** @template T @param {() => T} access */
function attempt(access) {
  try {
    return access();
  } catch {
    return null;
  }
}

/** What was chosen in this browser, or null. @param {string} key */
export const readPreference = (key) => attempt(() => localStorage.getItem(key));

/** @param {string} key @param {string} value */
export const writePreference = (key, value) => attempt(() => localStorage.setItem(key, value));

/** What was written under a key, or null. @param {string} key */
export const readSession = (key) => attempt(() => JSON.parse(sessionStorage.getItem(key) ?? "null"));

/** @param {string} key @param {unknown} value */
export const writeSession = (key, value) =>
  attempt(() => {
    sessionStorage.removeItem(key); // where there is no room for it, nothing is better than something old
    sessionStorage.setItem(key, JSON.stringify(value));
  });

/**
 * Write what `value()` is when the page goes: nothing is written while somebody types.
 * @param {string} key @param {() => unknown} value
 */
export function saveOnLeave(key, value) {
  const save = () => writeSession(key, value());
  addEventListener("pagehide", save);
  // A phone forgets tabs that it has put away.
  document.addEventListener("visibilitychange", () => document.hidden && save());
}
