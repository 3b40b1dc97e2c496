// Which models this visitor can ask: those that the server ships, and those of this visit, trained or brought here.

import { h } from "../core/dom.js";
import { formatNumber, t, formatMessage } from "../core/i18n.js";
import { download } from "../charts/export.js";
import { readSession, writeSession } from "./session.js";
import { state } from "../core/state.js";

const KEPT = "attention-bitte-models"; // of this tab, so that a reload finds them again
const VISIT = "attention-bitte-visit";
const OWN = "own:"; // before a name in an address: the key is nobody else's business

let shipped = {}; // checkpoint -> what the server tells of it
let own = []; // the same of this visit's models, as a list
let lost = ""; // names of those that had to make place for the newest

/** What is known of each model, by checkpoint. */
export const models = () => ({ ...shipped, ...Object.fromEntries(own.map((each) => [each.checkpoint, each])) });
export const isOwn = (checkpoint) => !Object.hasOwn(shipped, checkpoint);

/** What people call a model. */
export const modelName = (checkpoint) => own.find((each) => each.checkpoint === checkpoint)?.name ?? checkpoint;

/** A model in an address, and back; null for one that is not here. */
export const modelAddress = (checkpoint) => (isOwn(checkpoint) ? `${OWN}${modelName(checkpoint)}` : checkpoint);
export function checkpointFromAddress(text) {
  if (Object.hasOwn(shipped, text)) return text;
  return text.startsWith(OWN) ? (own.find(({ name }) => name === text.slice(OWN.length))?.checkpoint ?? null) : null;
}

/** The same for every request of this tab: a server keeps so many models a visit. */
export const sessionId = readSession(VISIT) ?? crypto.randomUUID?.() ?? String(Math.random());
writeSession(VISIT, sessionId);

export function setShippedModels(known) {
  shipped = known;
  if (!own.length) own = readSession(KEPT) ?? [];
}

function changed() {
  writeSession(KEPT, own);
  document.dispatchEvent(new Event("models:changed"));
}

/**
 * A model that was trained or brought: the page uses it from now on. Two of one name are told apart by a number. `kept`
 * are the keys of all that the server has of this visit: for a new one the oldest may have gone.
 */
function add({ model, kept: there }) {
  const pushed = own.filter(({ checkpoint }) => !there.includes(checkpoint)).map((each) => each.name);
  own = own.filter(({ checkpoint }) => there.includes(checkpoint));
  lost = pushed.join(t("list.comma"));
  const taken = new Set([...Object.keys(shipped), ...own.map(({ name }) => name)]);
  let name = model.name;
  for (let i = 2; taken.has(name); i++) name = `${model.name} ${i}`;
  own = [...own, { ...model, name }];
  changed();
  document.dispatchEvent(new CustomEvent("checkpoint:wanted", { detail: model.checkpoint }));
}

/** The server does not have it any more, or the visitor does not want it. */
export function forgetModel(checkpoint) {
  own = own.filter((each) => each.checkpoint !== checkpoint);
  changed();
}

document.addEventListener("model:trained", ({ detail }) => add(detail));

const at = (path) => new URL(path, document.baseURI);

/** This visit's models, each to use, to take home and to forget; and a place for the file of one. */
export function ownModels(signal) {
  const list = h("ul", { class: "models" });
  const made = h("p", { class: "hint", role: "status", hidden: true });
  const trouble = h("p", { class: "message", role: "alert", hidden: true });
  const file = h("input", { type: "file", accept: ".safetensors", class: "visually-hidden", id: "bring-model" });
  const bring = h("label", { class: "pill", for: "bring-model" }, t("models.bring"));
  file.addEventListener("change", async () => {
    const [chosen] = file.files;
    if (!chosen) return;
    trouble.hidden = true;
    list.parentElement.classList.add("busy");
    try {
      const answer = await fetch(at(`models?visit=${encodeURIComponent(sessionId)}`), { method: "POST", body: chosen });
      const said = await answer.json();
      if (said.model) add(said);
      else complain(formatMessage(said.error));
    } catch {
      complain(t("file.not_taken"));
    }
    list.parentElement.classList.remove("busy");
    file.value = "";
  });
  function complain(text) {
    trouble.textContent = text;
    trouble.hidden = false;
  }

  const line = (model) => {
    const { checkpoint, name, weights, layers, heads, d_model, sentences } = model;
    const use = h(
      "button",
      {
        type: "button",
        class: "link",
        onclick: () => document.dispatchEvent(new CustomEvent("checkpoint:wanted", { detail: checkpoint })),
      },
      t("models.use"),
    );
    const used = state.run?.checkpoint === checkpoint;
    const home = h("button", { type: "button", class: "link", onclick: () => takeHome(model) }, t("models.download"));
    const away = h(
      "button",
      {
        type: "button",
        class: "link",
        "aria-label": t("models.forget_named", { name }),
        onclick: () => leave(checkpoint),
      },
      t("models.forget"),
    );
    const facts = t("models.facts", { sentences, weights: formatNumber(weights), layers, heads, d_model });
    return h(
      "li",
      { class: used ? "used" : null },
      h("b", {}, name),
      " ",
      h("small", {}, facts),
      h("span", { class: "actions" }, used ? h("span", { class: "now" }, t("models.used")) : use, home, away),
    );
  };
  async function takeHome({ checkpoint, name }) {
    const answer = await fetch(at(`models/${checkpoint}`)).catch(() => null);
    if (answer?.ok) return download(await answer.blob(), `${name.replace(/[^\p{L}\p{N}_-]+/gu, "-")}.safetensors`);
    complain(t(answer ? "error.model_gone" : "file.not_taken"));
    if (answer) forgetModel(checkpoint);
  }
  function leave(checkpoint) {
    fetch(at(`models/${checkpoint}`), { method: "DELETE" }).catch(() => {}); // else it goes by its age
    if (state.run?.checkpoint === checkpoint)
      document.dispatchEvent(new CustomEvent("checkpoint:wanted", { detail: "toy" }));
    forgetModel(checkpoint);
  }
  function draw() {
    list.replaceChildren(...own.map(line));
    list.hidden = own.length === 0;
    made.hidden = !lost;
    made.textContent = lost ? t("models.lost", { names: lost }) : "";
  }
  document.addEventListener("models:changed", draw, { signal });
  document.addEventListener("translate:answered", draw, { signal });
  draw();
  return h(
    "div",
    {},
    h("h2", {}, t("models.title")),
    h("p", { class: "lead" }, t("models.about")),
    list,
    made,
    trouble,
    h("p", {}, file, bring),
  );
}
