import { t } from "../../../state/i18n.ts";
import { argmax } from "../../../state/state.ts";
import { word } from "../../../ui/dom.ts";
import { fixed } from "../../../ui/numbers.ts";
import { queryAndKeys } from "../figures.ts";
import { encoderHead, largestWordQuiz, type Stop } from "../stop.ts";

export const scores: Stop = {
  hides: true,
  captioned: true,
  stage: "scores",
  columns: { asked: ["dot", "scaled"] },
  evidence: (view) => queryAndKeys(view, "encoder", view.layer, view.query),
  async ask(view) {
    const { data, head, query } = await encoderHead(view);
    const row = data.at("scores", head, query);
    const right = argmax(row);
    const key = (i: number) => word(data.keys[i], "source");
    const places = {
      ...view.places,
      key: key(right),
      score: fixed(row[right], 2),
      padding: data.allowed[query][right] ? "" : t("lesson.scores.padding"),
    };
    return largestWordQuiz(data.keys, row, places, (i) => ({
      why: "lesson.scores.why",
      places: { chosen: key(i), own: fixed(row[i], 2) },
    }));
  },
};
