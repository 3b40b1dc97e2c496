// The run at the top of the page: its tokens, its steps, and what to do about a sentence that could not be taken.

import { h, icon, isSpecial, percent, word } from "./dom.js";
import { offers } from "./offers.js";
import { follow, row, show, state, update } from "./store.js";

const PLAY_MS = 1100;
const PATIENCE_MS = 20000; // a translation takes milliseconds; after this the server is not there

export function mount({ element, props, watch, trigger }) {
  const source = h("span", { class: "tokens", "aria-label": "Source words" });
  const target = h("span", { class: "tokens", id: "translation", "aria-live": "polite" });
  const message = h("p", { class: "message", role: "alert", hidden: true });
  const note = h("p", { class: "note", hidden: true });
  const ask = (how, data) => trigger(how, { checkpoint: state.run.checkpoint, ...data });
  let clicked = null; // the example that was asked for last
  const examples = offers(props.models, {
    example: (example) => ask("example", { sentence: (clicked = example).sentence }),
    surprise: () => ask("surprise"),
  });
  const box = () => document.querySelector("#sentence input, #sentence textarea").value;
  document.addEventListener("translate:wanted", ({ detail }) => ask("ask", { sentence: detail ?? "" }));
  document.addEventListener("checkpoint:wanted", ({ detail }) => {
    const known = props.models[state.run.checkpoint].examples.some(({ sentence }) => sentence === box());
    clicked = props.models[detail].examples[0];
    ask("choose", { checkpoint: detail, sentence: box(), example: known });
  });

  const legend = h(
    "p",
    { class: "legend" },
    ...["S start", "E end", "P padding, an empty place"].map((text) => h("span", {}, text)),
    h("span", { class: "keys" }, "← → step, Space plays"),
  );

  let timer = null;
  let played = null; // the step that Play is at: any other means that the visitor has moved
  const slider = h("input", { type: "range", id: "step", min: 1, step: 1, "aria-label": "Decoding step" });
  const count = h("output", { for: "step" });
  const button = (name, label, key, onclick) =>
    h("button", { type: "button", class: "round", "aria-label": label, title: `${label} (${key})`, onclick }, icon(name));
  const play = button("play", "Play", "Space", () => (timer ? stop() : start()));
  const transport = h(
    "div",
    { class: "transport", role: "group", "aria-label": "Steps" },
    button("first", "First step", "Home", () => go(0)),
    button("back", "Back", "←", () => go(state.step - 1)),
    play,
    button("next", "Next step", "→", () => go(state.step + 1)),
    button("last", "Last step", "End", () => go(Infinity)),
    slider,
    count,
  );
  slider.addEventListener("input", () => go(slider.valueAsNumber - 1));
  element.replaceChildren(
    h("div", { class: "progress", "aria-hidden": "true" }),
    h("div", { class: "run" }, h("p", {}, source, h("span", { class: "arrow" }, "→"), " ", target), transport),
    h("div", { class: "under" }, message, note, examples, legend),
  );

  const go = (step) => update({ step });
  function playTo(step) {
    played = step;
    update({ step });
  }
  function start() {
    const last = () => state.step === state.run.steps.length - 1;
    timer = setInterval(() => (last() ? stop() : playTo(state.step + 1)), PLAY_MS);
    playTo(last() ? 0 : state.step);
    label();
  }
  function stop() {
    clearInterval(timer);
    timer = null;
    label();
  }
  function label() {
    play.replaceChildren(icon(timer ? "pause" : "play"));
    const name = timer ? "Pause" : "Play";
    play.title = `${name} (Space)`;
    play.setAttribute("aria-label", name);
  }

  let drawn = null;
  follow(element, () => {
    const { run, step } = state;
    if (timer && (step !== played || drawn !== run)) stop();
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
      note.replaceChildren(...noteOn(run, clicked?.sentence === run.sentence ? clicked : null));
      note.hidden = !note.hasChildNodes();
    }
    const looks = row("cross", Math.min(state.layer, run.attention.cross.layers - 1), state.averaged ? null : state.head, step);
    [...source.children].forEach((each, s) => {
      each.style.setProperty("--share", looks[s]);
      each.title = `Step ${step + 1} looks at it: ${percent(looks[s])}`;
    });
    [...target.children].forEach((each, t) => each.setAttribute("aria-current", t === step ? "step" : "false"));
    slider.value = step + 1;
    slider.setAttribute("aria-valuetext", `Step ${step + 1} of ${run.steps.length}: ${run.output[step]}`);
    count.textContent = `${step + 1} / ${run.steps.length}`;
  });

  function take() {
    const { run, error } = props.value;
    complain(error);
    if (run && run !== state.run) show(run, clicked?.sentence === run.sentence ? plain(clicked.watch) : null);
  }
  function complain(error) {
    message.textContent = error ? `${error} Still showing “${state.run.sentence}”.` : "";
    message.hidden = !error;
  }
  take();
  watch("value", take);

  const card = element.closest(".card");
  let patience = null;
  document.addEventListener("translate:asked", () => {
    card.classList.add("busy");
    clearTimeout(patience);
    patience = setTimeout(() => {
      card.classList.remove("busy");
      complain("The server does not answer. Try again in a moment.");
    }, PATIENCE_MS);
  });
  document.addEventListener("translate:answered", () => {
    clearTimeout(patience);
    card.classList.remove("busy");
    complain(props.value.error); // an answer that equals the last one is no news to `watch`
    // The sentence is done: hand the arrow keys to the steps, unless something else is being typed already.
    const typing = document.activeElement?.closest("#sentence");
    if (typing && !props.value.error && document.activeElement.value === state.run.sentence) slider.focus();
  });
  // A button that was clicked keeps the focus, but Space goes on playing; one that was reached by Tab is pressed by it.
  let pointed = null;
  document.addEventListener("pointerdown", ({ target }) => (pointed = target.closest("button")));
  document.addEventListener("focusin", ({ target }) => (pointed = target === pointed ? pointed : null));
  document.addEventListener("keydown", (event) => {
    const keys = { ArrowLeft: state.step - 1, ArrowRight: state.step + 1, Home: 0, End: Infinity };
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.target.closest("input, textarea, select, summary, dialog")) {
      if (event.target !== slider) return;
    }
    if (event.key in keys) go(keys[event.key]);
    else if (event.key === " " && [pointed, null].includes(event.target.closest("button"))) timer ? stop() : start();
    else return;
    event.preventDefault();
  });
}

