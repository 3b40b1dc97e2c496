// The lesson: from words to translation in stops, each with a text, the live figure of the sentence at the top, and a
// question whose answer is computed from this run. It shows the network as it is, without the changes at the top.

import { pictureFrame } from "../charts/export.js";
import { hereButton } from "../charts/overview-mini.js";
import { formulaRow, stageFigure, stageHeadline } from "../charts/sublayer-stages.js";
import { isPresenting } from "../core/address.js";
import { awaitStopQuestion, offerQuestion } from "../core/class-questions.js";
import { h, setChildren, twoFrames } from "../core/dom.js";
import { joinSentences, nodes, t } from "../core/i18n.js";
import { LESSON_STOPS } from "../core/lesson-plan.js";
import { button, changeDetector, drawInSight, isOpen, link, onStopKeys } from "../core/parts.js";
import { baselineRun, lessonStops, state, update } from "../core/state.js";
import { fitToScreen } from "../shell/frame.js";
import { startButton } from "../shell/start-class.js";
import { planChooser, progressBar } from "./lesson-bar.js";
import { colourLegend } from "./lesson-figures.js";
import { lessonLink } from "./lesson-links.js";
import { guessesOf, keepGuesses } from "./lesson-quiz.js";
import { STOPS } from "./lesson-stops.js";
import { encoderHead, lessonView } from "./lesson-view.js";

/** @import { StopName } from "../core/lesson-plan.js" */
/** @import { Child, View } from "../core/types.d.ts" */
/** @import { LessonView } from "./lesson-view.js" */
/** @typedef {ReturnType<typeof build>} Parts */
/** @typedef {Awaited<ReturnType<typeof fetchContent>>} Content */

const FOLD = 128; // hidden units a line
const GUESSING = "guessing"; // class of the page while the answer is veiled: nothing else may tell it

/** @param {View} view */
export function mount({ element, server, signal }) {
  const parts = build();
  const { bar, plan, title, headline, text, question, figure, colours, notice, arithmetic, back, next, stop } = parts;
  const keys = h("p", { class: "keys hint" }, t("lesson.keys"));
  const head = h(
    "div",
    { class: "lesson-head" },
    bar.element,
    h("span", { class: "space" }),
    startButton("class-start"),
    plan.element,
    back,
    next,
  );
  const name = () => `lesson-${state.stop + 1}`;
  const drawing = h("div", { class: "stop-figure" }, pictureFrame(figure, name), colours, arithmetic);
  fitToScreen(stop, drawing, signal);
  const line = h("div", { class: "title-line" }, title, hereButton());
  stop.append(h("div", { class: "stop-title" }, line, headline), text, drawing, question);
  element.replaceChildren(h("section", { class: "card lesson" }, notice, head, stop, keys));
  drawInSight(element, () => draw(parts, element, server), signal);
  signal.addEventListener("abort", () => parts.drawn.abort());
  onStopKeys(element, { move: (by) => parts.move(by), choose: (i) => parts.choose(i) }, signal);
}

function build() {
  const title = h("h2", { id: "stop-title", tabindex: -1 });
  const open = (/** @type {number} */ stop) => {
    update({ stop });
    title.focus({ preventScroll: true });
  };
  const move = (/** @type {1 | -1} */ by) => {
    const order = lessonStops();
    const at = order.indexOf(state.stop) + by;
    open(order[at] ?? state.stop);
  };
  return {
    bar: progressBar(open),
    plan: planChooser(),
    title,
    move,
    stop: h("div", { class: "stop" }),
    headline: h("div"),
    text: h("div", { class: "lesson-text" }),
    question: h("section", { class: "question", "aria-live": "polite" }),
    figure: h("div", { class: "lesson-figure" }),
    colours: h("div"),
    notice: h("p", { class: "hint", hidden: true }, t("lesson.original")),
    arithmetic: h("div", { class: "arithmetic-box", "aria-live": "polite", hidden: true }),
    back: button("pill", t("lesson.back"), () => move(-1), { id: "stop-back" }),
    next: button("pill primary", t("lesson.next"), () => move(1), { id: "stop-next" }),
    drawn: new AbortController(), // ends what belongs to the stop that is drawn
    isNew: changeDetector(),
    choose: (/** @type {number} */ _i) => {}, // answers the question that is shown
  };
}

