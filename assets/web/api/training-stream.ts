// A training on the server, as this page hears of it: nothing of how it is drawn.

import type { DecodedSnapshot, SnapshotTaken, StackedMaps } from "#schema";
import { decodeBytes } from "./bytes.ts";
import { api, type EventOf, reasonOf } from "./client.ts";
import { addModel } from "./models.ts";
import { readSession, saveOnLeave } from "./session.ts";
import type { AttentionMaps, DrawnRun, Message, OwnModel } from "./types.ts";

type TrainingEvent = EventOf<"train">;

/** A measurement at a step: [step, loss, accuracy]. */
export type Point = number[];
export type SnapshotRun = DrawnRun & { text: string; probabilities: number[] };
/** The network at one step: what it decodes freely, and what it outputs when it reads the right words. */
export type Snapshot = { step: number; source: string[]; free: SnapshotRun; forced: SnapshotRun | null };
const nothing = () => ({
  // idle, asking, waiting, running, measuring (its scores), developing (the last snapshots, while the model can be used
  // already), trained or failed
  phase: "idle",
  points: [] as Point[],
  heldOut: [] as Point[],
  snapshots: [] as Snapshot[],
  translation: null as { step: number; output: string[]; probabilities: number[] } | null,
  place: null as number | null, // in the queue
  run: null as string | null, // its name on the server
  left: null as number | null, // seconds until its end, or until its turn where it waits
  why: null as string | null, // it ended
  scores: null as any,
  message: null as Message | null,
  name: "",
  corpus: "",
  keeps: false, // pairs apart
  smoothing: 0,
  steps: 0,
  span: 0, // the last step of the curves' axis
  uniform: 0, // the loss of a uniform guess
  step: 0, // at which it ended
  seconds: 0,
  parameters: 0,
  watch: "",
  reference: null as string | null,
});

export const training = nothing();

const SESSION_KEY = "attention-bitte-training";
const MAX_KEPT = 3_000_000; // characters of a reload's memory: a browser has five million for a site

/** The request and its events so far; a reload restores `training` from them. */
const log = { about: {}, events: [] as TrainingEvent[] };

let isScheduled = false; // the next event for those who draw: at most one a frame
let abort = new AbortController(); // ends the stream

function changed() {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    document.dispatchEvent(new Event("training:changed"));
  });
}

export const isTraining = () => !["idle", "trained", "failed"].includes(training.phase);

/** @param question see web/api/training.py @param uniform the loss of a uniform guess, as far as it is known */
export async function startTraining(question: any, uniform: number) {
  const mine = new AbortController();
  abort = mine;
  const { name, corpus, held_out } = question;
  const { steps, label_smoothing: smoothing } = question.training;
  const about = { name, corpus, keeps: held_out > 0, smoothing, steps, span: steps, uniform };
  Object.assign(training, nothing(), about, { phase: "asking" });
  Object.assign(log, { about, events: [] });
  changed();
  try {
    for await (const event of api.train(question, mine)) {
      if (mine !== abort) return;
      if (event.event !== "waiting") log.events.push(event);
      receiveEvent(event);
      if (event.event === "trained") addModel({ ...event, model: event.model as OwnModel });
      changed();
    }
  } catch (error) {
    if (mine !== abort) return;
    if (!mine.signal.aborted) training.message = reasonOf(error);
    log.about = { ...about, message: training.message };
  }
  if (mine !== abort) return;
  const ended = mine.signal.aborted ? "idle" : "failed";
  training.phase = training.phase === "developing" ? "trained" : ended; // well, if the model has come
  changed();
}

/** Stop a training; what it has learned so far is kept. One that only waits leaves the queue. */
export function stopTraining() {
  if (training.phase !== "running") abort.abort();
  else if (training.run) api.stop_training({ run: training.run }).catch(() => {}); // else the button stays
}

function receiveEvent(data: TrainingEvent) {
  if (data.event === "waiting") Object.assign(training, { phase: "waiting", place: data.place, left: data.seconds });
  if (data.event === "run") Object.assign(training, { run: data.run, left: null });
  if (data.event === "started") Object.assign(training, data, { phase: "running" });
  if (data.event === "progress") {
    training.points.push(...data.points);
    training.left = data.left;
  }
  if (data.event === "held_out") insert(training.heldOut, [data.step, data.loss, data.accuracy], ([step]) => step);
  if (data.event === "translation" || data.event === "snapshot") {
    const { output, probabilities } = data.event === "translation" ? data : data.free;
    if (data.step >= (training.translation?.step ?? 0))
      training.translation = { step: data.step, output, probabilities };
  }
  if (data.event === "snapshot") insert(training.snapshots, snapshotOf(data), ({ step }) => step);
  if (data.event === "ended") Object.assign(training, data, { phase: "measuring", span: data.step });
  if (data.event === "trained") Object.assign(training, { phase: "developing", scores: data.scores });
}

/** Bring back the curves and the replay of a training that a reload has ended. Returns whether there are any. */
export function restoreTraining() {
  saveOnLeave(SESSION_KEY, fitting);
  const before = readSession(SESSION_KEY);
  const { phase } = training;
  if (phase !== "idle" || !before?.events.length) return false;
  Object.assign(log, before);
  Object.assign(training, nothing(), before.about);
  for (const event of before.events) receiveEvent(event);
  training.phase = training.phase === "developing" ? "trained" : "failed";
  return true;
}

/** The stored training, with every second snapshot dropped until it fits. */
function fitting() {
  let { events } = log;
  while (JSON.stringify(events).length > MAX_KEPT) {
    const snapshots = events.filter(({ event }) => event === "snapshot");
    const dropped = snapshots.filter((each, n) => n % 2 && each !== snapshots.at(-1));
    if (!dropped.length) break;
    events = events.filter((each) => !dropped.includes(each));
  }
  return { about: log.about, events };
}

function insert<T>(list: T[], one: T, step: (one: T) => number) {
  list.splice(list.findLastIndex((each) => step(each) <= step(one)) + 1, 0, one);
}

function snapshotOf({ step, source, encoder, free, forced }: SnapshotTaken): Snapshot {
  const decoded = ({ weights, ...rest }: StackedMaps): AttentionMaps => ({ ...rest, values: decodeShares(weights) });
  const encoderMaps = decoded(encoder);
  const run = (output: DecodedSnapshot) => ({
    ...output,
    attention: { encoder: encoderMaps, decoder: decoded(output.decoder), cross: decoded(output.cross) },
    reference: null,
  });
  return { step, source, free: run(free), forced: forced && run(forced) };
}

/** Base64 of little-endian 16-bit numbers, 65535 for a weight of 1. */
export function decodeShares(base64: string) {
  const bytes = new DataView(decodeBytes(base64).buffer);
  return Float32Array.from({ length: bytes.byteLength / 2 }, (_, i) => bytes.getUint16(2 * i, true) / 65535);
}

/** The measurement at a step; the untrained model's is that of the first step. */
export function measurementAt(step: number): Point | null {
  const { points } = training;
  return points[Math.max(step, 1) - (points[0]?.[0] ?? 0)] ?? null; // one point a step
}
