// The class under the run bar: for the teacher its code, its question and the votes; for a student the question and the
// choices. Where there is no class, nothing. In front of a class the votes stand with the question in the open view, and
// leave its figure the screen.

import type { ShownQuestion } from "#schema";
import * as rooms from "../../api/room.ts";
import { room } from "../../api/room.ts";
import { schema } from "../../api/schema.ts";
import type { Child, View } from "../../api/types.ts";
import { forgetClass, isPresenting } from "../../state/address.ts";
import { formatMessage, formatNumber, formatPercent, language, t } from "../../state/i18n.ts";
import { LESSON_STOPS } from "../../state/lesson-plan.ts";
import { state } from "../../state/state.ts";
import {
  type Askable,
  describeQuestion,
  isOfView,
  nextWordQuestion,
  parseAbout,
  sourceWordQuestion,
  viewQuestion,
  voteShares,
} from "../../ui/class-answers.ts";
import { h, keepFocus, segmented, twoFrames } from "../../ui/dom.ts";
import { button, closest, link, setContent } from "../../ui/parts.ts";
import { isQuestionComing, openQuestion } from "../../ui/question.ts";
import { showAddress, showSummary } from "./dialogs.ts";
import { followRoom, isFollowing, isNotesPage, setFollowing, withoutLive } from "./follow.ts";

const TIMERS = [0, 30, 60, 120]; // seconds; 0 for none

const panel = {
  isOpened: false, // the address that the page was opened with has been read
  seconds: 0, // of the next question's timer
  right: null as { about: string; right: number } | null, // of the question that was asked from this page
  revealed: "", // the question whose answer the open view shows already
  seen: { key: "", place: "" }, // the question that was revealed last, and where the class was then
  shown: "", // what a student's screen was last scrolled to
};

export function mount({ element, signal }: View) {
  const place = h("section", { class: "class-panel", "aria-label": t("room.title") });
  element.replaceChildren();
  const draw = () => {
    markPage();
    drawVotesInView();
    if (room.role === null && !room.message) {
      element.replaceChildren(); // most pages are in no class
      return;
    }
    if (!place.isConnected) element.append(place);
    const open = new Set([...place.querySelectorAll("details[open]")].map(({ id }) => id)); // an answer closes no menu
    const drawn = h("div", {}, room.role === "student" ? studentPanel() : teacherPanel());
    for (const each of drawn.querySelectorAll("details")) each.open = open.has(each.id);
    keepFocus(place, () => setContent(place, [...drawn.children])); // others' votes interrupt no tap
    const isRevealed = revealInView();
    if (!isNewToStudent() && !isRevealed) return;
    // A phone may have scrolled on: to the answer, or along a figure.
    twoFrames().then(() => place.scrollIntoView({ block: "nearest" })); // after the view has scrolled to its answer
  };
  for (const changed of ["room:changed", "question:drawn"]) document.addEventListener(changed, draw, { signal });
  document.addEventListener("class:wanted", startClass, { signal });
  const clock = setInterval(() => {
    for (const each of place.querySelectorAll(".room-clock")) each.textContent = clockText();
  }, 500);
  signal.addEventListener("abort", () => clearInterval(clock));
  document.addEventListener("keydown", onKey, { signal, capture: true });
  followRoom(element, signal);
  if (!panel.isOpened) enterFromAddress();
  panel.isOpened = true;
  draw();
}

/** A link may lead into a class, or hand on its lead; a reload of the teacher's page leads on. */
function enterFromAddress() {
  const code = new URLSearchParams(location.search).get("room");
  const secret = location.hash.slice(1);
  const stored = rooms.storedRoom();
  if (code && secret) {
    rooms.leadRoom(code, secret);
    forgetClass();
  } else if (code) rooms.joinRoom(code);
  else if (stored?.code) rooms.leadRoom(stored.code, stored.secret);
}

async function startClass() {
  if (room.role !== "teacher" || room.phase === "ended") await rooms.openRoom();
  if (room.role === "teacher") showAddress();
}

function markPage() {
  const pending = rooms.pendingQuestion();
  const about = pending && parseAbout(pending.about);
  const isVeiled = about?.kind === "next" || about?.kind === "source";
  const question = currentQuestion();
  const isStudent = room.role === "student" && room.phase !== "ended";
  const marks: Record<string, boolean> = {
    "class-teacher": room.role === "teacher" && room.phase !== "ended",
    "class-student": room.role === "student",
    "class-follows": isStudent && isFollowing(),
    "class-waits": isStudent, // who looks around alone sees no answer either
    "class-vote": Boolean(pending) && !isVeiled,
    "class-veil": isVeiled,
    "class-tallied": question?.state === "revealed" && isOfView(question),
    notes: isNotesPage() && room.role === "teacher",
  };
  for (const [name, isOn] of Object.entries(marks)) document.body.classList.toggle(name, isOn);
  const step = about?.kind === "next" ? about.step : Infinity;
  for (const [i, chip] of [...document.querySelectorAll("#translation > *")].entries())
    chip.classList.toggle("unknown", i >= step);
  for (const each of document.querySelectorAll<HTMLElement>(".tab-panel")) each.inert = isVeiled;
}

