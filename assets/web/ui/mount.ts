// Fills a place on the page with a view, and again whenever another language is spoken or the frame changes.

import { queueRequests } from "../api/busy.ts";
import { listenForModels } from "../api/models.ts";
import type { Component, View } from "../api/types.ts";
import { speakPreferredLanguage } from "../state/i18n.ts";

let started: Promise<void> | null = null;

/** Set up what every view needs, once. */
async function start() {
  queueRequests();
  listenForModels();
  await speakPreferredLanguage();
}

/** A view on a tab is mounted when the tab is first opened. */
async function opened(element: Element) {
  const panel = element.closest(".tab-panel");
  while (panel && !panel.classList.contains("open"))
    await new Promise((resolve) => panel.addEventListener("opened", resolve, { once: true }));
}

export async function mountView(mount: (view: View) => void, component: Component) {
  started ??= start();
  await Promise.all([started, opened(component.element)]);
  let heard = () => {};
  component.watch("value", () => heard());
  let mounted: AbortController | null = null;
  const mountAgain = () => {
    mounted?.abort(); // ends the listeners of the mounting before
    mounted = new AbortController();
    mount({
      ...component,
      watch: (_name, listener) => {
        heard = listener;
      },
      signal: mounted.signal,
    });
  };
  mountAgain();
  document.addEventListener("language:changed", mountAgain);
  document.addEventListener("frame:changed", mountAgain); // what is drawn grows with the page's type
}
