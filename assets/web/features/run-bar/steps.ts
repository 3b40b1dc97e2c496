// The controls of the decoding steps: buttons, a slider, Play, and the keys of the whole page.

import { t } from "../../state/i18n.ts";
import { state, update } from "../../state/state.ts";
import { h, icon } from "../../ui/dom.ts";
import { button, changeDetector, closest } from "../../ui/parts.ts";

type Icon = Parameters<typeof icon>[0];

const KEYS: Partial<Record<Icon, string>> = { back: "←", next: "→" };
const PLAY_MS = 1100;

export function stepControls(signal: AbortSignal) {
  const slider = h("input", { type: "range", id: "step", min: 1, step: 1, "aria-label": t("run.step") });
  const count = h("output", { for: "step" });
  const player = stepPlayer();
  const back = iconButton("back", () => goTo(state.step - 1));
  const next = iconButton("next", () => goTo(state.step + 1));
  const attributes = { class: "transport", role: "group", "aria-label": t("run.steps") };
  slider.addEventListener("input", () => goTo(slider.valueAsNumber - 1));
  listenForKeys(slider, player.toggle, signal);
  signal.addEventListener("abort", player.stop);
  return {
    element: h("div", attributes, back, player.button, next, slider, count),
    slider,
    draw() {
      const { run, step } = state;
      player.stopIfMoved();
      slider.max = String(run.steps.length);
      slider.value = String(step + 1);
      const places = { step: step + 1, steps: run.steps.length, token: run.output[step] };
      slider.setAttribute("aria-valuetext", t("run.at", places));
      count.textContent = `${step + 1} / ${run.steps.length}`;
    },
  };
}

const goTo = (step: number) => update({ step });

const title = (name: Icon) => t("run.key", { name: t(`run.${name}`), key: KEYS[name] ?? t("run.space") });

const iconButton = (name: Icon, onclick: () => void) =>
  button("round", icon(name), onclick, { "aria-label": t(`run.${name}`), title: title(name) });

function stepPlayer() {
  let timer: ReturnType<typeof setInterval> | undefined;
  let played = 0; // the step that Play is at: at any other, the visitor has moved
  const isNewRun = changeDetector();
  const isLast = () => state.step === state.run.steps.length - 1;
  const button = iconButton("play", toggle);

  function toggle() {
    if (timer) return stop();
    timer = setInterval(() => (isLast() ? stop() : play(state.step + 1)), PLAY_MS);
    play(isLast() ? 0 : state.step);
    show("pause");
  }
  function play(step: number) {
    played = step;
    goTo(step);
  }
  function stop() {
    clearInterval(timer);
    timer = undefined;
    show("play");
  }
  function show(name: Icon) {
    button.replaceChildren(icon(name));
    button.title = title(name);
    button.setAttribute("aria-label", t(`run.${name}`));
  }
  function stopIfMoved() {
    const hasMoved = isNewRun(state.run) || state.step !== played;
    if (timer && hasMoved) stop();
  }
  return { button, toggle, stop, stopIfMoved };
}

/** Space goes on playing when a button was clicked; one that was reached by Tab is pressed by it. */
function listenForKeys(slider: Element, toggle: () => void, signal: AbortSignal) {
  let pointed: Element | null = null; // the button that was clicked and has the focus
  const point = (element: Element | null) => {
    pointed = element;
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.target !== slider && closest(event, "input, textarea, select, summary, dialog")) return;
    if (event.target instanceof Element && event.target.matches(".scroll, pre")) return; // the arrow keys scroll it
    const focused = closest(event, "button");
    if (event.key === "ArrowLeft") goTo(state.step - 1);
    else if (event.key === "ArrowRight") goTo(state.step + 1);
    else if (event.key === "Home") goTo(0);
    else if (event.key === "End") goTo(Infinity);
    else if (event.key === " " && (!focused || focused === pointed)) toggle();
    else return;
    event.preventDefault();
  };
  document.addEventListener("pointerdown", (event) => point(closest(event, "button")), { signal });
  document.addEventListener("focusin", ({ target }) => target === pointed || point(null), { signal });
  document.addEventListener("keydown", onKey, { signal });
}
