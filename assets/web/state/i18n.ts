// The page's texts in the visitor's language. They are in assets/locales, one file a language.

import { fetchAsset, opening, parametersOf, schema } from "../api/schema.ts";
import { readPreference, writePreference } from "../api/session.ts";
import type { Message, Place, Places } from "../api/types.ts";
import { parts, percentText, percentTexts, withPlurals } from "./message-format.ts";

export const LANGUAGES: Record<string, string> = Object.fromEntries(
  schema.languages.map((name) => [name, new Intl.DisplayNames(name, { type: "language" }).of(name) ?? name]),
);
const LANGUAGE_KEY = "attention-bitte-language";

type Catalogue = Record<string, string>;

let catalogue: Catalogue = {};
let brought: Record<string, Catalogue> = {};
export let language = "en"; // until a catalogue has come
let wanted = language; // the language that was chosen last
let formats = formatsOf(language); // made once, because toLocaleString looks its language up every time

/** Catalogues by their languages, of a page that has nobody to fetch them from. */
export function bringCatalogues(all: Record<string, Catalogue>) {
  brought = all;
}

const fetchCatalogue = async (name: string): Promise<Catalogue> =>
  (await fetchAsset(`/locales/${name}.json${opening.site ? ".gz" : ""}`)).json();

/** Speak another language from now on: every part of the page is mounted again (see app.ts). */
async function speak(name: string) {
  wanted = name;
  const texts = brought[name] ?? (await fetchCatalogue(name));
  if (name !== wanted) return; // another one was chosen before this one's texts came
  catalogue = texts;
  language = name;
  formats = formatsOf(name);
  document.documentElement.lang = name;
  document.dispatchEvent(new Event("language:changed"));
}

function formatsOf(name: string) {
  const locale = name === "en" ? "en-GB" : name; // whose lists have no comma before "and"
  const percent = (digits: number) =>
    new Intl.NumberFormat(locale, { style: "percent", minimumFractionDigits: digits, maximumFractionDigits: digits });
  return {
    number: new Intl.NumberFormat(locale),
    percents: [0, 1, 2].map(percent),
    plurals: new Intl.PluralRules(locale),
    lists: new Intl.ListFormat(locale),
    languages: new Intl.DisplayNames(locale, { type: "language" }),
  };
}

export const hasText = (key: string) => Object.hasOwn(catalogue, key);

/** A text with its {places} filled, as nodes and strings in the order that this language puts them in. */
export function nodes(key: string, places: Places = {}): (string | Node)[] {
  const placed: Set<string | Node> = new Set();
  const once = (value: string | Node) => {
    if (!(value instanceof Node)) return value;
    const isTaken = placed.has(value) || value.parentNode; // where it is named again, a copy stands
    placed.add(value);
    return isTaken ? value.cloneNode(true) : value;
  };
  return parts(withPlurals(catalogue[key], places, formats.plurals))
    .flatMap((part, i) => (i % 2 ? filled(places[part]).map(once) : part))
    .filter((part) => part !== "");
}

export const t = (key: string, places?: Places) => plainText(nodes(key, places));

const plainText = (content: (string | Node)[]) =>
  content.map((part) => (typeof part === "string" ? part : part.textContent)).join("");

function filled(value: Place): (string | Node)[] {
  if (typeof value === "number") return [formatNumber(value)];
  if (Array.isArray(value)) return value;
  return [value instanceof Node ? value : String(value)];
}

export function formatMessage({ key, values, english }: Message) {
  if (!hasText(key)) return english ?? key;
  const places: Places = {};
  for (const [name, value] of Object.entries(values)) {
    if (typeof value !== "object") places[name] = value;
    else places[name] = formatList(value.rest ? [...value.shown, t("list.more", { rest: value.rest })] : value.shown);
  }
  return t(key, places);
}

type Item = string | Node | (string | Node)[];

export const formatList = (items: Item[]): (string | Node)[] =>
  formats.lists
    .formatToParts(items.map((_, i) => String(i)))
    .flatMap(({ type, value }, i) =>
      type === "element" ? items[Number(value)] : spaced(value, items[(i - 1) / 2], items[(i + 1) / 2]),
    );

/** What stands between two items, where it is Chinese with the space that the texts have beside Latin and digits. */
function spaced(between: string, before: Item, after: Item) {
  if (!/\p{Script=Han}/u.test(between)) return between;
  const isLatinBefore = /[!-ɏ▁]$/u.test(plainText([before].flat()));
  const isLatinAfter = /^[!-ɏ▁]/u.test(plainText([after].flat()));
  return `${isLatinBefore ? " " : ""}${between}${isLatinAfter ? " " : ""}`;
}

/** Whole sentences one after the other, as nodes and strings; one that is empty is left out. */
export const joinSentences = (...all: (string | (string | Node)[] | null | undefined)[]): (string | Node)[] =>
  all
    .flatMap((one) => (one?.length ? [[one].flat()] : []))
    .reduce((before, one) => (before.length ? nodes("sentences", { before, one }) : one), []);

export const formatNumber = (value: number) => formats.number.format(value);

export function formatBytes(bytes: number) {
  const unit = bytes < 1e6 ? "kilobyte" : bytes < 1e9 ? "megabyte" : "gigabyte";
  const value = bytes / { kilobyte: 1e3, megabyte: 1e6, gigabyte: 1e9 }[unit];
  return new Intl.NumberFormat(language, { style: "unit", unit, maximumSignificantDigits: 3 }).format(value);
}

export const formatLanguages = (codes: readonly string[]) =>
  codes.map((code) => formats.languages.of(code) ?? code).join(" → ");

const inPercent = (share: number, digits: number) => formats.percents[digits].format(share);
export const formatPercent = (share: number) => percentText(share, inPercent);

/** Two shares in percent, with more digits where fewer would hide that they differ. */
export const formatPercents = (one: number, other: number) => percentTexts(one, other, inPercent);

export async function chooseLanguage(name: string) {
  await speak(name);
  if (name === language) writePreference(LANGUAGE_KEY, name);
}

/** Speak what the link asks for, else what was chosen before, else what the browser speaks, else English; English also
 * where the texts of that language do not come. */
export function speakPreferredLanguage() {
  const traditional = (tag: string) => /^zh\b.*\b(hant|tw|hk|mo)\b/i.test(tag);
  const spoken = navigator.languages.map((tag) =>
    traditional(tag) ? "zh-Hant" : /^zh\b/i.test(tag) ? "zh-Hans" : tag.slice(0, 2),
  );
  const wishes = [new URLSearchParams(parametersOf(location)).get("language"), readPreference(LANGUAGE_KEY), ...spoken];
  return speak(wishes.find((wish) => wish && schema.languages.includes(wish)) ?? "en").catch(() => speak("en"));
}
