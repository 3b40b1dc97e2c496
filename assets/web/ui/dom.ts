// Small builders. Text always goes in as textContent or an attribute value: tokens are a visitor's words.

import type { Child, Side } from "../api/types.ts";
import { t } from "../state/i18n.ts";
import { distinctWord } from "../state/words.ts";

const SVG = "http://www.w3.org/2000/svg";
const MATHML = "http://www.w3.org/1998/Math/MathML";

/** `onclick` and its like are listeners, `data` are data attributes; false, null and undefined are left out. */
export type Attributes = Record<string, any>;

function fill<E extends Element>(node: E, attributes: Attributes, children: Child[]): E {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || (value === false && !name.startsWith("aria-"))) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else if (name === "data")
      for (const [key, each] of Object.entries(value)) fill(node, { [`data-${key}`]: each }, []);
    else if (name === "style") (node as unknown as HTMLElement).style.cssText = value;
    else node.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : value);
  }
  node.append(...flat(children));
  return node;
}

const flat = (children: Child[]): (string | Node)[] =>
  children.flatMap((child) => {
    if (child === null || child === undefined) return [];
    if (Array.isArray(child)) return flat(child);
    return typeof child === "number" ? String(child) : child;
  });

type HtmlTag = keyof HTMLElementTagNameMap;
type SvgTag = keyof SVGElementTagNameMap;

export const h = <Tag extends HtmlTag>(tag: Tag, attributes: Attributes = {}, ...children: Child[]) =>
  fill(document.createElement(tag), attributes, children);

/** A dialog that a click outside of it closes. */
export function dialog(attributes: Attributes, ...children: Child[]) {
  const element = h("dialog", attributes, children);
  element.addEventListener("click", ({ target }) => target === element && element.close());
  return element;
}

export const svg = <Tag extends SvgTag>(tag: Tag, attributes: Attributes = {}, ...children: Child[]) =>
  fill(document.createElementNS(SVG, tag), attributes, children);

export const mathml = (tag: string, attributes: Attributes, ...children: Child[]) =>
  fill(document.createElementNS(MATHML, tag), attributes, children);

export const setChildren = (element: Element, ...children: Child[]) => element.replaceChildren(...flat(children));

/** Draw, and focus again what had the focus: found by its `data-place`, or by where it stood. */
export function keepFocus(element: Element, draw: () => void) {
  const controls = () => [...element.querySelectorAll<HTMLElement>("button, select, input")];
  const focused = (document.activeElement ?? document.body) as HTMLElement;
  const at = controls().indexOf(focused);
  const { place } = focused.dataset;
  draw();
  if (at < 0 || element.contains(document.activeElement)) return;
  const now = controls();
  const again = now.find((control) => place && control.dataset.place === place) ?? now[at] ?? now.at(-1);
  again?.focus({ preventScroll: true });
}

export const replaceKeepingFocus = (element: Element, children: Child[]) =>
  keepFocus(element, () => setChildren(element, children));

/** How much larger than usual the page's type is: on a projector it grows. */
export const typeScale = () => parseFloat(getComputedStyle(document.documentElement).fontSize) / 16;

let family = "";
/** The page's font, read once: to read it is to compute the style of all that has changed. */
export const fontFamily = () => (family ||= getComputedStyle(document.body).fontFamily);

let ruler: CanvasRenderingContext2D | null = null;

/** How wide a label is, px: letters of some scripts are twice as wide as others. */
export function textWidth(text: string, size: number) {
  ruler ??= document.createElement("canvas").getContext("2d") as CanvasRenderingContext2D;
  ruler.font = `600 ${size}px ${fontFamily()}`;
  return ruler.measureText(text).width;
}

/** Until what changes now is drawn, and fitted to its place in the frame after. */
export const twoFrames = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));

/** The beginning of a label, as wide as it may be, px. */
export function fitted(text: string, size: number, width: number) {
  const letters = [...text];
  const all = letters.length;
  const written = () => (letters.length < all ? `${letters.join("")}…` : text);
  while (letters.length > 1 && textWidth(written(), size) > width) letters.pop();
  return written();
}

