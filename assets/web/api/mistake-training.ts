// The trainings that show a mistake, as this page hears of them.

import type { Symptom, TrainingMistakeRequest } from "#schema";
import { api, type EventOf, reasonOf } from "./client.ts";
import type { Message } from "./types.ts";

export type MistakeTraining = ReturnType<typeof nothing>;

const nothing = () => ({
  phase: "idle", // asking, waiting, running, shown, recorded (shown as it was recorded), stopped, failed
  place: null as number | null, // in the queue
  left: null as number | null, // seconds until its turn
  steps: 1,
  wrong: [] as number[][], // points [step, loss]
  right: [] as number[][],
  symptom: null as Symptom | null,
  message: null as Message | null,
  joined: null as number | null, // seconds since another visitor began it
  since: 0, // when it began, ms
});

const trainings: Map<string, MistakeTraining> = new Map();
let abort = new AbortController(); // ends the stream of the one that goes on

export const mistakeTraining = (name: string) => trainings.get(name) ?? nothing();
export const isGoingOn = ({ phase }: MistakeTraining) => ["asking", "waiting", "running"].includes(phase);
export const isTrainingMistake = () => [...trainings.values()].some(isGoingOn);
const changed = () => document.dispatchEvent(new Event("mistake:changed"));

export async function trainMistake(name: string) {
  const training: MistakeTraining = { ...nothing(), phase: "asking" };
  const mine = new AbortController();
  abort = mine;
  trainings.set(name, training);
  changed();
  try {
    for await (const event of api.train_mistake({ name: name as TrainingMistakeRequest["name"] }, mine)) {
      receiveEvent(training, event);
      changed();
    }
  } catch (error) {
    training.message = reasonOf(error);
  }
  const ended = mine.signal.aborted ? "stopped" : "failed";
  training.phase = training.symptom ? "shown" : ended; // not before the server has ended it: it takes one at a time
  changed();
}

/** Stop listening to the running training. The server ends it when it has no other listener. */
export const stopMistake = () => abort.abort();

export async function showRecording(name: string) {
  const recording = await api.recorded({ name: name as TrainingMistakeRequest["name"] }).catch(() => null);
  const phase = recording ? "recorded" : "failed";
  if (!isGoingOn(mistakeTraining(name))) trainings.set(name, { ...nothing(), ...recording, phase });
  changed();
}

export const stepsDone = ({ wrong, right }: MistakeTraining) => wrong.length + right.length;

function receiveEvent(training: MistakeTraining, data: EventOf<"train_mistake">) {
  const now = performance.now();
  if (data.event === "joined") Object.assign(training, { joined: data.seconds, since: now - 1000 * data.seconds });
  if (data.event === "waiting") Object.assign(training, { phase: "waiting", place: data.place, left: data.seconds });
  if (data.event === "run") Object.assign(training, { phase: "running", since: training.since || now });
  if (data.event === "progress") {
    training[data.side].push(...data.points);
    training.steps = data.steps;
  }
  if (data.event === "symptom") training.symptom = data;
}
