// The bar of tabs and the panel of the one that is open, and which part of Break it is.

import { firstRun, models } from "../../api/models.ts";
import { schema } from "../../api/schema.ts";
import type { View } from "../../api/types.ts";
import { hereButton } from "../../charts/overview-place.ts";
import { openRun, returnToLesson } from "../../state/experiments.ts";
import { t } from "../../state/i18n.ts";
import { plannedStops, USUAL_MINUTES } from "../../state/lesson-plan.ts";
import { lessonStops, state, subscribe, update } from "../../state/state.ts";
import { h, namedChoice, scrollToMiddle, setChildren } from "../../ui/dom.ts";
import { pictureRows } from "../../ui/export.ts";
import { button, changeDetector, rove } from "../../ui/parts.ts";

export function mount({ element }: View) {
  const { choices = [] } = schema.parameters.tab;
  const tabs = choices.map((name) => {
    const attributes = { role: "tab", id: `tab-${name}`, "data-tab-id": name, "aria-controls": `panel-${name}` };
    return button(null, t(`tab.${name}`), () => openTab(name), attributes);
  });
  const list = h("div", { role: "tablist", "aria-label": t("tabs") }, tabs);
  rove(list, tabs, (key, at) => {
    const to = { ArrowLeft: at - 1, ArrowRight: (at + 1) % tabs.length, Home: 0, End: -1 }[key];
    const tab = to === undefined ? undefined : tabs.at(to);
    tab?.click();
    return tab;
  });
  element.replaceChildren(h("div", { class: "tab-bar" }, list, returnButton(), hereButton(), pictureMenu()));
  const isNew = changeDetector();
  subscribe(list, () => isNew(state.tab) && open(list, tabs));
}

let isLessonOpened = false;

/** The lesson begins with the classroom model, because the attention of the toy means little. */
function openTab(tab: string) {
  if (tab !== "lesson" || isLessonOpened) return update({ tab });
  const place = { tab, stop: 0, stops: plannedStops(USUAL_MINUTES, state.run.model.pieces) };
  if (state.run.checkpoint === "toy" && models().classroom) openRun(firstRun("classroom"), place);
  else update(place);
}

function open(list: HTMLElement, tabs: HTMLButtonElement[]) {
  document.body.dataset.tab = state.tab;
  isLessonOpened ||= state.tab === "lesson";
  for (const tab of tabs) {
    const isOpen = tab.dataset.tabId === state.tab;
    tab.setAttribute("aria-selected", String(isOpen));
    tab.tabIndex = isOpen ? 0 : -1;
    const panel = document.getElementById(`panel-${tab.dataset.tabId}`);
    panel?.classList.toggle("open", isOpen);
    panel?.dispatchEvent(new Event("opened"));
    if (isOpen) scrollToMiddle(list, tab);
  }
}

function pictureMenu() {
  const list = h("div", { class: "popover" });
  const element = h("details", { class: "pill", id: "pictures" }, h("summary", {}, t("save")), list);
  const isNewTab = changeDetector();
  subscribe(element, () => {
    if (isNewTab(state.tab, state.part)) element.open = false;
  });
  element.addEventListener("toggle", () => {
    const rows = element.open ? pictureRows() : [];
    setChildren(list, rows.length ? rows : h("p", {}, t("save.none")));
  });
  return element;
}

function returnButton() {
  const element = button("pill", "", returnToLesson, { id: "return" });
  subscribe(element, () => {
    const at = lessonStops().indexOf(state.returnStop ?? -1); // as the lesson counts them
    element.hidden = at < 0 || state.tab === "lesson";
    element.textContent = t("lesson.return", { n: at + 1 });
  });
  return element;
}

/** Each part of Break it is a view of its own, in the element of its name; one of them is open. */
export function mountParts({ element }: View) {
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