const PATHS = {
  back: "M15 5l-7 7 7 7",
  play: "M8 5l10 7-10 7z",
  pause: "M8 5v14M16 5v14",
  next: "M9 5l7 7-7 7",
};
export function icon(name: keyof typeof PATHS) {
  const path = svg("path", { d: PATHS[name], fill: name === "play" ? "currentColor" : "none" });
  return svg("svg", { viewBox: "0 0 24 24", class: "icon", "aria-hidden": "true" }, path);
}

const SPECIAL = new Set(["S", "E", "P"]);
export const isSpecial = (token: string) => SPECIAL.has(token);

export const word = (token: string, side: Side, text = token) =>
  h("b", { class: `word ${side}${isSpecial(token) ? " special" : ""}` }, text);

/** One of several words; each of equal ones with its position. */
export const wordAt = (words: string[], i: number, side: Side) => word(words[i], side, distinctWord(words, i));

export const chip = <Tag extends HtmlTag>(tag: Tag, token: string, side: Side, attributes: Attributes = {}) =>
  h(tag, { ...attributes, class: `chip ${side}${isSpecial(token) ? " special" : ""}` }, token);

/** A line scrolls until one of its parts is in its middle, or to its start where that has the part in sight. It may be
 * drawn smaller than it is, for a class. */
export function scrollToMiddle(line: HTMLElement, part?: Element) {
  if (!part) return; // something else is drawn since this was asked for
  const [at, frame] = [part.getBoundingClientRect(), line.getBoundingClientRect()];
  const scale = line.offsetWidth / frame.width || 1;
  const isAtStart = line.scrollLeft + (at.right - frame.left) * scale <= line.clientWidth;
  line.scrollLeft += isAtStart ? -line.scrollLeft : (at.left + at.width / 2 - frame.left - frame.width / 2) * scale;
}

/** Choices for `segmented`: counted from 0, shown from 1. */
export const numberedOptions = (count: number): [string, string][] =>
  Array.from({ length: count }, (_, i) => [String(i), String(i + 1)]);

/** A place that scrolls where it is too small; the keyboard reaches it, if nothing in it can be reached. */
export const scrollBox = (...children: Child[]) => reachable(h("div", { class: "scroll" }, children));

export const isVisible = (element: Element) => element.checkVisibility?.() ?? element.getClientRects().length > 0;

/** A place that scrolls as a `scrollBox` does. */
export function reachable(place: HTMLElement) {
  const look = () => {
    const over = place.scrollWidth > place.clientWidth + 1 || place.scrollHeight > place.clientHeight + 1;
    const reach = over && ![...place.querySelectorAll("button, input")].some(isVisible);
    for (const [name, value] of Object.entries({ tabindex: "0", role: "group", "aria-label": t("scroll") })) {
      if (reach) place.setAttribute(name, value);
      else place.removeAttribute(name);
    }
  };
  new ResizeObserver(look).observe(place);
  new MutationObserver(() => requestAnimationFrame(look)).observe(place, { childList: true, subtree: true });
  return place;
}

/** One choice of a few, as buttons in a row: its element, and a setter that does not call `choose`. */
export function segmented(label: string, options: [string, Child][], choose: (value: string) => void) {
  const type = "button";
  const buttons = options.map(([value, text]) => h("button", { type, value, onclick: () => choose(value) }, text));
  return {
    element: h("div", { class: "segmented", role: "group", "aria-label": label }, buttons),
    set: (value: unknown) => {
      for (const button of buttons) button.ariaPressed = String(button.value === String(value));
    },
  };
}

/** A choice of names whose texts the catalogue has under `key`. */
export function namedChoice<Name extends string>(
  label: string,
  names: readonly Name[],
  key: string,
  choose: (name: Name) => void,
) {
  const options = names.map((name) => [name, t(`${key}.${name}`)] as [string, string]);
  return segmented(label, options, (name) => choose(name as Name));
}

export const isDark = () => document.body.classList.contains("dark");

export function onThemeChange(react: () => void, signal?: AbortSignal) {
  let wasDark = isDark();
  const observer = new MutationObserver(() => {
    if (isDark() === wasDark) return; // another class
    wasDark = !wasDark;
    react();
  });
  observer.observe(document.body, { attributeFilter: ["class"] });
  signal?.addEventListener("abort", () => observer.disconnect());
}

export const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;
