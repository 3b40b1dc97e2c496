// The title line: which model, which device and why, which language, light or dark.

import { mapPaint } from "../charts/attention-map.js";
import { download } from "../charts/export.js";
import { isPresenting, pageAddress } from "../core/address.js";
import { h } from "../core/dom.js";
import { chooseLanguage, formatMessage, LANGUAGES, language, remember, remembered, t } from "../core/i18n.js";
import { askAboutRun } from "../core/server-cache.js";
import { state, subscribe, update } from "../core/state.js";
import { modelName, models, setShippedModels } from "../net/models.js";
import { handout } from "./handout.js";
import { badge as checks } from "./self-checks.js";

const THEME = "attention-bitte-theme";

export function mount({ element, props, server, signal }) {
  const { device, why } = props.value;
  const asked = new URLSearchParams(location.search).get("__theme");
  const kept = remembered(THEME);
  if (kept && !asked) document.body.classList.toggle("dark", kept === "dark");

  const theme = h(
    "button",
    { class: "pill", type: "button", title: t("header.theme"), "aria-label": t("header.theme") },
    "◐",
  );
  theme.addEventListener("click", () => {
    const dark = document.body.classList.toggle("dark");
    remember(THEME, dark ? "dark" : "light");
  });
  const select = (id, title, options) =>
    h(
      "select",
      { class: "pill", id, title, "aria-label": title },
      options.map(([value, text]) => h("option", { value }, text)),
    );
  setShippedModels(props.models);
  const options = () =>
    Object.entries(models()).map(([checkpoint, { sentences }]) => [
      checkpoint,
      t("header.model_size", { name: modelName(checkpoint), sentences }),
    ]);
  const model = select("checkpoint", t("header.model"), options());
  const again = () => {
    model.replaceChildren(...options().map(([value, text]) => h("option", { value }, text)));
    model.value = state.run.checkpoint;
  };
  document.addEventListener("models:changed", again, { signal });
  model.addEventListener("change", () =>
    document.dispatchEvent(new CustomEvent("checkpoint:wanted", { detail: model.value })),
  );
  subscribe(element, () => (model.value = state.run.checkpoint));
  document.addEventListener("translate:answered", () => (model.value = state.run.checkpoint), { signal }); // also after a refusal
  const tongue = select("language", t("header.language"), Object.entries(LANGUAGES));
  tongue.value = language;
  tongue.addEventListener("change", () =>
    chooseLanguage(tongue.value).then(
      () => document.querySelector("#language").focus(),
      () => (tongue.value = language), // its catalogue cannot be had: the page stays as it is
    ),
  );
  const badge = h(
    "details",
    { class: "pill", id: "device" },
    h("summary", {}, h("span", { class: "dot" }), device),
    h("p", { class: "popover" }, formatMessage(why)),
  );
  document.addEventListener(
    "click",
    ({ target }) =>
      element.querySelectorAll("details").forEach((each) => each.contains(target) || each.removeAttribute("open")),
    { signal },
  );
  element.replaceChildren(
    mapPaint(),
    h(
      "header",
      {},
      h("h1", {}, "Attention, bitte", " ", h("small", {}, t("header.subtitle"))),
      model,
      badge,
      checks(server, signal),
      tongue,
      theme,
      takeHome(server),
      share(signal),
    ),
  );
  name();
  document.body.classList.toggle("presenting", isPresenting());
  followTabs(signal);
}

/** A handout, a notebook and the weights of this run, as files. */
function takeHome(server) {
  const failed = h("p", { role: "alert", hidden: true }, t("home.failed"));
  const file = (what, make) => {
    const button = h("button", { type: "button", class: "link", "data-file": what }, t(`home.${what}`));
    button.addEventListener("click", async () => {
      button.disabled = true;
      failed.hidden = true;
      try {
        const { name, text, type } = await make();
        download(new Blob([text], { type }), name);
      } catch {
        failed.hidden = false;
      }
      button.disabled = false;
    });
    return h("p", {}, button, " ", h("small", {}, t(`home.${what}.about`)));
  };
  const html = async () => ({
    name: `${modelName(state.run.checkpoint)}-handout.html`,
    text: await handout(server),
    type: "text/html",
  });
  const csv = async () => ({ ...(await askAboutRun("weights_csv", server)), type: "text/csv" });
  const notebook = async () => ({ ...(await askAboutRun("notebook", server)), type: "application/x-ipynb+json" });
  const list = h(
    "div",
    { class: "popover" },
    file("handout", html),
    file("notebook", notebook),
    file("csv", csv),
    failed,
  );
  const menu = h("details", { class: "pill", id: "home" }, h("summary", {}, t("home")), list);
  return menu;
}

