import { around } from "../../../charts/key-order.ts";
import { agreeing, fetchLens, lensTable, readings } from "../../../charts/lens.ts";
import { argmax } from "../../../engine/arrays.ts";
import { formatList, formatPercent, nodes, t } from "../../../state/i18n.ts";
import { attentionRow } from "../../../state/state.ts";
import { h, scrollBox, word, wordAt } from "../../../ui/dom.ts";
import { hint } from "../../../ui/parts.ts";
import { type Choice, type LessonView, orderedQuiz, type Stop } from "../stop.ts";

const MAX_STEPS = 9; // rows, of a long sentence those around the step

export const knows: Stop = {
  hides: true,
  headline: ({ run }) => [
    "p_n = softmax(x_n W + b),  n = 1 … N",
    [run.attention.cross.layers, run.output.length, run.model.d_model],
    [run.attention.cross.layers, run.output.length, run.model.target_words],
  ],
  variants: ({ run }) => [run.model.norm_first && "first"],
  evidence: async (view) => [await lensOf(view, true), attended(view)],
  draw: async (view) => [await lensOf(view, false), attended(view)],
  async ask({ run, step }) {
    const lens = await fetchLens(run);
    const { layers, turn } = readings(lens, run, step);
    const choices = layers.map((each, layer): Choice => {
      const text = t("lesson.knows.after", { layer: layer + 1 });
      if (layer === turn) return { text };
      const isSaid = each.token === run.output[step];
      const why = layer > turn ? "late" : isSaid ? "again" : "other";
      const places = { chosen: layer + 1, said: word(each.token, "target"), share: formatPercent(each.probability) };
      return { text, why: `lesson.knows.why.${why}`, places };
    });
    const before = layers[turn - 1];
    const said = before && nodes("lesson.knows.before", { layer: turn, said: word(before.token, "target") });
    return orderedQuiz(choices, {
      count: run.output.length,
      agree: agreeing(lens, run),
      step: step + 1,
      output: word(run.output[step], "target"),
      layer: turn + 1,
      share: formatPercent(layers[turn].probability),
      before: said ? h("span", {}, said) : t("lesson.knows.at_once"),
    });
  },
};

async function lensOf({ run, step }: LessonView, isAsked: boolean) {
  const steps = around(step, run.output.length, MAX_STEPS);
  return scrollBox(lensTable(run, await fetchLens(run), steps, step, isAsked));
}

function attended({ run, step }: LessonView) {
  const { layers } = run.attention.cross;
  const found = Array.from({ length: layers }, (_, layer) => {
    const weights = attentionRow("cross", layer, null, step, run);
    const key = argmax(weights);
    const places = { layer: layer + 1, key: wordAt(run.source, key, "source"), share: formatPercent(weights[key]) };
    return nodes("lesson.knows.attended", places);
  });
  return hint(nodes("lesson.knows.attends", { found: formatList(found) }));
}
