import { formatPercent } from "../../../state/i18n.ts";
import { attentionRow } from "../../../state/state.ts";
import { word } from "../../../ui/dom.ts";
import { highestCrossStep, largestWordQuiz, map, queryAndKeys, type Stop } from "../stop.ts";

export const cross: Stop = {
  hides: true,
  colours: "cross",
  headline: ({ run }) => [
    "softmax(Q_dec K_enc^T ÷ √d_k) V_enc",
    [1, run.model.heads, run.output.length, run.source.length],
  ],
  remains: true,
  evidence: (view) => queryAndKeys(view, "cross", view.decoderLayer, highestCrossStep(view)),
  draw: (view) => map(view, { kind: "cross", layer: view.decoderLayer, head: view.head }, highestCrossStep(view)),
  ask(view) {
    const { run, decoderLayer: layer, head } = view;
    const step = highestCrossStep(view);
    const values = attentionRow("cross", layer, head, step, run);
    const places = {
      ...{ layer: layer + 1, head: head + 1, step: step + 1 },
      output: word(run.output[step], "target"),
      read: word(run.decoder_input[step], "target"),
    };
    return largestWordQuiz("cross", { words: run.source, values, format: formatPercent }, places);
  },
};
