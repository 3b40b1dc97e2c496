// The bar of tabs, and the panel of the one that is open. Which one that is is part of the state.

import { hereButton } from "../charts/overview-mini.js";
import { h, scrollToMiddle } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { changeDetector } from "../core/parts.js";
import { schema } from "../core/schema.js";
import { state, subscribe, update } from "../core/state.js";
import { returnButton } from "./frame.js";

/** Of a key: the place of the tab that it leads to. @type {Record<string, (at: number, count: number) => number>} */
const KEYS = {
  ArrowLeft: (at, count) => (at + count - 1) % count,
  ArrowRight: (at, count) => (at + 1) % count,
  Home: () => 0,
  End: (_, count) => count - 1,
};

/** @param {import("../core/types.d.ts").View} view */
export function mount({ element }) {
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
    const at = tabs.indexOf(/** @type {HTMLButtonElement} */ (event.target));
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

/** @param {HTMLElement} list @param {HTMLButtonElement[]} tabs */
function open(list, tabs) {
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
