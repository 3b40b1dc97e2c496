// Spot the bug: mistakes of tutorials, each from its symptom over a guess to the lines that cause it.

import type { DecodingSymptom, MistakeCode, MistakeRequest, Symptom } from "#schema";
import { api, canAsk, NO_ANSWER, reasonOf } from "../../api/client.ts";
import * as trainings from "../../api/mistake-training.ts";
import { modelName } from "../../api/models.ts";
import { EXERCISES, offeredCauses, opening } from "../../api/schema.ts";
import { readSession, writeSession } from "../../api/session.ts";
import type { Child, View } from "../../api/types.ts";
import { formatMessage, formatNumber, joinSentences, nodes, t } from "../../state/i18n.ts";
import { state, update } from "../../state/state.ts";
import { describeServer } from "../../ui/describe.ts";
import { h, keepFocus, replaceKeepingFocus, twoFrames, word } from "../../ui/dom.ts";
import { describeWaiting, formatDuration } from "../../ui/duration.ts";
import { fitToScreen } from "../../ui/fit-to-screen.ts";
import { narrow } from "../../ui/frame.ts";
import { button, drawInSight, hint, isOpen, link, onStopKeys, setContent } from "../../ui/parts.ts";
import { askedQuestion, type Guesses } from "../../ui/question.ts";
import { lossCurves, mistakeCode, outputTokens, revealedMistake, symptomMaps, symptomPlaces } from "./symptoms.ts";

type Places = ReturnType<typeof exercisePlaces>;
type Exercise = ReturnType<typeof showExercise>;

const DONE = "attention-bitte-mistakes"; // of this session, so that a reload still knows them
const NAMES = Object.keys(EXERCISES);
const TESTED_TWICE = "teacher_forced_test"; // one model, and nothing is wrong with its training
const RANDOM = "no_eval"; // two runs of it may have the same words

const guesses: Map<string, Guesses> = new Map();
/** Exercises that were answered and whose symptom was seen, also before a reload. */
const done: Set<string> = new Set();

export function mount({ element, signal }: View) {
  for (const name of [readSession(DONE) ?? []].flat()) done.add(name);
  const mistakes: Record<string, MistakeCode> = Object.fromEntries(opening.mistakes.map((each) => [each.name, each]));
  const list = exerciseList(mistakes, open, signal);
  const head = h("div", { class: "lesson-head" });
  const places = exercisePlaces();
  fitToScreen(places.columns, places.shown, signal);
  let exercise = null as Exercise | null;

  function open(name: string) {
    list.foldAway();
    update({ exercise: name });
    head.querySelector("h2")?.focus({ preventScroll: true });
  }
  function move(by: 1 | -1) {
    const name = NAMES[NAMES.indexOf(state.exercise) + by];
    if (name) open(name);
  }
  function draw() {
    if (!isOpen(element)) return;
    if (exercise?.name !== state.exercise) begin(mistakes[state.exercise]);
    exercise?.draw();
  }
  function begin(mistake: MistakeCode) {
    exercise?.end();
    exercise = showExercise(mistake, places, list.draw);
    const i = NAMES.indexOf(mistake.name);
    const heading = t("mistakes.title", { n: i + 1, of: NAMES.length, title: t(`mistakes.${mistake.name}.title`) });
    head.replaceChildren(...exerciseHead(mistake, heading, move));
    list.summary.textContent = heading;
    list.draw();
  }

  const article = h("article", { class: "card exercise" }, head, places.columns, places.reveal);
  element.replaceChildren(h("div", { class: "mistakes" }, list.element, article));
  signal.addEventListener("abort", () => exercise?.end());
  drawInSight(element, draw, signal);
  document.addEventListener("mistake:changed", () => exercise && draw(), { signal });
  onStopKeys(element, { move, choose: (i) => exercise?.choose(i) }, signal);
}

function exerciseList(mistakes: Record<string, MistakeCode>, open: (name: string) => void, signal: AbortSignal) {
  const summary = h("summary");
  const list = h("ol");
  const element = h("details", { class: "card exercises" }, summary, list);
  const fold = () => {
    element.open = !narrow.matches;
  };
  fold();
  narrow.addEventListener("change", fold, { signal });
  return {
    element,
    summary,
    foldAway() {
      if (narrow.matches) element.open = false;
    },
    draw() {
      const items = NAMES.map((name, i) => exerciseItem(mistakes[name], i, () => open(name)));
      keepFocus(list, () => list.replaceChildren(...items.map((item) => h("li", {}, item))));
    },
  };
}

function exerciseHead({ name, kind }: MistakeCode, heading: string, move: (by: 1 | -1) => void) {
  return [
    h("h2", { tabindex: -1 }, heading),
    kindTag(kind),
    h("span", { class: "space" }),
    button("pill", t("mistakes.back"), () => move(-1), { disabled: name === NAMES[0] }),
    button("pill primary", t("mistakes.next"), () => move(1), { disabled: name === NAMES.at(-1) }),
  ];
}

