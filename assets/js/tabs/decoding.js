// Other decoding strategies: which of three is open, what it asks the server, and its sentence.

import { h, segmented } from "../core/dom.js";
import { joinSentences, t } from "../core/i18n.js";
import { drawInSight, isOpen } from "../core/parts.js";
import { askOnce } from "../core/server-cache.js";
import { baselineRun, state, update } from "../core/state.js";
import { beamSearch } from "./beam-search.js";
import { sampling } from "./sampling.js";
import { teacherForcing } from "./teacher-forcing.js";

/** @import { Child, Run, Server, State, View } from "../core/types.d.ts" */
/**
 * `asks` is a function of the server, `describe` the answer in a sentence; what is drawn depends on the step as well if
 * it `followsStep`.
 * @typedef {{ asks: "beam" | "sampled" | "forced", followsStep?: boolean, controls: Child, figure: Child,
 *   question: () => object, drawControls: () => void, draw: (answer: any) => void, describe: (answer: any) => (string | Node)[] }} Strategy
 */
/** @typedef {{ name: State["strategy"], run: Run, question: object, key: string }} Question */
/** @typedef {ReturnType<typeof build>} Parts */

const STRATEGIES = { beam: beamSearch, sampling, forced: teacherForcing };
const NAMES = /** @type {State["strategy"][]} */ (Object.keys(STRATEGIES));

/** @param {View} view */
export function mount({ element, server, signal }) {
  const parts = build(element, server, signal);
  const { say, choice, about, panels, figures } = parts;
  element.replaceChildren(
    say,
    h("section", { class: "card" }, h("div", { class: "controls" }, choice.element), about, panels),
    ...figures,
  );
  drawInSight(element, () => draw(parts), signal);
}

/** @param {HTMLElement} element @param {Server} server @param {AbortSignal} signal */
function build(element, server, signal) {
  const strategies = NAMES.map((name) => STRATEGIES[name](signal));
  return {
    element,
    server,
    strategies,
    choice: segmented(
      t("decoding.which"),
      NAMES.map((name) => [name, t(`decoding.${name}`)]),
      (strategy) => update({ strategy: /** @type {State["strategy"]} */ (strategy) }),
    ),
    about: h("p", { class: "hint" }),
    say: h("p", { class: "say", "aria-live": "polite" }),
    panels: strategies.map(({ controls }) => h("div", { class: "decoding-settings" }, controls)),
    figures: strategies.map(({ figure }) => h("section", { class: "card below" }, figure)),
    wanted: /** @type {Question | null} */ (null),
    drawn: /** @type {Question & { answer: any } | null} */ (null),
    drawnStep: -1,
    isAsking: false,
  };
}

/** @param {Parts} parts @param {State["strategy"]} name */
const strategyOf = ({ strategies }, name) => strategies[NAMES.indexOf(name)];

/** @param {Question} one @param {Question | null} other */
const isSame = (one, other) => one.key === other?.key && one.run === other.run;

/** @param {Parts} parts */
function draw(parts) {
  const { strategy: name } = state;
  const strategy = strategyOf(parts, name);
  parts.choice.set(name);
  parts.about.replaceChildren(
    ...joinSentences(t(`decoding.${name}.about`), state.baseline ? t("decoding.unbroken") : ""),
  );
  for (const each of [parts.panels, parts.figures])
    each.forEach((one, i) => {
      one.hidden = NAMES[i] !== name;
    });
  strategy.drawControls();
  if (!isOpen(parts.element)) return;
  const run = baselineRun();
  const question = { checkpoint: run.checkpoint, sentence: run.sentence, ...strategy.question() };
  parts.wanted = { name, run, question, key: JSON.stringify([name, question]) };
  if (!isSame(parts.wanted, parts.drawn)) ask(parts);
  else if (strategy.followsStep && parts.drawnStep !== state.step) drawAnswer(parts);
}

/** One question at a time: of those that come meanwhile, the newest is asked next. @param {Parts} parts */
async function ask(parts) {
  if (parts.isAsking) return;
  parts.isAsking = true;
  while (parts.wanted && !isSame(parts.wanted, parts.drawn)) {
    const question = parts.wanted;
    const { name, run } = question;
    const ask = /** @type {(question: object) => Promise<any>} */ (parts.server[strategyOf(parts, name).asks]);
    const answering = askOnce(name, question.question, ask);
    const answer = await answering.catch(() => null);
    if (name !== parts.wanted.name || run !== parts.wanted.run) continue; // another answer is wanted by now
    parts.drawn = answer && { ...question, answer };
    if (!answer) {
      parts.say.textContent = t("positions.failed"); // the next change asks again
      break;
    }
    drawAnswer(parts);
  }
  parts.isAsking = false;
}

/** @param {Parts} parts */
function drawAnswer(parts) {
  if (!parts.drawn) return;
  const { name, answer } = parts.drawn;
  parts.drawnStep = state.step;
  const strategy = strategyOf(parts, name);
  strategy.draw(answer);
  parts.say.replaceChildren(...strategy.describe(answer));
}
