// Spot the bug: mistakes of tutorials, each from its symptom over a guess to the lines that cause it.

import { h, replaceKeepingFocus, word } from "../core/dom.js";
import { formatMessage, formatNumber, joinSentences, nodes, t } from "../core/i18n.js";
import { button, drawInSight, isOpen, link, onStopKeys } from "../core/parts.js";
import { EXERCISES, offeredCauses } from "../core/schema.js";
import { state, update } from "../core/state.js";
import { isTrainingMistake, mistakeTraining, trainMistake } from "../net/mistake-training.js";
import { readSession, writeSession } from "../net/session.js";
import { lossCurves, revealedMistake, symptomMap, symptomPlaces } from "./mistake-symptoms.js";

/** @import { DecodingSymptom, MistakeCode, MistakeRequest, Symptom } from "#schema" */
/** @import { Child, Server, View } from "../core/types.d.ts" */

const DONE = "attention-bitte-mistakes"; // of this session, so that a reload still knows them
const NAMES = Object.keys(EXERCISES);
const FLIPPED = "axes_swapped"; // the rows of its map are keys
const TESTED_TWICE = "teacher_forced_test"; // one model, and nothing is wrong with its training

/**
 * The cause that was chosen in each exercise; null where the visitor wanted to be shown.
 * @type {Map<string, string | null>}
 */
const guesses = new Map();

/** Exercises that were answered, also before a reload. @type {Set<string> | null} */
let done = null;
const doneBefore = () => {
  done ??= new Set([readSession(DONE) ?? []].flat());
  return done;
};

/** @param {View} view */
export function mount({ element, props, server, signal }) {
  /** @type {Record<string, MistakeCode>} */
  const mistakes = Object.fromEntries(props.value.map((/** @type {MistakeCode} */ each) => [each.name, each]));
  const parts = build(mistakes, server, signal);
  const { list, items, title, kind, back, next, live, symptom, question, reveal } = parts;
  const head = h("div", { class: "lesson-head" }, title, kind, h("span", { class: "space" }), back, next);
  const columns = h("div", { class: "columns" }, h("div", {}, live, symptom), question.element);
  const exercise = h("article", { class: "card exercise" }, head, columns, reveal);
  element.replaceChildren(h("div", { class: "mistakes" }, list, exercise));
  items.forEach((item, i) => {
    item.addEventListener("click", () => open(parts, NAMES[i]));
  });
  back.addEventListener("click", () => move(parts, -1));
  next.addEventListener("click", () => move(parts, 1));
  const fold = () => {
    list.open = !parts.narrow.matches;
  };
  parts.narrow.addEventListener("change", fold, { signal });
  fold();
  const drawIfOpen = () => {
    if (isOpen(element)) draw(parts);
  };
  drawInSight(element, drawIfOpen, signal);
  document.addEventListener("mistake:changed", () => parts.exercise && drawIfOpen(), { signal });
  onStopKeys(element, { move: (by) => move(parts, by), choose: (i) => choose(parts, i) }, signal);
}

/** @param {Record<string, MistakeCode>} mistakes @param {Server} server @param {AbortSignal} signal */
function build(mistakes, server, signal) {
  const items = NAMES.map((name, i) => exerciseItem(mistakes[name], i));
  const summary = h("summary", {});
  const question = h("section", { class: "question", "aria-live": "polite" });
  return {
    mistakes,
    server,
    signal,
    items,
    summary,
    narrow: matchMedia("(width < 900px)"), // there the list is folded away
    list: h(
      "details",
      { class: "card exercises" },
      summary,
      h(
        "ol",
        {},
        items.map((item) => h("li", {}, item)),
      ),
    ),
    title: h("h2", { tabindex: -1 }),
    kind: h("small", { class: "kind" }),
    back: h("button", { type: "button", class: "pill" }, t("mistakes.back")),
    next: h("button", { type: "button", class: "pill primary" }, t("mistakes.next")),
    live: h("div", { class: "live" }),
    symptom: h("div", { class: "symptom" }),
    question: { element: question, draw: () => {} },
    reveal: h("section", { class: "revealed" }),
    exercise: /** @type {string | null} */ (null), // that is drawn
    lifetime: new AbortController(), // of what is drawn for it,
    figures: new AbortController(), // of the figures of its symptom,
    reveals: new AbortController(), // and of what it was
    asked: "", // the request that is answered or waited for
    shown: /** @type {Symptom | null} */ (null), // the symptom that is drawn
    drawTraining: /** @type {(() => void) | null} */ (null),
  };
}

/** @typedef {ReturnType<typeof build>} Parts */

