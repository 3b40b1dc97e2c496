// Stops of the lesson: attention, from its vectors to the heads of each kind.

import { formatPercent, t } from "../../../state/i18n.ts";
import { argmax, attentionRow } from "../../../state/state.ts";
import { word } from "../../../ui/dom.ts";
import { fixed } from "../../../ui/numbers.ts";
import type { Stop } from "../stop.ts";
import { encoderHead, headMaps, highestCrossStep, largestWordQuiz, map, queryAndKeys, valueQuiz } from "../stop.ts";

export const qkv: Stop = {
  stage: "qkv",
  colours: "strips",
  variants: ({ run }) => [run.model.heads === 1 && "alone"],
  ask({ run }) {
    const { heads, d_model } = run.model;
    const width = d_model / heads;
    return valueQuiz("qkv", width, { all: d_model, heads, wider: 2 * d_model }, { d_model, heads, width });
  },
};

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
