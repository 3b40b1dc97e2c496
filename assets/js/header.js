// The title line: which model, which device and why, which language, light or dark.

import { h } from "./dom.js";
import { LANGUAGES, choose, language, remember, remembered, t, told } from "./i18n.js";
import { follow, state } from "./store.js";

const THEME = "attention-bitte-theme";

export function mount({ element, props, signal }) {
  const { device, why } = props.value;
  const asked = new URLSearchParams(location.search).get("__theme");
  const kept = remembered(THEME);
  if (kept && !asked) document.body.classList.toggle("dark", kept === "dark");

  const theme = h("button", { class: "pill", type: "button", title: t("header.theme"), "aria-label": t("header.theme") }, "◐");
  theme.addEventListener("click", () => {
    const dark = document.body.classList.toggle("dark");
    remember(THEME, dark ? "dark" : "light");
  });
  const select = (id, title, options) =>
    h("select", { class: "pill", id, title, "aria-label": title }, options.map(([value, text]) => h("option", { value }, text)));
  const models = Object.entries(props.models).map(([name, { sentences }]) => [name, t("header.model_size", { name, sentences })]);
  const model = select("checkpoint", t("header.model"), models);
  model.addEventListener("change", () => document.dispatchEvent(new CustomEvent("checkpoint:wanted", { detail: model.value })));
  follow(element, () => (model.value = state.run.checkpoint));
  document.addEventListener("translate:answered", () => (model.value = state.run.checkpoint), { signal }); // also after a refusal
  const tongue = select("language", t("header.language"), Object.entries(LANGUAGES));
  tongue.value = language;
  tongue.addEventListener("change", () => choose(tongue.value).then(() => document.querySelector("#language").focus()));
  const badge = h(
    "details",
    { class: "pill", id: "device" },
    h("summary", {}, h("span", { class: "dot" }), device),
    h("p", { class: "popover" }, told(why)),
  );
  document.addEventListener("click", ({ target }) => badge.contains(target) || badge.removeAttribute("open"), { signal });
  element.replaceChildren(
    h("header", {}, h("h1", {}, "Attention, bitte", h("small", {}, t("header.subtitle"))), model, badge, tongue, theme),
  );
  name();
}

/** Gradio's own labels were written before anyone knew the visitor's language. */
function name() {
  const box = document.querySelector("#sentence input, #sentence textarea");
  box.placeholder = t("sentence.label");
  box.setAttribute("aria-label", t("sentence.label"));
  document.querySelector("#translate").textContent = t("sentence.translate");
}
