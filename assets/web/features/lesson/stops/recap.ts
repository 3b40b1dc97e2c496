// A stop of the lesson: the whole way of this run on one page.

import type { Places } from "../../../api/types.ts";
import { nodes, t } from "../../../state/i18n.ts";
import { LESSON_STOPS, type StopName } from "../../../state/lesson-plan.ts";
import { lessonStops, update } from "../../../state/state.ts";
import { h, word } from "../../../ui/dom.ts";
import { link } from "../../../ui/parts.ts";
import { type LessonView, NO_QUESTION, type Stop } from "../stop.ts";
import { cross } from "./cross.ts";
import { logits } from "./logits.ts";
import { softmax } from "./softmax.ts";

export const recap: Stop = {
  wide: true,
  headline: ({ run }) => [
    "p(y | S) = Π_t p(y_t | S, y_1 … y_{t−1})",
    [1, run.source.length],
    [1, run.output.length, run.model.target_words],
  ],
  async draw(view) {
    const { run } = view;
    const { d_model, heads, target_words } = run.model;
    const said: Partial<Record<StopName, Places>> = {
      tokens: { count: run.source.length },
      embeddings: { d_model, positions: t(`lesson.recap.${run.model.positions ? "added" : "bare"}`) },
      qkv: { heads, width: d_model / heads },
      softmax: await placesOf(softmax, view),
      stack: { layers: run.attention.encoder.layers },
      cross: await placesOf(cross, view),
      logits: { ...(await placesOf(logits, view)), words: target_words },
      loop: { steps: run.steps.length, text: word(run.output.join(" "), "target") },
    };
    const lines = Object.entries(said).map(([name, places]) =>
      h("li", {}, h("b", {}, stopName(name as StopName)), " ", nodes(`lesson.recap.${name}`, places)),
    );
    return h("ol", { class: "recap" }, lines);
  },
  ask: () => NO_QUESTION,
};

const placesOf = async ({ ask }: Stop, view: LessonView) => (await ask(view)).places;

/** The name of a stop, which leads there if the lesson has it. */
export function stopName(name: StopName) {
  const stop = LESSON_STOPS.indexOf(name);
  const text = t(`lesson.${name}`);
  return lessonStops().includes(stop) ? link(text, () => update({ stop })) : text;
}
