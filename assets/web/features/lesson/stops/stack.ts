import { shapeChain } from "../../../charts/sublayer-stages.ts";
import { argmax } from "../../../engine/arrays.ts";
import { formatPercent, t } from "../../../state/i18n.ts";
import { attentionRow } from "../../../state/state.ts";
import { word } from "../../../ui/dom.ts";
import { fixed, norm } from "../../../ui/numbers.ts";
import { type LessonView, orderedQuiz, type Stop, strips, wordInEveryLayer } from "../stop.ts";

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
