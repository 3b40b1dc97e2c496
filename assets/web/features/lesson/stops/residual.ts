import { t } from "../../../state/i18n.ts";
import { fixed, norm } from "../../../ui/numbers.ts";
import { encoderHead, orderedQuiz, type Stop } from "../stop.ts";

export const residual: Stop = {
  hides: true,
  wide: true,
  captioned: true,
  colours: "strips",
  stage: "residual",
  variants: ({ run }) => [run.model.norm_first && "first"],
  async ask(view) {
    const { data, query } = await encoderHead(view);
    const [own, change] = ["residual", "output"].map((name) => norm(data.at(name, query)));
    const places = { ...view.places, own: fixed(own, 2), change: fixed(change, 2) };
    const choice = (name: "own" | "change", isRight: boolean) => ({
      text: t(`lesson.residual.${name}`),
      ...(isRight ? {} : { why: "lesson.residual.why" }),
    });
    return orderedQuiz([choice("own", own >= change), choice("change", own < change)], places);
  },
};
