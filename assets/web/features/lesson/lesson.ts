// The lesson: from words to translation in stops, each with a text, the live figure of the sentence at the top, and a
// question whose answer is computed from this run. It shows the network as it is, without the changes at the top.

import { sessionMap } from "../../api/session.ts";
import type { Child, State, View } from "../../api/types.ts";
import { hereButton } from "../../charts/overview-place.ts";
import { formulaRow, shapeChain, stageFigure, stageHeadline } from "../../charts/sublayer-stages.ts";
import { isPresenting } from "../../state/address.ts";
import { experimentHere, findExperiment, leaveLesson, openExperiment } from "../../state/experiments.ts";
import { hasText, joinSentences, nodes, t } from "../../state/i18n.ts";
import { LESSON_STOPS, type StopName } from "../../state/lesson-plan.ts";
import { failureText } from "../../state/server-cache.ts";
import { baselineRun, lessonStops, state, update } from "../../state/state.ts";
import { h, setChildren, twoFrames } from "../../ui/dom.ts";
import { pictureFrame } from "../../ui/export.ts";
import { fitToScreen } from "../../ui/fit-to-screen.ts";
import { button, changeDetector, drawInSight, hint, isOpen, link, onStopKeys, startButton } from "../../ui/parts.ts";
import { askedQuestion, awaitStopQuestion, type Guesses, offerQuestion } from "../../ui/question.ts";
import { planChooser, progressBar } from "./bar.ts";
import { colourLegend, encoderHead, type LessonView, lessonView, type Stop, viewOfStop } from "./stop.ts";
import * as stops from "./stops.ts";

type Parts = ReturnType<typeof build>;
type Content = Awaited<ReturnType<typeof fetchContent>>;

const STOPS: Record<StopName, Stop> = stops;
const FOLD = 128; // hidden units a line
const GUESSING = "guessing"; // class of the page while the answer is veiled: nothing else may tell it

const guesses = sessionMap<Guesses>("lesson", 200);

export function mount({ element, signal }: View) {
  const parts = build();
  const { bar, plan, title, headline, text, question, figure, colours, notice, arithmetic, back, next, stop } = parts;
  const keys = h("p", { class: "keys hint" }, t("lesson.keys"));
  const head = h("div", { class: "lesson-head" }, bar.element, startButton("class-start"), plan.element, back, next);
  const name = () => `lesson-${state.stop + 1}`;
  const drawing = h("div", { class: "stop-figure" }, pictureFrame(figure, name), colours, arithmetic);
  fitToScreen(stop, drawing, signal);
  const line = h("div", { class: "title-line" }, title, hereButton());
  stop.append(h("div", { class: "stop-title" }, line, headline), text, drawing, question);
  element.replaceChildren(h("section", { class: "card lesson" }, notice, head, stop, keys));
  drawInSight(element, () => draw(parts, element), signal);
  signal.addEventListener("abort", () => parts.drawn.abort());
  onStopKeys(element, { move: (by) => parts.move(by), choose: (i) => parts.choose(i) }, signal);
}

function build() {
  const title = h("h2", { id: "stop-title", tabindex: -1 });
  const open = (stop: number) => {
    update({ stop });
    title.focus({ preventScroll: true });
  };
  const move = (by: 1 | -1) => {
    const order = lessonStops();
    open(order[order.indexOf(state.stop) + by] ?? state.stop);
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
    choose: (_i: number) => {}, // answers the question that is shown
  };
}

async function draw(parts: Parts, element: HTMLElement) {
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
  const showArithmetic = (cell: string, body: Child[]) => {
    arithmetic.hidden = false;
    setChildren(arithmetic, h("h4", {}, cell), body);
  };
  const content = await fetchContent(name, lessonView(drawn.signal, showArithmetic, STOPS[name].layer)).catch(
    failureText,
  );
  if (drawn.signal.aborted) return; // another stop is wanted by now
  title.textContent = heading;
  arithmetic.hidden = true;
  if (typeof content !== "string") {
    drawStop(parts, content);
    drawQuestion(parts, content);
  } else {
    isNew.forget();
    offerQuestion("stop", null);
    figure.replaceChildren(hint(content));
    for (const each of [text, question]) each.replaceChildren(); // of the stop before
  }
}

/** While a figure is veiled, the source words at the top do not show their weights either. */
const hideAnswer = (figure: HTMLElement) =>
  document.body.classList.toggle(GUESSING, isOpen(figure) && figure.classList.contains("unsolved"));

function drawStop({ stop, headline, text, figure }: Parts, content: Content) {
  stop.classList.toggle("wide", Boolean(content.stop.wide));
  stop.dataset.name = content.name;
  setChildren(headline, content.headline);
  const more = content.text("more");
  setChildren(text, h("p", {}, content.text("text")), more && h("p", {}, more));
  setChildren(figure, content.asked);
}

