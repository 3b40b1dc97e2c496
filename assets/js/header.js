// The title line: which model, which device and why, light or dark.

import { h } from "./dom.js";

const THEME = "attention-bitte-theme";

export function mount({ element, props }) {
  const { checkpoint, sentences, device, why } = props.value;
  const asked = new URLSearchParams(location.search).get("__theme");
  const kept = localStorage.getItem(THEME);
  if (kept && !asked) document.body.classList.toggle("dark", kept === "dark");

  const theme = h("button", { class: "pill", type: "button", title: "Light or dark", "aria-label": "Light or dark" }, "◐");
  theme.addEventListener("click", () => {
    const dark = document.body.classList.toggle("dark");
    localStorage.setItem(THEME, dark ? "dark" : "light");
  });
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
      h("span", { class: "pill", title: "The model that is running" }, h("b", {}, checkpoint), ` · ${sentences}`),
      badge,
      theme,
    ),
  );
}
