// What the page asks the server about runs, one question at a time, and what becomes of the answers.

import { expectRun, parseAddress, restorePlace } from "../core/address.js";
import { changes, isLasting, lastingChanges, settleChanges } from "../core/changes.js";
import { formatList, t } from "../core/i18n.js";
import { showRun, state } from "../core/state.js";
import { forgetModel, isOwn, models } from "../net/models.js";
import { reconnect } from "../net/reconnect.js";

/** @import { Example, Message, Run, RunRequest, View } from "../core/types.d.ts" */
/** @typedef {{ run: Run | null, baseline: Run | null, error: Message | null }} Answer */
/**
 * `data()` is called when the question is sent.
 * @typedef {{ event: "ask" | "example" | "surprise" | "choose", data: () => Partial<RunRequest> & { example?: boolean }
 *   }} Question
 */
/**
 * What the parts of the run bar do about a request.
 * @typedef {{ complain: (error: Message | null, wrongLink?: string) => void, showBusy: (isBusy: boolean) => void,
 *   focusSteps: () => void }} Reactions
 */
/** @typedef {ReturnType<typeof build>} Requests */

const DOUBT_MS = 3000; // a translation takes milliseconds; after this the page asks whether the server is there
const PATIENCE_MS = 20000; // and after this there is no answer

/** What outlives every mounting. */
const session = {
  isOpened: false, // the address that the page was opened with has been followed
  example: /** @type {Example | null} */ (null), // that was asked for last
  checkpoint: /** @type {string | null} */ (null), // likewise
  sent: /** @type {Question | null} */ (null), // the question that is on its way
  next: /** @type {Question | null} */ (null), // the newest question that came meanwhile
  answer: { text: "", read: /** @type {Answer} */ ({ run: null, baseline: null, error: null }) }, // the latest
};

/** The example that a run is of, if it was chosen as one. @param {Run} run */
export const exampleOf = (run) => (session.example?.sentence === run.sentence ? session.example : null);

/** A word as a model reads it. @param {string} text */
export const plainText = (text) =>
  text
    .toLowerCase()
    .normalize("NFD")
    .replace(/\u0308/g, "")
    .replaceAll("ß", "ss");

/** @param {View} view @param {Reactions} reactions */
export function runRequests(view, reactions) {
  const requests = build(view, reactions);
  listen(requests);
  return {
    askExample(/** @type {Example} */ example) {
      session.example = example;
      ask(requests, { event: "example", data: () => ({ sentence: example.sentence }) });
    },
    askSurprise: () => ask(requests, { event: "surprise", data: () => ({}) }),
    /** Take the answer that is there, and go where the address leads. */
    begin() {
      takeAnswer(requests);
      view.watch("value", () => takeAnswer(requests));
      if (session.isOpened) return;
      session.isOpened = true;
      followAddress(requests);
    },
  };
}