const keyOf = ({ id }: ShownQuestion) => `${room.code} ${id}`;

function revealInView() {
  const question = room.shown?.question;
  if (question?.state !== "revealed" || !isOfView(question)) return false;
  if (panel.revealed === keyOf(question)) return false;
  panel.revealed = keyOf(question);
  openQuestion()?.reveal();
  return true;
}

/** Whether the class is at another place, votes on another question, or sees its votes. */
function isNewToStudent() {
  if (room.role !== "student") return false;
  const { question, place } = room.shown ?? {};
  const at = new URLSearchParams(isFollowing() ? (place ?? "") : "");
  const voting = question && [question.id, question.round, question.state === "revealed"];
  const shown = JSON.stringify([...["tab", "stop", "part", "exercise"].map((name) => at.get(name)), voting]);
  const isNew = shown !== panel.shown;
  panel.shown = shown;
  return isNew;
}

/** The question of the class, until it has gone on since the answer was revealed. */
function currentQuestion() {
  const { question } = room.shown ?? {};
  if (!question || room.phase === "ended") return null;
  if (question.state !== "revealed") return question;
  const place = withoutLive(room.shown?.place ?? ""); // a training that ends takes no answer away
  const about = parseAbout(question.about);
  const stop = LESSON_STOPS[Number(new URLSearchParams(place).get("stop")) - 1];
  if (about?.kind === "stop" && about.name !== stop) return null; // for who joins later
  if (panel.seen.key !== keyOf(question)) panel.seen = { key: keyOf(question), place };
  return panel.seen.place === place ? question : null;
}

// ---- teacher

function teacherPanel(): Child[] {
  if (room.role === null || room.phase === "ended") return [endedLine()];
  const question = currentQuestion();
  const isAsked = question !== null && isAskedInView(question); // where its text and choices stand, too
  const head = h("div", { class: "class-line" }, [
    room.qr && button("room-mini", h("img", { src: room.qr, alt: t("room.address") }), showAddress),
    h("b", { id: "room-code" }, room.code),
    h("span", { class: "students", id: "room-students" }, t("room.students", { count: room.shown?.students ?? 0 })),
    connectionNote(),
    question ? null : address(),
    isAsked ? voting(question) : null,
    h("span", { class: "space" }),
    askButtons(),
    action("address", showAddress),
    menu(),
  ]);
  const notes = isNotesPage() ? speakerNotes() : null;
  return [head, message(), question && teacherQuestion(question, isAsked), notes];
}

/** The address where it is not in a dialog, as long as nobody has come. */
const address = () =>
  room.address && !room.shown?.students ? h("span", { class: "hint room-link" }, room.address) : null;

function menu() {
  const notesPage = new URL(`?notes=yes&language=${language}`, document.baseURI).href;
  const notes = () => window.open(notesPage, "notes", "width=480,height=800");
  const items = [
    link(t("room.notes"), notes, { id: "room-notes" }),
    link(t("room.summary"), showSummary, { id: "room-summary" }),
    link(t("room.end"), () => rooms.lead({ do: "end" }), { id: "room-end" }),
  ];
  return popup("room-more", t("room.more"), items);
}

function popup(id: string, title: string, items: Element[], more: Child = null) {
  const list = h("div", { class: "popover" }, ...items.map((item) => h("p", {}, item)), more);
  const element = h("details", { class: "pill room-menu", id }, h("summary", {}, title), list);
  element.addEventListener("click", (event) => closest(event, ".link") && element.removeAttribute("open"));
  return element;
}

function askButtons() {
  if (!state.run || rooms.pendingQuestion()) return null;
  const kinds = { view: viewQuestion, next: nextWordQuestion, source: sourceWordQuestion };
  const text = (seconds: number) => (seconds ? t("room.seconds", { seconds }) : t("room.no_timer"));
  const options = TIMERS.map((seconds): [string, string] => [`${seconds}`, text(seconds)]);
  const timer = segmented(t("room.timer"), options, (value) => {
    panel.seconds = Number(value);
    timer.set(value);
  });
  timer.set(panel.seconds);
  const asks = Object.entries(kinds).map(([kind, make]) =>
    link(t(`room.ask.${kind}`), () => askClass(make()), { id: `room-ask-${kind}` }),
  );
  return popup("room-ask", t("room.ask"), openQuestion() ? asks : asks.slice(1), timer.element);
}

