import { t } from "../../../state/i18n.ts";
import { dot, fixed, norm } from "../../../ui/numbers.ts";
import { hint } from "../../../ui/parts.ts";
import { colourLegend, encoderHead, type LessonView, namedQuiz, type Stop, strips } from "../stop.ts";

export const residual: Stop = {
  hides: true,
  wide: true,
  colours: "strips",
  stage: "residual",
  layer: 0, // later the sum is longer for nearly every word
  variants: ({ run }) => [run.model.norm_first && "first"],
  async evidence(view) {
    const addends = Object.entries(await streamAndChange(view));
    const rows = addends.map(([name, values]) => ({ label: t(`inside.row.${name}`), values }));
    const label = t("lesson.residual.figure", view.places);
    return [strips(view, rows, { label }), hint(t("lesson.evidence.residual")), colourLegend("strips", view.run)];
  },
  async ask(view) {
    const { residual, output } = await streamAndChange(view);
    const [own, change] = [residual, output].map(norm);
    const shown = [own, change].map((length) => Number(length.toFixed(2))); // whose sum a pupil finds
    const total = norm(residual.map((value, i) => value + output[i]));
    const angle = (Math.acos(dot(residual, output) / (own * change)) * 180) / Math.PI;
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

async function streamAndChange(view: LessonView) {
  const { data, query } = await encoderHead(view);
  return { residual: data.at("residual", query), output: data.at("output", query) };
}
