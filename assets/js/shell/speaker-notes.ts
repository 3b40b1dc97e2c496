// A teacher's notes for a stop of the lesson, on the teacher's own screen only.

import { h } from "../core/dom.ts";
import { t } from "../core/i18n.ts";
import { LESSON_STOPS } from "../core/lesson-plan.ts";
import { state } from "../core/state.ts";

/** The notes of the stop that the class is at. */
export function speakerNotes() {
  if (state.tab !== "lesson") return h("p", { class: "hint" }, t("notes.elsewhere"));
  const name = LESSON_STOPS[state.stop];
  const notes = ["say", "ask", "wrong"].map((part) => [
    h("dt", {}, t(`notes.${part}`)),
    h("dd", {}, t(`notes.${name}.${part}`)),
  ]);
  return h("section", { class: "speaker-notes" }, h("h2", {}, t(`lesson.${name}`)), h("dl", {}, notes));
}