function askClass(question: Askable | null) {
  if (!question) return;
  panel.right = question;
  panel.revealed = "";
  rooms.ask(question.about, question.choices, panel.seconds || null);
}

const isAskedInView = (question: ShownQuestion) => isOfView(question) && !isNotesPage();

const isTalliedInView = (question: ShownQuestion) =>
  room.role === "teacher" && isPresenting() && question.state === "revealed" && isAskedInView(question);

function drawVotesInView() {
  const drawn = openQuestion();
  const question = currentQuestion();
  if (!drawn) return;
  const isTallied = question && isTalliedInView(question);
  setContent(drawn.votes, isTallied ? [h("h3", {}, drawn.text), tally(question)] : []);
}

function voting(question: ShownQuestion): Child[] {
  if (question.state === "revealed") return [];
  const answered = question.answered ?? 0;
  const of = Math.max(answered, room.shown?.students ?? 0);
  const isOpen = question.state === "open";
  const stands = question.state === "closed" ? t("room.is_closed") : question.round ? t("room.second_round") : "";
  return [
    h("b", { id: "room-answered", role: "status" }, t("room.answered", { answered, of })),
    clock(),
    h("span", { class: "hint" }, stands),
    isOpen ? action("close", () => rooms.lead({ do: "close" }), "pill primary") : null,
    action("reveal", () => reveal(question)),
    question.round === 0 ? action("again", () => rooms.lead({ do: "vote_again" })) : null,
  ];
}

function teacherQuestion(question: ShownQuestion, isAsked: boolean) {
  const { text, choices } = describeQuestion(question);
  const isRevealed = question.state === "revealed";
  if (isAsked && (!isRevealed || isTalliedInView(question))) return null;
  const seesVotes = isRevealed || isNotesPage(); // the projector shows no bars before
  const offered = choices.map((choice) => h("li", {}, choice));
  return h("div", { class: "room-question" }, [
    h("h2", {}, text),
    seesVotes ? tally(question) : h("ol", { class: "room-offered" }, offered),
    isAsked ? null : h("div", { class: "class-line" }, voting(question)),
  ]);
}

/** The right choice is computed where it was asked; a page that did not ask computes it from its own view. */
function reveal(question: ShownQuestion) {
  const about = parseAbout(question.about);
  const made = [
    panel.right,
    viewQuestion(),
    about?.kind === "next" ? nextWordQuestion(state.run, about.step) : null,
    about?.kind === "source" ? sourceWordQuestion() : null,
  ];
  rooms.lead({ do: "reveal", right: made.find((each) => each?.about === question.about)?.right ?? null });
}

function onKey(event: KeyboardEvent) {
  if (event.altKey || event.ctrlKey || event.metaKey || room.phase === "ended" || room.role === null) return;
  if (closest(event, "input:not([type=range]), textarea, select, dialog")) return;
  const acted = room.role === "teacher" ? teacherKey(event.key) : studentKey(event.key);
  if (acted) event.preventDefault();
}

function teacherKey(key: string) {
  const pending = rooms.pendingQuestion();
  if (["PageDown", "n"].includes(key)) {
    const question = viewQuestion();
    const wasAsked = rooms.revealedQuestions().some(({ about }) => about === question?.about);
    if (pending?.state === "open") rooms.lead({ do: "close" });
    else if (pending) reveal(pending);
    else if (isQuestionComing())
      return true; // else a quick second press would skip it
    else if (question && !wasAsked) askClass(question);
    else return false;
    return true;
  }
  if (key === "v" && pending?.round === 0) rooms.lead({ do: "vote_again" });
  else if (key === "r" && pending) reveal(pending);
  else return pending !== null && /^[1-9]$/.test(key) && isOfView(pending); // would show the answer to the class
  return true;
}

function studentKey(key: string) {
  const pending = rooms.pendingQuestion();
  const isAnswer = /^[1-9r]$/.test(key); // in the view, before the class has voted
  if (!pending) return isAnswer;
  const choice = Number(key) - 1;
  if (pending.state === "open" && choice in pending.choices) rooms.vote(choice);
  return isAnswer;
}

// ---- student

