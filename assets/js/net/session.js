// What a reload of this tab finds again. A page inside another site's frame may have no storage; then it starts anew.

/** What was kept under a key, or null. */
export function readSession(key) {
  try {
    return JSON.parse(sessionStorage.getItem(key));
  } catch {
    return null;
  }
}

/** Keep a value under a key from now on. */
export function writeSession(key, value) {
  try {
    sessionStorage.removeItem(key); // where there is no room for it, nothing is better than something old
    sessionStorage.setItem(key, JSON.stringify(value));
  } catch {
    // nothing to do: see above
  }
}

/** Keep what `value()` is when the page goes: nothing is written while somebody types. */
export function saveOnLeave(key, value) {
  const now = () => writeSession(key, value());
  addEventListener("pagehide", now);
  document.addEventListener("visibilitychange", () => document.hidden && now()); // a phone forgets tabs that it has put away
}
