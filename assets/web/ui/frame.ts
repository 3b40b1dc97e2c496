// The frame: the title line, the sentence and the tabs fold to one line, for a class and on a small screen.

import { parametersOf } from "../api/schema.ts";
import { isPresenting, setPresenting } from "../state/address.ts";
import { update } from "../state/state.ts";
import { closest } from "./parts.ts";

export const narrow = matchMedia("(width < 900px)"); // a phone, or a laptop at 200%

/** Where the screen is small: a link leads to what it names. */
export let isFolded = isPresenting() || new URLSearchParams(parametersOf(location)).has("tab");

export function fold(wanted: boolean) {
  isFolded = wanted;
  showFrame();
  update({}); // what is drawn has another size
}

/** Show the page to a class, or as usual; what is drawn grows with its type. */
function present(wanted: boolean) {
  if (wanted === isPresenting()) return;
  setPresenting(wanted);
  fold(wanted);
  document.dispatchEvent(new Event("frame:changed"));
  document.getElementById(wanted ? "stop-title" : "present")?.focus({ preventScroll: true });
}

function showFrame() {
  // Gradio lets style.css reach only what is in its container.
  for (const each of [document.documentElement, document.body, document.querySelector(".contain > *")])
    each?.classList.toggle("presenting", isPresenting());
  document.body.classList.toggle("folded", isFolded && (isPresenting() || narrow.matches));
  document.getElementById("unfold")?.setAttribute("aria-expanded", String(!isFolded));
}

const CHOICES = "#tabs [role=tab], header .popover > button, header select"; // in the frame

/** While presenting, the frame is unfolded for a choice: once it is made, the frame folds again. */
function foldAfterChoice(event: Event) {
  const chosen = closest(event, CHOICES);
  if (!chosen || !isPresenting() || isFolded || (event.type === "click") === chosen.matches("select")) return;
  closePopups();
  fold(true);
  document.getElementById("unfold")?.focus({ preventScroll: true });
}

export function followFrame(signal: AbortSignal) {
  showFrame();
  for (const type of ["click", "change"]) document.addEventListener(type, foldAfterChoice, { signal });
  document.addEventListener("click", ({ target }) => closePopups(target as Node), { signal });
  narrow.addEventListener("change", showFrame, { signal });
}

/** Present from where one is, on the full screen where the browser allows it. */
export function startPresenting() {
  present(true);
  document.documentElement.requestFullscreen?.().catch(() => {}); // a frame of another site may not
}

export function stopPresenting() {
  if (document.fullscreenElement) document.exitFullscreen();
  present(false);
}

/** f presents and leaves. Esc closes what is open in the title line; where nothing is, it leaves. */
export function listenForFrameKeys(signal: AbortSignal) {
  const onKey = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
    const isTyping = closest(event, "input:not([type=range]), textarea, select, dialog");
    if (event.key === "Escape") {
      if (!closePopups() && !document.querySelector("dialog[open]")) stopPresenting();
    } else if (event.key === "f" && !isTyping) {
      if (isPresenting()) stopPresenting();
      else startPresenting();
    }
  };
  document.addEventListener("keydown", onKey, { signal });
  // The browser itself takes Esc on a full screen.
  document.addEventListener("fullscreenchange", () => document.fullscreenElement || present(false), { signal });
}

/** Close all, or those outside of where one clicked; whether any was open. The focus goes to what opened it. */
function closePopups(clicked: Node | null = null) {
  const all = [...document.querySelectorAll<HTMLDetailsElement>(":is(header, .tab-bar) details[open]")];
  const open = all.filter((each) => !each.contains(clicked));
  for (const each of open.reverse()) {
    if (!clicked && each.contains(document.activeElement)) each.querySelector("summary")?.focus();
    each.open = false;
  }
  return open.length > 0;
}