/** Copies the link to what is seen; the same for a presenter, without the controls that a lesson does not need. */
function share(signal) {
  const link = h("input", { readonly: true, "aria-label": t("share.link"), onfocus: () => link.select() });
  const said = h("p", { role: "status" });
  const copy = async (presenting) => {
    link.value = pageAddress(presenting);
    popover.hidden = false;
    try {
      await navigator.clipboard.writeText(link.value);
      said.textContent = t(presenting ? "share.copied_presenter" : "share.copied");
    } catch {
      link.select(); // a page without that right: the visitor copies it
      said.textContent = t("share.copy_it");
    }
  };
  const presenter = h(
    "button",
    { type: "button", class: "link", id: "share-presenter", onclick: () => copy(true) },
    t("share.presenter"),
  );
  const popover = h(
    "div",
    { class: "popover", hidden: true },
    said,
    link,
    h("p", {}, presenter, " ", t("share.presenter_about")),
  );
  const button = h(
    "button",
    { type: "button", class: "pill", id: "share", onclick: () => copy(isPresenting()) },
    t("share"),
  );
  const leave = h("button", { type: "button", class: "pill", id: "leave" }, t("share.leave"));
  leave.addEventListener("click", () => {
    history.replaceState(history.state, "", pageAddress(false));
    document.body.classList.remove("presenting");
  });
  const place = h("span", { class: "share" }, leave, button, popover);
  document.addEventListener("click", ({ target }) => place.contains(target) || (popover.hidden = true), { signal });
  document.addEventListener("keydown", ({ key }) => key === "Escape" && (popover.hidden = true), { signal });
  return place;
}

/** An element that Gradio may not have made yet. */
async function there(selector) {
  for (;;) {
    const element = document.querySelector(selector);
    if (element) return element;
    await new Promise(requestAnimationFrame);
  }
}

/** Gradio's own labels were written before anyone knew the visitor's language. */
async function name() {
  const box = await there("#sentence input");
  box.placeholder = t("sentence.label");
  box.setAttribute("aria-label", t("sentence.label"));
  (await there("#sentence [data-testid=block-info]")).textContent = t("sentence.label");
  (await there("#translate")).textContent = t("sentence.translate");
  await there("[role=tab][data-tab-id]");
  for (const tab of tabs()) tab.textContent = t(`tab.${tab.dataset.tabId}`);
  document.querySelector("[role=tablist]").setAttribute("aria-label", t("tabs"));
}

const tabs = () => document.querySelectorAll("[role=tab][data-tab-id]");

/** The open tab is part of the visitor's place: what is clicked is kept, and what is wanted is opened. */
async function followTabs(signal) {
  const list = await there("[role=tablist]");
  if (signal.aborted) return;
  const opened = () => [...tabs()].find((tab) => tab.getAttribute("aria-selected") === "true")?.dataset.tabId;
  const heard = new MutationObserver(() => opened() && opened() !== state.tab && update({ tab: opened() }));
  heard.observe(list, { subtree: true, attributeFilter: ["aria-selected"] });
  signal.addEventListener("abort", () => heard.disconnect());
  if (state.tab === "translate") state.tab = opened() ?? state.tab; // somebody was quicker than this module, and no link
  subscribe(list, () => {
    // Gradio makes a panel when its tab is first opened, and gives it no name.
    for (const tab of tabs())
      document.getElementById(tab.getAttribute("aria-controls"))?.setAttribute("aria-labelledby", tab.id);
    if (opened() !== state.tab) document.querySelector(`[data-tab-id="${state.tab}"]`)?.click();
  });
}
