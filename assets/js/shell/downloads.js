// A handout, a notebook and the weights of this run, as files; and a model's.

import { download } from "../charts/export.js";
import { h } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { askAboutRun } from "../core/server-cache.js";
import { state } from "../core/state.js";
import { forgetModel, modelName } from "../net/models.js";
import { handout } from "./handout.js";

/** @import { OwnModel, Server } from "../core/types.d.ts" */
/** @typedef {{ name: string, text: string, type: string }} TextFile */

/** Whether the file is of words. */
const inUnit = () => ({ words: state.inWords && Boolean(state.run.words) });

/** @param {Server} server */
export function downloadMenu(server) {
  const failed = h("p", { role: "alert", hidden: true }, t("home.failed"));
  /** @type {Record<string, () => Promise<TextFile>>} */
  const files = {
    handout: async () => ({
      name: `${modelName(state.run.checkpoint)}-handout.html`,
      text: await handout(server),
      type: "text/html",
    }),
    notebook: async () => ({ ...(await askAboutRun("notebook", server, inUnit())), type: "application/x-ipynb+json" }),
    csv: async () => ({ ...(await askAboutRun("weights_csv", server, inUnit())), type: "text/csv" }),
  };
  const line = (/** @type {[string, () => Promise<TextFile>]} */ [what, make]) => {
    const save = async () => {
      button.disabled = true;
      failed.hidden = true;
      try {
        const { name, text, type } = await make();
        download(new Blob([text], { type }), name);
      } catch {
        failed.hidden = false;
      }
      button.disabled = false;
    };
    const button = h("button", { type: "button", class: "link", "data-file": what, onclick: save }, t(`home.${what}`));
    return h("p", {}, button, " ", h("small", {}, t(`home.${what}.about`)));
  };
  const list = h("div", { class: "popover" }, Object.entries(files).map(line), failed);
  return h("details", { class: "pill", id: "home" }, h("summary", {}, t("home")), list);
}

/** Save a model's file. @param {OwnModel} model @param {(text: string) => void} complain */
export async function downloadModel({ checkpoint, name }, complain) {
  const answer = await fetch(new URL(`models/${checkpoint}`, document.baseURI)).catch(() => null);
  if (answer?.ok) {
    download(await answer.blob(), `${name.replace(/[^\p{L}\p{N}_-]+/gu, "-")}.safetensors`);
    return;
  }
  complain(t(answer ? "error.model_gone" : "file.not_taken"));
  if (answer) forgetModel(checkpoint);
}
