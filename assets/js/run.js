// The run at the top of the page: its tokens, its steps, and what to do about a sentence that could not be taken.

import { chip, h, icon, word } from "./dom.js";
import { nodes, percent, t, told } from "./i18n.js";
import { keep, read, restore } from "./link.js";
import { begin, forget, isOwn, models } from "./models.js";
import { offers } from "./offers.js";
import { follow, row, show, state, update } from "./store.js";

const KEYS = { first: "Home", back: "←", next: "→", last: "End" };
const PLAY_MS = 1100;
const PATIENCE_MS = 20000; // a translation takes milliseconds; after this the server is not there

let opened = false; // the address that the page was opened with has been followed
let clicked = null; // the example that was asked for last
let wanted = null; // the model that was asked for last

export function mount({ element, props, watch, trigger, signal }) {
  begin(props.models);
  const source = h("span", { class: "tokens", "aria-label": t("run.source") });
  const target = h("span", { class: "tokens", id: "translation", "aria-live": "polite" });
  const message = h("p", { class: "message", role: "alert", hidden: true });
  const note = h("p", { class: "note", hidden: true });
  const ask = (how, data) => trigger(how, { checkpoint: state.run.checkpoint, ...data });
  const examples = offers({
    example: (example) => ask("example", { sentence: (clicked = example).sentence }),
    surprise: () => ask("surprise"),
  });
  const box = () => document.querySelector("#sentence input, #sentence textarea").value;
  const on = (event, listener) => document.addEventListener(event, listener, { signal });
  on("translate:wanted", ({ detail }) => ask("ask", { sentence: detail ?? "" }));
  on("checkpoint:wanted", ({ detail }) => {
    const known = models()[state.run.checkpoint]?.examples.some(({ sentence }) => sentence === box());
    clicked = models()[detail].examples[0];
    wanted = detail;
    ask("choose", { checkpoint: detail, sentence: box(), example: known });
  });

  const legend = h(
    "p",
    { class: "legend" },
    ...["S", "E", "P"].map((token) => h("span", {}, t(`legend.${token}`))),
    h("span", { class: "keys" }, t("legend.keys")),
  );

  let timer = null;
  let played = null; // the step that Play is at: any other means that the visitor has moved
  const slider = h("input", { type: "range", id: "step", min: 1, step: 1, "aria-label": t("run.step") });
  const count = h("output", { for: "step" });
  const titled = (name) => t("run.key", { name: t(`run.${name}`), key: KEYS[name] ?? t("run.space") });
  const button = (name, onclick) =>
    h("button", { type: "button", class: "round", "aria-label": t(`run.${name}`), title: titled(name), onclick }, icon(name));
  const play = button("play", () => (timer ? stop() : start()));
  const transport = h(
    "div",
    { class: "transport", role: "group", "aria-label": t("run.steps") },
    button("first", () => go(0)),
    button("back", () => go(state.step - 1)),
    play,
    button("next", () => go(state.step + 1)),
    button("last", () => go(Infinity)),
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
    const name = timer ? "pause" : "play";
    play.replaceChildren(icon(name));
    play.title = titled(name);
    play.setAttribute("aria-label", t(`run.${name}`));
  }

  let drawn = null;
  follow(element, () => {
    const { run, step } = state;
    keep();
    if (timer && (step !== played || drawn !== run)) stop();
    if (drawn !== run) {
      drawn = run;
      source.replaceChildren(...run.source.flatMap((token) => [chip("span", token, "source"), " "]));
      target.replaceChildren(
        ...run.output.flatMap((token, i) => [
          chip("button", token, "target", {
            type: "button",
            title: t("run.chip", { step: i + 1, share: percent(run.steps[i].probability) }),
            style: `--share: ${run.steps[i].probability}`,
            onclick: () => go(i),
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
      each.title = t("run.look", { step: step + 1, share: percent(looks[s]) });
    });
    [...target.children].forEach((each, i) => each.setAttribute("aria-current", i === step ? "step" : "false"));
    slider.value = step + 1;
    slider.setAttribute("aria-valuetext", t("run.at", { step: step + 1, steps: run.steps.length, token: run.output[step] }));
    count.textContent = `${step + 1} / ${run.steps.length}`;
  });

  function take() {
    const { run, error } = props.value;
    complain(error);
    if (error?.key === "error.model_gone" && wanted && isOwn(wanted)) forget(wanted);
    if (run && run !== state.run) show(run, clicked?.sentence === run.sentence ? plain(clicked.watch) : null);
  }
  function complain(error, link = "") {
    const refused = error ? t("run.refused", { error: told(error), sentence: state.run.sentence }) : "";
    message.textContent = [link, refused].filter(Boolean).join(" ");
    message.hidden = !message.textContent;
  }
  signal.addEventListener("abort", stop);
  take();
  watch("value", take);

  // Where the address leads; once, and not again when another language is spoken.
  let arrive = null;
  if (!opened) {
    opened = true;
    const { run, place, wrong } = read(location.search);
    arrive = () => {
      if (run && props.value.error && run.checkpoint !== state.run.checkpoint) {
        wrong.push("sentence"); // the model that was asked for can be had without it
        run.sentence = models()[run.checkpoint].examples[0].sentence;
        return ask("example", run);
      }
      arrive = null;
      const missing = [...wrong, ...restore(place)].map((name) => t(`link.${name}`));
      if (missing.length) complain(props.value.error, t("link.wrong", { what: missing.join(t("list.comma")) }));
    };
    const here = run && run.checkpoint === state.run.checkpoint && run.sentence === state.run.sentence;
    if (!run || here) arrive();
    else setTimeout(() => ask("example", run)); // Gradio listens by then
  }

  const card = element.closest(".card");
  let patience = null;
  on("translate:asked", () => {
    card.classList.add("busy");
    clearTimeout(patience);
    patience = setTimeout(() => {
      card.classList.remove("busy");
      complain({ key: "error.no_answer", values: {} });
    }, PATIENCE_MS);
  });
  on("translate:answered", () => {
    clearTimeout(patience);
    card.classList.remove("busy");
    complain(props.value.error); // an answer that equals the last one is no news to `watch`
    arrive?.();
    // The sentence is done: hand the arrow keys to the steps, unless something else is being typed already.
    const typing = document.activeElement?.closest("#sentence");
    if (typing && !props.value.error && document.activeElement.value === state.run.sentence) slider.focus();
  });
  // A button that was clicked keeps the focus, but Space goes on playing; one that was reached by Tab is pressed by it.
  let pointed = null;
  on("pointerdown", ({ target }) => (pointed = target.closest("button")));
  on("focusin", ({ target }) => (pointed = target === pointed ? pointed : null));
  on("keydown", (event) => {
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

/** As a model reads it. */
const plain = (text) => text.toLowerCase().normalize("NFD").replace(/\u0308/g, "").replaceAll("ß", "ss");

/** What to watch in an example; what a reader of German, or of a sentence that was never learned, should know. */
function noteOn(run, example) {
  const notes = [];
  const add = (key, places) => notes.push(...nodes(key, places), " ");
  if (example?.name) add("note.watch", { shows: t(`example.${example.name}.shows`), word: word(plain(example.watch), "source") });
  if (!run.complete) add("note.endless", { steps: run.steps.length });
  if (!run.reference) add("note.unlearned");
  else if (!run.reference.same) add("note.mistake", { right: run.reference.text });
  else if (run.reference.held_out) add("note.held_out");
  if (/(?<!\p{L})mochte(?!\p{L})/iu.test(run.sentence.normalize("NFC"))) {
    add("note.mochte", { without: h("i", {}, "mochte"), dotted: h("i", {}, "möchte"), plain: h("i", {}, "mochte") });
  }
  return notes;
}
