// Questions with choices, of which one is right and each of the others says why it is not; and the guesses of this
// session, which a reload keeps.

import { readSession, writeSession } from "../../api/session.ts";
import type { Places } from "../../api/types.ts";
import { formatNumber } from "../../state/i18n.ts";
import { argmax } from "../../state/state.ts";

/** A choice; a wrong one with the key of the text that says why, filled from `places`. */
export type Choice = { text: string; why?: string; places?: Places };
/** `right` is the index of the right choice; `places` fill the texts of the stop. */
export type Quiz = { choices: Choice[]; right: number; places: Places };
/** Which choices were guessed, in their order, and whether the answer is shown. */
type Guesses = { guesses: number[]; shown: boolean };

/** Values as choices in their order, each text once. */
export function valueQuiz(
  right: number,
  wrong: [value: number, why: string][],
  places: Places,
  format: (value: number) => string = rounded,
): Quiz {
  const offered: Map<string, Choice & { value: number }> = new Map([
    [format(right), { value: right, text: format(right) }],
  ]);
  for (const [value, why] of wrong) {
    const text = format(value);
    if (!offered.has(text)) offered.set(text, { value, text, why });
  }
  return orderedQuiz(
    [...offered.values()].sort((a, b) => a.value - b.value),
    places,
  );
}

/** Choices in the order that they are given in, of which the right one has no `why`. */
export const orderedQuiz = (choices: Choice[], places: Places): Quiz => ({
  choices,
  right: choices.findIndex(({ why }) => !why),
  places,
});

export const rounded = (value: number) => formatNumber(Math.round(value * 100) / 100);

const SESSION = "lesson";
const MAX_KEPT = 200;
let known: Map<string, Guesses> | null = null;

const all = () => {
  known ??= new Map((readSession(SESSION) as [string, Guesses][] | null) ?? []);
  return known;
};

/** The guesses at a question. */
export const guessesOf = (key: string) => all().get(key) ?? { guesses: [], shown: false };

export function keepGuesses(key: string, guesses: Guesses) {
  all().delete(key);
  all().set(key, guesses);
  writeSession(SESSION, [...all()].slice(-MAX_KEPT));
}

const MAX_CHOICES = 9; // as many as there are keys to choose by

/** Which word has the largest value? Of a long sentence, those with the largest are offered, in their order. */
export function largestWordQuiz(
  words: string[],
  values: ArrayLike<number>,
  places: Quiz["places"],
  wrong: (i: number) => Partial<Choice>,
): Quiz {
  const right = argmax(values);
  const largest = [...words.keys()].sort((a, b) => values[b] - values[a] || a - b);
  const shown = largest.slice(0, MAX_CHOICES).sort((a, b) => a - b);
  const choices = shown.map((i) => ({ text: distinct(words, i), ...(i === right ? {} : wrong(i)) }));
  return { choices, right: shown.indexOf(right), places };
}

/** A word as a choice; each of several equal ones with its position. */
const distinct = (words: string[], i: number) =>
  words.filter((each) => each === words[i]).length > 1 ? `${words[i]} (${i + 1})` : words[i];
