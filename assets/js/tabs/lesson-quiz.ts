// Questions with choices, of which one is right and each of the others says why it is not; and the guesses of this
// session, which a reload keeps.

import { formatNumber } from "../core/i18n.ts";
import type { Places } from "../core/types.ts";
import { readSession, writeSession } from "../net/session.ts";

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
