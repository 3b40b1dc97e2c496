import { argmax } from "../../../engine/arrays.ts";
import { formatPercent } from "../../../state/i18n.ts";
import { attentionRow } from "../../../state/state.ts";
import { headMaps, type Stop, valueQuiz } from "../stop.ts";

export const heads: Stop = {
  colours: "encoder",
  headline: ({ run }) => [
    "head_i = softmax(Q_i K_i^T ÷ √d_k) V_i",
    [1, run.model.heads, run.source.length, run.source.length],
  ],
  variants: ({ run }) => [run.model.heads === 1 && "alone"],
  draw: headMaps,
  ask(view) {
    const { run, layer } = view;
    const { heads, keys, queries } = run.attention.encoder;
    const highest = Array.from({ length: heads }, (_, head) =>
      Math.max(...queries.flatMap((token, q) => (token === "P" ? [] : attentionRow("encoder", layer, head, q, run)))),
    );
    const sharpest = argmax(highest);
    const places = {
      ...view.places,
      heads,
      words: keys.length,
      sharpest: sharpest + 1,
      share: formatPercent(highest[sharpest]),
    };
    const wrong = { one: 1, cells: heads * keys.length, words: keys.length, shared: 1 / heads };
    return valueQuiz("heads", heads, wrong, places);
  },
};
