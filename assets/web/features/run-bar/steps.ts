// The controls of the decoding steps: buttons, a slider, Play, and the keys of the whole page.

import { t } from "../../state/i18n.ts";
import { state, update } from "../../state/state.ts";
import { h, icon } from "../../ui/dom.ts";
import { button, changeDetector, closest } from "../../ui/parts.ts";

type Icon = Parameters<typeof icon>[0];
type Parts = ReturnType<typeof build>;

const KEYS: Partial<Record<Icon, string>> = { back: "←", next: "→" };
const PLAY_MS = 1100;

export function stepControls(signal: AbortSignal) {
  const parts = build();
  listenForKeys(parts, signal);
  signal.addEventListener("abort", () => stop(parts));
  return { element: parts.element, slider: parts.slider, draw: () => draw(parts) };
}

const goTo = (step: number) => update({ step });

function build() {
  const slider = h("input", { type: "range", id: "step", min: 1, step: 1, "aria-label": t("run.step") });
  const count = h("output", { for: "step" });
  slider.addEventListener("input", () => goTo(slider.valueAsNumber - 1));
  const play = iconButton("play", () => toggle(parts));
  const buttons = [
    iconButton("back", () => goTo(state.step - 1)),
    play,
    iconButton("next", () => goTo(state.step + 1)),
  ];
  const parts = {
    element: h("div", { class: "transport", role: "group", "aria-label": t("run.steps") }, buttons, slider, count),
    slider,
    count,
    play,
    timer: undefined as ReturnType<typeof setInterval> | undefined, // of Play
    played: 0, // the step that Play is at: at any other, the visitor has moved
    isNewRun: changeDetector(),
    pointed: null as Element | null, // the button that was clicked and has the focus
  };
  return parts;
}

const title = (name: Icon) => t("run.key", { name: t(`run.${name}`), key: KEYS[name] ?? t("run.space") });

const iconButton = (name: Icon, onclick: () => void) =>
  button("round", icon(name), onclick, { "aria-label": t(`run.${name}`), title: title(name) });

function draw(parts: Parts) {
  const { run, step } = state;
  const isNewRun = parts.isNewRun(run);
  if (parts.timer && (step !== parts.played || isNewRun)) stop(parts);
  parts.slider.max = String(run.steps.length);
  parts.slider.value = String(step + 1);
  const places = { step: step + 1, steps: run.steps.length, token: run.output[step] };
  parts.slider.setAttribute("aria-valuetext", t("run.at", places));
  parts.count.textContent = `${step + 1} / ${run.steps.length}`;
}

function toggle(parts: Parts) {
  if (parts.timer) stop(parts);
  else start(parts);
}

function start(parts: Parts) {
  const isLast = () => state.step === state.run.steps.length - 1;
  const play = (step: number) => {
    parts.played = step;
    goTo(step);
  };
  parts.timer = setInterval(() => (isLast() ? stop(parts) : play(state.step + 1)), PLAY_MS);
  play(isLast() ? 0 : state.step);
  drawPlay(parts);
}

function stop(parts: Parts) {
  clearInterval(parts.timer);
  parts.timer = undefined;
  drawPlay(parts);
}

function drawPlay({ play, timer }: Parts) {
  const name = timer ? "pause" : "play";
  play.replaceChildren(icon(name));
  play.title = title(name);
  play.setAttribute("aria-label", t(`run.${name}`));
}

/** Space goes on playing when a button was clicked; one that was reached by Tab is pressed by it. */
function listenForKeys(parts: Parts, signal: AbortSignal) {
  const point = (element: Element | null) => {
    parts.pointed = element;
  };
  document.addEventListener("pointerdown", (event) => point(closest(event, "button")), { signal });
  document.addEventListener("focusin", ({ target }) => target === parts.pointed || point(null), { signal });
  document.addEventListener("keydown", (event) => onKey(parts, event), { signal });
}

function onKey(parts: Parts, event: KeyboardEvent) {
  if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
  if (event.target !== parts.slider && closest(event, "input, textarea, select, summary, dialog")) return;
  if (event.target instanceof Element && event.target.matches(".scroll, pre")) return; // the arrow keys scroll it
  const focused = closest(event, "button");
  if (event.key === "ArrowLeft") goTo(state.step - 1);
  else if (event.key === "ArrowRight") goTo(state.step + 1);
  else if (event.key === "Home") goTo(0);
  else if (event.key === "End") goTo(Infinity);
  else if (event.key === " " && (!focused || focused === parts.pointed)) toggle(parts);
  else return;
  event.preventDefault();
}
