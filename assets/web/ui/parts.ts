// Building blocks of views: buttons, tables, choices, and when a view draws itself.

import { schema } from "../api/schema.ts";
import type { AttentionMaps, Child } from "../api/types.ts";
import { formatPercent, t } from "../state/i18n.ts";
import { KINDS, state, subscribe, update } from "../state/state.ts";
import { type Attributes, h, namedChoice, numberedOptions, segmented } from "./dom.ts";

type OnClick = (event: MouseEvent) => unknown;

export const button = (name: string | null, text: Child, onclick: OnClick, attributes: Attributes = {}) =>
  h("button", { type: "button", class: name, onclick, ...attributes }, text);

export const hint = (...text: Child[]) => h("p", { class: "hint" }, text);

export const link = (text: Child, onclick: () => unknown, attributes: Attributes = {}) =>
  button("link", text, () => onclick(), attributes);

export const toggle = (text: Child, pressed: boolean, onclick: () => void, attributes: Attributes = {}) =>
  button("pill toggle", h("span", {}, text), onclick, { "aria-pressed": pressed, ...attributes });

export function table(attributes: Attributes, headings: Child[], rows: Child, ...more: Child[]) {
  const cells = headings.map((each) => (each instanceof Node ? each : columnHeading(each)));
  return h("table", attributes, h("thead", {}, h("tr", {}, cells)), h("tbody", {}, rows), ...more);
}

export const columnHeading = (text: Child, attributes: Attributes = {}) =>
  h("th", { scope: "col", ...attributes }, text);

export const rowHeading = (text: Child) => h("th", { scope: "row" }, text);
export const cells = (contents: Child[]) => contents.map((each) => h("td", {}, each));

type Option = [value: string | number, text: string];

export function select(label: string, options: Option[], chosen: unknown, onchange: (value: string) => void) {
  const react = ({ target }: Event) => onchange((target as HTMLSelectElement).value);
  return h("select", { "aria-label": label, onchange: react }, options.map(option(chosen)));
}

export const option =
  (chosen: unknown = null) =>
  ([value, text]: Option) =>
    h("option", { value, selected: String(value) === String(chosen) }, text);

export const kindPicker = () => namedChoice(t("attention.which"), KINDS, "kind", (kind) => update({ kind }));

/** `hasMean`: of a layer's heads, as a choice; `of`: what is chosen now. */
type HeadChoice = {
  names?: ("layer" | "head")[];
  hasMean?: boolean;
  of?: { layer: number; head: number; averaged?: boolean };
  choose?: (choice: { layer?: number; head?: number; averaged?: boolean }) => void;
};

/** `draw` after every change, with the maps of the kind that is shown. */
export function headPicker({ names = ["layer", "head"], hasMean, of = state, choose = update }: HeadChoice = {}) {
  const element = h("div", { class: "pickers" });
  const hasNewShape = changeDetector();
  let setters = [() => {}];
  function draw({ layers, heads }: AttentionMaps) {
    if (hasNewShape(layers, heads)) {
      element.replaceChildren();
      setters = names.map((name) => {
        const count = { layer: layers, head: heads }[name];
        const mean = hasMean && name === "head" ? [["mean", t("mean")] as [string, string]] : [];
        const averaged = (value: string) => (mean.length ? { averaged: value === "mean" } : {});
        const choice = segmented(t(name), [...mean, ...numberedOptions(count)], (value) =>
          choose({ ...averaged(value), ...(value === "mean" ? {} : { [name]: Number(value) }) }),
        );
        element.append(h("span", { class: "pair" }, t(name), choice.element));
        return () => choice.set(mean.length && of.averaged ? "mean" : Math.min(of[name], count - 1));
      });
    }
    for (const set of setters) set();
  }
  return { element, draw };
}

interface SliderOptions {
  min?: number;
  max?: number;
  step?: number;
  shown?: (value: number) => string;
  ids: Attributes;
  change: (value: number) => void;
}

/** A number from `min` to `max` beside its text: a share in per cent unless `shown` writes it otherwise. */
export function slider({ min = 0, max = 1, step = 0.05, shown = formatPercent, ids, change }: SliderOptions) {
  const input = h("input", { type: "range", min, max, step, ...ids });
  const output = h("output", { for: ids.id });
  input.addEventListener("input", () => change(input.valueAsNumber));
  return {
    input,
    element: h("span", { class: "share-slider" }, input, output),
    set(value: number) {
      input.value = String(value);
      output.textContent = shown(value);
      input.setAttribute("aria-valuetext", shown(value));
    },
    shown,
  };
}

