// This session's models, each to use, to download and to forget; and a place for the file of one.

import { api } from "../../api/client.ts";
import { addModel, forgetModel, isShared, lostModels, ownModels, useModel } from "../../api/models.ts";
import { uploadModel } from "../../api/server.ts";
import type { OwnModel } from "../../api/types.ts";
import { formatList, formatMessage, formatNumber, t } from "../../state/i18n.ts";
import { state } from "../../state/state.ts";
import { h } from "../../ui/dom.ts";
import { downloadModel } from "../../ui/export.ts";
import { link, setContent } from "../../ui/parts.ts";

export function ownModelList(signal: AbortSignal) {
  const list = h("ul", { class: "models" });
  const lost = h("p", { class: "hint", role: "status" });
  const trouble = h("p", { class: "message", role: "alert" });
  const file = h("input", { type: "file", accept: ".safetensors", class: "visually-hidden", id: "bring-model" });
  const complain = (text: string) => setContent(trouble, text);
  const draw = () => {
    list.replaceChildren(...ownModels().map((model) => modelRow(model, complain)));
    list.hidden = ownModels().length === 0;
    setContent(lost, lostModels().length ? t("models.lost", { names: formatList(lostModels()) }) : null);
  };
  const bring = h("p", {}, file, h("label", { class: "pill", for: "bring-model" }, t("models.bring")));
  const about = [h("h2", {}, t("models.title")), h("p", { class: "lead" }, t("models.about"))];
  const element = h("div", {}, about, list, lost, trouble, bring);
  file.addEventListener("change", async () => {
    if (!file.files?.[0]) return;
    element.classList.add("busy");
    complain(await bringModel(file.files[0]));
    element.classList.remove("busy");
    file.value = "";
  });
  document.addEventListener("models:changed", draw, { signal });
  document.addEventListener("translate:answered", draw, { signal });
  draw();
  return element;
}

async function bringModel(file: File) {
  try {
    const answer = await uploadModel(file);
    if (!answer.model) return formatMessage(answer.error);
    addModel(answer);
    return "";
  } catch {
    return t("file.not_taken");
  }
}

function modelRow(model: OwnModel, complain: (text: string) => void) {
  const { checkpoint, name, weights, layers, heads, d_model, sentences } = model;
  const isUsed = state.run?.checkpoint === checkpoint;
  const facts = t("models.facts", { sentences, weights: formatNumber(weights), layers, heads, d_model });
  const actions = [
    isUsed ? h("span", { class: "now" }, t("models.used")) : link(t("models.use"), () => useModel(checkpoint)),
    link(t("models.download"), () => downloadModel(model, complain)),
    link(t("models.forget"), () => deleteModel(checkpoint), { "aria-label": t("models.forget_named", { name }) }),
  ];
  const content = [h("b", {}, name), " ", h("small", {}, facts), h("span", { class: "actions" }, actions)];
  return h("li", { class: isUsed ? "used" : null }, content);
}

function deleteModel(checkpoint: string) {
  if (!isShared(checkpoint)) api.delete_model({ checkpoint }).catch(() => {}); // else it expires
  if (state.run?.checkpoint === checkpoint) useModel("toy");
  forgetModel(checkpoint);
}
