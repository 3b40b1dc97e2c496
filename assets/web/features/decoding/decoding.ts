// Other decoding strategies: which of three is open, what it asks the server, and its sentence.

import type { RequestOf } from "../../api/client.ts";
import type { Child, Run, State, View } from "../../api/types.ts";
import { joinSentences, t } from "../../state/i18n.ts";
import { askOnce, failureText } from "../../state/server-cache.ts";
import { baselineRun, state, update } from "../../state/state.ts";
import { h, namedChoice } from "../../ui/dom.ts";
import { drawInSight, isOpen } from "../../ui/parts.ts";
import { beamSearch } from "./beam-search.ts";
import { sampling } from "./sampling.ts";
import { teacherForcing } from "./teacher-forcing.ts";

/** `asks` is a question to the server, `describe` the answer in a sentence; `followsStep`: the step is drawn, too. */
export type Strategy = {
  asks: "beam" | "sampled" | "forced";
  followsStep?: boolean;
  controls: Child;
  figure: Child;
  question: () => object;
  drawControls: () => void;
  draw: (answer: any) => void;
  describe: (answer: any) => (string | Node)[];
};
type Question = { strategy: Strategy; run: Run; question: object; key: string };

const STRATEGIES = { beam: beamSearch, sampling, forced: teacherForcing };
const NAMES = Object.keys(STRATEGIES) as State["strategy"][];

export function mount({ element, signal }: View) {
  const strategies = NAMES.map((name) => STRATEGIES[name](signal));
  const choice = namedChoice(t("decoding.which"), NAMES, "decoding", (strategy) => update({ strategy }));
  const about = h("p", { class: "hint" });
  const say = h("p", { class: "say", "aria-live": "polite" });
  const panels = strategies.map(({ controls }) => h("div", { class: "decoding-settings" }, controls));
  const figures = strategies.map(({ figure }) => h("section", { class: "card below" }, figure));
  let wanted = null as Question | null;
  let drawn = null as (Question & { answer: any; step: number }) | null;
  let isAsking = false;

  function draw() {
    const { strategy: name } = state;
    const strategy = strategies[NAMES.indexOf(name)];
    choice.set(name);
    const hint = state.baseline ? t("decoding.original") : "";
    about.replaceChildren(...joinSentences(t(`decoding.${name}.about`), hint));
    for (const [i, each] of [...panels, ...figures].entries()) each.hidden = NAMES[i % NAMES.length] !== name;
    strategy.drawControls();
    const run = baselineRun();
    const question = { checkpoint: run.checkpoint, sentence: run.sentence, ...strategy.question() };
    wanted = { strategy, run, question, key: JSON.stringify([name, question]) };
    if (!isOpen(element)) return;
    if (!isDrawn(wanted)) ask();
    else if (strategy.followsStep && drawn?.step !== state.step) drawAnswer();
  }
  const isDrawn = ({ key, run }: Question) => key === drawn?.key && run === drawn.run;
  /** One question at a time: of those that come meanwhile, the newest is asked next. */
  async function ask() {
    if (isAsking) return;
    isAsking = true;
    while (wanted && !isDrawn(wanted) && isOpen(element)) {
      const question = wanted;
      const { strategy, run } = question;
      const answer = await askOnce(strategy.asks, question.question as RequestOf<Strategy["asks"]>).catch(failureText);
      if (strategy !== wanted.strategy || run !== wanted.run) continue; // another answer is wanted by now
      drawn = null;
      if (typeof answer === "string") {
        say.textContent = answer; // the next change asks again
        break;
      }
      drawn = { ...question, answer, step: state.step };
      drawAnswer();
    }
    isAsking = false;
  }
  function drawAnswer() {
    if (!drawn) return;
    drawn.step = state.step;
    drawn.strategy.draw(drawn.answer);
    say.replaceChildren(...drawn.strategy.describe(drawn.answer));
  }

  const controls = h("div", { class: "controls" }, choice.element);
  element.replaceChildren(say, h("section", { class: "card" }, controls, about, panels), ...figures);
  drawInSight(element, draw, signal);
}