const kindTag = (kind: string) => h("small", { class: `kind ${kind}` }, t(`mistakes.kind.${kind}`));

function exerciseItem({ name, kind }: MistakeCode, i: number, open: () => void) {
  const tick = [h("span", { "aria-hidden": "true" }, "✓"), h("span", { class: "visually-hidden" }, t("mistakes.done"))];
  const content = [
    h("span", { class: "count" }, formatNumber(i + 1)),
    h("span", { class: "title" }, t(`mistakes.${name}.title`)),
    kindTag(kind),
    done.has(name) ? h("span", { class: "done" }, tick) : null,
  ];
  return button(null, content, open, { value: name, "aria-current": name === state.exercise ? "step" : "false" });
}

function exercisePlaces() {
  const live = h("div", { class: "live" });
  const symptom = h("div", { class: "symptom" });
  const question = h("section", { class: "question", "aria-live": "polite" });
  const shown = h("div", {}, live, symptom);
  const columns = h("div", { class: "columns" }, shown, question);
  return { live, symptom, shown, question, columns, reveal: h("section", { class: "revealed" }) };
}

function showExercise(mistake: MistakeCode, { live, symptom, question, reveal }: Places, answered: () => void) {
  const { name, kind } = mistake;
  const lifetime = new AbortController();
  const quiz = guessPanel(mistake, drawGuess);
  const training = kind === "training" ? trainingPanel(mistake, quiz.isSolved, lifetime.signal) : null;
  let shown = null as Symptom | null;
  const fetchSymptom = symptomOf(name, lifetime.signal, show);

  function draw() {
    if (!training) return fetchSymptom();
    training.draw();
    const found = trainings.mistakeTraining(name).symptom;
    if (found && found !== shown) show(found);
  }
  function show(found: Symptom | null, children: Child[] = found ? describeSymptom(name, found) : []) {
    shown = found;
    replaceKeepingFocus(symptom, children);
    symptom.hidden = !children.length;
    drawAnswer();
  }
  function drawAnswer() {
    quiz.draw(shown !== null);
    reveal.hidden = !quiz.isSolved();
    if (reveal.hidden) return;
    reveal.replaceChildren(...revealedMistake(name, shown));
    if (shown && !done.has(name)) {
      writeSession(DONE, [...done.add(name)]); // of a training, not before its end
      answered();
    }
  }
  function drawGuess() {
    drawAnswer();
    training?.draw(); // whose curves have names by now
    const look = () => question.querySelector(".reveal")?.scrollIntoView({ block: "nearest" });
    twoFrames().then(look); // by then the figure fits a projector's screen
  }

  live.replaceChildren(...(training?.content ?? []));
  question.replaceChildren(...quiz.content);
  show(null);
  quiz.offer(); // a class may predict before it sees the symptom, and while a training goes on
  return { name, draw, choose: (i: number) => (i < 0 || shown) && quiz.choose(i), end: () => lifetime.abort() };
}

function symptomOf(name: string, signal: AbortSignal, show: (found: Symptom | null, children?: Child[]) => void) {
  let asked = ""; // the request that is answered or waited for
  return async () => {
    const { checkpoint, sentence } = state.run;
    const request = { checkpoint, sentence, name: name as MistakeRequest["name"] };
    const key = JSON.stringify(request);
    if (key === asked) return;
    asked = key;
    const answer = await api.mistake(request).catch(reasonOf);
    if (signal.aborted || key !== asked) return;
    if (!("key" in answer)) return show(answer);
    if (answer === NO_ANSWER) asked = ""; // the next change asks again
    show(null, [h("p", { class: "message", role: "alert" }, formatMessage(answer))]);
  };
}

function describeSymptom(exercise: string, found: DecodingSymptom | Symptom) {
  const { checkpoint, sentence } = state.run;
  const isDecoding = "model" in found; // of a training, curves are seen
  const model = isDecoding ? found.model : null;
  const isElsewhere = isDecoding && (model !== null || found.sentence !== sentence);
  const places = { model: model ?? modelName(checkpoint), sentence: word(found.sentence, "source") };
  const [one, two] = found.wrong.text.split(" | ");
  const isSame = exercise === RANDOM && one === two;
  return [
    h("h3", {}, t("mistakes.symptom")),
    h("p", { class: "say" }, nodes(`mistakes.${exercise}.symptom${isSame ? "_same" : ""}`, symptomPlaces(found))),
    isElsewhere ? hint(nodes(opening.site ? "mistakes.beforehand" : "mistakes.elsewhere", places)) : null,
    symptomMaps(exercise, found, "wrong"),
    isDecoding && !found.wrong.attention ? outputTokens(found.wrong) : null,
  ];
}

