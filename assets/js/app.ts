// The page: every view by its name. esbuild makes assets/dist/app.js of this file and of all that it imports.

import "../style.css";

import { mountView } from "./core/mount.ts";
import type { Component, View } from "./core/types.ts";
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

const VIEWS = {
  attention,
  "break-it": breakIt,
  "class-panel": classPanel,
  decoding,
  header,
  heads,
  inside,
  lesson,
  mistakes,
  overview,
  positions,
  "run-bar": runBar,
  tabs,
  train,
  translate,
  "what-if": whatIf,
} satisfies Record<string, (view: View) => void>;

let isStarted = false;

/** Fill a place on the page with a view: see transformer/web/component.py. */
export function mount(name: keyof typeof VIEWS, component: Component) {
  if (!isStarted) document.addEventListener("teach:wanted", (event) => teach(...event.detail));
  isStarted = true;
  return mountView(VIEWS[name], component);
}

// For tests and for the browser's console.
export { parseChanges, requestChanges } from "./core/changes.ts";
export { askAboutRun } from "./core/server-cache.ts";
export { showRun, state, update } from "./core/state.ts";
export { mistakeTraining } from "./net/mistake-training.ts";
