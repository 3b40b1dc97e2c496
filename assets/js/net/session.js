// Storage for a reload of this tab, and for the next visit. A page inside another site's frame may have no
// storage; then a choice lasts as long as the page.

/** @template T @param {() => T} access */
function attempt(access) {
  try {
    return access();
  } catch {
    return null;
  }
}

/** A choice kept in this browser, or null. @param {string} key */
export const readPreference = (key) => attempt(() => localStorage.getItem(key));

/** @param {string} key @param {string} value */
export const writePreference = (key, value) => attempt(() => localStorage.setItem(key, value));

/** The value stored under a key, or null. @param {string} key */
export const readSession = (key) => attempt(() => JSON.parse(sessionStorage.getItem(key) ?? "null"));

/** @param {string} key @param {unknown} value */
export const writeSession = (key, value) =>
  attempt(() => {
    sessionStorage.removeItem(key); // where there is no room for it, nothing is better than something old
    sessionStorage.setItem(key, JSON.stringify(value));
  });

/**
 * Store `value()` when the page is left, and not while the visitor types.
 * @param {string} key @param {() => unknown} value
 */
export function saveOnLeave(key, value) {
  const save = () => writeSession(key, value());
  addEventListener("pagehide", save);
  // A phone forgets tabs that it has put away.
  document.addEventListener("visibilitychange", () => document.hidden && save());
}