/** @param {MistakeCode} mistake @param {number} i */
const exerciseItem = ({ name, kind }, i) =>
  h(
    "button",
    { type: "button", value: name },
    h("span", { class: "count" }, formatNumber(i + 1)),
    h("span", { class: "title" }, t(`mistakes.${name}.title`)),
    h("small", { class: `kind ${kind}` }, t(`mistakes.kind.${kind}`)),
    h(
      "span",
      { class: "done", hidden: true },
      h("span", { "aria-hidden": "true" }, "✓"),
      h("span", { class: "visually-hidden" }, t("mistakes.done")),
    ),
  );

// ---- which exercise ----

/** @param {Parts} parts @param {string} name */
function open({ list, title, narrow }, name) {
  if (narrow.matches) list.open = false;
  update({ exercise: name });
  title.focus({ preventScroll: true });
}

/** @param {Parts} parts @param {1 | -1} by */
function move(parts, by) {
  const name = NAMES[NAMES.indexOf(state.exercise) + by];
  if (name) open(parts, name);
}

/** @param {Parts} parts */
function draw(parts) {
  const name = state.exercise;
  if (name !== parts.exercise) begin(parts, name);
  if (parts.drawTraining) parts.drawTraining();
  else askForSymptom(parts, /** @type {MistakeRequest["name"]} */ (name));
}

/** @param {Parts} parts @param {string} name */
function begin(parts, name) {
  const { title, summary, kind, back, next, live } = parts;
  const i = NAMES.indexOf(name);
  parts.lifetime.abort();
  Object.assign(parts, { exercise: name, lifetime: new AbortController(), asked: "" });
  const heading = t("mistakes.title", { n: i + 1, of: NAMES.length, title: t(`mistakes.${name}.title`) });
  title.textContent = heading;
  summary.textContent = heading;
  const { kind: sort } = parts.mistakes[name];
  kind.className = `kind ${sort}`;
  kind.textContent = t(`mistakes.kind.${sort}`);
  back.disabled = i === 0;
  next.disabled = i === NAMES.length - 1;
  live.replaceChildren();
  parts.drawTraining = sort === "training" ? buildTraining(parts, name) : null;
  buildQuestion(parts, name);
  showSymptom(parts, null, []);
  markItems(parts);
}

/** @param {Parts} parts */
function markItems({ items, exercise }) {
  for (const item of items) {
    item.setAttribute("aria-current", item.value === exercise ? "step" : "false");
    /** @type {HTMLElement} */ (item.lastElementChild).hidden = !doneBefore().has(item.value);
  }
}

// ---- the symptom ----

/** @param {Parts} parts @param {MistakeRequest["name"]} name */
async function askForSymptom(parts, name) {
  const { checkpoint, sentence } = state.run;
  const request = { checkpoint, sentence, name };
  const key = JSON.stringify(request);
  if (key === parts.asked) return;
  parts.asked = key;
  const answer = await parts.server.mistake(request).catch(() => null);
  if (parts.signal.aborted || key !== parts.asked) return; // something else is wanted by now
  if (answer && !("error" in answer)) {
    takeSymptom(parts, answer);
    return;
  }
  if (!answer) parts.asked = ""; // the next change asks again
  const text = answer ? formatMessage(answer.error) : t("mistakes.failed");
  showSymptom(parts, null, [h("p", { class: "message", role: "alert" }, text)]);
}

/** @param {Parts} parts @param {DecodingSymptom | Symptom} found */
function takeSymptom(parts, found) {
  const { wrong, head, sentence } = found;
  const exercise = String(parts.exercise);
  const elsewhere =
    "elsewhere" in found && found.elsewhere
      ? h(
          "p",
          { class: "hint" },
          nodes("mistakes.elsewhere", { model: found.model, sentence: word(sentence, "source") }),
        )
      : null;
  parts.figures.abort();
  parts.figures = new AbortController();
  const signal = AbortSignal.any([parts.signal, parts.lifetime.signal, parts.figures.signal]);
  const isFlipped = exercise === FLIPPED;
  showSymptom(parts, found, [
    h("h3", {}, t("mistakes.symptom")),
    h("p", { class: "say" }, nodes(`mistakes.${exercise}.symptom`, symptomPlaces(found))),
    elsewhere,
    wrong.attention && symptomMap(wrong.attention, head, exercise, { isFlipped, signal }),
  ]);
}

/**
 * What is seen of the mistake from now on.
 * @param {Parts} parts @param {Symptom | null} found @param {Child[]} children
 */
function showSymptom(parts, found, children) {
  parts.shown = found;
  replaceKeepingFocus(parts.symptom, children);
  parts.symptom.hidden = !children.length;
  parts.question.draw();
  drawReveal(parts);
}

/**
 * The trainings of an exercise: a button, and then their losses while they go on. Returns what draws them.
 * @param {Parts} parts @param {string} name
 */
