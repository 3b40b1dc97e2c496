// A teacher's notes for a stop of the lesson, on the teacher's own screen only.

import { openQuestion } from "../../state/class-questions.ts";
import { t } from "../../state/i18n.ts";
import { LESSON_STOPS } from "../../state/lesson-plan.ts";
import { state } from "../../state/state.ts";
import { h } from "../../ui/dom.ts";

export function speakerNotes() {
  if (state.tab !== "lesson") return h("p", { class: "hint" }, t("notes.elsewhere"));
  const name = LESSON_STOPS[state.stop];
  const notes = ["say", "ask", "wrong"].map((part) => [
    h("dt", {}, t(`notes.${part}`)),
    h("dd", {}, t(`notes.${name}.${part}`)),
  ]);
  const asked = openQuestion();
  const answer = asked && [h("dt", {}, t("notes.answer")), h("dd", { class: "right" }, asked.choices[asked.right])];
  return h("section", { class: "speaker-notes" }, h("h2", {}, t(`lesson.${name}`)), h("dl", {}, notes, answer));
}
