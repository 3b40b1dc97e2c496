// The stops of the lesson, and which of them a shorter lesson has. features/lesson/stops has what each draws and asks.

/**
 * Minutes of a stop, and the shortest lesson that has it: longer ones have it too. `ofReal`: only a lesson on a real
 * model has it by itself; others have it where somebody chooses it. Links count stops, so a new one comes last, and says
 * which one it usually `follows`.
 */
const STOPS = {
  tokens: { minutes: 1, plan: 20 },
  embeddings: { minutes: 3, plan: 20 },
  positions: { minutes: 6, plan: 45 },
  qkv: { minutes: 4, plan: 20 },
  scores: { minutes: 6, plan: 45 },
  softmax: { minutes: 3, plan: 20 },
  heads: { minutes: 7, plan: 90 },
  residual: { minutes: 6, plan: 90 },
  ffn: { minutes: 6, plan: 90 },
  stack: { minutes: 6, plan: 90 },
  masked: { minutes: 6, plan: 45 },
  cross: { minutes: 4, plan: 20 },
  logits: { minutes: 2, plan: 20 },
  loop: { minutes: 7, plan: 45 },
  align: { minutes: 8, plan: 90, ofReal: true, follows: "cross" },
  recap: { minutes: 3, plan: 20 },
  since: { minutes: 6, plan: 90 },
  knows: { minutes: 7, plan: 90, follows: "logits" },
  explains: { minutes: 7, plan: 90, follows: "logits" },
} as const;

export type StopName = keyof typeof STOPS;

export const LESSON_STOPS = Object.keys(STOPS) as StopName[];

function usualPlace(stop: number) {
  const each = STOPS[LESSON_STOPS[stop]];
  return "follows" in each ? LESSON_STOPS.indexOf(each.follows) + 0.5 : stop;
}

const OF_REAL = [...LESSON_STOPS.keys()].sort((a, b) => usualPlace(a) - usualPlace(b));
const OF_SMALL = OF_REAL.filter((stop) => !("ofReal" in STOPS[LESSON_STOPS[stop]]));

/** @param stops null for the whole lesson, in its usual order */
export const stopOrder = (stops: readonly number[] | null, isReal: boolean) => stops ?? (isReal ? OF_REAL : OF_SMALL);

export const PLANS = [20, 45, 90];
export const USUAL_MINUTES = 45; // of the lesson that its tab begins with

/** The stops of a lesson of this length, null for the whole one. @param isReal whether it is on a real model */
export function plannedStops(minutes: number, isReal: boolean) {
  const whole = stopOrder(null, isReal);
  const stops = whole.filter((stop) => STOPS[LESSON_STOPS[stop]].plan <= minutes);
  return stops.length < whole.length ? stops : null;
}

/** With one more stop, before the first that usually follows it. */
export function withStop(order: readonly number[], stop: number) {
  const after = order.findIndex((each) => usualPlace(each) > usualPlace(stop));
  return after < 0 ? [...order, stop] : order.toSpliced(after, 0, stop);
}

export const planMinutes = (stops: readonly number[]) =>
  stops.reduce((sum, stop) => sum + STOPS[LESSON_STOPS[stop]].minutes, 0);

export const formatStops = (stops: readonly number[]) => stops.map((stop) => stop + 1).join(",");

/** Null for what does not name stops, each once. */
export function parseStops(text: string) {
  const stops = text.split(",").map((each) => (/^[1-9]\d?$/.test(each) ? Number(each) - 1 : -1));
  const isPlan = new Set(stops).size === stops.length && stops.every((stop) => stop in LESSON_STOPS);
  return isPlan ? stops : null;
}
