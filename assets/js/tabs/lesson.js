// The lesson: from words to translation in 14 stops, each with a text, the live figure of the sentence at the top, and
// a question whose answer is computed from this run. It shows the network as it is, without the changes at the top.

import { pictureFrame } from "../charts/export.js";
import { formulaRow, stageFigure, stageHeadline } from "../charts/sublayer-stages.js";
import { h, setChildren } from "../core/dom.js";
import { joinSentences, nodes, t } from "../core/i18n.js";
import { button, changeDetector, drawInSight, isOpen, link, onStopKeys } from "../core/parts.js";
import { baselineRun, LESSON_STOPS, state, update } from "../core/state.js";
import { lessonLink } from "./lesson-links.js";
import { STOPS } from "./lesson-stops.js";
import { encoderHead, lessonView } from "./lesson-view.js";

/** @import { Child, View } from "../core/types.d.ts" */
/** @import { StopName } from "./lesson-stops.js" */
/** @import { LessonView } from "./lesson-view.js" */
/** @typedef {ReturnType<typeof build>} Parts */
/** @typedef {Awaited<ReturnType<typeof fetchContent>>} Content */

/** Questions about a sentence, and the choices that were made: -1 for none. @type {Map<string, number>} */
const answers = new Map();

/** @param {View} view */
export function mount({ element, server, signal }) {
  const parts = build();
  const { title, text, question, figure, notice, arithmetic, back, next } = parts;
  const list = parts.dots.map((dot) => h("li", {}, dot));
  const dots = h("ol", { class: "stops" }, list);
  const keys = h("span", { class: "keys hint" }, t("lesson.keys"));
  const head = h("div", { class: "lesson-head" }, dots, h("span", { class: "space" }), keys, back, next);
  const drawing = h(
    "div",
    {},
    pictureFrame(figure, () => `lesson-${state.stop + 1}`),
    arithmetic,
  );
  const columns = h("div", { class: "columns" }, h("div", {}, title, text, question), drawing);
  element.replaceChildren(h("section", { class: "card lesson" }, notice, head, columns));
  drawInSight(element, () => draw(parts, element, server), signal);
  signal.addEventListener("abort", () => parts.drawn.abort());
  onStopKeys(element, { move: (by) => parts.open(state.stop + by), choose: (i) => parts.choose(i) }, signal);
}

function build() {
  const title = h("h2", { id: "stop-title", tabindex: -1 });
  const open = (/** @type {number} */ stop) => {
    update({ stop });
    title.focus({ preventScroll: true });
  };
  const dots = LESSON_STOPS.map((name, i) => {
    const label = `${i + 1}. ${t(`lesson.${name}`)}`;
    return h("button", { type: "button", title: label, "aria-label": label, onclick: () => open(i) });
  });
  return {
    dots,
    title,
    open,
    text: h("div", { class: "lesson-text" }),
    question: h("section", { class: "question", "aria-live": "polite" }),
    figure: h("div", { class: "lesson-figure" }),
    notice: h("p", { class: "hint", hidden: true }, t("lesson.unbroken")),
    arithmetic: h("div", { class: "told", "aria-live": "polite", hidden: true }),
    back: button("pill", t("lesson.back"), () => open(state.stop - 1), { id: "stop-back" }),
    next: button("pill primary", t("lesson.next"), () => open(state.stop + 1), { id: "stop-next" }),
    drawn: new AbortController(), // ends what belongs to the stop that is drawn
    isNew: changeDetector(),
    choose: (/** @type {number} */ _i) => {}, // answers the question that is shown
  };
}

