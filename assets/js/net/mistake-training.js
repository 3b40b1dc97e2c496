// The trainings that show a mistake, as this page hears of them. They outlive every mounting.

import { streamEvents } from "./training-stream.js";

/** @import { Symptom } from "#schema" */
/** @import { Message } from "../core/types.d.ts" */

/**
 * Phases: idle, asking, waiting, running, shown, failed; `wrong` and `right` are points [step, loss].
 * @typedef {{ phase: string, place: number | null, steps: number, wrong: number[][], right: number[][],
 *   symptom: Symptom | null, message: Message | null }} MistakeTraining
 */

/** @type {Map<string, MistakeTraining>} */
const trainings = new Map();

/** @type {MistakeTraining} */
const NOTHING = { phase: "idle", place: null, steps: 1, wrong: [], right: [], symptom: null, message: null };

/** What is known of an exercise's trainings. @param {string} name */
export const mistakeTraining = (name) => trainings.get(name) ?? NOTHING;
export const isTrainingMistake = () =>
  [...trainings.values()].some(({ phase }) => ["asking", "waiting", "running"].includes(phase));

const changed = () => document.dispatchEvent(new Event("mistake:changed"));

/** @param {string} name */
export async function trainMistake(name) {
  /** @type {MistakeTraining} */
  const training = { ...NOTHING, phase: "asking", wrong: [], right: [] };
  trainings.set(name, training);
  changed();
  const refusal = await streamEvents("mistake", { name }, (event) => {
    receiveEvent(training, event);
    changed();
  });
  training.message ??= refusal;
  training.phase = training.symptom ? "shown" : "failed"; // not before the server has ended it: it takes one at a time
  changed();
}

/** @param {MistakeTraining} training @param {import("#schema").Wire["MistakeTrainingEvent"]} data */
function receiveEvent(training, data) {
  if (data.event === "waiting") Object.assign(training, { phase: "waiting", place: data.place });
  if (data.event === "run") training.phase = "running";
  if (data.event === "progress") {
    training[data.side].push(...data.points);
    training.steps = data.steps;
  }
  if (data.event === "symptom") training.symptom = data;
  if (data.event === "error") training.message = data.message;
}
