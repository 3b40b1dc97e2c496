// The run at the top of the page: its tokens, its steps, and what to do about a sentence that could not be taken.

import { expectRun, parseAddress, restorePlace, updateAddressBar } from "../core/address.js";
import {
  attendsAhead,
  changes,
  hasNoEffect,
  isLasting,
  lastingChanges,
  requestChanges,
  settleChanges,
  undoChange,
} from "../core/changes.js";
import { chip, h, icon, replaceKeepingFocus, word } from "../core/dom.js";
import { formatList, formatMessage, formatPercent, joinSentences, nodes, t } from "../core/i18n.js";
import { attentionRow, showRun, state, subscribe, update } from "../core/state.js";
import { forgetModel, isOwn, models, setShippedModels } from "../net/models.js";
import { reconnect } from "../net/reconnect.js";
import { describeChange } from "./describe-change.js";
import { exampleBar } from "./examples.js";

const KEYS = { first: "Home", back: "←", next: "→", last: "End" };
const PLAY_MS = 1100;
const DOUBT_MS = 3000; // a translation takes milliseconds; after this the server is asked whether it is there
const PATIENCE_MS = 20000; // and after this it is not

let opened = false; // the address that the page was opened with has been followed
let clicked = null; // the example that was asked for last
let wanted = null; // the model that was asked for last
let sent = null; // which question is on its way
let next = null; // {how, data}: what is asked when it has been answered
let answer = null; // {text, said}: the latest, as the server wrote it and as it is read

