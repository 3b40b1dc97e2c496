// The notebook around a saved run, where there is one: through its port (transformer/web/widget.js) the kernel answers
// what the file lacks, and reads and sets the place.

import { schema } from "./schema.ts";
import { Refused, refusal, type Source } from "./source.ts";
import type { State } from "./types.ts";

const CALL = "attention-bitte";
/** The parameters of its place, each with the state that holds it. */
const PLACE = Object.entries(schema.parameters).flatMap(([name, { state }]): [string, keyof State][] =>
  state ? [[name, state as keyof State]] : [],
);

let port: MessagePort | null = null;
let questions: string[] = []; // that it answers
let known = ""; // the place that it knows
const waiting: Map<string, (answer: any) => void> = new Map();

export const notebook: Source = {
  answers: (name) => questions.includes(name),
  async answer(name, request, signal) {
    if (!port) throw refusal("error.no_kernel");
    const id = String(Math.random()); // the notebook may show the page twice
    port.postMessage({ id, name, request: JSON.stringify(request) });
    const answer = await new Promise<any>((resolve, reject) => {
      waiting.set(id, resolve);
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    }).finally(() => waiting.delete(id));
    if (answer.error) throw new Refused(answer.error, answer);
    return answer;
  },
};

/** Tell the frame's owner that the page is here. @param follow goes to a place that the notebook wants */
export function callNotebook(follow: (place: Partial<State>) => void) {
  if (parent === window) return;
  const take = (place: Record<string, unknown>) => {
    known = JSON.stringify(place);
    follow(Object.fromEntries(PLACE.filter(([name]) => name in place).map(([name, field]) => [field, place[name]])));
  };
  addEventListener("message", ({ source, data, ports }) => {
    if (source !== parent || data?.call !== CALL || !ports.length) return;
    [port] = ports;
    questions = data.questions;
    port.onmessage = ({ data }) => (data.place ? take(data.place) : waiting.get(data.id)?.(JSON.parse(data.answer)));
    document.dispatchEvent(new Event("frame:changed")); // what is asked of it can be shown
    take(data.place);
  });
  parent.postMessage({ call: CALL }, "*");
}

export function tellNotebook(state: State) {
  const place = Object.fromEntries(PLACE.map(([name, field]) => [name, state[field]]));
  const now = JSON.stringify(place);
  if (now !== known) port?.postMessage({ place });
  known = now;
}
