// Other roads of decoding: which of three is open, what it asks the server, and its sentence.

import { beamSearch } from "./beam-search.js";
import { h, segmented } from "../core/dom.js";
import { teacherForcing } from "./teacher-forcing.js";
import { joinSentences, t } from "../core/i18n.js";
import { askOnce } from "../core/server-cache.js";
import { sampling } from "./sampling.js";
import { subscribe, state, baselineRun, update } from "../core/state.js";

// A strategy is {asks: the server function, controls, figure, question(), set(), draw(said), say(said)}; what it draws may
// depend on the step as well if it `steps`.
const STRATEGIES = { beam: beamSearch, sampling, forced: teacherForcing };

export function mount({ element, server, signal }) {
  const strategies = Object.fromEntries(Object.entries(STRATEGIES).map(([name, make]) => [name, make(signal)]));
  const choice = segmented(
    t("roads.which"),
    Object.keys(STRATEGIES).map((name) => [name, t(`roads.${name}`)]),
    (strategy) => update({ strategy }),
  );
  const about = h("p", { class: "hint" });
  const say = h("p", { class: "say", "aria-live": "polite" });
  const panels = Object.values(strategies).map(({ controls }) => h("div", { class: "dials" }, controls));
  const figures = Object.values(strategies).map(({ figure }) => h("section", { class: "card below" }, figure));
  element.replaceChildren(
    say,
    h("section", { class: "card" }, h("div", { class: "controls" }, choice.element), about, panels),
    ...figures,
  );

  let wanted = null; // {strategy, run, question, key}
  let drawn = null; // what is on the screen: the same, and the answer
  let asking = false;
  let step = null;

  function draw() {
    const { strategy } = state;
    const open = Object.keys(STRATEGIES).indexOf(strategy);
    choice.set(strategy);
    about.replaceChildren(...joinSentences(t(`roads.${strategy}.about`), state.baseline ? t("roads.unbroken") : ""));
    [panels, figures].forEach((each) => each.forEach((one, i) => (one.hidden = i !== open)));
    strategies[strategy].set();
    if (!element.offsetParent) return;
    const { checkpoint, sentence } = baselineRun();
    const question = { checkpoint, sentence, ...strategies[strategy].question() };
    wanted = { strategy, run: baselineRun(), question, key: JSON.stringify([strategy, question]) };
    if (wanted.key === drawn?.key && wanted.run === drawn.run) {
      if (strategies[strategy].steps && step !== state.step) put();
    } else if (!asking) ask();
  }

  /** One question at a time: what is chosen meanwhile is asked next, and only the newest of it. */
  async function ask() {
    asking = true;
    while (wanted.key !== drawn?.key || wanted.run !== drawn.run) {
      const asked = wanted;
      const said = await askOnce(asked.strategy, asked.question, server[strategies[asked.strategy].asks]).catch(
        () => null,
      );
      if (asked.strategy !== wanted.strategy || asked.run !== wanted.run) continue; // something else is wanted by now
      if (!said) {
        say.textContent = t("positions.failed");
        drawn = null; // the next look asks again
        break;
      }
      drawn = { ...asked, said };
      put();
    }
    asking = false;
  }

  function put() {
    step = state.step;
    strategies[drawn.strategy].draw(drawn.said);
    say.replaceChildren(...strategies[drawn.strategy].say(drawn.said));
  }

  subscribe(element, draw);
  const seen = new IntersectionObserver(() => state.run && draw());
  seen.observe(element);
  signal.addEventListener("abort", () => seen.disconnect());
}