/** @param {Parts} parts @param {HTMLElement} element @param {View["server"]} server */
async function draw(parts, element, server) {
  const { bar, plan, title, text, question, figure, notice, arithmetic, back, next, isNew } = parts;
  const { kind, layer, head, query, step } = state;
  notice.hidden = !state.run.changes.length;
  hideAnswer(figure);
  bar.draw();
  plan.draw();
  const place = [state.stop, state.stops, kind, layer, head, query, step];
  if (!isOpen(element) || !isNew(baselineRun(), ...place, isPresenting())) return;
  parts.drawn.abort();
  const drawn = new AbortController();
  parts.drawn = drawn;
  parts.choose = () => {}; // until its question is there, a key answers nothing
  awaitStopQuestion();
  const order = lessonStops();
  const at = order.indexOf(state.stop);
  back.disabled = at === 0;
  next.disabled = at === order.length - 1;
  const name = LESSON_STOPS[state.stop];
  const heading = t("lesson.title", { n: at + 1, of: order.length, name: t(`lesson.${name}`) });
  const showArithmetic = (/** @type {string} */ cell, /** @type {Child[]} */ body) => {
    arithmetic.hidden = false;
    setChildren(arithmetic, h("h4", {}, cell), body);
  };
  const content = await fetchContent(name, lessonView(server, drawn.signal, showArithmetic)).catch(() => null);
  if (drawn.signal.aborted) return; // another stop is wanted by now
  title.textContent = heading;
  arithmetic.hidden = true;
  if (content) {
    drawStop(parts, content);
    drawQuestion(parts, content);
  } else {
    isNew.forget();
    offerQuestion("stop", null);
    figure.replaceChildren(h("p", { class: "hint" }, t("positions.failed")));
    for (const each of [text, question]) each.replaceChildren(); // of the stop before
  }
}

/** While a figure is veiled, the source words at the top do not show their weights either. @param {HTMLElement} figure */
const hideAnswer = (figure) =>
  document.body.classList.toggle(GUESSING, isOpen(figure) && figure.classList.contains("veiled"));

/** The figure of a stop, beside its question. @param {Parts} parts @param {Content} content */
function drawStop(
  { stop, headline, text, colours },
  { stop: { wide, colours: what }, run, texts, quiz, headline: formula },
) {
  stop.classList.toggle("wide", Boolean(wide));
  setChildren(headline, formula);
  const more = texts.more && h("p", {}, nodes(texts.more, quiz.places));
  setChildren(text, h("p", {}, nodes(texts.text, quiz.places)), more);
  setChildren(colours, what && colourLegend(what, run));
}

/** Everything that is drawn of a stop. @param {StopName} name @param {LessonView} view */
async function fetchContent(name, view) {
  const stop = STOPS[name];
  const quiz = await stop.ask(view);
  const key = `lesson.${name}`;
  const usual = { text: `${key}.text`, question: `${key}.question`, reveal: `${key}.reveal`, more: "" };
  const texts = { ...usual, figure: `${key}.figure`, ...stop.texts?.(view) };
  const content = { name, stop, run: view.run, quiz, texts };
  const caption = stop.captioned ? h("h4", {}, nodes(texts.figure, quiz.places)) : null;
  if ("draw" in stop) {
    const drawing = [caption, await stop.draw(view)];
    const answered = stop.answer ? [drawing, await stop.answer(view)] : drawing;
    return { ...content, headline: formulaRow(...stop.headline(view)), asked: drawing, answered };
  }
  const head = await encoderHead(view);
  const drawing = (/** @type {string[] | undefined} */ columns) => [
    caption,
    stageFigure(stop.stage, { ...head, columns, fold: FOLD }),
  ];
  const asked = drawing(stop.columns?.asked);
  const answered = stop.columns?.answered ? drawing(stop.columns.answered) : asked;
  return { ...content, headline: stageHeadline(stop.stage, head), asked, answered };
}

/**
 * The question. A figure that would give the answer away stays veiled until the visitor has found it or asks to see it;
 * a wrong guess says why it is wrong, and leaves the others to choose from.
 * @param {Parts} parts @param {Content} content
 */
