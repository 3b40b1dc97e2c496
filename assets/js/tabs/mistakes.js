// Spot the bug: mistakes of tutorials, each from its symptom over a guess to the lines that cause it.

import { h, word } from "../core/dom.js";
import { formatMessage, formatNumber, joinSentences, nodes, t } from "../core/i18n.js";
import { EXERCISES, offeredCauses } from "../core/schema.js";
import { state, subscribe, update } from "../core/state.js";
import { isTrainingMistake, mistakeTraining, trainMistake } from "../net/mistake-training.js";
import { readSession, writeSession } from "../net/session.js";
import { lossCurves, revealedMistake, symptomMap, symptomPlaces } from "./mistake-symptoms.js";

const DONE = "attention-bitte-bugs"; // of this visit, so that a reload still knows them
const NAMES = Object.keys(EXERCISES);
const NARROW = matchMedia("(width < 900px)");
const FLIPPED = "axes_swapped"; // the rows of its map are keys
const TESTED_TWICE = "teacher_forced_test"; // one model, and nothing is wrong with its training

const done = new Set([readSession(DONE) ?? []].flat());
const guesses = new Map(); // exercise -> the cause that was chosen; null where somebody wanted to be shown

export function mount({ element, props, server, signal }) {
  const mistakes = Object.fromEntries(props.value.map((each) => [each.name, each]));
  const items = NAMES.map((name, i) => {
    const { kind } = mistakes[name];
    return h(
      "li",
      {},
      h(
        "button",
        { type: "button", value: name, onclick: () => open(name) },
        h("span", { class: "count" }, formatNumber(i + 1)),
        h("span", { class: "title" }, t(`bugs.${name}.title`)),
        h("small", { class: `kind ${kind}` }, t(`bugs.kind.${kind}`)),
        h(
          "span",
          { class: "done", hidden: true },
          h("span", { "aria-hidden": "true" }, "✓"),
          h("span", { class: "visually-hidden" }, t("bugs.done")),
        ),
      ),
    );
  });
  const summary = h("summary", {});
  const list = h("details", { class: "card exercises" }, summary, h("ol", {}, items));
  const title = h("h2", { tabindex: -1 });
  const kind = h("small", { class: "kind" });
  const back = h("button", { type: "button", class: "pill", onclick: () => step(-1) }, t("bugs.back"));
  const next = h("button", { type: "button", class: "pill primary", onclick: () => step(1) }, t("bugs.next"));
  const live = h("div", { class: "live" });
  const symptom = h("div", { class: "symptom" });
  const question = h("section", { class: "question", "aria-live": "polite" });
  const reveal = h("section", { class: "revealed" });
  element.replaceChildren(
    h(
      "div",
      { class: "bugs" },
      list,
      h(
        "article",
        { class: "card exercise" },
        h("div", { class: "lesson-head" }, title, kind, h("span", { class: "space" }), back, next),
        h("div", { class: "columns" }, h("div", {}, live, symptom), question),
        reveal,
      ),
    ),
  );
  const fold = () => (list.open = !NARROW.matches);
  NARROW.addEventListener("change", fold, { signal });
  fold();

  function open(name) {
    if (NARROW.matches) list.open = false;
    update({ exercise: name });
    title.focus({ preventScroll: true });
  }
  function step(by) {
    const name = NAMES[NAMES.indexOf(state.exercise) + by];
    if (name) open(name);
  }

  let opened = null; // the exercise that is drawn
  let lifetime = new AbortController(); // of what is drawn for it,
  let figures = new AbortController(); // of the figures of its symptom,
  let reveals = new AbortController(); // and of what it was
  let asked = ""; // the question that is answered or waited for
  let shown = null; // the symptom that is drawn
  let trainings = null; // draws how far they are
  let settle = () => {}; // draws the question as far as it is answered
  let choose = () => {}; // answers it

  function draw() {
    if (!element.offsetParent) return;
    const name = state.exercise;
    if (name !== opened) begin(name);
    if (mistakes[name].kind === "decoding") ask(name);
    else trainings();
  }

  function begin(name) {
    const i = NAMES.indexOf(name);
    opened = name;
    [asked, shown] = ["", null];
    const heading = t("bugs.title", { n: i + 1, of: NAMES.length, title: t(`bugs.${name}.title`) });
    title.textContent = heading;
    summary.textContent = heading;
    kind.className = `kind ${mistakes[name].kind}`;
    kind.textContent = t(`bugs.kind.${mistakes[name].kind}`);
    back.disabled = i === 0;
    next.disabled = i === NAMES.length - 1;
    lifetime.abort();
    lifetime = new AbortController();
    trainings = mistakes[name].kind === "training" ? training(name) : null;
    if (!trainings) live.replaceChildren();
    asking(name);
    tell(null, []);
    mark();
  }

  function mark() {
    for (const item of items) {
      const button = item.firstChild;
      button.setAttribute("aria-current", button.value === opened ? "step" : "false");
      button.lastChild.hidden = !done.has(button.value);
    }
  }

  // ---- the symptom ----

  async function ask(name) {
    const { checkpoint, sentence } = state.run;
    const asks = { checkpoint, sentence, name };
    const key = JSON.stringify(asks);
    if (key === asked) return;
    asked = key;
    const answer = await server.mistake(asks).catch(() => null);
    if (signal.aborted || key !== asked) return; // something else is wanted by now
    if (!answer) asked = ""; // the next look asks again
    if (answer && !answer.error) return take(answer);
    tell(null, [h("p", { class: "message", role: "alert" }, answer ? formatMessage(answer.error) : t("bugs.failed"))]);
  }

  /** What is seen of it from now on. */
  function tell(found, drawn) {
    shown = found;
    symptom.replaceChildren(...drawn);
    symptom.hidden = !drawn.length;
    settle();
    unveil();
  }

  function take(found) {
    const { wrong, head, elsewhere, model, sentence } = found;
    const where = elsewhere
      ? h("p", { class: "hint" }, nodes("bugs.elsewhere", { model, sentence: word(sentence, "source") }))
      : [];
    const figure = wrong.attention
      ? symptomMap(wrong, head, opened, { flipped: opened === FLIPPED, signal: renewed() })
      : [];
    tell(
      found,
      [
        h("h3", {}, t("bugs.symptom")),
        h("p", { class: "say" }, nodes(`bugs.${opened}.symptom`, symptomPlaces(found))),
        where,
        figure,
      ]
        .flat(Infinity)
        .filter(Boolean),
    );
  }

  /** The lifetime of the symptom's figures; those before end. */
  function renewed() {
    figures.abort();
    figures = new AbortController();
    return AbortSignal.any([signal, lifetime.signal, figures.signal]);
  }

  /** The trainings of an exercise: a button, and then their losses while they go on. */
  function training(name) {
    const losses = lossCurves(AbortSignal.any([signal, lifetime.signal]));
    const text = h("p", { class: "lead" });
    const status = h("p", { class: "hint", role: "status" });
    const start = h("button", {
      type: "button",
      class: "go",
      onclick: () => isTrainingMistake() || trainMistake(name),
    });
    live.replaceChildren(text, h("p", {}, start), status, losses.element);
    return () => {
      const found = mistakeTraining(name);
      const { phase, place, message } = found;
      const others = isTrainingMistake() && ["idle", "failed", "shown"].includes(phase); // one after the other
      text.textContent = t(name === TESTED_TWICE ? "bugs.live.one" : "bugs.live.both");
      text.hidden = phase !== "idle";
      start.textContent = t(phase === "shown" || phase === "failed" ? "bugs.live.again" : "bugs.live.start");
      start.hidden = !["idle", "failed", "shown"].includes(phase);
      start.disabled = others;
      const trouble = phase === "failed" && (message ? formatMessage(message) : t("bugs.failed"));
      status.textContent = others
        ? t("bugs.live.other")
        : trouble ||
          (phase === "waiting"
            ? t("train.bar.waiting", { place })
            : ["asking", "running"].includes(phase)
              ? t("bugs.live.running")
              : "");
      losses.element.hidden = !found.wrong.length;
      const known = guesses.has(name) && name !== TESTED_TWICE;
      losses.draw(
        found,
        known ? { wrong: t("bugs.wrong"), right: t("bugs.right") } : { wrong: t("bugs.this"), right: t("bugs.other") },
      );
      if (found.symptom && found.symptom !== shown) take(found.symptom);
    };
  }

  // ---- the guess ----

  function asking(name) {
    const choices = offeredCauses(name);
    const buttons = choices.map((cause, i) =>
      h(
        "button",
        { type: "button", class: "choice", value: cause, onclick: () => choose(i) },
        h("small", {}, String(i + 1)),
        " ",
        t(`bugs.${cause}.cause`),
      ),
    );
    const look = h("button", { type: "button", class: "link", onclick: () => choose(-1) }, t("bugs.show"));
    const verdict = h("p", { class: "reveal" });
    const wait = h("p", { class: "hint" }, t("bugs.first"));
    question.replaceChildren(
      h("h3", {}, t("bugs.question")),
      h("div", { class: "choices" }, buttons),
      wait,
      look,
      verdict,
      h("p", { class: "keys hint" }, t("bugs.keys")),
    );
    choose = (i) => {
      if (guesses.has(name) || (i >= 0 && (!shown || i >= choices.length))) return;
      guesses.set(name, choices[i] ?? null);
      writeSession(DONE, [...done.add(name)]);
      settle();
      mark();
      unveil();
      trainings?.(); // whose curves have names by now
    };
    settle = () => {
      const open = guesses.has(name);
      const guess = guesses.get(name);
      wait.hidden = open || Boolean(shown);
      look.hidden = open;
      verdict.hidden = !open;
      buttons.forEach((button) => {
        button.disabled = open || !shown;
        button.classList.toggle("right", open && button.value === name);
        button.classList.toggle("wrong", open && button.value === guess && guess !== name);
      });
      if (!open) return;
      question.dataset.right = name;
      const judged = guess === null ? [] : [h("b", {}, t(guess === name ? "lesson.right" : "lesson.wrong"))];
      verdict.replaceChildren(...joinSentences(judged, t("bugs.verdict", { cause: t(`bugs.${name}.cause`) })));
    };
    delete question.dataset.right;
  }

  /** What causes it, beside what is right; only for those who have guessed, or do not want to. */
  function unveil() {
    reveal.hidden = !guesses.has(opened);
    reveals.abort();
    reveals = new AbortController();
    const until = AbortSignal.any([signal, lifetime.signal, reveals.signal]);
    if (!reveal.hidden)
      reveal.replaceChildren(...revealedMistake(mistakes[opened], shown, { flips: opened === FLIPPED, signal: until }));
  }

  subscribe(element, draw);
  const seen = new IntersectionObserver(() => state.run && draw());
  seen.observe(element);
  signal.addEventListener("abort", () => seen.disconnect());
  document.addEventListener("mistake:changed", () => opened && draw(), { signal });

  // The same keys as in the lesson.
  document.addEventListener(
    "keydown",
    (event) => {
      if (!element.offsetParent || event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
      if (event.target.closest("input:not([type=range]), textarea, select, dialog")) return;
      const by = { PageDown: 1, n: 1, PageUp: -1, b: -1 }[event.key];
      if (by) step(by);
      else if (/^[1-4]$/.test(event.key)) choose(Number(event.key) - 1);
      else if (event.key === "r") choose(-1);
      else return;
      event.preventDefault();
    },
    { signal },
  );
}
