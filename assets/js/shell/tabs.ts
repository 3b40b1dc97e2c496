// The bar of tabs, and the panel of the one that is open. Which one that is is part of the state.

import { hereButton } from "../charts/overview-mini.ts";
import { h, scrollToMiddle } from "../core/dom.ts";
import { t } from "../core/i18n.ts";
import { changeDetector } from "../core/parts.ts";
import { schema } from "../core/schema.ts";
import { state, subscribe, update } from "../core/state.ts";
import { returnButton } from "./frame.ts";

/** Of a key: the place of the tab that it leads to. */
const KEYS: Record<string, (at: number, count: number) => number> = {
  ArrowLeft: (at, count) => (at + count - 1) % count,
  ArrowRight: (at, count) => (at + 1) % count,
  Home: () => 0,
  End: (_, count) => count - 1,
};

export function mount({ element }: import("../core/types.ts").View) {
  const { choices = [] } = schema.parameters.tab;
  const tabs = choices.map((name) =>
    h(
      "button",
      {
        type: "button",
        role: "tab",
        id: `tab-${name}`,
        "data-tab-id": name,
        "aria-controls": `panel-${name}`,
        onclick: () => update({ tab: name }),
      },
      t(`tab.${name}`),
    ),
  );
  const list = h("div", { role: "tablist", "aria-label": t("tabs") }, tabs);
  list.addEventListener("keydown", (event) => {
    const at = tabs.indexOf(event.target as HTMLButtonElement);
    if (at < 0 || !(event.key in KEYS) || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    const tab = tabs[KEYS[event.key](at, tabs.length)];
    tab.focus();
    tab.click();
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