function drawQuestion(parts, content) {
  const { name, run, quiz, texts } = content;
  const { choices, right, places } = quiz;
  const { question } = parts;
  // Another step or head asks another question; a change of the run and its end do not.
  const key = JSON.stringify([run.checkpoint, run.sentence, name, choices.map(({ text }) => text), right]);
  const isAlone = choices.length < 2; // nothing to guess: the answer stands there, and the figure is seen
  const isSolved = ({ guesses, shown } = guessesOf(key)) => isAlone || shown || guesses.includes(right);
  const choose = (/** @type {number} */ i) => {
    const { guesses, shown } = guessesOf(key);
    if (isSolved() || i >= choices.length || guesses.includes(i)) return;
    keepGuesses(key, i < 0 ? { guesses, shown: true } : { guesses: [...guesses, i], shown });
    drawAnswer();
    twoFrames().then(() => answer.element.scrollIntoView({ block: "nearest" })); // the figure fits a room's screen by then
  };
  const buttons = choices.map(({ text }, i) =>
    button("choice", [h("small", {}, String(i + 1)), " ", text], () => choose(i)),
  );
  const asking = h("h3", {}, nodes(texts.question, places));
  const guessing = h("div", { class: "asking" }, asking, h("div", { class: "choices" }, buttons));
  const figure = stopFigure(parts, content);
  const answer = answerText(content, () => choose(-1));
  const drawAnswer = () => {
    const known = guessesOf(key);
    const solved = isSolved(known);
    figure.draw(solved);
    buttons.forEach((each, i) => {
      each.disabled = solved || known.guesses.includes(i);
      each.classList.toggle("right", solved && i === right);
      each.classList.toggle("wrong", i !== right && known.guesses.includes(i));
    });
    answer.draw(known.guesses.at(-1), solved, isAlone);
    if (solved) question.dataset.right = String(right);
  };
  const votes = h("div", { class: "class-votes" });
  setChildren(question, isAlone ? null : [guessing, votes], answer.element);
  delete question.dataset.right;
  drawAnswer();
  parts.choose = choose;
  offerToClass(name, content, votes, () => choose(-1));
}

/** The figure of a stop, veiled while it would give the answer away. @param {Parts} parts @param {Content} content */
function stopFigure({ figure, stop }, { stop: { hides }, asked, answered }) {
  /** @type {Child} */
  let shown = null;
  figure.classList.toggle("hides", Boolean(hides));
  return {
    draw(/** @type {boolean} */ isSolved) {
      const drawing = isSolved ? answered : asked;
      if (drawing !== shown) setChildren(figure, drawing);
      shown = drawing;
      for (const each of figure.querySelectorAll("h4")) each.ariaLevel = "3"; // right under the title of the stop
      const isVeiled = Boolean(hides) && !isSolved;
      figure.inert = isVeiled;
      figure.classList.toggle("veiled", isVeiled);
      hideAnswer(figure);
      figure.parentElement?.querySelector(".veil")?.remove();
      if (isVeiled) figure.after(h("div", { class: "veil" }, h("p", {}, t("lesson.predict"))));
      stop.classList.toggle("answered", isSolved);
    },
  };
}

/** Why a guess is wrong, and the answer once it is known. @param {Content} content @param {() => void} reveal */
function answerText({ name, quiz: { choices, right, places }, texts }, reveal) {
  const shower = link(t("lesson.show"), reveal);
  const show = h("p", { class: "show" }, shower);
  const why = h("p", { class: "why", hidden: true });
  const answer = h("p", { class: "reveal", hidden: true });
  const further = h("p", { class: "further", hidden: true }, lessonLink(name));
  return {
    element: h("div", { class: "telling" }, why, show, answer, further),
    draw(/** @type {number | undefined} */ last, /** @type {boolean} */ isSolved, /** @type {boolean} */ isAlone) {
      const wrong = !isSolved && last !== undefined ? choices[last] : null;
      const reason = wrong?.why && nodes(wrong.why, { ...places, ...wrong.places });
      show.hidden = isSolved;
      why.hidden = !reason;
      if (reason) why.replaceChildren(...joinSentences([h("b", {}, t("lesson.wrong"))], reason));
      answer.hidden = !isSolved;
      further.hidden = !isSolved || !further.hasChildNodes();
      if (!isSolved) return;
      const verdict = isAlone ? "lesson.alone" : last === right ? "lesson.right" : null;
      const judged = verdict && [h("b", {}, t(verdict))];
      answer.replaceChildren(...joinSentences(judged, nodes(texts.reveal, places)));
    },
  };
}

/**
 * @param {StopName} name @param {Content} content @param {HTMLElement} votes their place
 * @param {() => void} reveal shows the answer
 */
function offerToClass(name, { quiz: { choices, right, places }, texts }, votes, reveal) {
  const text = t(texts.question, places);
  const offered = {
    kind: /** @type {const} */ ("stop"),
    name,
    text,
    choices: choices.map((each) => each.text),
    right,
    reveal,
    votes,
  };
  offerQuestion("stop", choices.length > 1 ? offered : null);
}
