// What a reload of this tab finds again. A page inside another site's frame may have no storage; then it starts anew.

/** What was kept under a key, or null. */
export function kept(key) {
  try {
    return JSON.parse(sessionStorage.getItem(key));
  } catch {
    return null;
  }
}

/** Keep what `value()` is when the page goes: nothing is written while somebody types. */
export function keep(key, value) {
  const write = () => {
    try {
      sessionStorage.removeItem(key); // where there is no room for it, nothing is better than something old
      sessionStorage.setItem(key, JSON.stringify(value()));
    } catch {
      // nothing to do: see above
    }
  };
  addEventListener("pagehide", write);
  document.addEventListener("visibilitychange", () => document.hidden && write()); // a phone forgets tabs that it has put away
}