function trainingPanel({ name, seconds }: MistakeCode, isSolved: () => boolean, signal: AbortSignal) {
  const models = name === TESTED_TWICE ? 1 : 2;
  const losses = lossCurves(signal);
  const time = formatDuration(seconds ?? 0);
  const what = t(models === 1 ? "mistakes.live.one" : "mistakes.live.both");
  const here = joinSentences(what, t("mistakes.live.takes", { time }));
  const elsewhere = () => joinSentences(t("mistakes.live.elsewhere"), describeServer());
  const about = h("p", { class: "lead" }, canAsk("train_mistake") ? here : elsewhere());
  const status = h("p", { class: "hint", role: "status" });
  const bar = h("progress", { max: 1 });
  const left = h("span", { class: "left" });
  const start = button("go", "", () => trainings.isTrainingMistake() || trainings.trainMistake(name));
  const recorded = button("pill", t("mistakes.live.recorded"), () => trainings.showRecording(name));
  const stop = button("pill", t("mistakes.live.stop"), trainings.stopMistake);
  const going = h("div", { class: "going" }, bar, left, stop);
  return {
    content: [about, h("p", { class: "controls" }, start, recorded), status, going, losses.element],
    draw() {
      const training = trainings.mistakeTraining(name);
      const { phase } = training;
      const isOn = trainings.isGoingOn(training);
      const isAnother = !isOn && trainings.isTrainingMistake(); // one after the other
      about.hidden = phase !== "idle";
      start.textContent = t(phase === "failed" || phase === "stopped" ? "mistakes.live.again" : "mistakes.live.start");
      start.hidden = isOn || phase === "shown" || !canAsk("train_mistake");
      start.disabled = isAnother;
      recorded.hidden = isOn || phase === "shown" || phase === "recorded";
      setContent(status, isAnother ? t("mistakes.live.other") : trainingStatus(training));
      going.hidden = !isOn;
      bar.value = training.wrong.length ? trainings.stepsDone(training) / (models * training.steps) : 0;
      setContent(left, isOn ? describeProgress(training, models, seconds ?? 0) : null);
      const areKnown = isSolved() && name !== TESTED_TWICE;
      const [wrong, right] = areKnown ? ["mistakes.wrong", "mistakes.right"] : ["mistakes.this", "mistakes.other"];
      losses.draw(training, { wrong: t(wrong), right: t(right) });
    },
  };
}

function trainingStatus({ phase, message, joined }: ReturnType<typeof trainings.mistakeTraining>) {
  if (phase === "failed") return message ? formatMessage(message) : t("error.no_answer");
  if (phase === "stopped") return t("mistakes.live.stopped");
  if (phase === "recorded") return t("mistakes.live.is_recorded");
  return joined === null ? "" : t("mistakes.live.joined", { time: formatDuration(joined) });
}

/** Which step it is, and how long it takes yet. @param seconds that the recorded run took */
function describeProgress(training: ReturnType<typeof trainings.mistakeTraining>, models: number, seconds: number) {
  const { phase, steps, wrong, right, since } = training;
  if (phase === "waiting") return describeWaiting(training);
  const done = trainings.stepsDone(training);
  const missing = models * steps - done;
  if (!wrong.length) return t("mistakes.live.starting", { time: formatDuration(seconds) });
  if (!missing) return t("mistakes.live.testing");
  const time = formatDuration(((performance.now() - since) / 1000 / done) * missing);
  const step = right.length || wrong.length;
  return t("mistakes.live.progress", { n: right.length ? 2 : 1, of: models, step, steps, time });
}

function guessPanel(mistake: MistakeCode, onGuess: () => void) {
  const { name } = mistake;
  const causes = offeredCauses(name);
  const choices = causes.map((cause) => t(`mistakes.${cause}.cause`));
  const question = { name, text: t("mistakes.question"), choices, values: causes, right: causes.indexOf(name) };
  const asked = askedQuestion({ kind: "mistake", ...question }, name, guesses, onGuess);
  const show = link(t("mistakes.show"), () => asked.choose(-1));
  const verdict = h("p", { class: "reveal" });
  const wait = hint(t("mistakes.first"));
  const code = mistakeCode(mistake);
  const keys = h("p", { class: "keys hint" }, t("mistakes.keys"));
  return {
    ...asked,
    content: [...asked.elements, asked.votes, wait, verdict, show, code, keys],
    draw(isSeen: boolean) {
      const isAnswered = asked.isSolved();
      const guess = causes[asked.lastGuess() ?? -1];
      asked.draw(isSeen);
      wait.hidden = isAnswered || isSeen;
      show.hidden = isAnswered;
      code.hidden = !isAnswered;
      verdict.hidden = !isAnswered && !guess;
      setContent(verdict, isAnswered || guess ? verdictOn(name, guess, isAnswered) : null);
    },
  };
}

/** @param guess the latest */
function verdictOn(name: string, guess: string | undefined, isAnswered: boolean) {
  const judged = (key: string) => [h("b", {}, t(`lesson.${key}`))];
  const cause = t("mistakes.verdict", { cause: t(`mistakes.${name}.cause`) });
  if (isAnswered) return joinSentences(guess === name ? judged("right") : [], cause);
  const why = [t(`mistakes.${guess}.telltale`), t(`mistakes.${name}.clue`)];
  return joinSentences(judged("wrong"), ...why, t("mistakes.again"));
}
