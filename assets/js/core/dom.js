// Small builders. Text always goes in as textContent or an attribute value, never as markup: tokens are a visitor's words.

import { t } from "./i18n.js";

const SVG = "http://www.w3.org/2000/svg";

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || (value === false && !name.startsWith("aria-"))) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "style") node.style.cssText = value;
    else node.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : value);
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined));
  return node;
}

export const h = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes = {}, ...children) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

/** Draw anew without losing the keyboard's place: what had the focus is found again by its `data-place`, or by where it stood. */
export function keepFocus(element, draw) {
  const controls = () => [...element.querySelectorAll("button, select, input")];
  const at = controls().indexOf(document.activeElement);
  const { place } = document.activeElement.dataset;
  draw();
  if (at < 0 || element.contains(document.activeElement)) return;
  const now = controls();
  (now.find((control) => place && control.dataset.place === place) ?? now[at] ?? now.at(-1))?.focus({
    preventScroll: true,
  });
}

/** Other children for an element; what had the focus among them keeps it. */
export const replaceKeepingFocus = (element, children) =>
  keepFocus(element, () => element.replaceChildren(...children));

/** How much larger than usual the page's type is: on a projector it grows. */
export const typeScale = () => parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;

const ruler = document.createElement("canvas").getContext("2d");

/** How wide a label is, px: letters of some scripts are twice as wide as others. */
export function textWidth(text, size) {
  ruler.font = `600 ${size}px ${getComputedStyle(document.body).fontFamily}`;
  return ruler.measureText(text).width;
}

const PATHS = {
  first: "M6 5v14M18 5l-7 7 7 7",
  back: "M15 5l-7 7 7 7",
  play: "M8 5l10 7-10 7z",
  pause: "M8 5v14M16 5v14",
  next: "M9 5l7 7-7 7",
  last: "M18 5v14M6 5l7 7-7 7",
};
export const icon = (name) =>
  svg(
    "svg",
    { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" },
    svg("path", { d: PATHS[name], fill: name === "play" ? "currentColor" : "none" }),
  );

const SPECIAL = new Set(["S", "E", "P"]);
export const isSpecial = (token) => SPECIAL.has(token);

/** A token in its side's colour; special tokens are outlined. */
export const word = (token, side) => h("b", { class: `word ${side}${isSpecial(token) ? " special" : ""}` }, token);

/** A token as a chip in its side's colour. */
export const chip = (tag, token, side, attributes = {}) =>
  h(tag, { ...attributes, class: `chip ${side}${isSpecial(token) ? " special" : ""}` }, token);

/** So many choices for `segmented`: counted from 0, shown from 1. */
export const numberedOptions = (count) => Array.from({ length: count }, (_, i) => [String(i), String(i + 1)]);

/** A place that scrolls where it is too small for what it holds; the keyboard then reaches it, if nothing in it can be reached. */
export function scrollBox(...children) {
  const place = h("div", { class: "scroll" }, children);
  const look = () => {
    const over = place.scrollWidth > place.clientWidth + 1 || place.scrollHeight > place.clientHeight + 1;
    const reach = over && !place.querySelector("button, input");
    for (const [name, value] of Object.entries({ tabindex: 0, role: "group", "aria-label": t("scroll") })) {
      if (reach) place.setAttribute(name, value);
      else place.removeAttribute(name);
    }
  };
  let frame = null; // in which it looks: once, when everything has changed, because a look has the page laid out
  const soon = () => (frame ??= requestAnimationFrame(() => ((frame = null), look())));
  new ResizeObserver(look).observe(place);
  new MutationObserver(soon).observe(place, { childList: true, subtree: true });
  return place;
}

/** One choice of a few, as buttons in a row. Returns its element, and a setter that does not call `choose`. */
export function segmented(label, options, choose) {
  const buttons = options.map(([value, text]) =>
    h("button", { type: "button", value, onclick: () => choose(value) }, text),
  );
  return {
    element: h("div", { class: "segmented", role: "group", "aria-label": label }, buttons),
    set: (value) => buttons.forEach((button) => button.setAttribute("aria-pressed", button.value === String(value))),
  };
}
