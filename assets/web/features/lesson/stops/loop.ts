import { comparisonTable } from "../../../charts/outputs.ts";
import { formatPercent, t } from "../../../state/i18n.ts";
import { askAboutRun } from "../../../state/server-cache.ts";
import { scrollBox, word } from "../../../ui/dom.ts";
import { type LessonView, namedQuiz, orderedQuiz, type Stop } from "../stop.ts";

export const loop: Stop = {
  hides: true,
  headline: ({ run }) => ["y_t = argmax p(y | S, y_1 … y_{t−1})", [1, "t"], [1, "t", run.model.target_words], [1, 1]],
  variants: ({ run }) => [run.output.length < 2 && "alone", !run.reference && "own"],
  draw: async (view) => {
    const comparison = await divergingRun(view);
    return comparison.mistake === null ? null : scrollBox(comparisonTable(comparison, false));
  },
  async ask(view) {
    const { teacher, free, mistake, recovered: outcome } = await divergingRun(view);
    if (mistake === null) return orderedQuiz([{ text: "" }], { forced: "" });
    const places = {
      step: mistake + 1,
      forced: word(free[mistake].output, "target"),
      right_word: word(teacher[mistake].wanted ?? "", "target"),
      free: word(free.map(({ output }) => output).join(" "), "target"),
      chance: formatPercent(free[mistake].probability),
      recovers: outcome.free ? t("lesson.loop.recovers") : "",
    };
    const right = outcome.teacher ? (outcome.free ? "both" : "only_teacher") : outcome.free ? "only_free" : "neither";
    const names = ["both", "only_teacher", "only_free", "neither"];
    return namedQuiz("loop", names, right, places, (name) => whyNot(name, outcome));
  },
};

function whyNot(name: string, outcome: { teacher: boolean; free: boolean }) {
  const saysTeacher = name === "both" || name === "only_teacher";
  if (saysTeacher !== outcome.teacher) return outcome.teacher ? "teacher" : "astray";
  return outcome.free ? "recovers" : "free";
}

/** Teacher forcing beside free running, after an error that free running does not recover from. */
const divergingRun = ({ run }: LessonView) => askAboutRun("diverging", {}, run);
