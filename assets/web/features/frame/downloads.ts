// A handout, a notebook and the weights of this run, as files; and a model's.

import { modelName } from "../../api/models.ts";
import { t } from "../../state/i18n.ts";
import { askAboutRun } from "../../state/server-cache.ts";
import { state } from "../../state/state.ts";
import { h } from "../../ui/dom.ts";
import { download } from "../../ui/export.ts";
import { link } from "../../ui/parts.ts";
import { handout } from "./handout.ts";

type TextFile = { name: string; text: string };

const inUnit = () => ({ words: state.inWords && Boolean(state.run.words) });

export function downloadMenu() {
  const failed = h("p", { role: "alert", hidden: true }, t("download.failed"));
  const line = (what: string, type: string, make: () => Promise<TextFile>) => {
    const save = async () => {
      button.disabled = true;
      failed.hidden = true;
      try {
        const { name, text } = await make();
        download(new Blob([text], { type }), name);
      } catch {
        failed.hidden = false;
      }
      button.disabled = false;
    };
    const button = link(t(`download.${what}`), save, { "data-file": what });
    return h("p", {}, button, " ", h("small", {}, t(`download.${what}.about`)));
  };
  const handoutName = () => `${modelName(state.run.checkpoint)}-handout.html`;
  const files = [
    line("handout", "text/html", async () => ({ name: handoutName(), text: await handout() })),
    line("notebook", "application/x-ipynb+json", () => askAboutRun("notebook", inUnit())),
    line("csv", "text/csv", () => askAboutRun("weights_csv", inUnit())),
  ];
  const list = h("div", { class: "unfolded" }, files, failed);
  return h("details", { id: "downloads" }, h("summary", { class: "entry" }, t("download")), list);
}
