// A question of the lesson or of Spot the bug, guessed until it is solved, which a teacher can put to the class.

import { room } from "../api/room.ts";
import type { Child } from "../api/types.ts";
import { t } from "../state/i18n.ts";
import { state } from "../state/state.ts";
import { h } from "./dom.ts";
import { button } from "./parts.ts";

/** `values` name the choices for tests and styles. */
type Question = {
  kind: "stop" | "mistake";
  name: string;
  text: Child;
  choices: string[];
  values?: string[];
  right: number;
};
/** `reveal` shows the answer in the view; `votes` is the place beside it for those of a class. */
type OfferedQuestion = Omit<Question, "text" | "values"> & { text: string; reveal: () => void; votes: HTMLElement };

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

export type Guesses = { guesses: number[]; shown: boolean };
type Memory = { get: (key: string) => Guesses | undefined; set: (key: string, known: Guesses) => unknown };

/**
 * In a class, its vote answers: what a student has found out before is not shown there.
 * @param alone key of what was guessed, in `memory` @param onGuess draws what a guess changes
 */
export function askedQuestion(question: Question, alone: string, memory: Memory, onGuess: () => void) {
  const { kind, name, text, choices, values, right } = question;
  const key = room.role === "student" ? `${room.code} ${alone}` : alone;
  const known = () => memory.get(key) ?? { guesses: [], shown: false };
  const isSolved = () => known().shown || known().guesses.includes(right);
  const choose = (i: number) => {
    const { guesses, shown } = known();
    if (isSolved() || i >= choices.length || guesses.includes(i)) return;
    memory.set(key, i < 0 ? { guesses, shown: true } : { guesses: [...guesses, i], shown });
    onGuess();
  };
  const heading = h("h3", {}, text);
  const buttons = choices.map((each, i) =>
    button("choice", [h("small", {}, i + 1), " ", each], () => choose(i), { value: values?.[i] }),
  );
  const votes = h("div", { class: "class-votes" });
  const asked = { kind, name, choices, right, votes, reveal: () => choose(-1) };
  return {
    elements: [heading, h("div", { class: "choices" }, buttons)],
    votes,
    /** Answer by the i-th choice; −1 shows the answer. */
    choose,
    isSolved,
    lastGuess: () => known().guesses.at(-1),
    draw(canGuess = true) {
      const { guesses } = known();
      for (const [i, each] of buttons.entries()) {
        const isWrong = i !== right && guesses.includes(i);
        each.disabled = isSolved() || !canGuess || isWrong;
        each.classList.toggle("right", isSolved() && i === right);
        each.classList.toggle("wrong", isWrong);
      }
    },
    offer: () => offerQuestion(kind, { ...asked, text: quoted(heading) }),
  };
}

/** The text, with the words in quotation marks that have colours here: a phone shows it without. */
function quoted(heading: HTMLElement) {
  const copy = heading.cloneNode(true) as HTMLElement;
  for (const each of copy.querySelectorAll(".word")) each.replaceWith(t("quoted", { text: each.textContent }));
  return copy.textContent ?? "";
}
