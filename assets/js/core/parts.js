// Building blocks of views: buttons, tables, choices, and when a view draws itself.

import { h, namedChoice } from "./dom.js";
import { t } from "./i18n.js";
import { KINDS, state, subscribe, update } from "./state.js";

/** @import { Attributes } from "./dom.js" */
/** @import { Child } from "./types.d.ts" */

/**
 * A button of a class.
 * @param {string | null} name @param {Child} text @param {(event: MouseEvent) => unknown} onclick
 * @param {Attributes} attributes
 */
export const button = (name, text, onclick, attributes = {}) =>
  h("button", { type: "button", class: name, onclick, ...attributes }, text);

/** @param {Child} text @param {() => unknown} onclick @param {Attributes} attributes */
export const link = (text, onclick, attributes = {}) => button("link", text, () => onclick(), attributes);

/**
 * A button that is pressed while a change is made.
 * @param {Child} text @param {boolean} pressed @param {() => void} onclick @param {Attributes} attributes
 */
export const toggle = (text, pressed, onclick, attributes = {}) =>
  button("pill toggle", h("span", {}, text), onclick, { "aria-pressed": pressed, ...attributes });

/**
 * A table with its column headings: texts, or cells of their own.
 * @param {Attributes} attributes @param {Child[]} headings @param {Child} rows @param {Child[]} more
 */
export const table = (attributes, headings, rows, ...more) =>
  h(
    "table",
    attributes,
    h("thead", {}, h("tr", {}, ...headings.map((each) => (each instanceof Node ? each : columnHeading(each))))),
    h("tbody", {}, rows),
    ...more,
  );

/** @param {Child} text @param {Attributes} attributes */
export const columnHeading = (text, attributes = {}) => h("th", { scope: "col", ...attributes }, text);

/** @param {Child} text */
export const rowHeading = (text) => h("th", { scope: "row" }, text);

/** Cells of a row. @param {Child[]} contents */
export const cells = (contents) => contents.map((each) => h("td", {}, each));

/**
 * @param {string} label @param {[string | number, string][]} options @param {unknown} chosen
 * @param {(value: string) => void} onchange
 */
export function select(label, options, chosen, onchange) {
  const element = h("select", { "aria-label": label }, options.map(option(chosen)));
  element.addEventListener("change", () => onchange(element.value));
  return element;
}

/** @param {unknown} chosen */
export const option =
  (chosen = null) =>
  (/** @type {[string | number, string]} */ [value, text]) =>
    h("option", { value, selected: String(value) === String(chosen) }, text);

/** The choice of a kind of attention. */
export const kindPicker = () => namedChoice(t("attention.which"), KINDS, "kind", (kind) => update({ kind }));

/**
 * Draw after every change of the state, and when the element comes into sight: what is hidden has no size.
 * @param {Element} element @param {() => unknown} draw @param {AbortSignal} signal
 */
export function drawInSight(element, draw, signal) {
  subscribe(element, draw);
  const observer = new IntersectionObserver(() => state.run && draw());
  observer.observe(element);
  signal.addEventListener("abort", () => observer.disconnect());
}

/**
 * Whether a view is on the page's open tab: without its style, which may have to be computed first.
 * @param {HTMLElement} element
 */
export const isOpen = (element) => element.isConnected && !element.closest(".tab-panel:not(.open), .closed, [hidden]");

/**
 * Call `draw` when an element has another size.
 * @param {Element} element @param {ResizeObserverCallback} draw @param {AbortSignal} signal
 */
export function onResize(element, draw, signal) {
  const observer = new ResizeObserver(draw);
  observer.observe(element);
  signal.addEventListener("abort", () => observer.disconnect());
}

/** Says whether any of the values differs from those of the call before; `forget` makes the next call say so. */
export function changeDetector() {
  /** @type {unknown[] | null} */
  let last = null;
  const hasChanged = (/** @type {unknown[]} */ ...values) => {
    if (last && values.every((value, i) => value === last?.[i])) return false;
    last = values;
    return true;
  };
  hasChanged.forget = () => {
    last = null;
  };
  return hasChanged;
}

/** The closest element of a selector around what an event happened to. @param {Event} event @param {string} selector */
export const closest = ({ target }, selector) =>
  target instanceof Element ? /** @type {HTMLElement | null} */ (target.closest(selector)) : null;

/**
 * The keys of a series of stops with a question each, while its view is open. Neither typing nor the decoding steps
 * need them; PageUp and PageDown are what a presenter's remote sends.
 *
 * @param {HTMLElement} element @param {{ move: (by: 1 | -1) => void, choose: (i: number) => void }} keys `choose(-1)`
 *   shows the answer
 * @param {AbortSignal} signal
 */
export function onStopKeys(element, { move, choose }, signal) {
  const listener = (/** @type {KeyboardEvent} */ event) => {
    if (!isOpen(element) || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
    if (closest(event, "input:not([type=range]), textarea, select, dialog")) return;
    if (["PageDown", "n"].includes(event.key)) move(1);
    else if (["PageUp", "b"].includes(event.key)) move(-1);
    else if (/^[1-9]$/.test(event.key)) choose(Number(event.key) - 1);
    else if (event.key === "r") choose(-1);
    else return;
    event.preventDefault();
  };
  document.addEventListener("keydown", listener, { signal });
}
