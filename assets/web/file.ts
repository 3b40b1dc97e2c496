// The page of a saved run: esbuild makes assets/dist/file.js of this file and of all that it imports.

import "./saved.ts"; // before the views, which read what the page is opened with

import { callNotebook, tellNotebook } from "./api/notebook.ts";
import { mount as attention } from "./features/attention/attention.ts";
import { mount as heads } from "./features/attention/heads.ts";
import { mount as header } from "./features/frame/header.ts";
import { mount as tabs } from "./features/frame/tabs.ts";
import { mount as inside } from "./features/inside/inside.ts";
import { mount as overview } from "./features/overview/overview.ts";
import { mount as positions } from "./features/positions/positions.ts";
import { mount as runBar } from "./features/run-bar/run-bar.ts";
import { mount as translate } from "./features/translate/translate.ts";
import { fillPage } from "./start.ts";
import { restorePlace } from "./state/address.ts";
import { state, subscribe } from "./state/state.ts";

fillPage(
  document.querySelector(".html-container > .view") as HTMLElement,
  { header, run: runBar, tabs },
  {
    overview: { overview },
    translate: { story: translate },
    attention: { attention, heads },
    positions: { positions },
    inside: { inside },
  },
).then(() => {
  callNotebook((place) => void restorePlace(place, false));
  subscribe(document.body, () => tellNotebook(state));
});
