// Stops of the lesson: the whole way of this run on one page; and what has changed since 2017, and what of it this page
// can switch.

import type { Places } from "../../../api/types.ts";
import { activationName } from "../../../charts/sublayer-stages.ts";
import { nodes, t } from "../../../state/i18n.ts";
import { LESSON_STOPS, type StopName } from "../../../state/lesson-plan.ts";
import { askAboutRun } from "../../../state/server-cache.ts";
import { lessonStops, state, update } from "../../../state/state.ts";
import { h, twoFrames, word } from "../../../ui/dom.ts";
import { formatTiny } from "../../../ui/numbers.ts";
import { cells, link, rowHeading, table } from "../../../ui/parts.ts";
import { type LessonView, NO_QUESTION, type Stop } from "../stop.ts";
import { cross, softmax } from "./attention.ts";
import { logits } from "./output.ts";

export const recap: Stop = {
  wide: true,
  headline: ({ run }) => [
    "p(y | S) = Π_t p(y_t | S, y_1 … y_{t−1})",
    [1, run.source.length],
    [1, run.output.length, run.model.target_words],
  ],
  async draw(view) {
    const { run } = view;
    const { d_model, heads, target_words } = run.model;
    const said: Partial<Record<StopName, Places>> = {
      tokens: { count: run.source.length },
      embeddings: { d_model, positions: t(`lesson.recap.${run.model.positions ? "added" : "bare"}`) },
      qkv: { heads, width: d_model / heads },
      softmax: await placesOf(softmax, view),
      stack: { layers: run.attention.encoder.layers },
      cross: await placesOf(cross, view),
      logits: { ...(await placesOf(logits, view)), words: target_words },
      loop: { steps: run.steps.length, text: word(run.output.join(" "), "target") },
    };
    const lines = Object.entries(said).map(([name, places]) =>
      h("li", {}, h("b", {}, stopName(name as StopName)), " ", nodes(`lesson.recap.${name}`, places)),
    );
    return h("ol", { class: "recap" }, lines);
  },
  ask: () => NO_QUESTION,
};

const placesOf = async ({ ask }: Stop, view: LessonView) => (await ask(view)).places;

/** The name of a stop, which leads there if the lesson has it. */
function stopName(name: StopName) {
  const stop = LESSON_STOPS.indexOf(name);
  const text = t(`lesson.${name}`);
  return lessonStops().includes(stop) ? link(text, () => update({ stop })) : text;
}

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
