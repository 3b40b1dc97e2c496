// The server's answers about runs, each asked for once.

import type { Sublayer as RecordedSublayer } from "#schema";
import type { AnswerOf, QuestionName, RequestOf } from "../api/client.ts";
import { api, reasonOf } from "../api/client.ts";
import type { Kind, Run, Side } from "../api/types.ts";
import { formatMessage, t } from "./i18n.ts";
import { decodeFloats, state } from "./state.ts";

/** `at(name, ...index)`: the vector at the first axes of an array; the side of the queries (`from`) and keys (`to`). */
export type Sublayer = RecordedSublayer & { at: (name: string, ...index: number[]) => number[]; from: Side; to: Side };

export type Matrix = RequestOf<"parameters">["part"];

const MAX_ANSWERS = 24;

const answers: Map<string, Promise<any>> = new Map();

export function askOnce<Name extends QuestionName>(name: Name, request: RequestOf<Name>): Promise<AnswerOf<Name>> {
  const key = JSON.stringify([name, request]);
  const known = answers.get(key);
  if (known) return known;
  const answer = (api[name] as (request: RequestOf<Name>) => Promise<AnswerOf<Name>>)(request);
  answer.catch(() => answers.delete(key)); // the next call asks again
  answers.set(key, answer);
  if (answers.size > MAX_ANSWERS) answers.delete(answers.keys().next().value ?? key);
  return answer;
}

/** What is said where an answer does not come: why, or where nothing is known of that, what can be done. */
export function failureText(error: unknown, key = "positions.failed") {
  const reason = reasonOf(error);
  return reason.key === "error.no_answer" ? t(key) : formatMessage(reason);
}

export const askAboutRun = <Name extends QuestionName>(
  name: Name,
  more?: Omit<RequestOf<Name>, "checkpoint" | "sentence" | "changes">,
  { checkpoint, sentence, changes }: Run = state.run,
) => askOnce(name, { checkpoint, sentence, changes, ...more } as RequestOf<Name>);

const decoded: WeakMap<RecordedSublayer, Record<string, Float32Array>> = new WeakMap();

export async function fetchSublayer(kind: Kind, layer: number, run: Run = state.run): Promise<Sublayer> {
  const data = await askAboutRun("inside", { kind, layer }, run);
  const arrays =
    decoded.get(data) ??
    Object.fromEntries(Object.entries(data.arrays).map(([name, array]) => [name, decodeFloats(array.data)]));
  decoded.set(data, arrays);
  const at = (name: string, ...index: number[]) => {
    const { shape } = data.arrays[name];
    const sizeFrom = (axis: number) => shape.slice(axis).reduce((product, n) => product * n, 1);
    const start = index.reduce((sum, i, axis) => sum + i * sizeFrom(axis + 1), 0);
    return Array.from(arrays[name].subarray(start, start + sizeFrom(index.length)));
  };
  return { ...data, at, from: kind === "encoder" ? "source" : "target", to: kind === "decoder" ? "target" : "source" };
}

type Place = { run: Run; kind: Kind; layer: number };

/** v W_O of one word in a head. */
export async function fetchValue({ run, kind, layer, head }: Place & { head: number }, key: number) {
  const { data } = await askAboutRun("value_output", { kind, layer, head, key }, run);
  return Array.from(decodeFloats(data));
}

export async function fetchParameters({ run, kind, layer }: Place, part: Matrix, row: number) {
  const data = await askOnce("parameters", { checkpoint: run.checkpoint, kind, layer, part, row });
  return { weights: Array.from(decodeFloats(data.weights)), bias: data.bias };
}
