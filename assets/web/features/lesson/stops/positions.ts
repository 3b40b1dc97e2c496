import type { Run } from "../../../api/types.ts";
import { sinusoidalPositions } from "../../../engine/arrays.ts";
import { t } from "../../../state/i18n.ts";
import { cosinesTo } from "../../../state/sinusoid.ts";
import { h } from "../../../ui/dom.ts";
import { commonDigits, sum } from "../../../ui/numbers.ts";
import { encoderInput, orderedQuiz, type Stop, strips, tokenStrips } from "../stop.ts";

const MIN_FAR = 5; // positions, at least, to tell near from far

export const positions: Stop = {
  wide: true,
  colours: "strips",
  headline: ({ run }) => [positionFormula(run.model), [1, run.source.length, run.model.d_model]],
  variants: ({ run: { model } }) => [!model.positions ? "bare" : model.sinusoid === "halves" && "halves"],
  async draw(view) {
    if (!view.run.model.positions) return tokenStrips(view, "input", t("lesson.embeddings.figure"));
    const { embedding, positions, input } = await encoderInput(view);
    const vectors = [embedding, positions, input].map((values) => values[view.query]);
    const digits = commonDigits(vectors.slice(0, 2), vectors[2]);
    const rows = ["embedding", "+ position", "= input"].map((name, i) => ({
      label: t(`figure.${name}`),
      name,
      values: vectors[i],
      digits: i < 2 || digits === null ? digits : 2,
    }));
    const choose = (_: string, i: number) => {
      const [a, b, result] = vectors.map((values) => values[i]);
      const shown = sum(a, b, result);
      const addend = shown.terms[1].startsWith("−") ? `(${shown.terms[1]})` : shown.terms[1];
      const line = [`${shown.terms[0]} + ${addend} = `, h("b", { class: "result" }, shown.result)];
      view.showArithmetic(t("cell.input", { n: i + 1 }), [h("p", { class: "arithmetic" }, line)]);
    };
    return strips(view, rows, { label: t("lesson.positions.sum"), choose });
  },
  async answer(view) {
    if (!view.run.model.positions) return null;
    const { positions } = await encoderInput(view);
    const compared = new Set([0, 1, Math.max(MIN_FAR, positions.length) - 1]);
    const rows = positions.map((values, i) => ({ label: t("lesson.positions.pattern", { n: i }), values }));
    const title = t("lesson.positions.patterns");
    const shown = rows.filter((_, i) => compared.has(i)); // a short sentence may not have the last
    return [h("h4", {}, title), strips(view, shown, { label: title })];
  },
  ask({ run, places: usual }) {
    if (!run.model.positions) {
      const other = { text: t("lesson.positions.other"), why: "lesson.positions.why.other" };
      return orderedQuiz([other, { text: t("lesson.positions.same") }], usual);
    }
    const last = Math.max(MIN_FAR, run.source.length) - 1; // counted from 0, as in the formula
    const { d_model } = run.model;
    const toFirst = cosinesTo(0, sinusoidalPositions(last + 1, d_model), d_model);
    const [near, far] = [toFirst[1], toFirst[last]];
    const isNear = near >= far; // few dimensions have few slow waves, and the fastest ones repeat
    const pattern = isNear ? "lesson.positions.nearby" : "lesson.positions.repeats";
    const places = { ...usual, near: near.toFixed(2), far: far.toFixed(2), last };
    const choice = (position: number, isRight: boolean) => ({
      text: t("lesson.positions.pair", { a: 0, b: position }),
      ...(isRight ? {} : { why: pattern }),
    });
    const said = t(pattern, { ...places, d_model });
    return orderedQuiz([choice(last, !isNear), choice(1, isNear)], { ...places, pattern: said });
  },
};

function positionFormula({ positions, scaled, sinusoid, d_model }: Run["model"]) {
  if (!positions) return `x = ${scaled ? "√d_model · " : ""}E[id] + 0`;
  const cosine = sinusoid === "halves" ? `i + ${Math.ceil(d_model / 2)}` : "2i + 1";
  const sine = sinusoid === "halves" ? "i" : "2i";
  return `PE(pos, ${sine}) = sin(pos ÷ 10000^{2i/d})    PE(pos, ${cosine}) = cos(pos ÷ 10000^{2i/d})`;
}
