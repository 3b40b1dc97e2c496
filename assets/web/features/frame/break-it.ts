// Break it: which of its parts is open. Each part is a view of its own, in the element of its name.

import { schema } from "../../api/schema.ts";
import { t } from "../../state/i18n.ts";
import { state, subscribe, update } from "../../state/state.ts";
import { h, namedChoice } from "../../ui/dom.ts";

export function mount({ element }: import("../../api/types.ts").View) {
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
