// Fills a place on the page with a view, and again whenever another language is spoken or the frame changes.

import { queueRequests } from "../net/busy.js";
import { listenForModels } from "../net/models.js";
import { speakPreferredLanguage } from "./i18n.js";

/** @import { Component } from "./types.d.ts" */

/** @type {Promise<void> | null} */
let started = null;

/** Set up what every view needs, once. */
async function start() {
  queueRequests();
  listenForModels();
  await speakPreferredLanguage();
}

/** A view on a tab is mounted when the tab is first opened. @param {Element} element */
async function opened(element) {
  const panel = element.closest(".tab-panel");
  while (panel && !panel.classList.contains("open"))
    await new Promise((resolve) => panel.addEventListener("opened", resolve, { once: true }));
}

/** @param {string} name of the view's module @param {Component} component */
export async function mount(name, component) {
  started ??= start();
  const [module] = await Promise.all([import(await window.moduleAddress(name)), started, opened(component.element)]);
  let heard = () => {};
  component.watch("value", () => heard());
  /** @type {AbortController | null} */
  let mounted = null;
  const mountAgain = () => {
    mounted?.abort(); // ends the listeners of the mounting before
    mounted = new AbortController();
    module.mount({
      ...component,
      watch: (/** @type {string} */ _name, /** @type {() => void} */ listener) => {
        heard = listener;
      },
      signal: mounted.signal,
    });
  };
  mountAgain();
  document.addEventListener("language:changed", mountAgain);
  document.addEventListener("frame:changed", mountAgain); // what is drawn grows with the page's type
}
