// This session's models, each to use, to download and to forget; and a place for the file of one.

import { download } from "../charts/export.js";
import { h } from "../core/dom.js";
import { formatList, formatMessage, formatNumber, t } from "../core/i18n.js";
import { link } from "../core/parts.js";
import { state } from "../core/state.js";
import { addModel, forgetModel, lostModels, ownModels, sessionId, useModel } from "../net/models.js";

/** @import { OwnModel } from "../core/types.d.ts" */

/** @param {string} path */
const at = (path) => new URL(path, document.baseURI);

/** @param {AbortSignal} signal */
export function ownModelList(signal) {
  const list = h("ul", { class: "models" });
  const lost = h("p", { class: "hint", role: "status", hidden: true });
  const trouble = h("p", { class: "message", role: "alert", hidden: true });
  const file = h("input", { type: "file", accept: ".safetensors", class: "visually-hidden", id: "bring-model" });
  const complain = (/** @type {string} */ text) => {
    trouble.textContent = text;
    trouble.hidden = false;
  };
  file.addEventListener("change", async () => {
    const [chosen] = file.files ?? [];
    if (!chosen) return;
    trouble.hidden = true;
    list.parentElement?.classList.add("busy");
    const message = await uploadModel(chosen);
    if (message) complain(message);
    list.parentElement?.classList.remove("busy");
    file.value = "";
  });
  const draw = () => {
    list.replaceChildren(...ownModels().map((model) => modelRow(model, complain)));
    list.hidden = ownModels().length === 0;
    lost.hidden = lostModels().length === 0;
    lost.textContent = t("models.lost", { names: formatList(lostModels()) });
  };
  document.addEventListener("models:changed", draw, { signal });
  document.addEventListener("translate:answered", draw, { signal });
  draw();
  return h(
    "div",
    {},
    h("h2", {}, t("models.title")),
    h("p", { class: "lead" }, t("models.about")),
    list,
    lost,
    trouble,
    h("p", {}, file, h("label", { class: "pill", for: "bring-model" }, t("models.bring"))),
  );
}

/** Send the file of a model to the server. Returns what was wrong with it. @param {File} file */
async function uploadModel(file) {
  try {
    const address = at(`models?visit=${encodeURIComponent(sessionId())}`);
    const answer = await (await fetch(address, { method: "POST", body: file })).json();
    if (!answer.model) return formatMessage(answer.error);
    addModel(answer);
    return "";
  } catch {
    return t("file.not_taken");
  }
}

/** @param {OwnModel} model @param {(text: string) => void} complain */
function modelRow(model, complain) {
  const { checkpoint, name, weights, layers, heads, d_model, sentences } = model;
  const isUsed = state.run?.checkpoint === checkpoint;
  return h(
    "li",
    { class: isUsed ? "used" : null },
    h("b", {}, name),
    " ",
    h("small", {}, t("models.facts", { sentences, weights: formatNumber(weights), layers, heads, d_model })),
    h(
      "span",
      { class: "actions" },
      isUsed ? h("span", { class: "now" }, t("models.used")) : link(t("models.use"), () => useModel(checkpoint)),
      link(t("models.download"), () => downloadModel(model, complain)),
      link(t("models.forget"), () => deleteModel(checkpoint), { "aria-label": t("models.forget_named", { name }) }),
    ),
  );
}

/** @param {OwnModel} model @param {(text: string) => void} complain */
async function downloadModel({ checkpoint, name }, complain) {
  const answer = await fetch(at(`models/${checkpoint}`)).catch(() => null);
  if (answer?.ok) {
    download(await answer.blob(), `${name.replace(/[^\p{L}\p{N}_-]+/gu, "-")}.safetensors`);
    return;
  }
  complain(t(answer ? "error.model_gone" : "file.not_taken"));
  if (answer) forgetModel(checkpoint);
}

/** @param {string} checkpoint */
function deleteModel(checkpoint) {
  fetch(at(`models/${checkpoint}`), { method: "DELETE" }).catch(() => {}); // else it expires
  if (state.run?.checkpoint === checkpoint) useModel("toy");
  forgetModel(checkpoint);
}
