// What a reload of this tab finds again, and what the next visit does. A page inside another site's frame may have no
// storage; then a choice lasts as long as the page.

/** What was chosen in this browser, or null. @param {string} key */
export function readPreference(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

/** @param {string} key @param {string} value */
export function writePreference(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // nothing to do: see above
  }
}

/** What was written under a key, or null. @param {string} key */
export function readSession(key) {
  try {
    return JSON.parse(sessionStorage.getItem(key) ?? "null");
  } catch {
    return null;
  }
}

/** @param {string} key @param {unknown} value */
export function writeSession(key, value) {
  try {
    sessionStorage.removeItem(key); // where there is no room for it, nothing is better than something old
    sessionStorage.setItem(key, JSON.stringify(value));
  } catch {
    // nothing to do: see above
  }
}

/**
 * Write what `value()` is when the page goes: nothing is written while somebody types.
 * @param {string} key @param {() => unknown} value
 */
export function saveOnLeave(key, value) {
  const save = () => writeSession(key, value());
  addEventListener("pagehide", save);
  document.addEventListener("visibilitychange", () => document.hidden && save()); // a phone forgets tabs that it has put away
}
