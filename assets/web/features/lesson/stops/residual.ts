import { argmax, dot } from "../../../engine/arrays.ts";
import { t } from "../../../state/i18n.ts";
import { fixed, norm } from "../../../ui/numbers.ts";
import { colourLegend, encoderHead, type LessonView, namedQuiz, type Stop, strips } from "../stop.ts";

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
