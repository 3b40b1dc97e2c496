// The guesses of this session at the questions of the lesson, which a reload keeps.

import { readSession, writeSession } from "../../api/session.ts";

/** Which choices were guessed, in their order, and whether the answer is shown. */
type Guesses = { guesses: number[]; shown: boolean };

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
