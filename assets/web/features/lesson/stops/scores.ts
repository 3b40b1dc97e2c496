import { argmax } from "../../../engine/arrays.ts";
import { t } from "../../../state/i18n.ts";
import { fixed } from "../../../ui/numbers.ts";
import { encoderHead, largestWordQuiz, queryAndKeys, type Stop } from "../stop.ts";

export const scores: Stop = {
  hides: true,
  stage: "scores",
  columns: { asked: ["dot", "scaled"] },
  remains: true,
  evidence: (view) => queryAndKeys(view, "encoder", view.layer, view.query),
  async ask(view) {
    const { data, head, query } = await encoderHead(view);
    const values = data.at("scores", head, query);
    const format = (value: number) => fixed(value, 2);
    const right = argmax(values);
    const padding = data.allowed[query][right] ? "" : t("lesson.scores.padding");
    const places = { ...view.places, score: format(values[right]), padding };
    return largestWordQuiz("scores", { words: data.keys, values, format }, places);
  },
};