/** @param {View} view @param {Reactions} reactions */
const build = (view, reactions) => ({
  ...reactions,
  view,
  arrive: /** @type {(() => void) | null} */ (null), // while the page is on its way to what its address asks for
  doubt: /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined),
  patience: /** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined),
});

/** The latest answer, read once: it is large. @param {Requests} requests */
function latestAnswer({ view }) {
  const text = view.props.value;
  if (session.answer.text !== text) session.answer = { text, read: JSON.parse(text) };
  return session.answer.read;
}

/** @param {Requests} requests @param {Question} question */
function ask(requests, question) {
  session.next = question;
  if (!session.sent) send(requests);
}

/** @param {Requests} requests */
function send(requests) {
  const question = session.next;
  if (!question) return;
  Object.assign(session, { sent: question, next: null });
  const asked = { checkpoint: state.run.checkpoint, changes: lastingChanges(), ...question.data() };
  // Where a link leads, the address is that link.
  if (asked.sentence && !requests.arrive) expectRun(/** @type {RunRequest} */ (asked));
  requests.view.trigger(question.event, asked);
}

/** The sentence in the box; until Gradio has drawn it, the run's. */
function typedSentence() {
  const box = document.querySelector("#sentence input, #sentence textarea");
  return box instanceof HTMLInputElement || box instanceof HTMLTextAreaElement ? box.value : state.run.sentence;
}

/** @param {Requests} requests */
function listen(requests) {
  const on = (/** @type {string} */ name, /** @type {(detail: any) => void} */ listener) => {
    const options = { signal: requests.view.signal };
    document.addEventListener(name, (event) => listener(/** @type {CustomEvent} */ (event).detail), options);
  };
  on("translate:wanted", (sentence) => {
    const data = () => ({
      sentence: sentence ?? "",
      ...(sentence === state.run.sentence ? { changes: changes() } : {}),
    });
    ask(requests, { event: "ask", data });
  });
  on("changes:wanted", () => {
    const data = () => ({ sentence: state.run.sentence, changes: changes() });
    if (!session.next) ask(requests, { event: "ask", data }); // another sentence takes them along
  });
  on("checkpoint:wanted", (checkpoint) => {
    const sentence = typedSentence();
    const example = models()[state.run.checkpoint]?.examples.some((each) => each.sentence === sentence);
    Object.assign(session, { example: models()[checkpoint].examples[0], checkpoint });
    // Another model's heads are other heads, so changes are not taken along.
    ask(requests, { event: "choose", data: () => ({ checkpoint, sentence: typedSentence(), example, changes: [] }) });
  });
  on("queue:changed", (news) => {
    if (!news || !session.sent) return;
    clearTimeout(requests.patience); // who waits in the queue is answered in the end
    requests.patience = setTimeout(() => giveUp(requests), PATIENCE_MS);
  });
  on("translate:asked", () => onAsked(requests));
  on("translate:answered", () => onAnswered(requests));
}

/** @param {Requests} requests */
function onAsked(requests) {
  requests.showBusy(true);
  stopWaiting(requests);
  requests.doubt = setTimeout(async () => (await reconnect()) && giveUp(requests), DOUBT_MS);
  requests.patience = setTimeout(() => giveUp(requests), PATIENCE_MS);
}

/** @param {Requests} requests */
function stopWaiting({ doubt, patience }) {
  clearTimeout(doubt);
  clearTimeout(patience);
}

/** @param {Requests} requests */
function giveUp({ showBusy, complain }) {
  showBusy(false);
  session.sent = null;
  complain({ key: "error.no_answer", values: {}, english: "" });
}

/** @param {Requests} requests */
function onAnswered(requests) {
  stopWaiting(requests);
  session.sent = null;
  if (session.next) {
    send(requests);
    return;
  }
  expectRun(null);
  settleChanges();
  requests.showBusy(false);
  const { error } = latestAnswer(requests);
  requests.complain(error); // an answer that equals the last one is no news to `watch`
  requests.arrive?.();
  // The sentence is done: hand the arrow keys to the steps, unless something else is being typed already.
  const isInBox = document.activeElement?.closest("#sentence");
  if (isInBox && !error && typedSentence() === state.run.sentence) requests.focusSteps();
}

/** @param {Requests} requests */
function takeAnswer(requests) {
  const { run, baseline, error } = latestAnswer(requests);
  requests.complain(error);
  const { checkpoint } = session;
  if (error?.key === "error.model_gone" && checkpoint && isOwn(checkpoint)) forgetModel(checkpoint);
  if (!run || run === state.run) return;
  const example = run.changes.length ? null : exampleOf(run);
  showRun(run, baseline, example && plainText(example.watch));
}

/** Go where the address leads, once: not again when another language is spoken. @param {Requests} requests */
function followAddress(requests) {
  const { run, place, wrong } = parseAddress(location.search);
  const isShown = run?.checkpoint === state.run.checkpoint && run.sentence === state.run.sentence;
  requests.arrive = () => {
    const { error } = latestAnswer(requests);
    const less = run && error && withoutWhatIsWrong(run, error, wrong);
    if (less) {
      ask(requests, { event: "example", data: () => less });
      return;
    }
    requests.arrive = null;
    const missing = [...wrong, ...restorePlace(place)].map((name) => t(`link.${name}`));
    if (missing.length) requests.complain(error, t("link.wrong", { what: formatList(missing) }));
  };
  if (!run || (isShown && !run.changes.length)) requests.arrive();
  else setTimeout(() => ask(requests, { event: "example", data: () => run })); // Gradio listens by then
}

/**
 * What can still be had of a run that the server refused; adds to `wrong` what cannot.
 * @param {RunRequest} run @param {Message} error @param {string[]} wrong
 */
function withoutWhatIsWrong(run, error, wrong) {
  const { checkpoint } = run;
  if (error.key === "error.changes") {
    wrong.push("changes");
    run.changes = [];
    return run;
  }
  const hasMore = checkpoint !== state.run.checkpoint || run.changes.length;
  if (!hasMore || wrong.includes("sentence")) return null;
  wrong.push("sentence");
  run.changes = run.changes.filter(isLasting);
  run.sentence = models()[checkpoint].examples[0].sentence;
  return run;
}
