// Fills a place on the page with a view, and again whenever another language is spoken.

import { queueRequests } from "../net/busy.js";
import { listenForModels } from "../net/models.js";
import { reconnect } from "../net/reconnect.js";
import { speakPreferredLanguage } from "./i18n.js";

/** @import { Component } from "./types.d.ts" */

/** @type {Promise<void> | null} */
let started = null;

/** What the page needs once, before any view. */
async function start() {
  queueRequests();
  listenForModels();
  await speakPreferredLanguage();
}

/** @param {string} file the address of a view's module @param {Component} component */
export async function mount(file, component) {
  started ??= start();
  const loading = Promise.all([import(file), started]);
  loading.catch(reconnect); // what a tab needs is loaded when it is first opened: the server may be gone by then
  const [module] = await loading;
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
}
