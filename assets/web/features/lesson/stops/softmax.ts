import { argmax } from "../../../engine/arrays.ts";
import { formatPercent } from "../../../state/i18n.ts";
import { word } from "../../../ui/dom.ts";
import { encoderHead, type Stop, valueQuiz } from "../stop.ts";

export const softmax: Stop = {
  stage: "scores",
  columns: { asked: ["dot", "scaled"], answered: ["dot", "scaled", "mask", "softmax"] },
  async ask(view) {
    const { data, head, query } = await encoderHead(view);
    const weights = data.at("weights", head, query);
    const key = argmax(weights);
    const highest = weights[key];
    const open = data.allowed[query].filter(Boolean).length;
    const places = {
      ...view.places,
      key: word(data.keys[key], "source"),
      share: formatPercent(highest),
      equal: formatPercent(1 / open),
      masked: data.allowed[query].length - open,
      open,
    };
    return valueQuiz("softmax", highest, { equal: 1 / open, all: 1, half: highest / 2 }, places, formatPercent);
  },
};
