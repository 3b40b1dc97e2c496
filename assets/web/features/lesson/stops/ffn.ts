import { activationFloor, activationName } from "../../../charts/sublayer-stages.ts";
import { formatPercent, t } from "../../../state/i18n.ts";
import { encoderHead, namedQuiz, type Stop } from "../stop.ts";

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