function chip(tag, token, side, attributes = {}) {
  return h(tag, { ...attributes, class: `chip ${side}${isSpecial(token) ? " special" : ""}` }, token);
}

/** As a model reads it. */
const plain = (text) => text.toLowerCase().normalize("NFD").replace(/\u0308/g, "").replaceAll("ß", "ss");

/** What to watch in an example; what a reader of German, or of a sentence that was never learned, should know. */
function noteOn(run, example) {
  const notes = [];
  if (example?.shows) notes.push(`${example.shows} Watch `, word(plain(example.watch), "source"), ". ");
  if (!run.complete) notes.push(`The model did not say E, so decoding stopped at its limit of ${run.steps.length} words. `);
  if (!run.reference) notes.push("The model never learned this sentence; it answers with what it knows. ");
  else if (!run.reference.gold) notes.push(`That is a mistake: “${run.reference.text}” would be right. `);
  else if (run.reference.held_out) notes.push("Right, and training never saw this sentence. ");
  if (/(?<!\p{L})mochte(?!\p{L})/iu.test(run.sentence.normalize("NFC"))) {
    notes.push("Without its dots ", h("i", {}, "mochte"), " is another German word, “liked”. This model reads ");
    notes.push(h("i", {}, "möchte"), " and ", h("i", {}, "mochte"), " alike.");
  }
  return notes;
}
