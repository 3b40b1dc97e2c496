// The run at the top of the page: its tokens, its steps, and what to do about a sentence that could not be taken.

import { h, icon, isSpecial, percent } from "./dom.js";
import { follow, show, state, update } from "./store.js";

const PLAY_MS = 1100;

export function mount({ element, props, watch, trigger }) {
  const source = h("span", { class: "tokens", "aria-label": "Source words" });
  const target = h("span", { class: "tokens", id: "translation", "aria-live": "polite" });
  const message = h("p", { class: "message", role: "alert", hidden: true });
  const note = h("p", { class: "note", hidden: true });
  const examples = h("p", { class: "examples" }, "try ");
  for (const sentence of props.value.examples) {
    examples.append(
      h("button", { type: "button", onclick: () => trigger("example", { sentence }) }, sentence), " ",
    );
  }

  let timer = null;
  const slider = h("input", { type: "range", id: "step", min: 1, step: 1, "aria-label": "Decoding step" });
  const count = h("output", { for: "step" });
  const button = (name, label, onclick) =>
    h("button", { type: "button", class: "round", "aria-label": label, title: label, onclick }, icon(name));
  const play = button("play", "Play", () => (timer ? stop() : start()));
  const transport = h(
    "div",
    { class: "transport", role: "group", "aria-label": "Steps" },
    button("first", "First step", () => go(0)),
    button("back", "Back", () => go(state.step - 1)),
    play,
    button("next", "Next step", () => go(state.step + 1)),
    button("last", "Last step", () => go(Infinity)),
    slider,
    count,
  );
  slider.addEventListener("input", () => go(slider.valueAsNumber - 1));
  element.replaceChildren(
    h("div", { class: "progress", "aria-hidden": "true" }),
    h("div", { class: "run" }, h("p", {}, source, h("span", { class: "arrow" }, "→"), " ", target), transport),
    h("div", { class: "under" }, message, note, examples),
  );

  function go(step) {
    stop();
    update({ step });
  }
  function start() {
    if (state.step === state.run.steps.length - 1) update({ step: 0 });
    timer = setInterval(() => {
      if (state.step === state.run.steps.length - 1) stop();
      else update({ step: state.step + 1 });
    }, PLAY_MS);
    label();
  }
  function stop() {
    clearInterval(timer);
    timer = null;
    label();
  }
  function label() {
    play.replaceChildren(icon(timer ? "pause" : "play"));
    play.title = timer ? "Pause" : "Play";
    play.setAttribute("aria-label", play.title);
  }

  let drawn = null;
  follow(element, () => {
    const { run, step } = state;
    if (drawn !== run) {
      drawn = run;
      source.replaceChildren(...run.source.flatMap((token) => [chip("span", token, "source"), " "]));
      target.replaceChildren(
        ...run.output.flatMap((token, t) => [
          chip("button", token, "target", {
            type: "button",
            title: `Step ${t + 1}: ${percent(run.steps[t].probability)}`,
            style: `--share: ${run.steps[t].probability}`,
            onclick: () => go(t),
          }),
          " ",
        ]),
      );
      slider.max = run.steps.length;
      note.replaceChildren(...noteOn(run));
      note.hidden = !note.hasChildNodes();
    }
    [...target.children].forEach((each, t) => each.setAttribute("aria-current", t === step ? "step" : "false"));
    slider.value = step + 1;
    slider.setAttribute("aria-valuetext", `Step ${step + 1} of ${run.steps.length}: ${run.output[step]}`);
    slider.style.setProperty("--share", run.steps.length > 1 ? step / (run.steps.length - 1) : 1);
    count.textContent = `${step + 1} / ${run.steps.length}`;
  });

  function take() {
    const { run, error } = props.value;
    message.textContent = error ?? "";
    message.hidden = !error;
    if (run && run !== state.run) {
      stop();
      show(run);
    }
  }
  take();
  watch("value", take);

  const card = element.closest(".card") ?? element;
  document.addEventListener("translate:asked", () => card.classList.add("busy"));
  document.addEventListener("translate:answered", () => {
    card.classList.remove("busy");
    // The sentence is done: hand the arrow keys to the steps, unless something else is being typed already.
    const typing = document.activeElement?.closest("#sentence");
    if (typing && !props.value.error && document.activeElement.value === state.run.sentence) slider.focus();
  });
  document.addEventListener("keydown", (event) => {
    const keys = { ArrowLeft: state.step - 1, ArrowRight: state.step + 1, Home: 0, End: Infinity };
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.target.closest("input, textarea, select, summary")) {
      if (event.target !== slider) return;
    }
    if (event.key in keys) go(keys[event.key]);
    else if (event.key === " " && !event.target.closest("button, a")) timer ? stop() : start();
    else return;
    event.preventDefault();
  });
}

function chip(tag, token, side, attributes = {}) {
  return h(tag, { ...attributes, class: `chip ${side}${isSpecial(token) ? " special" : ""}` }, token);
}

/** What a reader of German, or of a run that did not end, should know. */
function noteOn(run) {
  if (!run.complete) return [`The model did not say E, so decoding stopped at its limit of ${run.steps.length} words.`];
  if (/(^|\s)mochte(\s|$)/i.test(run.sentence.normalize("NFC"))) {
    const words = ["Without its dots ", h("i", {}, "mochte"), " is another German word, “liked”. This model reads "];
    return [...words, h("i", {}, "möchte"), " and ", h("i", {}, "mochte"), " alike."];
  }
  return [];
}
