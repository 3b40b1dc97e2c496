// What the page says, in the visitor's language. Every text is in assets/locales, one file a language.

import { parts, percentText, percentTexts, withPlurals } from "./message-format.js";

export const LANGUAGES = { en: "English", "zh-Hans": "简体中文", "zh-Hant": "繁體中文" };
const KEPT = "attention-bitte-language";

let catalogue = {};
let formats = null; // made once, because toLocaleString looks its language up every time
export let language = null;

/** Speak another language from now on: every part of the page is mounted anew (see core/mount.js). */
async function speak(name) {
  const answer = await fetch(new URL(`../../locales/${name}.json`, import.meta.url));
  if (!answer.ok) throw new Error(`no catalogue of ${name}`);
  catalogue = await answer.json();
  language = name;
  const spelled = name === "en" ? "en-GB" : name; // whose lists have no comma before "and"
  formats = {
    number: new Intl.NumberFormat(spelled),
    percents: [0, 1, 2].map((digits) => rounded(spelled, digits)),
    plurals: new Intl.PluralRules(spelled),
    lists: new Intl.ListFormat(spelled),
  };
  document.documentElement.lang = name;
  document.dispatchEvent(new Event("language:spoken"));
}

const rounded = (name, digits) =>
  new Intl.NumberFormat(name, { style: "percent", minimumFractionDigits: digits, maximumFractionDigits: digits });

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
  return parts(withPlurals(catalogue[key], places, formats.plurals))
    .flatMap((part, i) => (i % 2 ? place(part) : part))
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
  const places = Object.entries(values).map(([name, value]) => [name, value?.shown ? shortened(value) : value]);
  return t(key, Object.fromEntries(places));
}

/** "a, b and 3 more". */
const shortened = ({ shown, rest }) => formatList(rest ? [...shown, t("list.more", { rest })] : shown);

/** "a, b and c", as nodes and strings. */
export const formatList = (items) =>
  formats.lists
    .formatToParts(items.map((_, i) => String(i)))
    .flatMap(({ type, value }) => (type === "element" ? items[value] : value));

/** Whole sentences one after the other, as nodes and strings; one that is empty is left out. */
export const joinSentences = (...all) =>
  all
    .filter((one) => one?.length)
    .reduce((before, one) => (before.length ? nodes("sentences", { before, one }) : [one].flat()), []);

export const formatNumber = (value) => formats.number.format(value);

const inPercent = (share, digits) => formats.percents[digits].format(share);

/** "97%", "99.4%", "< 0.01%", "> 99.9%". */
export const formatPercent = (share) => percentText(share, inPercent);

/** Two shares in percent, with more digits where fewer would hide that they differ. */
export const formatPercents = (one, other) => percentTexts(one, other, inPercent);

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
