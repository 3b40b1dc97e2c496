// A training on the server, as this page hears of it. It outlives every mounting, so it knows nothing of what is drawn.

import { sessionId } from "./models.js";

/** @import { AttentionMaps, DrawnRun, Message } from "../core/types.d.ts" */

/** What was measured at a step: [step, loss, accuracy]. @typedef {number[]} Point */
/**
 * One decoding of a snapshot, with its maps.
 * @typedef {DrawnRun & { text: string, probabilities: number[] }} SnapshotRun
 */
/**
 * The network at one step: what it decodes freely, and what it outputs when it reads the right words.
 * @typedef {{ step: number, source: string[], free: SnapshotRun, forced: SnapshotRun | null }} Snapshot
 */
/**
 * Phases: idle, asking, waiting, running, measuring (its scores), developing (the last snapshots, while the model can
 * be used already), trained, failed. Everything else is of the training that was started last; `span` is the last step
 * of the curves' axis.
 *
 * @typedef {{
 *   phase: string, points: Point[], heldOut: Point[], snapshots: Snapshot[],
 *   says: { step: number, output: string[], probabilities: number[] } | null,
 *   place: number | null, run: string | null, left: number | null, why: string | null, scores: any,
 *   message: Message | null, name: string, corpus: string, keeps: boolean, smoothing: number, steps: number,
 *   span: number, uniform: number, step?: number, seconds?: number, parameters?: number, watch?: string,
 *   reference?: string | null,
 * }} Training
 */

/** @returns {Training} */
const nothing = () => ({
  phase: "idle",
  points: [],
  heldOut: [],
  snapshots: [],
  says: null,
  place: null,
  run: null,
  left: null,
  why: null,
  scores: null,
  message: null,
  name: "",
  corpus: "",
  keeps: false,
  smoothing: 0,
  steps: 0,
  span: 0,
  uniform: 0,
});

export const training = nothing();

/** @type {Set<() => void>} */
const listeners = new Set();
let isScheduled = false; // an update is on its way to the listeners
let abort = new AbortController(); // ends the stream

/**
 * Call `draw` after changes, at most once a frame, until the signal.
 * @param {() => void} draw @param {AbortSignal} signal
 */
export function onTrainingChange(draw, signal) {
  listeners.add(draw);
  signal.addEventListener("abort", () => listeners.delete(draw));
}

function changed() {
  if (isScheduled) return;
  isScheduled = true;
  requestAnimationFrame(() => {
    isScheduled = false;
    for (const draw of listeners) draw();
  });
}

export const isTraining = () => !["idle", "trained", "failed"].includes(training.phase);

/**
 * Train as a question asks for.
 * @param {any} question see web/api/training.py
 * @param {number} uniform the loss of a uniform guess, as far as it is known before
 */
export async function startTraining(question, uniform) {
  const mine = new AbortController();
  abort = mine;
  const { name, corpus, held_out } = question;
  const { steps, label_smoothing: smoothing } = question.training;
  Object.assign(training, nothing(), {
    phase: "asking",
    name,
    corpus,
    keeps: held_out > 0,
    smoothing,
    steps,
    span: steps,
    uniform,
  });
  changed();
  const answer = await postJson("train", { ...question, visit: sessionId() }, mine.signal);
  if (answer?.ok && answer.body)
    await readLines(answer.body, (line) => {
      if (mine !== abort) return;
      receiveEvent(JSON.parse(line));
      changed();
    });
  else if (answer) training.message = await readError(answer);
  endTraining(mine, mine.signal.aborted ? "idle" : "failed");
}

/** The stream has ended: well, if the model has come. @param {AbortController} mine @param {string} phase */
function endTraining(mine, phase) {
  if (mine !== abort || !isTraining()) return;
  training.phase = training.phase === "developing" ? "trained" : phase;
  changed();
}

