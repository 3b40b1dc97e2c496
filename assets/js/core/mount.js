// Fills a place on the page with a module, and again whenever another language is spoken.

import "../net/busy.js";
import { reconnect } from "../net/reconnect.js";

/** `gradio` is what Gradio hands a component: element, props, trigger, server and watch. */
export async function mount(file, gradio) {
  const loading = Promise.all([import(file), import("./i18n.js")]);
  loading.catch(reconnect); // what a tab needs is loaded when it is opened first: the server may be gone by then
  const [module] = await loading;
  let heard = () => {};
  gradio.watch("value", () => heard());
  let mounted = null;
  const start = () => {
    mounted?.abort(); // ends the listeners of the mounting before
    mounted = new AbortController();
    module.mount({ ...gradio, watch: (name, listener) => (heard = listener), signal: mounted.signal });
  };
  start();
  document.addEventListener("language:spoken", start);
}