export function mount({ element, props, watch, trigger, signal }) {
  setShippedModels(props.models);
  const answered = () =>
    (answer?.text === props.value ? answer : (answer = { text: props.value, said: JSON.parse(props.value) })).said;
  const source = h("span", { class: "tokens", role: "group", "aria-label": t("run.source") });
  const target = h("span", {
    class: "tokens",
    id: "translation",
    role: "group",
    "aria-label": t("run.target"),
    "aria-live": "polite",
  });
  const message = h("p", { class: "message", role: "alert", hidden: true });
  const crowd = h("p", { class: "crowd", id: "crowd", role: "status", hidden: true });
  const note = h("p", { class: "note", hidden: true });
  /** One question at a time: what is asked for meanwhile follows, the newest of it. `data()` is called when it is sent. */
  function ask(how, data) {
    next = { how, data };
    if (!sent) send();
  }
  function send() {
    const { how, data } = next;
    [sent, next] = [how, null];
    const asked = { checkpoint: state.run.checkpoint, changes: lastingChanges(), ...data() };
    if (asked.sentence && !arrive) expectRun(asked); // where a link leads, the address is that link
    trigger(how, asked);
  }
  const examples = exampleBar({
    example: (example) => ask("example", () => ({ sentence: (clicked = example).sentence })),
    surprise: () => ask("surprise", () => ({})),
  });
  /** What stands in it; until Gradio has drawn it, what will. */
  const box = () => document.querySelector("#sentence input, #sentence textarea")?.value ?? state.run.sentence;
  const on = (event, listener) => document.addEventListener(event, listener, { signal });
  on("translate:wanted", ({ detail }) =>
    ask("ask", () => ({ sentence: detail ?? "", ...(detail === state.run.sentence ? { changes: changes() } : {}) })),
  );
  on("changes:wanted", () => next || ask("ask", () => ({ sentence: state.run.sentence, changes: changes() }))); // another sentence takes them along
  on("checkpoint:wanted", ({ detail }) => {
    const known = models()[state.run.checkpoint]?.examples.some(({ sentence }) => sentence === box());
    clicked = models()[detail].examples[0];
    wanted = detail;
    ask("choose", () => ({ checkpoint: detail, sentence: box(), example: known, changes: [] })); // other heads are other heads
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
    h(
      "button",
      { type: "button", class: "round", "aria-label": t(`run.${name}`), title: titled(name), onclick },
      icon(name),
    );
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
  const changed = h("div", { class: "changed", hidden: true });
  const compare = h(
    "button",
    { type: "button", class: "link", onclick: () => update({ tab: "break", part: "whatif" }) },
    t("changed.compare"),
  );
  element.replaceChildren(
    h("div", { class: "progress", "aria-hidden": "true" }),
    h("div", { class: "run" }, h("p", {}, source, h("span", { class: "arrow" }, "→"), " ", target), transport),
    changed,
    h("div", { class: "under" }, message, crowd, note, examples, legend),
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
  subscribe(element, () => {
    const { run, step } = state;
    updateAddressBar();
    if (timer && (step !== played || drawn !== run)) stop();
    if (drawn !== run) {
      drawn = run;
      source.replaceChildren(...run.source.flatMap((token) => [chip("span", token, "source"), " "]));
      target.replaceChildren(
        ...run.output.flatMap((token, i) => [
          chip("button", token, "target", {
            type: "button",
            title: t("run.chip", { step: i + 1, share: formatPercent(run.steps[i].probability) }),
            style: `--share: ${run.steps[i].probability}`,
            onclick: () => go(i),
          }),
          " ",
        ]),
      );
      slider.max = run.steps.length;
      note.replaceChildren(...noteOn(run, clicked?.sentence === run.sentence ? clicked : null));
      note.hidden = !note.hasChildNodes();
      replaceKeepingFocus(
        changed,
        run.changes.length ? undoing(run, state.baseline, compare) : [h("p", { class: "hint" }, t("changed.nothing"))],
      );
    }
    const breaking = state.tab === "break" && state.part === "whatif";
    changed.hidden = !breaking && run.changes.length === 0; // there it has its place, so that nothing jumps under a finger
    compare.hidden = breaking;
    const looks = attentionRow(
      "cross",
      Math.min(state.layer, run.attention.cross.layers - 1),
      state.averaged ? null : state.head,
      step,
    );
    [...source.children].forEach((each, s) => {
      each.style.setProperty("--share", looks[s]);
      each.title = t("run.look", { step: step + 1, share: formatPercent(looks[s]) });
    });
    [...target.children].forEach((each, i) => each.setAttribute("aria-current", i === step ? "step" : "false"));
    slider.value = step + 1;
    slider.setAttribute(
      "aria-valuetext",
      t("run.at", { step: step + 1, steps: run.steps.length, token: run.output[step] }),
    );
    count.textContent = `${step + 1} / ${run.steps.length}`;
  });

  function take() {
    const { run, baseline, error } = answered();
    complain(error);
    if (error?.key === "error.model_gone" && wanted && isOwn(wanted)) forgetModel(wanted);
    if (!run || run === state.run) return;
    const watch = clicked?.sentence === run.sentence && !run.changes.length ? plain(clicked.watch) : null;
    showRun(run, baseline, watch);
  }
  function complain(error, link = "") {
    const refused = error
      ? joinSentences(formatMessage(error), t("run.refused", { sentence: state.run.sentence }))
      : [];
    message.replaceChildren(...joinSentences(link, refused));
    message.hidden = !message.textContent;
  }
  signal.addEventListener("abort", stop);
  take();
  watch("value", take);

  // Where the address leads; once, and not again when another language is spoken.
  let arrive = null;
  if (!opened) {
    opened = true;
    const { run, place, wrong } = parseAddress(location.search);
    arrive = () => {
      if (run && answered().error?.key === "error.changes") {
        wrong.push("changes"); // the sentence that was asked for can be had without them
        run.changes = [];
        return ask("example", () => run);
      }
      if (
        run &&
        answered().error &&
        (run.checkpoint !== state.run.checkpoint || run.changes.length) &&
        !wrong.includes("sentence")
      ) {
        wrong.push("sentence"); // the model, and what is to be changed in it, can be had without it
        run.changes = run.changes.filter(isLasting);
        run.sentence = models()[run.checkpoint].examples[0].sentence;
        return ask("example", () => run);
      }
      arrive = null;
      const missing = [...wrong, ...restorePlace(place)].map((name) => t(`link.${name}`));
      if (missing.length) complain(answered().error, t("link.wrong", { what: formatList(missing) }));
    };
    const here =
      run && run.checkpoint === state.run.checkpoint && run.sentence === state.run.sentence && !run.changes.length;
    if (!run || here) arrive();
    else setTimeout(() => ask("example", () => run)); // Gradio listens by then
  }

  const card = element.closest(".card");
  let doubt = null;
  let patience = null;
  const noAnswer = () => {
    card.classList.remove("busy");
    sent = null;
    complain({ key: "error.no_answer", values: {} });
  };
  const settled = () => [doubt, patience].forEach(clearTimeout);
  // Whoever waits in line is answered in the end: only where no line is, patience is.
  on("line:news", ({ detail }) => {
    crowd.textContent = !detail ? "" : detail.full ? t("line.full") : t("line.waiting", { waiting: detail.waiting });
    crowd.hidden = !detail;
    if (!detail || !sent) return;
    clearTimeout(patience);
    patience = setTimeout(noAnswer, PATIENCE_MS);
  });
  on("translate:asked", () => {
    card.classList.add("busy");
    settled();
    doubt = setTimeout(async () => (await reconnect()) && noAnswer(), DOUBT_MS);
    patience = setTimeout(noAnswer, PATIENCE_MS);
  });
  on("translate:answered", () => {
    settled();
    sent = null;
    if (next) return send();
    expectRun(null);
    settleChanges();
    card.classList.remove("busy");
    complain(answered().error); // an answer that equals the last one is no news to `watch`
    arrive?.();
    // The sentence is done: hand the arrow keys to the steps, unless something else is being typed already.
    const typing = document.activeElement?.closest("#sentence");
    if (typing && !answered().error && document.activeElement.value === state.run.sentence) slider.focus();
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
    if (event.target.matches(".scroll, pre")) return; // the arrow keys scroll it
    if (event.key in keys) go(keys[event.key]);
    else if (event.key === " " && [pointed, null].includes(event.target.closest("button"))) timer ? stop() : start();
    else return;
    event.preventDefault();
  });
}

/** What is changed, each with a button that undoes it, and what would be said without. */
function undoing(run, baseline, compare) {
  const link = (text, onclick) => h("button", { type: "button", class: "link", onclick }, text);
  const chips = run.changes.map((one) => {
    const words = [...describeChange(one), hasNoEffect(one) ? ` ${t("changed.idle")}` : ""];
    return h(
      "li",
      {},
      h(
        "button",
        {
          type: "button",
          class: `change ${hasNoEffect(one) ? "idle" : ""}`,
          title: t("changed.undo"),
          "aria-label": `${t("changed.undo")}: ${words.map((part) => part.textContent ?? part).join("")}`,
          onclick: () => undoChange(one),
        },
        words,
        h("span", { "aria-hidden": "true" }, " ×"),
      ),
    );
  });
  const said = word(baseline.output.join(" "), "target");
  return [
    h("b", {}, t("changed")),
    h(
      "ul",
      { "aria-label": t("changed") },
      chips,
      h(
        "li",
        {},
        link(t("changed.undo_all"), () => requestChanges([])),
      ),
    ),
    h("p", { class: "hint" }, nodes("changed.whole", { said }), " ", compare),
  ];
}

/** As a model reads it. */
const plain = (text) =>
  text
    .toLowerCase()
    .normalize("NFD")
    .replace(/\u0308/g, "")
    .replaceAll("ß", "ss");

/** What to watch in an example; what a reader of German, or of a sentence that was never learned, should know. */
function noteOn(run, example) {
  const notes = [];
  const add = (key, places) => notes.push(nodes(key, places));
  if (example?.name)
    notes.push(t(`example.${example.name}.shows`), nodes("note.watch", { word: word(plain(example.watch), "source") }));
  if (run.changes.length && attendsAhead(run)) add("note.ahead");
  if (!run.complete) add("note.endless", { steps: run.steps.length });
  if (/(?<!\p{L})mochte(?!\p{L})/iu.test(run.sentence.normalize("NFC"))) {
    add("note.mochte", { without: h("i", {}, "mochte"), dotted: h("i", {}, "möchte"), plain: h("i", {}, "mochte") });
  }
  if (run.changes.length) return joinSentences(...notes); // what it says now is not what it learned
  if (!run.reference) add("note.unlearned");
  else if (!run.reference.same) add("note.mistake", { right: run.reference.text });
  else if (run.reference.held_out) add("note.held_out");
  return joinSentences(...notes);
}