/** The button that opens a class, or shows the code of the one that is open. Null where this server has no classes. */
export const startButton = (id: string) =>
  schema.classes
    ? button("pill start-class", t("class.start"), () => document.dispatchEvent(new Event("class:wanted")), {
        id,
        title: t("class.start.about"),
      })
    : null;

/** Draw after every change of the state, and when the element comes into sight: what is hidden has no size. */
export function drawInSight(element: Element, draw: () => unknown, signal: AbortSignal) {
  subscribe(element, draw);
  onSight([element], () => state.run && draw(), signal);
}

export function onSight(
  all: Iterable<Element>,
  look: IntersectionObserverCallback,
  signal: AbortSignal,
  margin = "0px",
) {
  const observer = new IntersectionObserver(look, { rootMargin: margin });
  for (const each of all) observer.observe(each);
  signal.addEventListener("abort", () => observer.disconnect());
}

/** Whether a view is on the page's open tab: without its style, which may have to be computed first. */
export const isOpen = (element: HTMLElement) =>
  element.isConnected && !element.closest(".tab-panel:not(.open), .closed, [hidden]");

export function onResize(element: Element, draw: ResizeObserverCallback, signal?: AbortSignal) {
  const observer = new ResizeObserver(draw);
  observer.observe(element);
  signal?.addEventListener("abort", () => observer.disconnect());
}

/** Says whether any of the values differs from those of the call before; `forget` makes the next call say so. */
export function changeDetector() {
  const isNew = changeDetectors();
  return Object.assign((...values: unknown[]) => isNew("", ...values), { forget: () => isNew.forget("") });
}

/** Several change detectors, each by its name. */
export function changeDetectors() {
  const last: Map<string, unknown[]> = new Map();
  const isNew = (name: string, ...values: unknown[]) => {
    const before = last.get(name);
    last.set(name, values);
    return !before || values.some((value, i) => value !== before[i]);
  };
  isNew.forget = (name: string) => last.delete(name);
  return isNew;
}

export const closest = ({ target }: Event, selector: string) =>
  target instanceof Element ? (target.closest(selector) as HTMLElement | null) : null;

/** PageUp and PageDown are what a presenter's remote sends; `choose(-1)` shows the answer. */
type StopKeys = { move: (by: 1 | -1) => void; choose: (i: number) => void };

export function onStopKeys(element: HTMLElement, { move, choose }: StopKeys, signal: AbortSignal) {
  const listener = (event: KeyboardEvent) => {
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

/** While something is typed it is the visitor's. */
export const setUnlessTyped = (input: HTMLInputElement, value: string) => {
  if (document.activeElement !== input) input.value = value;
};

/** Set what an element contains, as far as it is new: of a live region it is read aloud, and the rest may be tapped. */
export function setContent(element: Element, ...content: Child[]) {
  const before = [...element.childNodes];
  const now = [...h("div", {}, content).childNodes];
  if (before.length !== now.length) return element.replaceChildren(...now);
  for (const [i, each] of now.entries()) if (!each.isEqualNode(before[i])) before[i].replaceWith(each);
}

type Control = HTMLElement | SVGElement;

/** @param next where a key leads from the one that has the focus; nothing for a key that leads nowhere */
export function rove<E extends Control>(place: Control, all: E[], next: (key: string, at: number) => E | undefined) {
  const focused = () => all.indexOf(document.activeElement as E);
  place.addEventListener("focusin", () => {
    if (focused() < 0) return;
    for (const each of all) if (each.tabIndex === 0) each.tabIndex = -1;
    all[focused()].tabIndex = 0;
  });
  place.addEventListener("keydown", (event) => {
    const { key, ctrlKey, metaKey, altKey } = event as KeyboardEvent;
    const at = focused();
    const to = at < 0 || ctrlKey || metaKey || altKey ? undefined : next(key, at);
    if (!to) return;
    event.preventDefault(); // elsewhere such keys change the step
    to.focus();
  });
}
