// How much of the screen the frame takes: the title line, the sentence and the tabs fold to one line, for a room and on
// a small screen.

import { hereButton } from "../charts/overview-mini.ts";
import { isPresenting, setPresenting } from "../core/address.ts";
import { h } from "../core/dom.ts";
import { t } from "../core/i18n.ts";
import { button, closest, onResize } from "../core/parts.ts";
import { lessonStops, state, subscribe, update } from "../core/state.ts";

const narrow = matchMedia("(width < 900px)"); // a phone, or a laptop at 200%

/** Wherever there is little room: a link leads to what it names. */
let isFolded = isPresenting() || new URLSearchParams(location.search).has("tab");

export function fold(wanted: boolean) {
  isFolded = wanted;
  showFrame();
  update({}); // what is drawn has another size
}

/** Show the page to a room, or as usual; what is drawn grows with its type. */
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

export function followFrame(signal: AbortSignal) {
  showFrame();
  narrow.addEventListener("change", showFrame, { signal });
}

/** Present from where one is, on the full screen where the browser allows it. */
function startPresenting() {
  present(true);
  document.documentElement.requestFullscreen?.().catch(() => {}); // a frame of another site may not
}

function stopPresenting() {
  if (document.fullscreenElement) document.exitFullscreen();
  present(false);
}

export const presentButton = () =>
  button("pill", t("present"), startPresenting, { id: "present", title: t("present.title") });

/** The contents of the folded line. */
export function frameControls() {
  const unfold = button("round", "☰", () => fold(!isFolded), {
    id: "unfold",
    title: t("frame.unfold"),
    "aria-label": t("frame.unfold"),
    "aria-expanded": !isFolded,
  });
  const leave = button("round", "✕", stopPresenting, {
    id: "leave",
    title: t("present.leave"),
    "aria-label": t("present.leave"),
  });
  return h("span", { class: "frame-controls" }, hereButton(), unfold, leave);
}

/** Leads back to the stop of the lesson that one came from. */
export function returnButton() {
  const goBack = () => update({ tab: "lesson", stop: state.returnStop ?? state.stop, returnStop: null });
  const element = button("pill", "", goBack, { id: "return" });
  subscribe(element, () => {
    const at = lessonStops().indexOf(state.returnStop ?? -1); // as the lesson counts them
    element.hidden = at < 0 || state.tab === "lesson";
    element.textContent = t("lesson.return", { n: at + 1 });
  });
  return element;
}

/** f presents and leaves. Esc closes what is open in the title line; where nothing is, it leaves. */
export function listenForFrameKeys(header: HTMLElement, signal: AbortSignal) {
  const onKey = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
    const isTyping = closest(event, "input:not([type=range]), textarea, select, dialog");
    if (event.key === "Escape") {
      if (!closePopups(header) && !document.querySelector("dialog[open]")) stopPresenting();
    } else if (event.key === "f" && !isTyping) {
      if (isPresenting()) stopPresenting();
      else startPresenting();
    }
  };
  document.addEventListener("keydown", onKey, { signal });
  // The browser itself takes Esc on a full screen.
  document.addEventListener("fullscreenchange", () => document.fullscreenElement || present(false), { signal });
}

/** Whether any was open; the focus goes to what opened it. */
function closePopups(header: HTMLElement) {
  const found = header.querySelectorAll("details[open], .share .popover:not([hidden])");
  const open = [...found] as HTMLElement[];
  for (const each of open) {
    const opener = each.closest(".share")?.querySelector("#share") ?? each.querySelector("summary");
    if (each.contains(document.activeElement)) (opener as HTMLElement | null)?.focus();
    if (each instanceof HTMLDetailsElement) each.open = false;
    else each.hidden = true;
  }
  return open.length > 0;
}

const MIN_SCALE = 0.6; // what is smaller no back row reads

/**
 * While presenting, what would end below the screen is scaled down until it fits: first the figure, then everything. It
 * keeps its width.
 * @param figure in it
 */
export function fitToScreen(element: HTMLElement, figure: HTMLElement, signal: AbortSignal) {
  const fit = () => {
    for (const each of [element, figure]) scale(each, 1);
    if (!isPresenting() || narrow.matches) return; // a small screen scrolls
    const { top, width } = element.getBoundingClientRect();
    const room = innerHeight - (top + scrollY) - 24;
    const drawn = figure.getBoundingClientRect();
    const isWide = drawn.width > 0.75 * width; // nothing stands beside it
    const excess = isWide ? element.offsetHeight - room : drawn.bottom - top - room;
    scale(figure, 1 - excess / drawn.height, isWide);
    fitHeight(element, room);
    if (isWide || !element.style.transform) return;
    scale(figure, 1); // with all it has become smaller: by itself it need not be as small
    const beside = figure.getBoundingClientRect();
    scale(figure, 1 - (beside.bottom - top - room) / beside.height);
  };
  for (const each of [element, figure]) {
    each.style.transformOrigin = "top left";
    onResize(each, fit, signal);
  }
  for (const id of ["top", "class"]) {
    const above = document.getElementById(id); // a message or a vote there moves what is below
    if (above) onResize(above, fit, signal);
  }
  addEventListener("resize", fit, { signal });
}

/** By as little as need be: its lines hold more words when they are smaller. @param room px */
function fitHeight(element: HTMLElement, room: number) {
  if (element.offsetHeight <= room) return;
  let [fits, most] = [Math.max(MIN_SCALE, room / element.offsetHeight), 1];
  for (let tries = 0; tries < 4; tries++) {
    const by = (fits + most) / 2;
    scale(element, by, true);
    if (by * element.offsetHeight <= room) fits = by;
    else most = by;
  }
  scale(element, fits, true);
}

function scale(element: HTMLElement, wanted: number, keepsWidth: boolean = false) {
  const by = Math.min(1, Math.max(wanted, MIN_SCALE));
  const { style } = element;
  style.transform = by < 1 ? `scale(${by})` : "";
  style.width = by < 1 && keepsWidth ? `${100 / by}%` : "";
  style.marginBottom = by < 1 ? `${(by - 1) * element.offsetHeight}px` : "";
}