/** Stop a training; what it has learned so far is kept. One that only waits leaves the queue. */
export function stopTraining() {
  if (training.phase === "running")
    postJson("train/stop", { run: training.run }); // if it is not heard, the button stays
  else abort.abort();
}

/**
 * The answer to a POST of JSON; null if there is none.
 * @param {string} path @param {unknown} question @param {AbortSignal} [signal]
 */
export const postJson = (path, question, signal) =>
  fetch(new URL(path, document.baseURI), {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify(question),
    signal,
  }).catch(() => null);

/** Why the server refused. @param {Response} answer @returns {Promise<Message | null>} */
export const readError = async (answer) => (await answer.json().catch(() => ({}))).error ?? null;

/**
 * Every line of a stream as it comes, until it ends, breaks off or is aborted.
 * @param {ReadableStream<Uint8Array<ArrayBuffer>>} stream @param {(line: string) => void} receive
 */
export async function readLines(stream, receive) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read().catch(() => ({ done: true, value: "" })); // broken off, or aborted
    if (done) return;
    const complete = (rest + value).split("\n");
    rest = complete.pop() ?? "";
    for (const line of complete) if (line.trim()) receive(line);
  }
}

/** @param {any} event one of live/stream.py or of the queue */
function receiveEvent({ event, ...data }) {
  if (event === "waiting") Object.assign(training, { phase: "waiting", place: data.place });
  if (event === "run") training.run = data.run;
  if (event === "started") Object.assign(training, data, { phase: "running" });
  if (event === "progress") {
    training.points.push(...data.points);
    training.left = data.left;
  }
  if (event === "held_out") insert(training.heldOut, [data.step, data.loss, data.accuracy], ([step]) => step);
  if (event === "says" || event === "snapshot") {
    const { output, probabilities } = data.free ?? data;
    if (data.step >= (training.says?.step ?? 0)) training.says = { step: data.step, output, probabilities };
  }
  if (event === "snapshot") insert(training.snapshots, snapshotOf(data), ({ step }) => step);
  if (event === "error") Object.assign(training, { phase: "failed", message: data.message });
  if (event === "ended") {
    const { why, step, seconds } = data;
    Object.assign(training, { phase: "measuring", why, step, seconds, span: step }); // the curves end where it was stopped
  }
  if (event === "trained") {
    Object.assign(training, { phase: "developing", scores: data.scores });
    document.dispatchEvent(new CustomEvent("model:trained", { detail: data }));
  }
}

/**
 * In the order of their steps, in whatever order they come.
 * @template T @param {T[]} list @param {T} one @param {(one: T) => number} step
 */
function insert(list, one, step) {
  list.splice(list.findLastIndex((each) => step(each) <= step(one)) + 1, 0, one);
}

/** A snapshot with runs that charts/attention-map.js can draw. @param {any} data @returns {Snapshot} */
function snapshotOf({ step, source, encoder, free, forced }) {
  /** @param {any} maps @returns {AttentionMaps} */
  const decoded = ({ weights, ...rest }) => ({ ...rest, values: decodeShares(weights) });
  const encoderMaps = decoded(encoder);
  const run = (/** @type {any} */ output) =>
    output && {
      ...output,
      attention: { encoder: encoderMaps, decoder: decoded(output.decoder), cross: decoded(output.cross) },
      reference: null,
    };
  return { step, source, free: run(free), forced: run(forced) };
}

/** Base64 of little-endian 16-bit numbers, 65535 for a weight of 1. @param {string} base64 */
export function decodeShares(base64) {
  const bytes = new DataView(Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)).buffer);
  return Float32Array.from({ length: bytes.byteLength / 2 }, (_, i) => bytes.getUint16(2 * i, true) / 65535);
}

/**
 * What was measured at a step; of the untrained model what the first step found.
 * @param {number} step @returns {Point | null}
 */
export function measurementAt(step) {
  const { points } = training;
  return points[Math.max(step, 1) - (points[0]?.[0] ?? 0)] ?? null; // one point a step
}
