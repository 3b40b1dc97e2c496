// The page of a saved run: esbuild makes assets/dist/file.js of this file and of all that it imports.

import "./saved.ts"; // before the views, which read what the page is opened with

import { callNotebook, tellNotebook } from "./api/notebook.ts";
import { mount as header } from "./features/frame/header.ts";
import { mount as tabs } from "./features/frame/tabs.ts";
import { mount as runBar } from "./features/run-bar/run-bar.ts";
import { fillPage, RUN_TABS } from "./start.ts";
import { restorePlace } from "./state/address.ts";
import { state, subscribe } from "./state/state.ts";

const page = document.querySelector(".html-container > .view") as HTMLElement;
fillPage(page, { header, run: runBar, tabs }, RUN_TABS).then(() => {
  callNotebook((place) => void restorePlace(place, false));
  subscribe(document.body, () => tellNotebook(state));
});
