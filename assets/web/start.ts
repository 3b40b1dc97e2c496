// How a page begins, whichever views it has: each stands in the element of its name.

import { setShippedModels } from "./api/models.ts";
import { opening } from "./api/schema.ts";
import type { Model, View } from "./api/types.ts";
import { mount as attention } from "./features/attention/attention.ts";
import { mount as heads } from "./features/attention/heads.ts";
import { mount as inside } from "./features/inside/inside.ts";
import { mount as overview } from "./features/overview/overview.ts";
import { mount as positions } from "./features/positions/positions.ts";
import { mount as translate } from "./features/translate/translate.ts";
import { speakPreferredLanguage } from "./state/i18n.ts";
import { h } from "./ui/dom.ts";
import { keepPresses } from "./ui/press.ts";

type Mount = (view: View) => void;
export type Views = Record<string, Mount>;

/** The tabs that show a run, of every page. */
export const RUN_TABS: Record<string, Views> = {
  overview: { overview },
  translate: { story: translate },
  attention: { attention, heads },
  positions: { positions },
  inside: { inside },
};

/** Fill the page's place with the views above the tabs, in their order, and with those of each tab. */
export async function fillPage(page: HTMLElement, frame: Views, tabs: Record<string, Views>) {
  page.id = "page";
  keepPresses();
  setShippedModels(opening.models as Record<string, Model>);
  const open = Object.entries(frame).map(([name, mount]) => place(page, name, mount));
  for (const [tab, views] of Object.entries(tabs)) {
    const panel = h("div", {
      id: `panel-${tab}`,
      class: "tab-panel",
      role: "tabpanel",
      "aria-labelledby": `tab-${tab}`,
    });
    const fills = Object.entries(views).map(([name, mount]) => place(panel, name, mount));
    // A view on a tab is mounted when the tab is first opened.
    const openOnce = () => panel.classList.contains("open") && fills.splice(0).forEach((fill) => void fill());
    panel.addEventListener("opened", openOnce);
    page.append(panel);
  }
  await speakPreferredLanguage();
  for (const fill of open) fill();
}

/** A place for a view; returns what fills it, and fills it again when another language is spoken or the frame changes. */
function place(parent: HTMLElement, name: string, mount: Mount) {
  const element = h("div", { class: "view" });
  parent.append(h("div", { id: name, class: "block" }, element));
  let mounted = new AbortController();
  const fill = () => {
    mounted.abort(); // ends the listeners of the view before
    mounted = new AbortController();
    mount({ element, signal: mounted.signal });
  };
  return () => {
    fill();
    document.addEventListener("language:changed", fill);
    document.addEventListener("frame:changed", fill); // what is drawn grows with the page's type
  };
}