/** @param {Parts} parts @param {HTMLElement} element @param {View["server"]} server */
async function draw(parts, element, server) {
  const { dots, title, text, question, figure, notice, arithmetic, back, next, isNew } = parts;
  const { kind, layer, head, query, step } = state;
  notice.hidden = !state.run.changes.length;
  if (!isOpen(element) || !isNew(baselineRun(), state.stop, kind, layer, head, query, step)) return;
  parts.drawn.abort();
  const drawn = new AbortController();
  parts.drawn = drawn;
  parts.choose = () => {}; // until its question is there, a key answers nothing
  for (const [i, dot] of dots.entries()) dot.setAttribute("aria-current", i === state.stop ? "step" : "false");
  back.disabled = state.stop === 0;
  next.disabled = state.stop === LESSON_STOPS.length - 1;
  const name = LESSON_STOPS[state.stop];
  const heading = t("lesson.title", { n: state.stop + 1, of: LESSON_STOPS.length, name: t(`lesson.${name}`) });
  const showArithmetic = (/** @type {string} */ cell, /** @type {Child[]} */ body) => {
    arithmetic.hidden = false;
    setChildren(arithmetic, h("h4", {}, cell), body);
  };
  const content = await fetchContent(name, lessonView(server, drawn.signal, showArithmetic)).catch(() => null);
  if (drawn.signal.aborted) return; // another stop is wanted by now
  title.textContent = heading;
  if (!content) {
    isNew.forget();
    figure.replaceChildren(h("p", { class: "hint" }, t("positions.failed")));
    for (const each of [text, question]) each.replaceChildren(); // of the stop before
    return;
  }
  const { texts, quiz } = content;
  const more = texts.more && h("p", {}, t(texts.more));
  setChildren(text, content.headline, h("p", {}, nodes(texts.text, quiz.places)), more);
  setChildren(figure, content.drawing);
  arithmetic.hidden = true;
  drawQuestion(parts, content);
}

/** Everything that is drawn of a stop. @param {StopName} name @param {LessonView} view */
async function fetchContent(name, view) {
  const stop = STOPS[name];
  const quiz = await stop.ask(view);
  const key = `lesson.${name}`;
  const usual = { text: `${key}.text`, question: `${key}.question`, reveal: `${key}.reveal`, more: "" };
  const content = { name, hides: Boolean(stop.hides), run: view.run, quiz, texts: { ...usual, ...stop.texts?.(view) } };
  if ("draw" in stop)
    return { ...content, headline: formulaRow(...stop.headline(view)), drawing: await stop.draw(view) };
  const head = { ...(await encoderHead(view)), columns: stop.columns };
  return { ...content, headline: stageHeadline(stop.stage, head), drawing: stageFigure(stop.stage, head) };
}

/**
 * The question; a figure that would give the answer away stays veiled until the visitor has guessed or asks to see it.
 * @param {Parts} parts @param {Content} content
 */
function drawQuestion(parts, { name, hides, run, quiz, texts }) {
  const { question, figure } = parts;
  const { choices, right, places } = quiz;
  // Another step or head asks another question; a change of the run and its end do not.
  const key = JSON.stringify([run.checkpoint, run.sentence, name, choices, right]);
  const isAlone = choices.length < 2; // nothing to guess: the answer stands there, and the figure is seen
  const choose = (/** @type {number} */ i) => {
    if (isAlone || answers.has(key) || i >= choices.length) return;
    answers.set(key, i);
    drawAnswer();
  };
  const buttons = choices.map((text, i) =>
    button("choice", [h("small", {}, String(i + 1)), " ", text], () => choose(i)),
  );
  const show = link(t("lesson.show"), () => choose(-1));
  const veil = h("div", { class: "veil" }, h("p", {}, t("lesson.predict"), " ", show));
  const reveal = h("p", { class: "reveal", hidden: true });
  const further = h("p", { hidden: true }, lessonLink(name));
  const asking = [h("h3", {}, nodes(texts.question, places)), h("div", { class: "choices" }, buttons)];
  const drawAnswer = () => {
    const choice = isAlone ? -1 : answers.get(key);
    const isVeiled = hides && choice === undefined;
    figure.inert = isVeiled;
    figure.classList.toggle("veiled", isVeiled);
    veil.remove();
    if (isVeiled) figure.after(veil);
    if (choice === undefined) return;
    question.dataset.right = String(right);
    buttons.forEach((each, i) => {
      each.disabled = true;
      each.classList.toggle("right", i === right);
      each.classList.toggle("wrong", i === choice && choice !== right);
    });
    const verdict = isAlone ? "lesson.alone" : choice === right ? "lesson.right" : "lesson.wrong";
    const judged = choice === -1 && !isAlone ? null : [h("b", {}, t(verdict))];
    reveal.hidden = false;
    reveal.replaceChildren(...joinSentences(judged, nodes(texts.reveal, places)));
    further.hidden = !further.hasChildNodes();
  };
  figure.parentElement?.querySelector(".veil")?.remove(); // of the stop before
  setChildren(question, isAlone ? [] : asking, reveal, further);
  delete question.dataset.right;
  drawAnswer();
  parts.choose = choose;
}
