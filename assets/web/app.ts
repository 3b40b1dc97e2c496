// The page: every view by its name. esbuild makes assets/dist/app.js of this file and of all that it imports.

import "./style.css";

import { listenForModels, setShippedModels } from "./api/models.ts";
import { opening } from "./api/schema.ts";
import type { Model, View } from "./api/types.ts";
import { mount as attention } from "./features/attention/attention.ts";
import { mount as heads } from "./features/attention/heads.ts";
import { mount as classPanel } from "./features/class/panel.ts";
import { mount as decoding } from "./features/decoding/decoding.ts";
import { mount as header } from "./features/frame/header.ts";
import { mountParts as breakIt, mount as tabs } from "./features/frame/tabs.ts";
import { mount as inside } from "./features/inside/inside.ts";
import { mount as intro } from "./features/intro/intro.ts";
import { mount as lesson } from "./features/lesson/lesson.ts";
import { mount as mistakes } from "./features/mistakes/mistakes.ts";
import { mount as overview } from "./features/overview/overview.ts";
import { mount as positions } from "./features/positions/positions.ts";
import { mount as runBar } from "./features/run-bar/run-bar.ts";
import { teach, mount as train } from "./features/train/train.ts";
import { mount as translate } from "./features/translate/translate.ts";
import { mount as whatIf } from "./features/what-if/what-if.ts";
import { speakPreferredLanguage } from "./state/i18n.ts";
import { h } from "./ui/dom.ts";

type Mount = (view: View) => void;

/** The views above the tabs, in their order; each stands in the element of its name. */
const FRAME: Record<string, Mount> = { header, run: runBar, class: classPanel, tabs, intro };

const TABS: Record<string, Record<string, Mount>> = {
  overview: { overview },
  translate: { story: translate },
  attention: { attention, heads },
  positions: { positions },
  inside: { inside },
  train: { train },
  break: { breakit: breakIt, whatif: whatIf, mistakes, decoding },
  lesson: { lesson },
};

/** Fill the page's place: see transformer/web/page.py. */
export async function start(page: HTMLElement) {
  page.id = "page";
  document.addEventListener("teach:wanted", (event) => teach(...event.detail));
  setShippedModels(opening.models as Record<string, Model>);
  listenForModels();
  const open = Object.entries(FRAME).map(([name, mount]) => place(page, name, mount));
  for (const [tab, views] of Object.entries(TABS)) {
    const panel = h("div", { id: `panel-${tab}`, class: "tab-panel" });
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

export { mistakeTraining } from "./api/mistake-training.ts";
// For tests and for the browser's console.
export { parseChanges, requestChanges } from "./state/changes.ts";
export { askAboutRun } from "./state/server-cache.ts";
export { showRun, state, update } from "./state/state.ts";
