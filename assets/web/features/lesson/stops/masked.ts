import { word } from "../../../ui/dom.ts";
import { map, type Stop, valueQuiz } from "../stop.ts";

export const masked: Stop = {
  colours: "decoder",
  headline: ({ run }) => [
    "softmax(Q K^T ÷ √d_k + M),  M = 0, −∞",
    [1, run.model.heads, run.output.length, run.output.length],
  ],
  variants: ({ run }) => [run.model.start_is_padding && "start"],
  draw: (view) => map(view, { kind: "decoder", layer: view.decoderLayer, head: view.head }, null),
  ask({ run }) {
    const { allowed, queries } = run.attention.decoder;
    const closed = allowed.flat().filter((open) => !open).length;
    const count = queries.length;
    const cells = count * count;
    const first = word(run.decoder_input[0], "target");
    const places = { masked: closed, count, cells, open: cells - closed, first };
    return valueQuiz("masked", closed, { rows: count, all: cells, open: cells - closed }, places);
  },
};
