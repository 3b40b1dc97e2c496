// The title line: which model, which device and why, light or dark.

import { h } from "./dom.js";
import { follow, state } from "./store.js";

const THEME = "attention-bitte-theme";

export function mount({ element, props }) {
  const { device, why } = props.value;
  const asked = new URLSearchParams(location.search).get("__theme");
  const kept = remembered();
  if (kept && !asked) document.body.classList.toggle("dark", kept === "dark");

  const theme = h("button", { class: "pill", type: "button", title: "Light or dark", "aria-label": "Light or dark" }, "◐");
  theme.addEventListener("click", () => {
    const dark = document.body.classList.toggle("dark");
    remember(dark ? "dark" : "light");
  });
  const model = h(
    "select",
    { class: "pill", id: "checkpoint", title: "The model that is running", "aria-label": "Model" },
    ...Object.entries(props.models).map(([name, { sentences }]) => h("option", { value: name }, `${name} · ${sentences}`)),
  );
  model.addEventListener("change", () => document.dispatchEvent(new CustomEvent("checkpoint:wanted", { detail: model.value })));
  follow(element, () => (model.value = state.run.checkpoint));
  document.addEventListener("translate:answered", () => (model.value = state.run.checkpoint)); // also after a refusal
  const badge = h(
    "details",
    { class: "pill", id: "device" },
    h("summary", {}, h("span", { class: "dot" }), device),
    h("p", { class: "popover" }, why),
  );
  document.addEventListener("click", ({ target }) => badge.contains(target) || badge.removeAttribute("open"));
  element.replaceChildren(
    h(
      "header",
      {},
      h("h1", {}, "Attention, bitte", h("small", {}, "the original Transformer, live")),
      model,
      badge,
      theme,
    ),
  );
}

// A page inside another site's frame may have no storage; then the choice lasts as long as the page.
function remembered() {
  try {
    return localStorage.getItem(THEME);
  } catch {
    return null;
  }
}

function remember(theme) {
  try {
    localStorage.setItem(THEME, theme);
  } catch {
    // nothing to do: see above
  }
}
