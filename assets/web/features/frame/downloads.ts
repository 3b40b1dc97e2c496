// A handout, a notebook and the weights of this run, as files; and a model's.

import { modelName } from "../../api/models.ts";
import { t } from "../../state/i18n.ts";
import { askAboutRun } from "../../state/server-cache.ts";
import { state } from "../../state/state.ts";
import { h } from "../../ui/dom.ts";
import { download } from "../../ui/export.ts";

import { handout } from "./handout.ts";

type TextFile = { name: string; text: string; type: string };

/** Whether the file is of words. */
const inUnit = () => ({ words: state.inWords && Boolean(state.run.words) });

export function downloadMenu() {
  const failed = h("p", { role: "alert", hidden: true }, t("download.failed"));
  const files: Record<string, () => Promise<TextFile>> = {
    handout: async () => ({
      name: `${modelName(state.run.checkpoint)}-handout.html`,
      text: await handout(),
      type: "text/html",
    }),
    notebook: async () => ({ ...(await askAboutRun("notebook", inUnit())), type: "application/x-ipynb+json" }),
    csv: async () => ({ ...(await askAboutRun("weights_csv", inUnit())), type: "text/csv" }),
  };
  const line = ([what, make]: [string, () => Promise<TextFile>]) => {
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
    const button = h(
      "button",
      { type: "button", class: "link", "data-file": what, onclick: save },
      t(`download.${what}`),
    );
    return h("p", {}, button, " ", h("small", {}, t(`download.${what}.about`)));
  };
  const list = h("div", { class: "popover" }, Object.entries(files).map(line), failed);
  return h("details", { class: "pill", id: "home" }, h("summary", {}, t("download")), list);
}