function buildTraining(parts, name) {
  const losses = lossCurves(AbortSignal.any([parts.signal, parts.lifetime.signal]));
  const about = h("p", { class: "lead" }, t(name === TESTED_TWICE ? "mistakes.live.one" : "mistakes.live.both"));
  const status = h("p", { class: "hint", role: "status" });
  const start = h("button", { type: "button", class: "go", onclick: () => isTrainingMistake() || trainMistake(name) });
  parts.live.replaceChildren(about, h("p", {}, start), status, losses.element);
  return () => {
    const training = mistakeTraining(name);
    const { phase } = training;
    const canStart = ["idle", "failed", "shown"].includes(phase);
    const isAnother = canStart && isTrainingMistake(); // one after the other
    about.hidden = phase !== "idle";
    start.textContent = t(phase === "shown" || phase === "failed" ? "mistakes.live.again" : "mistakes.live.start");
    start.hidden = !canStart;
    start.disabled = isAnother;
    status.textContent = isAnother ? t("mistakes.live.other") : trainingStatus(training);
    losses.element.hidden = !training.wrong.length;
    const areKnown = guesses.has(name) && name !== TESTED_TWICE;
    const [wrong, right] = areKnown ? ["mistakes.wrong", "mistakes.right"] : ["mistakes.this", "mistakes.other"];
    losses.draw(training, { wrong: t(wrong), right: t(right) });
    if (training.symptom && training.symptom !== parts.shown) takeSymptom(parts, training.symptom);
  };
}

/** @param {ReturnType<typeof mistakeTraining>} training */
function trainingStatus({ phase, place, message }) {
  if (phase === "failed") return message ? formatMessage(message) : t("mistakes.failed");
  if (phase === "waiting") return t("train.bar.waiting", { place });
  return phase === "asking" || phase === "running" ? t("mistakes.live.running") : "";
}

// ---- the guess ----

/** @param {Parts} parts @param {string} name */
function buildQuestion(parts, name) {
  const { element } = parts.question;
  const choices = offeredCauses(name).map((cause, i) =>
    button("choice", [h("small", {}, String(i + 1)), " ", t(`mistakes.${cause}.cause`)], () => choose(parts, i), {
      value: cause,
    }),
  );
  const show = link(t("mistakes.show"), () => choose(parts, -1));
  const verdict = h("p", { class: "reveal" });
  const wait = h("p", { class: "hint" }, t("mistakes.first"));
  const keys = h("p", { class: "keys hint" }, t("mistakes.keys"));
  const heading = h("h3", {}, t("mistakes.question"));
  element.replaceChildren(heading, h("div", { class: "choices" }, choices), wait, show, verdict, keys);
  delete element.dataset.right;
  parts.question.draw = () => {
    const isAnswered = guesses.has(name);
    const guess = guesses.get(name);
    wait.hidden = isAnswered || parts.shown !== null;
    show.hidden = isAnswered;
    verdict.hidden = !isAnswered;
    for (const choice of choices) {
      choice.disabled = isAnswered || !parts.shown;
      choice.classList.toggle("right", isAnswered && choice.value === name);
      choice.classList.toggle("wrong", isAnswered && choice.value === guess && guess !== name);
    }
    if (!isAnswered) return;
    element.dataset.right = name;
    const judged = guess === null ? [] : [h("b", {}, t(guess === name ? "lesson.right" : "lesson.wrong"))];
    verdict.replaceChildren(...joinSentences(judged, t("mistakes.verdict", { cause: t(`mistakes.${name}.cause`) })));
  };
}

/** Answer the question by the i-th choice; −1 to be shown. @param {Parts} parts @param {number} i */
function choose(parts, i) {
  const name = parts.exercise;
  if (!name || guesses.has(name)) return;
  const cause = offeredCauses(name)[i] ?? null;
  if (i >= 0 && (!parts.shown || !cause)) return;
  guesses.set(name, cause);
  writeSession(DONE, [...doneBefore().add(name)]);
  parts.question.draw();
  markItems(parts);
  drawReveal(parts);
  parts.drawTraining?.(); // whose curves have names by now
}

/** What causes it, beside what is right; only for those who have guessed, or do not want to. @param {Parts} parts */
function drawReveal(parts) {
  const { exercise, reveal, mistakes, shown } = parts;
  parts.reveals.abort();
  parts.reveals = new AbortController();
  const signal = AbortSignal.any([parts.signal, parts.lifetime.signal, parts.reveals.signal]);
  reveal.hidden = !exercise || !guesses.has(exercise);
  if (!exercise || reveal.hidden) return;
  const contents = revealedMistake(mistakes[exercise], shown, { hasFlippedMap: exercise === FLIPPED, signal });
  reveal.replaceChildren(...contents);
}
