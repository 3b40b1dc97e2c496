// What the page says, in the visitor's language. Every text is in assets/locales, one file a language.

export const LANGUAGES = { en: "English", "zh-Hans": "简体中文", "zh-Hant": "繁體中文" };
const KEPT = "attention-bitte-language";

let catalogue = {};
let numbers = null; // made once, because toLocaleString looks its language up every time
export let language = null;

/** Speak another language from now on: every part of the page is mounted anew (see core/mount.js). */
async function speak(name) {
  const answer = await fetch(new URL(`../../locales/${name}.json`, import.meta.url));
  if (!answer.ok) throw new Error(`no catalogue of ${name}`);
  catalogue = await answer.json();
  language = name;
  numbers = new Intl.NumberFormat(name);
  document.documentElement.lang = name;
  document.dispatchEvent(new Event("language:spoken"));
}

export const hasText = (key) => Object.hasOwn(catalogue, key);

/** A text with its {places} filled, as nodes and strings in the order that this language puts them in. */
export function nodes(key, places = {}) {
  const placed = new Set(); // a node stands in one place: where it is named again, a copy does
  const place = (name) => {
    const value = filled(places[name]);
    const taken = placed.has(value) || value.parentNode;
    placed.add(value);
    return taken && value instanceof Node ? value.cloneNode(true) : value;
  };
  return catalogue[key]
    .split(/\{(\w+)\}/)
    .map((part, i) => (i % 2 ? place(part) : part))
    .flat()
    .filter((part) => part !== "");
}

/** The same as one string. */
export const t = (key, places) =>
  nodes(key, places)
    .map((part) => part.textContent ?? part)
    .join("");

const filled = (value) =>
  typeof value === "number"
    ? formatNumber(value)
    : Array.isArray(value) || value instanceof Node
      ? value
      : String(value);

/** What the server says: {key, values, english}. */
export function formatMessage({ key, values, english }) {
  if (!hasText(key)) return english;
  const places = Object.entries(values).map(([name, value]) => [name, value?.shown ? listed(value) : value]);
  return t(key, Object.fromEntries(places));
}

function listed({ shown, rest }) {
  const list = shown.join(t("list.comma"));
  return rest ? t("list.more", { list, rest }) : list;
}

export const formatNumber = (value) => numbers.format(value);

/** Two or three digits: "97 %", "99.4 %", "0.03 %". Only 0 is "0 %". */
export function formatPercent(share) {
  const value = share * 100;
  const digits = value === 0 || value === 100 ? 0 : value < 1 ? 2 : value < 10 || value > 99 ? 1 : 0;
  return t("percent", { value: value > 0 && value < 0.01 ? "< 0.01" : value.toFixed(digits) });
}

// A page inside another site's frame may have no storage; then a choice lasts as long as the page.
export function remembered(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}
export function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // nothing to do: see above
  }
}

/** The visitor's own choice, kept for the next visit. */
export async function chooseLanguage(name) {
  await speak(name);
  remember(KEPT, name);
}

/** Speak what the link asks for, else what was chosen before, else what the browser speaks, else English. */
export const speakPreferredLanguage = () => speak(preferredLanguage());

function preferredLanguage() {
  const traditional = (tag) => /^zh\b.*\b(hant|tw|hk|mo)\b/i.test(tag);
  const spoken = navigator.languages.map((tag) =>
    traditional(tag) ? "zh-Hant" : /^zh\b/i.test(tag) ? "zh-Hans" : tag.slice(0, 2),
  );
  const wishes = [new URLSearchParams(location.search).get("language"), remembered(KEPT), ...spoken];
  return wishes.find((wish) => wish && Object.hasOwn(LANGUAGES, wish)) ?? "en";
}
