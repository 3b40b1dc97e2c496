// Stops of the lesson: what else a layer does, and layer upon layer.

import { activationFloor, activationName, shapeChain } from "../../../charts/sublayer-stages.ts";
import { dot } from "../../../engine/arrays.ts";
import { formatPercent, t } from "../../../state/i18n.ts";
import { argmax, attentionRow } from "../../../state/state.ts";
import { word } from "../../../ui/dom.ts";
import { fixed, norm } from "../../../ui/numbers.ts";
import type { LessonView, Stop } from "../stop.ts";
import { colourLegend, encoderHead, namedQuiz, orderedQuiz, strips, wordInEveryLayer } from "../stop.ts";

const MIN_EFFECT = 0.003; // of a length, to show in its digits
const HOW_TO_READ = "lesson.evidence.residual";

export const residual: Stop = {
  hides: true,
  wide: true,
  colours: "strips",
  stage: "residual",
  layer: 0, // later the sum is longer for nearly every word
  query: clearestWord,
  howToRead: HOW_TO_READ,
  variants: ({ run }) => [run.model.norm_first && "first"],
  async evidence(view) {
    const addends = Object.entries(await streamAndChange(view));
    const rows = addends.map(([name, values]) => ({ label: t(`inside.row.${name}`), values }));
    const label = t("lesson.residual.figure", view.places);
    return [strips(view, rows, { label }), colourLegend("strips", view.run, HOW_TO_READ)];
  },
  async ask(view) {
    const { residual, output } = await streamAndChange(view);
    const { own, change, total, cosine } = addition(residual, output);
    const shown = [own, change].map((length) => Number(length.toFixed(2))); // whose sum a pupil finds
    const angle = (Math.acos(cosine) * 180) / Math.PI;
    const places = {
      ...view.places,
      own: fixed(own, 2),
      change: fixed(change, 2),
      both: fixed(shown[0] + shown[1], 2),
      total: fixed(total, 2),
      angle: fixed(angle, 0),
    };
    const right = total < own ? "shorter" : "longer";
    return namedQuiz("residual", ["shorter", "longer", "together"], right, places);
  },
};

function addition(residual: number[], output: number[]) {
  const [own, change] = [residual, output].map(norm);
  const total = norm(residual.map((value, i) => value + output[i]));
  return { own, change, total, cosine: dot(residual, output) / (own * change) };
}

/** The word whose two vectors are farthest from a right angle: longer or shorter, which of the two one can see. */
async function clearestWord(view: LessonView) {
  const { data } = await encoderHead(view);
  const clarity = view.run.source.map((token, query) => {
    if (token === "P" || token === "E") return -1;
    const { own, total, cosine } = addition(data.at("residual", query), data.at("output", query));
    return Math.abs(total / own - 1) < MIN_EFFECT ? 0 : Math.abs(cosine);
  });
  return argmax(clarity);
}

async function streamAndChange(view: LessonView) {
  const { data, query } = await encoderHead(view);
  return { residual: data.at("residual", query), output: data.at("output", query) };
}

export const ffn: Stop = {
  wide: true,
  colours: "strips",
  stage: "ffn",
  variants: ({ run }) => [run.model.activation !== "relu" && "smooth"],
  async ask(view) {
    const { data, query } = await encoderHead(view);
    const { d_model, d_ff } = view.run.model;
    const hidden = data.at("ff_hidden", query);
    const firing = hidden.filter((value) => value > 0).length;
    const isRelu = view.run.model.activation === "relu";
    const isMost = 2 * d_model * d_ff > 4 * d_model ** 2; // of the weights of an encoder layer
    const places = {
      ...view.places,
      activation: activationName(view.run.model),
      floor: activationFloor(view.run.model),
      firing,
      silent: hidden.length - firing,
      of: hidden.length,
      share: formatPercent(firing / hidden.length),
      none: firing ? "" : t("lesson.ffn.none"),
      most: isMost ? t("lesson.ffn.most") : "",
    };
    const why = (name: string) => (name === "same" && !isRelu ? "same_smooth" : name);
    return namedQuiz("ffn", ["same", "one", "mixing"], "one", places, why);
  },
};

export const stack: Stop = {
  wide: true,
  colours: "strips",
  headline: ({ run }) => [
    "x ← layer_n(x), n = 1 … N",
    `${shapeChain([1, run.source.length, run.model.d_model])} × ${run.attention.encoder.layers}`,
  ],
  variants: (view) => [
    view.run.attention.encoder.layers === 1 && "one_layer",
    farthestWord(view) === null && "one_word",
    view.run.model.final_norm && "norm",
  ],
  async draw(view) {
    const vectors = await wordInEveryLayer(view);
    const label = (layer: number) => (layer ? t("layer_n", { layer }) : t("lesson.stack.input"));
    const rows = vectors.map((values, layer) => ({ label: label(layer), values }));
    return strips(view, rows, { label: t("lesson.stack.figure", { word: view.run.source[view.query] }) });
  },
  async ask(view) {
    const { run, query } = view;
    const vectors = await wordInEveryLayer(view);
    const moves = vectors.slice(1).map((values, i) => norm(values.map((value, n) => value - vectors[i][n])));
    const moved = argmax(moves);
    const layers = moves.length;
    const other = farthestWord(view);
    const places = { ...view.places, layers, moved: moved + 1, distance: fixed(moves[moved], 2) };
    const first = { text: t("lesson.stack.after", { layer: 1 }) };
    if (other === null) return orderedQuiz([first], places);
    const apart = Math.abs(query - other);
    const { allowed, heads } = run.attention.encoder;
    if (!allowed[query][other]) throw new Error("The farthest word is masked."); // no layer would read it
    const paid = Array.from({ length: heads }, (_, head) => attentionRow("encoder", 0, head, query, run)[other]);
    const choices = [
      first,
      { text: t("lesson.stack.between", { layers: apart }), why: "lesson.stack.why.between" },
      { text: t("lesson.stack.last", { layer: layers }), why: "lesson.stack.why.last" },
    ];
    const offered = choices.filter((_, i) => (i !== 1 || apart > 1) && (i !== 2 || layers > 1));
    return orderedQuiz(offered.length > 1 ? offered : choices.slice(0, 2), {
      ...places,
      other: word(run.source[other], "source"),
      apart,
      share: formatPercent(Math.max(...paid)),
    });
  },
};

function farthestWord({ run, query }: LessonView) {
  const others = run.source.flatMap((token, i) => (token === "P" || i === query ? [] : [i]));
  return others.length ? others[argmax(others.map((i) => Math.abs(i - query)))] : null;
}
