// Questions that views have drawn and a teacher can put to the class, and what becomes of the figures meanwhile.

import { state } from "./state.ts";

/** A question of a view. `reveal` shows its answer there; `votes` is the place beside it for those of a class. */
type OfferedQuestion = {
  kind: "stop" | "mistake";
  name: string;
  text: string;
  choices: string[];
  right: number;
  reveal: () => void;
  votes: HTMLElement;
};

/** Null for a view without a question; absent as long as it is not drawn. */
const offered: Partial<Record<"stop" | "mistake", OfferedQuestion | null>> = {};

export function awaitStopQuestion() {
  delete offered.stop;
}

export const isQuestionComing = () => state.tab === "lesson" && offered.stop === undefined;

export function offerQuestion(kind: "stop" | "mistake", question: OfferedQuestion | null) {
  offered[kind] = question;
  document.dispatchEvent(new Event("question:drawn"));
}

export function openQuestion() {
  if (state.tab === "lesson") return offered.stop ?? null;
  return state.tab === "break" && state.part === "mistakes" ? (offered.mistake ?? null) : null;
}
