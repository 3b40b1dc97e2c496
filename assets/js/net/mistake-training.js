// The trainings that show a mistake, as this page hears of them. They outlive every mounting.

import { readLines } from "./training-stream.js";
import { sessionId } from "./models.js";

const trainings = new Map(); // exercise -> what is known of its trainings
const NOTHING = { phase: "idle", place: null, steps: 1, wrong: [], right: [], symptom: null, message: null };

/** Phases: idle, asking, waiting, running, shown, failed; `wrong` and `right` are points [step, loss]. */
export const mistakeTraining = (name) => trainings.get(name) ?? NOTHING;
export const isTrainingMistake = () =>
  [...trainings.values()].some(({ phase }) => ["asking", "waiting", "running"].includes(phase));

const changed = () => document.dispatchEvent(new Event("mistake:changed"));

export async function trainMistake(name) {
  const mine = { ...NOTHING, phase: "asking", wrong: [], right: [] };
  trainings.set(name, mine);
  changed();
  const headers = { "Content-Type": "application/json" };
  const answer = await fetch(new URL("mistake", document.baseURI), {
    method: "POST",
    headers,
    body: JSON.stringify({ name, visit: sessionId }),
  }).catch(() => null);
  const receive = (line) => {
    receiveEvent(mine, JSON.parse(line));
    changed();
  };
  if (answer?.ok) await readLines(answer.body, receive);
  else if (answer) mine.message = (await answer.json().catch(() => ({}))).error ?? null;
  if (mine.phase !== "shown") mine.phase = "failed";
  changed();
}

function receiveEvent(mine, { event, ...data }) {
  if (event === "waiting") Object.assign(mine, { phase: "waiting", place: data.place });
  if (event === "run") mine.phase = "running";
  if (event === "progress") {
    mine[data.side].push(...data.points);
    mine.steps = data.steps;
  }
  if (event === "symptom") Object.assign(mine, { phase: "shown", symptom: data });
  if (event === "error") mine.message = data.message;
}
