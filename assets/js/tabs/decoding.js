// Other roads of decoding: which of three is open, what it asks the server, and its sentence.

import { beam } from "./beam-search.js";
import { h, segmented } from "../core/dom.js";
import { forced } from "./teacher-forcing.js";
import { t } from "../core/i18n.js";
import { once } from "../core/server-cache.js";
import { sampling } from "./sampling.js";
import { follow, state, unbroken, update } from "../core/state.js";

// A road is {asks: the server function, controls, figure, question(), set(), draw(said), say(said)}; what it draws may
// depend on the step as well if it `steps`.
const ROADS = { beam, sampling, forced };

export function mount({ element, server, signal }) {
  const roads = Object.fromEntries(Object.entries(ROADS).map(([name, make]) => [name, make(signal)]));
  const choice = segmented(
    t("roads.which"),
    Object.keys(ROADS).map((name) => [name, t(`roads.${name}`)]),
    (road) => update({ road }),
  );
  const about = h("p", { class: "hint" });
  const say = h("p", { class: "say", "aria-live": "polite" });
  const panels = Object.values(roads).map(({ controls }) => h("div", { class: "dials" }, controls));
  const figures = Object.values(roads).map(({ figure }) => h("section", { class: "card below" }, figure));
  element.replaceChildren(
    say,
    h("section", { class: "card" }, h("div", { class: "controls" }, choice.element), about, panels),
    ...figures,
  );

  let wanted = null; // {road, run, question, key}
  let drawn = null; // what is on the screen: the same, and the answer
  let asking = false;
  let step = null;

  function draw() {
    const { road } = state;
    const open = Object.keys(ROADS).indexOf(road);
    choice.set(road);
    about.textContent = t(`roads.${road}.about`) + (state.whole ? ` ${t("roads.unbroken")}` : "");
    [panels, figures].forEach((each) => each.forEach((one, i) => (one.hidden = i !== open)));
    roads[road].set();
    if (!element.offsetParent) return;
    const { checkpoint, sentence } = unbroken();
    const question = { checkpoint, sentence, ...roads[road].question() };
    wanted = { road, run: unbroken(), question, key: JSON.stringify([road, question]) };
    if (wanted.key === drawn?.key && wanted.run === drawn.run) {
      if (roads[road].steps && step !== state.step) put();
    } else if (!asking) ask();
  }

  /** One question at a time: what is chosen meanwhile is asked next, and only the newest of it. */
  async function ask() {
    asking = true;
    while (wanted.key !== drawn?.key || wanted.run !== drawn.run) {
      const asked = wanted;
      const said = await once(asked.road, asked.question, server[roads[asked.road].asks]).catch(() => null);
      if (asked.road !== wanted.road || asked.run !== wanted.run) continue; // something else is wanted by now
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
    roads[drawn.road].draw(drawn.said);
    say.replaceChildren(...roads[drawn.road].say(drawn.said));
  }

  follow(element, draw);
  const seen = new IntersectionObserver(() => state.run && draw());
  seen.observe(element);
  signal.addEventListener("abort", () => seen.disconnect());
}
