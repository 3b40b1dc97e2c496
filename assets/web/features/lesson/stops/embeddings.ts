import { t } from "../../../state/i18n.ts";
import { norm, products } from "../../../ui/numbers.ts";
import { encoderInput, rounded, type Stop, tokenStrips, valueQuiz } from "../stop.ts";

export const embeddings: Stop = {
  wide: true,
  colours: "strips",
  headline: ({ run }) => [
    run.model.scaled ? "x = √d_model · E[id]" : "x = E[id]",
    [1, run.source.length],
    [1, run.source.length, run.model.d_model],
  ],
  variants: ({ run: { model } }) => [!model.scaled && "unscaled", !model.positions && "bare"],
  draw: (view) => tokenStrips(view, "embedding", t("lesson.embeddings.figure")),
  async ask(view) {
    const { embedding, d_model } = await encoderInput(view);
    const { scaled } = view.run.model;
    const root = Math.sqrt(d_model);
    const factor = scaled ? root : 1;
    const length = norm(embedding[view.query]);
    const shown = products([length / factor], [factor], null, length);
    const [[a, b]] = shown.terms;
    const places = { ...view.places, d_model, factor: rounded(factor), sum: `${a} × ${b} = ${shown.result}` };
    const wrong = { ...(scaled ? { one: 1 } : { root }), all: d_model, half: d_model / 2 };
    return valueQuiz("embeddings", factor, wrong, places);
  },
};
