// The page: every view by its name. esbuild makes assets/dist/app.js of this file and of all that it imports.

import "../style.css";

import { h } from "./core/dom.ts";
import { speakPreferredLanguage } from "./core/i18n.ts";
import { opening } from "./core/schema.ts";
import type { Model, View } from "./core/types.ts";
import { listenForModels, setShippedModels } from "./net/models.ts";
import { mount as classPanel } from "./shell/class-panel.ts";
import { mount as header } from "./shell/header.ts";
import { mount as runBar } from "./shell/run-bar.ts";
import { mount as tabs } from "./shell/tabs.ts";
import { mount as attention } from "./tabs/attention.ts";
import { mount as breakIt } from "./tabs/break-it.ts";
import { mount as decoding } from "./tabs/decoding.ts";
import { mount as heads } from "./tabs/heads.ts";
import { mount as inside } from "./tabs/inside.ts";
import { mount as lesson } from "./tabs/lesson.ts";
import { mount as mistakes } from "./tabs/mistakes.ts";
import { mount as overview } from "./tabs/overview.ts";
import { mount as positions } from "./tabs/positions.ts";
import { teach, mount as train } from "./tabs/train.ts";
import { mount as translate } from "./tabs/translate.ts";
import { mount as whatIf } from "./tabs/what-if.ts";

type Mount = (view: View) => void;

/** The views above the tabs, in their order; each stands in the element of its name. */
const FRAME: Record<string, Mount> = { header, run: runBar, class: classPanel, tabs };

/** The views of each tab. */
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
    const openOnce = () => fills.splice(0).forEach((fill) => void fill());
    panel.addEventListener("opened", openOnce); // a view on a tab is mounted when the tab is first opened
    page.append(panel);
  }
  await speakPreferredLanguage();
  for (const fill of open) fill();
}

/** A place for a view; returns what fills it, and fills it again when another language is spoken or the frame changes. */
function place(parent: HTMLElement, name: string, mount: Mount) {
  const element = h("div", { class: "view" });
  parent.append(h("div", { id: name, class: "block" }, element));
  let mounted: AbortController | null = null;
  const fill = () => {
    mounted?.abort(); // ends the listeners of the mounting before
    mounted = new AbortController();
    mount({ element, signal: mounted.signal });
  };
  return () => {
    fill();
    document.addEventListener("language:changed", fill);
    document.addEventListener("frame:changed", fill); // what is drawn grows with the page's type
  };
}

// For tests and for the browser's console.
export { parseChanges, requestChanges } from "./core/changes.ts";
export { askAboutRun } from "./core/server-cache.ts";
export { showRun, state, update } from "./core/state.ts";
export { mistakeTraining } from "./net/mistake-training.ts";
