// The stops of the lesson, and which of them a shorter lesson has. tabs/lesson-stops.js has what each draws and asks.

/** Minutes of a stop, and the shortest lesson that has it: longer ones have it too. */
const STOPS = /** @type {const} */ ({
  tokens: { minutes: 2, plan: 20 },
  embeddings: { minutes: 7, plan: 90 },
  positions: { minutes: 6, plan: 45 },
  qkv: { minutes: 8, plan: 90 },
  scores: { minutes: 7, plan: 45 },
  softmax: { minutes: 6, plan: 20 },
  heads: { minutes: 8, plan: 90 },
  residual: { minutes: 8, plan: 90 },
  ffn: { minutes: 7, plan: 90 },
  stack: { minutes: 7, plan: 90 },
  masked: { minutes: 6, plan: 45 },
  cross: { minutes: 8, plan: 20 },
  logits: { minutes: 4, plan: 20 },
  loop: { minutes: 6, plan: 45 },
});

/** @typedef {keyof typeof STOPS} StopName */

/** Their names in their usual order; a link counts them from 1. */
export const LESSON_STOPS = /** @type {StopName[]} */ (Object.keys(STOPS));

/** Lessons to choose from, in minutes. */
export const PLANS = [20, 45, 90];

/** The stops of a lesson of this length, counted from 0; null for all. @param {number} minutes */
export function plannedStops(minutes) {
  const stops = [...LESSON_STOPS.keys()].filter((stop) => STOPS[LESSON_STOPS[stop]].plan <= minutes);
  return stops.length < LESSON_STOPS.length ? stops : null;
}

/** @param {readonly number[] | null} stops null for all */
export const stopOrder = (stops) => stops ?? [...LESSON_STOPS.keys()];

/** How long these stops take. @param {readonly number[]} stops */
export const planMinutes = (stops) => stops.reduce((sum, stop) => sum + STOPS[LESSON_STOPS[stop]].minutes, 0);

/** As a link writes them: "1,4,2". @param {readonly number[]} stops */
export const formatStops = (stops) => stops.map((stop) => stop + 1).join(",");

/** Null for what does not name stops, each once. @param {string} text */
export function parseStops(text) {
  const stops = text.split(",").map((each) => (/^[1-9]\d?$/.test(each) ? Number(each) - 1 : -1));
  const isPlan = new Set(stops).size === stops.length && stops.every((stop) => stop in LESSON_STOPS);
  return isPlan ? stops : null;
}
