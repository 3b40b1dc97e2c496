// What a reload and the next visit find again; without storage, as in some frames, it lasts as long as the page.

export function attempt<T>(access: () => T) {
  try {
    return access();
  } catch {
    return null;
  }
}

export const readPreference = (key: string) => attempt(() => localStorage.getItem(key));
export const writePreference = (key: string, value: string) => attempt(() => localStorage.setItem(key, value));
export const readSession = (key: string) => attempt(() => JSON.parse(sessionStorage.getItem(key) ?? "null"));

export const writeSession = (key: string, value: unknown) =>
  attempt(() => {
    sessionStorage.removeItem(key); // where there is no space for it, nothing is better than something old
    sessionStorage.setItem(key, JSON.stringify(value));
  });

/** Values by their keys, of which a reload keeps the latest `most`. */
export function sessionMap<Value>(name: string, most: number) {
  let known: Map<string, Value> | null = null;
  const all = () => {
    known ??= new Map<string, Value>(readSession(name) ?? []);
    return known;
  };
  return {
    get: (key: string) => all().get(key),
    set(key: string, value: Value) {
      all().delete(key); // to be the latest
      all().set(key, value);
      writeSession(name, [...all()].slice(-most));
    },
  };
}

/** Store `value()` when the page is left, and not while the visitor types. */
export function saveOnLeave(key: string, value: () => unknown) {
  const save = () => writeSession(key, value());
  addEventListener("pagehide", save);
  // A phone forgets tabs that it has put away.
  document.addEventListener("visibilitychange", () => document.hidden && save());
}

const ids: Record<string, string> = {}; // of this page, where there is no storage

/** A random id of this tab. A class in a local network has no https, and so no crypto.randomUUID. */
export function tabId(key: string): string {
  if (!ids[key]) {
    ids[key] = String(readSession(key) ?? crypto.getRandomValues(new BigUint64Array(2)).join(""));
    writeSession(key, ids[key]);
  }
  return ids[key];
}

/** One for all requests of this tab: a server keeps a limited number of models a session. */
export const sessionId = () => tabId("attention-bitte-session");
