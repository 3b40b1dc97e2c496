// A stop of the lesson: masked self-attention.

import { shapeChain } from "../../../charts/sublayer-stages.ts";
import { word } from "../../../ui/dom.ts";
import { map } from "../figures.ts";
import { valueQuiz } from "../quiz.ts";
import type { Stop } from "../stop.ts";

export const masked: Stop = {
  colours: "decoder",
  headline: ({ run }) => [
    "softmax(Q K^T ÷ √d_k + M),  M = 0, −∞",
    shapeChain([1, run.model.heads, run.output.length, run.output.length]),
  ],
  texts: ({ run }) => (run.model.start_is_padding ? { more: "lesson.masked.start" } : {}),
  draw: (view) => map(view, "decoder", view.decoderLayer, view.head, null),
  ask({ run }) {
    const { allowed, queries } = run.attention.decoder;
    const closed = allowed.flat().filter((open) => !open).length;
    const count = queries.length;
    const cells = count * count;
    const places = {
      masked: closed,
      count,
      cells,
      open: cells - closed,
      first: word(run.decoder_input[0], "target"),
    };
    const wrong: [number, string][] = [
      [count, "lesson.masked.why.rows"],
      [cells, "lesson.masked.why.all"],
      [cells - closed, "lesson.masked.why.open"],
    ];
    return valueQuiz(closed, wrong, places);
  },
};
