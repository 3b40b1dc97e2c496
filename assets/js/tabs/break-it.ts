// Break it: which of its parts is open. Each part is a view of its own, in the element of its name.

import { h, namedChoice } from "../core/dom.ts";
import { t } from "../core/i18n.ts";
import { schema } from "../core/schema.ts";
import { state, subscribe, update } from "../core/state.ts";

export function mount({ element }: import("../core/types.ts").View) {
  const { choices = [] } = schema.parameters.part;
  const choice = namedChoice(t("tab.break"), choices, "break", (part) => update({ part }));
  const about = h("p", { class: "lead" });
  element.replaceChildren(h("div", { class: "controls break-parts" }, choice.element, about));
  subscribe(element, () => {
    choice.set(state.part);
    about.textContent = t(`break.${state.part}.about`);
    for (const name of choices) document.getElementById(name)?.classList.toggle("closed", name !== state.part);
  });
}
