// The bar of tabs, and the panel of the one that is open. Which one that is is part of the state.

import { schema } from "../../api/schema.ts";
import { hereButton } from "../../charts/overview-mini.ts";
import { t } from "../../state/i18n.ts";
import { lessonStops, state, subscribe, update } from "../../state/state.ts";
import { h, scrollToMiddle } from "../../ui/dom.ts";
import { button, changeDetector } from "../../ui/parts.ts";
import { rove } from "../../ui/roving.ts";

export function mount({ element }: import("../../api/types.ts").View) {
  const { choices = [] } = schema.parameters.tab;
  const tabs = choices.map((name) => {
    const attributes = { role: "tab", id: `tab-${name}`, "data-tab-id": name, "aria-controls": `panel-${name}` };
    return button(null, t(`tab.${name}`), () => update({ tab: name }), attributes);
  });
  const list = h("div", { role: "tablist", "aria-label": t("tabs") }, tabs);
  rove(list, tabs, (key, at) => {
    const to = { ArrowLeft: at - 1, ArrowRight: (at + 1) % tabs.length, Home: 0, End: -1 }[key];
    const tab = to === undefined ? undefined : tabs.at(to);
    tab?.click();
    return tab;
  });
  element.replaceChildren(h("div", { class: "tab-bar" }, list, returnButton(), hereButton()));
  const isNew = changeDetector();
  subscribe(list, () => isNew(state.tab) && open(list, tabs));
}

function open(list: HTMLElement, tabs: HTMLButtonElement[]) {
  document.body.dataset.tab = state.tab;
  for (const tab of tabs) {
    const isOpen = tab.dataset.tabId === state.tab;
    tab.setAttribute("aria-selected", String(isOpen));
    tab.tabIndex = isOpen ? 0 : -1;
    const panel = document.getElementById(`panel-${tab.dataset.tabId}`);
    panel?.setAttribute("role", "tabpanel");
    panel?.setAttribute("aria-labelledby", tab.id);
    panel?.classList.toggle("open", isOpen);
    panel?.dispatchEvent(new Event("opened"));
    if (isOpen) scrollToMiddle(list, tab);
  }
}

/** Leads back to the stop of the lesson that one came from. */
function returnButton() {
  const goBack = () => update({ tab: "lesson", stop: state.returnStop ?? state.stop, returnStop: null });
  const element = button("pill", "", goBack, { id: "return" });
  subscribe(element, () => {
    const at = lessonStops().indexOf(state.returnStop ?? -1); // as the lesson counts them
    element.hidden = at < 0 || state.tab === "lesson";
    element.textContent = t("lesson.return", { n: at + 1 });
  });
  return element;
}
