// The page: every view by its name. esbuild makes assets/dist/app.js of this file and of all that it imports.

import "./style.css";

import type { Component, View } from "./api/types.ts";
import { mount as attention } from "./features/attention/attention.ts";
import { mount as heads } from "./features/attention/heads.ts";
import { mount as classPanel } from "./features/classroom/panel.ts";
import { mount as decoding } from "./features/decoding/decoding.ts";
import { mount as breakIt } from "./features/frame/break-it.ts";
import { mount as header } from "./features/frame/header.ts";
import { mount as tabs } from "./features/frame/tabs.ts";
import { mount as inside } from "./features/inside/inside.ts";
import { mount as lesson } from "./features/lesson/lesson.ts";
import { mount as mistakes } from "./features/mistakes/mistakes.ts";
import { mount as overview } from "./features/overview/overview.ts";
import { mount as positions } from "./features/positions/positions.ts";
import { mount as runBar } from "./features/run-bar/run-bar.ts";
import { teach, mount as train } from "./features/train/train.ts";
import { mount as translate } from "./features/translate/translate.ts";
import { mount as whatIf } from "./features/what-if/what-if.ts";
import { mountView } from "./ui/mount.ts";

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

export { mistakeTraining } from "./api/mistake-training.ts";
// For tests and for the browser's console.
export { parseChanges, requestChanges } from "./state/changes.ts";
export { askAboutRun } from "./state/server-cache.ts";
export { showRun, state, update } from "./state/state.ts";
