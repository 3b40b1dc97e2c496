// The trainings that show a mistake, as this page hears of them. They outlive every mounting.

import { streamEvents } from "./stream.js";

/** @import { RecordingRequest, Symptom } from "#schema" */
/** @import { Message, Server } from "../core/types.d.ts" */

/**
 * Phases: idle, asking, waiting, running, shown, recorded (shown as it was recorded), stopped, failed; `wrong` and `right`
 * are points [step, loss]; `joined` are the seconds since another visitor began it; `left` those until its
 * turn; `speed` is in steps a second.
 * @typedef {{ phase: string, place: number | null, left: number | null, steps: number, wrong: number[][], right: number[][],
 *   symptom: Symptom | null, message: Message | null, joined: number | null, speed: number | null }} MistakeTraining
 */

const WINDOW_MS = 6000; // of the steps by which the speed is measured
const MIN_WINDOW_MS = 1000;

/** @type {Map<string, MistakeTraining>} */
const trainings = new Map();
let abort = new AbortController(); // ends the stream of the one that goes on

/** @type {MistakeTraining} */
const NOTHING = {
  phase: "idle",
  place: null,
  left: null,
  steps: 1,
  wrong: [],
  right: [],
  symptom: null,
  message: null,
  joined: null,
  speed: null,
};

/** An exercise's trainings so far. @param {string} name */
export const mistakeTraining = (name) => trainings.get(name) ?? NOTHING;
/** @param {MistakeTraining} training */
export const isGoingOn = ({ phase }) => ["asking", "waiting", "running"].includes(phase);
export const isTrainingMistake = () => [...trainings.values()].some(isGoingOn);

const changed = () => document.dispatchEvent(new Event("mistake:changed"));

/** @param {string} name */
export async function trainMistake(name) {
  /** @type {MistakeTraining} */
  const training = { ...NOTHING, phase: "asking", wrong: [], right: [] };
  const mine = new AbortController();
  abort = mine;
  trainings.set(name, training);
  changed();
  const measure = speedometer();
  const receive = (/** @type {import("#schema").Wire["MistakeTrainingEvent"]} */ event) => {
    receiveEvent(training, event);
    if (event.event === "progress") training.speed = measure(stepsDone(training));
    changed();
  };
  const refusal = await streamEvents("mistake", { name }, receive, mine.signal);
  training.message ??= refusal;
  const ended = mine.signal.aborted ? "stopped" : "failed";
  training.phase = training.symptom ? "shown" : ended; // not before the server has ended it: it takes one at a time
  changed();
}

/** Stop listening to the running training. The server ends it when it has no other listener. */
export const stopMistake = () => abort.abort();

/** Show an exercise as it was recorded. @param {RecordingRequest["name"]} name @param {Server} server */
export async function showRecording(name, server) {
  const answer = await server.recorded({ name }).catch(() => null);
  const recording = answer && !("error" in answer) ? answer : null;
  const phase = recording ? "recorded" : "failed";
  if (!isGoingOn(mistakeTraining(name))) trainings.set(name, { ...NOTHING, ...recording, phase });
  changed();
}

/** Of both models together. @param {MistakeTraining} training */
export const stepsDone = ({ wrong, right }) => wrong.length + right.length;

/** Measures steps a second by those of the last seconds; null where they are too few. */
function speedometer() {
  /** @type {[number, number][]} */
  let marks = []; // milliseconds, and the steps done then
  return (/** @type {number} */ done) => {
    const now = performance.now();
    marks = [...marks.filter(([time]) => now - time < WINDOW_MS), [now, done]];
    const [time, before] = marks[0];
    return now - time < MIN_WINDOW_MS ? null : (1000 * (done - before)) / (now - time);
  };
}

/** @param {MistakeTraining} training @param {import("#schema").Wire["MistakeTrainingEvent"]} data */
function receiveEvent(training, data) {
  if (data.event === "joined") training.joined = data.seconds;
  if (data.event === "waiting") Object.assign(training, { phase: "waiting", place: data.place, left: data.seconds });
  if (data.event === "run") training.phase = "running";
  if (data.event === "progress") {
    training[data.side].push(...data.points);
    training.steps = data.steps;
  }
  if (data.event === "symptom") training.symptom = data;
  if (data.event === "error") training.message = data.message;
}
