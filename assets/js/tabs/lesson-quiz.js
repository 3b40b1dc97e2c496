// Questions with choices, of which one is right and each of the others says why it is not; and the guesses of this
// session, which a reload keeps.

import { formatNumber } from "../core/i18n.js";
import { readSession, writeSession } from "../net/session.js";

/** @import { Places } from "../core/types.d.ts" */
/**
 * A choice; a wrong one with the key of the text that says why, filled from `places`.
 * @typedef {{ text: string, why?: string, places?: Places }} Choice
 */
/**
 * `right` is the index of the right choice; `places` fill the texts of the stop.
 * @typedef {{ choices: Choice[], right: number, places: Places }} Quiz
 */
/**
 * Which choices were guessed, in their order, and whether the answer is shown.
 * @typedef {{ guesses: number[], shown: boolean }} Guesses
 */

/**
 * Values as choices in their order, each text once.
 * @param {number} right @param {[value: number, why: string][]} wrong @param {Places} places
 * @param {(value: number) => string} format
 * @returns {Quiz}
 */
export function valueQuiz(right, wrong, places, format = rounded) {
  /** @type {Map<string, Choice & { value: number }>} */
  const offered = new Map([[format(right), { value: right, text: format(right) }]]);
  for (const [value, why] of wrong) {
    const text = format(value);
    if (!offered.has(text)) offered.set(text, { value, text, why });
  }
  return orderedQuiz(
    [...offered.values()].sort((a, b) => a.value - b.value),
    places,
  );
}

/**
 * Choices in the order that they are given in, of which the right one has no `why`.
 * @param {Choice[]} choices @param {Places} places
 * @returns {Quiz}
 */
export const orderedQuiz = (choices, places) => ({ choices, right: choices.findIndex(({ why }) => !why), places });

/** @param {number} value */
export const rounded = (value) => formatNumber(Math.round(value * 100) / 100);

const SESSION = "lesson";
const MAX_KEPT = 200;
/** @type {Map<string, Guesses> | null} */
let known = null;

const all = () => {
  known ??= new Map(/** @type {[string, Guesses][] | null} */ (readSession(SESSION)) ?? []);
  return known;
};

/** The guesses at a question. @param {string} key */
export const guessesOf = (key) => all().get(key) ?? { guesses: [], shown: false };

/** @param {string} key @param {Guesses} guesses */
export function keepGuesses(key, guesses) {
  all().delete(key);
  all().set(key, guesses);
  writeSession(SESSION, [...all()].slice(-MAX_KEPT));
}
