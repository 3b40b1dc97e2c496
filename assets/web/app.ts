// The page: every view by its name. esbuild makes assets/dist/app.js of this file and of all that it imports.

import "./style.css";

import { browserSource } from "./api/browser.ts";
import { askOf } from "./api/client.ts";
import { opening } from "./api/schema.ts";
import { mount as classPanel } from "./features/class/panel.ts";
import { mount as decoding } from "./features/decoding/decoding.ts";
import { mount as header } from "./features/frame/header.ts";
import { mountParts as breakIt, mount as tabs } from "./features/frame/tabs.ts";
import { mount as intro } from "./features/intro/intro.ts";
import { mount as lesson } from "./features/lesson/lesson.ts";
import { mount as mistakes } from "./features/mistakes/mistakes.ts";
import { mount as runBar } from "./features/run-bar/run-bar.ts";
import { teach, mount as train } from "./features/train/train.ts";
import { mount as whatIf } from "./features/what-if/what-if.ts";
import { fillPage, RUN_TABS, type Views } from "./start.ts";

const FRAME: Views = { header, run: runBar, class: classPanel, tabs, intro };

const TABS: Record<string, Views> = {
  ...RUN_TABS,
  train: { train },
  break: { breakit: breakIt, whatif: whatIf, mistakes, decoding },
  lesson: { lesson },
};

/** Fill the page's place: see transformer/web/page.py. */
export function start(page: HTMLElement) {
  if (opening.site) askOf(browserSource(opening.site));
  document.addEventListener("teach:wanted", (event) =>
    teach(...(event as CustomEvent<Parameters<typeof teach>>).detail),
  );
  return fillPage(page, FRAME, TABS);
}

// For tests and for the browser's console.
export { api } from "./api/client.ts";
export { mistakeTraining } from "./api/mistake-training.ts";
export { parseChanges, requestChanges } from "./state/changes.ts";
export { askAboutRun } from "./state/server-cache.ts";
export { showRun, state, update } from "./state/state.ts";
