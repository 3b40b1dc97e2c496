import { formatPercent } from "../../../state/i18n.ts";
import { argmax, attentionRow } from "../../../state/state.ts";
import { word } from "../../../ui/dom.ts";
import { map, queryAndKeys } from "../figures.ts";
import { highestCrossStep, largestWordQuiz, type Stop } from "../stop.ts";

export const cross: Stop = {
  hides: true,
  colours: "cross",
  headline: ({ run }) => [
    "softmax(Q_dec K_enc^T ÷ √d_k) V_enc",
    [1, run.model.heads, run.output.length, run.source.length],
  ],
  evidence: (view) => queryAndKeys(view, "cross", view.decoderLayer, highestCrossStep(view)),
  draw: (view) => map(view, "cross", view.decoderLayer, view.head, highestCrossStep(view)),
  ask(view) {
    const { run, decoderLayer: layer, head } = view;
    const step = highestCrossStep(view);
    const weights = attentionRow("cross", layer, head, step, run);
    const right = argmax(weights);
    const key = (i: number) => word(run.source[i], "source");
    const places = {
      output: word(run.output[step], "target"),
      read: word(run.decoder_input[step], "target"),
      layer: layer + 1,
      head: head + 1,
      key: key(right),
      share: formatPercent(weights[right]),
      step: step + 1,
    };
    return largestWordQuiz(run.source, weights, places, (i) => ({
      why: "lesson.cross.why",
      places: { chosen: key(i), own: formatPercent(weights[i]) },
    }));
  },
};
