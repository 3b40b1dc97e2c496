// A training on the server, as this page hears of it. It outlives every mounting, so it knows nothing of what is drawn.

import { sessionId } from "./models.js";

/**
 * Phases: idle, asking, waiting, running, measuring (what it scores), developing (the last snapshots, while the model can
 * be used), trained, failed. Everything else is of the training that was started last.
 */
export const training = { phase: "idle" };

const listeners = new Set();
let told = false; // an update is on its way to the listeners
let abort = null; // ends the stream

/** Call `draw` after changes, at most once a frame, until the signal. */
export function onTrainingChange(draw, signal) {
  listeners.add(draw);
  signal.addEventListener("abort", () => listeners.delete(draw));
}

function changed() {
  if (told) return;
  told = true;
  requestAnimationFrame(() => {
    told = false;
    listeners.forEach((draw) => draw());
  });
}

export const isTraining = () => !["idle", "trained", "failed"].includes(training.phase);

/** Train as a question asks for. `uniform` is the loss of a uniform guess, as far as it is known before. */
export async function startTraining(question, uniform) {
  const mine = (abort = new AbortController());
  const { steps } = question.training;
  const empty = {
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
  };
  const { name, corpus, held_out } = question;
  Object.assign(training, empty, {
    phase: "asking",
    name,
    corpus,
    keeps: held_out > 0,
    smoothing: question.training.label_smoothing,
    steps,
    span: steps,
    uniform,
  });
  changed();
  const headers = { "Content-Type": "application/json" };
  const body = JSON.stringify({ ...question, visit: sessionId });
  const answer = await fetch(new URL("train", document.baseURI), {
    method: "POST",
    headers,
    body,
    signal: mine.signal,
  }).catch(() => null);
  const receive = (line) => {
    if (mine !== abort) return;
    receiveEvent(JSON.parse(line));
    changed();
  };
  if (answer?.ok) await readLines(answer.body, receive);
  else if (answer) training.message = (await answer.json().catch(() => ({}))).error ?? null;
  end(mine, mine.signal.aborted ? "idle" : "failed");
}

/** The stream has ended: well, if the model has come. */
function end(mine, phase) {
  if (mine !== abort || !isTraining()) return;
  training.phase = training.phase === "developing" ? "trained" : phase;
  changed();
}

/** Stop a training; what it has learned so far is kept. One that only waits leaves the queue. */
export function stopTraining() {
  if (training.phase !== "running") return abort.abort();
  const headers = { "Content-Type": "application/json" };
  const body = JSON.stringify({ run: training.run });
  fetch(new URL("train/stop", document.baseURI), { method: "POST", headers, body }).catch(() => {}); // the button stays
}

/** Every line of a stream as it comes, until it ends, breaks off or is left. */
export async function readLines(stream, receive) {
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read().catch(() => ({ done: true })); // broken off, or left
    if (done) return;
    const whole = (rest + value).split("\n");
    rest = whole.pop();
    whole.filter((line) => line.trim()).forEach(receive);
  }
}

function receiveEvent({ event, ...data }) {
  if (event === "waiting") Object.assign(training, { phase: "waiting", place: data.place });
  if (event === "run") training.run = data.run;
  if (event === "started") Object.assign(training, data, { phase: "running" });
  if (event === "progress") {
    training.points.push(...data.points);
    training.left = data.left;
  }
  if (event === "held_out") keep(training.heldOut, [data.step, data.loss, data.accuracy], ([step]) => step);
  if (event === "says" || event === "snapshot") {
    const { output, probabilities } = data.free ?? data;
    if (data.step >= (training.says?.step ?? 0)) training.says = { step: data.step, output, probabilities };
  }
  if (event === "snapshot") keep(training.snapshots, developed(data), ({ step }) => step);
  if (event === "error") Object.assign(training, { phase: "failed", message: data.message });
  // The curves end where it was stopped.
  if (event === "ended")
    Object.assign(training, {
      phase: "measuring",
      why: data.why,
      step: data.step,
      seconds: data.seconds,
      span: data.step,
    });
  if (event === "trained") {
    Object.assign(training, { phase: "developing", scores: data.scores });
    document.dispatchEvent(new CustomEvent("model:trained", { detail: data }));
  }
}

/** In the order of their steps, in whatever order they come. */
function keep(list, one, step) {
  list.splice(list.findLastIndex((each) => step(each) <= step(one)) + 1, 0, one);
}

/** A snapshot with runs that attention-map.js can draw: what was decoded freely, and what it said when the right words were read to it. */
function developed({ step, source, encoder, free, forced }) {
  const map = ({ weights, ...rest }) => ({ ...rest, values: shares(weights) });
  const maps = map(encoder);
  const run = (decoded) =>
    decoded && {
      ...decoded,
      attention: { encoder: maps, decoder: map(decoded.decoder), cross: map(decoded.cross) },
      reference: null,
    };
  return { step, source, free: run(free), forced: run(forced) };
}

/** Base64 of little-endian 16-bit numbers, 65535 for a weight of 1. */
function shares(base64) {
  const bytes = new DataView(Uint8Array.from(atob(base64), (char) => char.charCodeAt(0)).buffer);
  return Float32Array.from({ length: bytes.byteLength / 2 }, (_, i) => bytes.getUint16(2 * i, true) / 65535);
}

/** What was measured at a step, [step, loss, accuracy]; of the untrained model what the first step found. */
export function measurementAt(step) {
  const wanted = Math.max(step, 1);
  const { points } = training;
  return points[wanted - (points[0]?.[0] ?? 0)] ?? null; // one point a step
}