function studentPanel(): Child[] {
  if (room.phase === "ended") return [endedLine()];
  const question = currentQuestion();
  const attributes = { id: "room-follow", "aria-pressed": isFollowing() };
  const text = t(isFollowing() ? "room.following" : "room.follow");
  const head = h("div", { class: "class-line" }, [
    h("b", { id: "room-code" }, room.code),
    connectionNote(),
    h("span", { class: "space" }),
    button("pill toggle", text, () => setFollowing(!isFollowing()), attributes),
  ]);
  const coming = viewQuestion();
  const isAnswered = coming && rooms.revealedQuestions().some(({ about }) => about === coming.about);
  const wait = coming && !isAnswered ? h("p", { class: "hint" }, t("room.wait")) : null;
  return [head, message(), question ? studentQuestion(question) : wait];
}

function studentQuestion(question: ShownQuestion) {
  const { text, choices } = describeQuestion(question);
  const mine = question.mine[question.round] ?? null;
  const isOpen = question.state === "open";
  const choice = (name: string, i: number) =>
    button("room-choice", [h("small", {}, formatNumber(i + 1)), " ", name], () => rooms.vote(i), {
      "aria-pressed": mine === i,
      disabled: !isOpen,
      "data-place": `choice-${i}`,
    });
  const hint = isOpen ? t(mine === null ? "room.choose" : "room.change") : t("room.is_closed");
  const voting = [
    h("div", { class: "room-choices" }, choices.map(choice)),
    h("p", { class: "hint", role: "status" }, hint, " ", clock()),
  ];
  const body = question.state === "revealed" ? tally(question) : voting;
  return h("div", { class: "room-question" }, h("h2", {}, text), body);
}

// ---- both

const action = (name: string, act: () => unknown, look = "pill") =>
  button(look, t(`room.${name}`), act, { id: `room-${name}` });

const clock = () => h("span", { class: "room-clock", role: "timer" }, clockText());

function clockText() {
  const left = rooms.secondsLeft();
  return left === null ? "" : t("room.seconds", { seconds: left });
}

function connectionNote() {
  const key = { joining: "room.joining", broken: "room.broken" }[room.phase];
  return key ? h("span", { class: "hint", role: "status" }, t(key)) : null;
}

const message = () => (room.message ? h("p", { class: "message", role: "alert" }, formatMessage(room.message)) : null);

function endedLine() {
  const text = room.message ? formatMessage(room.message) : t("room.ended");
  const isTeacher = room.role === "teacher";
  const wasLost = isTeacher && room.message !== null && schema.classes;
  const close = () => {
    if (!isTeacher) forgetClass();
    rooms.leaveRoom();
  };
  return h("div", { class: "class-line" }, [
    h("p", { class: "message", role: "alert", id: "room-over" }, text),
    wasLost ? action("reopen", rooms.reopenRoom, "pill primary") : null,
    isTeacher && rooms.revealedQuestions().length ? action("summary", showSummary) : null,
    action("dismiss", close),
  ]);
}

function tally(question: ShownQuestion) {
  const { choices } = describeQuestion(question);
  const rounds = question.tallies ?? [];
  const own = question.mine.findLast((choice) => choice !== null) ?? null;
  const item = (text: string, at: number) => {
    const isRight = question.state === "revealed" && at === question.right;
    const marks = [
      isRight ? h("b", { class: "mark" }, "✓ ", t("room.right"), " ") : null,
      at === own ? h("small", {}, t("room.mine")) : null,
    ];
    const bars = rounds.map((votes, round) => bar(votes[at], voteShares(votes)[at], round + 1));
    return h("li", { class: isRight ? "right" : "" }, h("span", { class: "choice-name" }, text, " ", marks), bars);
  };
  const bar = (count: number, share: number, n: number) =>
    h("span", { class: `vote-bar round-${n}`, "data-votes": count }, [
      rounds.length > 1 ? h("small", {}, t("room.round", { n })) : null,
      h("i", { style: `--share: ${share}` }),
      h("small", { class: "count" }, t("room.votes", { count, share: formatPercent(share) })),
    ]);
  return h("ol", { class: "room-tally" }, choices.map(item));
}

function speakerNotes() {
  if (state.tab !== "lesson") return h("p", { class: "hint" }, t("notes.elsewhere"));
  const name = LESSON_STOPS[state.stop];
  const notes = ["say", "ask", "wrong"].map((part) => [
    h("dt", {}, t(`notes.${part}`)),
    h("dd", {}, t(`notes.${name}.${part}`)),
  ]);
  const asked = openQuestion();
  const answer = asked && [h("dt", {}, t("notes.answer")), h("dd", { class: "right" }, asked.choices[asked.right])];
  return h("section", { class: "speaker-notes" }, h("h2", {}, t(`lesson.${name}`)), h("dl", {}, notes, answer));
}
