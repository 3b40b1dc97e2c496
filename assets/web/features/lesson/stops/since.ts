// A stop of the lesson: what has changed since 2017, and what of it this page can switch.

import { activationName } from "../../../charts/sublayer-stages.ts";
import { t } from "../../../state/i18n.ts";
import { askAboutRun } from "../../../state/server-cache.ts";
import { state, update } from "../../../state/state.ts";
import { h, twoFrames } from "../../../ui/dom.ts";
import { formatTiny } from "../../../ui/numbers.ts";
import { cells, link, rowHeading, table } from "../../../ui/parts.ts";
import { NO_QUESTION, type Stop } from "../stop.ts";
import { stopName } from "./recap.ts";

export const since: Stop = {
  wide: true,
  headline: ({ run }) => [
    "y = LayerNorm(x + f(x))    y = x + f(LayerNorm(x))",
    [1, run.source.length, run.model.d_model],
  ],
  async draw({ run }) {
    const { model, attention } = run;
    const checks = await askAboutRun("checks", {}, run);
    const cached = checks.find(({ name }) => name === "cached");
    const here = {
      decoder: [
        t("lesson.since.stacks", { encoder: attention.encoder.layers, decoder: attention.decoder.layers }),
        stopName("masked"),
      ],
      norm: [
        t(`lesson.since.norm_${model.norm_first ? "first" : "last"}`),
        trainSwitch("norm_first", model.norm_first ? "after" : "before"),
      ],
      positions: [
        t(`lesson.since.${model.positions ? "sines" : "bare"}`),
        trainSwitch("positional_encoding", model.positions ? "off" : "on"),
      ],
      activation: [t("lesson.since.unit", { activation: activationName(model) }), stopName("ffn")],
      cache: [cached ? t("lesson.since.agree", { error: formatTiny(cached.error) }) : ""],
    };
    const rows = Object.entries(here).map(([name, [found, more]]) => {
      const contents = cells([t(`lesson.since.${name}.said`), [found, more && h("p", {}, more)]]);
      return h("tr", {}, rowHeading(t(`lesson.since.${name}`)), contents);
    });
    return table({ class: "since" }, ["", t("lesson.since.now"), t("lesson.since.here")], rows);
  },
  ask: () => NO_QUESTION,
};

/** Leads to a setting of Train. @param choice to try there */
function trainSwitch(field: string, choice: string) {
  const wanted = { name: t(`train.set.${field}`), value: t(`train.choice.${choice}`) };
  const text = `${t("tab.train")} → ${t("handout.setting", wanted)}`;
  return link(text, async () => {
    update({ tab: "train", returnStop: state.stop });
    await twoFrames();
    const setting = document.querySelector(`#train [data-field=${field}]`);
    setting?.closest("details")?.setAttribute("open", "");
    setting?.scrollIntoView({ block: "center" });
    setting?.querySelector("button")?.focus({ preventScroll: true });
  });
}
