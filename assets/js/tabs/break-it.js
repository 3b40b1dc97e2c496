// Break it: which of its three parts is open.

import { h, segmented } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { state, subscribe, update } from "../core/state.js";

/** @import { State, View } from "../core/types.d.ts" */

/** @type {State["part"][]} */
const PARTS = ["whatif", "bugs", "roads"];

/** @param {View} view */
export function mount({ element }) {
  const part = segmented(
    t("tab.break"),
    PARTS.map((name) => [name, t(`break.${name}`)]),
    (value) => update({ part: /** @type {State["part"]} */ (value) }),
  );
  const about = h("p", { class: "lead" });
  element.replaceChildren(h("div", { class: "controls parts" }, part.element, about));
  subscribe(element, () => {
    part.set(state.part);
    about.textContent = t(`break.${state.part}.about`);
    for (const name of PARTS) document.getElementById(name)?.classList.toggle("closed", name !== state.part);
  });
}