async function fetchContent(name: StopName, usual: LessonView) {
  const stop = STOPS[name];
  const view = await viewOfStop(stop, usual);
  const quiz = await stop.ask(view);
  const variants = stop.variants?.(view).filter(Boolean) ?? [];
  const text = (part: "text" | "more" | "figure" | "question" | "reveal") => {
    const key = `lesson.${name}.${part}`;
    const found = [...variants.map((variant) => `${key}_${variant}`), key].find(hasText);
    return found ? nodes(found, quiz.places) : null;
  };
  const content = { name, stop, run: view.run, quiz, text };
  const caption = text("figure") && h("h4", {}, text("figure"));
  const evidence = await stop.evidence?.(view);
  const figures = (usual: Child, all: Child = usual) => ({
    asked: [caption, evidence ?? usual],
    answered: () => [caption, stop.remains ? beside(evidence, all) : all], // out of what was asked, to stay on the page
  });
  if ("draw" in stop) {
    const drawing = await stop.draw(view);
    const [formula, ...shapes] = stop.headline(view);
    const chain = shapes.map((each) => (typeof each === "string" ? each : shapeChain(each))).join(" → ");
    const all = stop.answer && [drawing, await stop.answer(view)];
    return { ...content, headline: formulaRow(formula, chain), ...figures(drawing, all) };
  }
  const head = await encoderHead(view);
  const { stage, columns } = stop;
  const drawing = (columns?: string[]) => stageFigure(stage, { ...head, columns, fold: FOLD });
  const all = columns?.answered && drawing(columns.answered);
  return { ...content, headline: stageHeadline(stage, head), ...figures(drawing(columns?.asked), all) };
}

function beside(...figures: Child[]) {
  const places = figures.map((each) => h("div", {}, each));
  return h("div", { class: "beside" }, places);
}

function drawQuestion(parts: Parts, content: Content) {
  const { name, run, quiz, text } = content;
  const { right } = quiz;
  const { question } = parts;
  const choices = quiz.choices.map((each) => each.text);
  // Another step or head asks another question; a change of the run and its end do not.
  const key = JSON.stringify([run.checkpoint, run.sentence, name, choices, right]);
  const isAlone = choices.length < 2; // nothing to guess: the answer stands there, and the figure is seen
  const asked = askedQuestion({ kind: "stop", name, text: text("question"), choices, right }, key, guesses, () => {
    drawAnswer();
    twoFrames().then(() => answer.element.scrollIntoView({ block: "nearest" })); // the figure fits the screen by then
  });
  const answer = answerText(content, () => asked.choose(-1));
  const drawAnswer = () => {
    const isSolved = isAlone || asked.isSolved();
    drawFigure(parts, content, isSolved);
    asked.draw();
    answer.draw(asked.lastGuess(), isSolved, isAlone);
    if (isSolved) question.dataset.right = String(right);
  };
  const telling = choices.length ? answer.element : null;
  setChildren(question, isAlone ? null : [h("div", { class: "asking" }, asked.elements), asked.votes], telling);
  delete question.dataset.right;
  drawAnswer();
  if (isAlone) return offerQuestion("stop", null);
  parts.choose = asked.choose;
  asked.offer();
}

/** The figure of a stop, veiled while it would give the answer away. */
function drawFigure({ figure, stop, colours }: Parts, content: Content, isSolved: boolean) {
  const { run, answered } = content;
  const { hides, evidence, colours: what, howToRead } = content.stop;
  if (isSolved) setChildren(figure, answered());
  for (const each of figure.querySelectorAll("h4")) each.ariaLevel = "3"; // right under the title of the stop
  const isUnsolved = Boolean(hides) && !isSolved;
  const isReasoned = isUnsolved && evidence;
  const isVeiled = isUnsolved && !evidence;
  setChildren(colours, what && !isReasoned ? colourLegend(what, run, howToRead) : null);
  figure.classList.toggle("unsolved", isUnsolved);
  figure.classList.toggle("hides", Boolean(hides));
  figure.inert = isVeiled;
  figure.classList.toggle("veiled", isVeiled);
  hideAnswer(figure);
  figure.parentElement?.querySelector(".veil")?.remove();
  if (isVeiled) figure.after(h("div", { class: "veil" }, h("p", {}, t("lesson.predict"))));
  stop.classList.toggle("answered", isSolved);
}

function answerText({ name, quiz: { choices, right, places }, text }: Content, reveal: () => void) {
  const show = h("p", { class: "show" }, link(t("lesson.show"), reveal));
  const why = h("p", { class: "why", hidden: true });
  const answer = h("p", { class: "reveal", hidden: true });
  const further = h("p", { class: "further", hidden: true }, lessonLink(name));
  return {
    element: h("div", { class: "telling" }, why, show, answer, further),
    draw(last: number | undefined, isSolved: boolean, isAlone: boolean) {
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
      answer.replaceChildren(...joinSentences(judged, text("reveal")));
    },
  };
}

/** Each place, with the name of its experiment if it has one. */
const LINKS: Partial<Record<StopName, Partial<State> & { experiment?: string }>> = {
  tokens: { part: "mistakes", exercise: "positions_from_ids" },
  positions: { part: "whatif", experiment: "positions" },
  scores: { part: "mistakes", exercise: "unscaled" },
  softmax: { part: "whatif", experiment: "temperature" },
  heads: { part: "mistakes", exercise: "heads_by_view" },
  residual: { part: "whatif", experiment: "residual" },
  stack: { part: "mistakes", exercise: "rank_collapse" },
  masked: { part: "mistakes", exercise: "causal_mask" },
  cross: { part: "whatif", experiment: "head" },
  logits: { part: "decoding", strategy: "sampling", experiment: "sampling" },
  loop: { part: "decoding", strategy: "beam", experiment: "beam" },
};

function lessonLink(name: StopName) {
  if (!LINKS[name]) return null;
  const { experiment, ...rest } = LINKS[name];
  const place = { tab: "break", returnStop: state.stop, ...rest };
  return link(t(`lesson.try.${name}`), async () => {
    const found = experiment && (await experimentHere(experiment).catch(() => findExperiment(experiment)));
    leaveLesson();
    if (found) openExperiment(found, place);
    else update(place);
  });
}
