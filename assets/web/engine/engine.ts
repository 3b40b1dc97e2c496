// Questions about runs, answered in the browser as transformer/web/api answers them on a server.

import type { Alternatives, EngineData, MessageJSON, ShownRun, Wire } from "#schema";
import { Refused, refusal } from "../api/source.ts";
import { parseChanges } from "./interventions.ts";
import { heads, lens, sweep, why } from "./questions/contribution.ts";
import { nearestSentence } from "./questions/nearest.ts";
import { pageRun } from "./questions/payload.ts";
import { beam, diverging, forced, sampled } from "./questions/strategies.ts";
import { checks, inputSum, inside, parameters, stack, valueNorms, valueOutput } from "./questions/sublayers.ts";
import { requestRefusal } from "./refusal.ts";
import { type Translation, Translator } from "./translator.ts";

type Questions = Wire["Questions"];
type Answering<Subject extends unknown[]> = {
  [Name in keyof Questions]?: (...about: [...Subject, Questions[Name]["request"]]) => Questions[Name]["answer"];
};
type Translators = Record<string, Translator>;

export type Model = { data: EngineData; weights: ArrayBuffer };
export type Engine = { answer: (name: string, request: any) => unknown };

const ABOUT_RUN: Answering<[Translator, Translation]> = {
  ...{ checks, why, lens, heads, inside, stack, sweep },
  ...{ value_output: valueOutput, value_norms: valueNorms, input_sum: inputSum },
};
const ABOUT_MODEL: Answering<[Translator]> = { surprise, parameters, beam, sampled, forced, diverging };
const OTHERS: Answering<[Translators]> = { translate, alternatives };
const [OF_RUN, OF_MODEL, REST] = [ABOUT_RUN, ABOUT_MODEL, OTHERS] as Record<string, any>[];

/** Answers the questions about these models, in the order in which one stands in for another. */
export function makeEngine(models: Record<string, Model>): Engine {
  const made = Object.entries(models).map(([name, { data, weights }]) => [name, new Translator(data, weights)]);
  const translators: Translators = Object.fromEntries(made);
  const prepared = Object.values(models).flatMap(({ data }) => data.answers);
  return {
    answer(name, request) {
      const isAsked = (given: Record<string, unknown>) =>
        Object.entries(given).every(([key, value]) => request[key] === value);
      const known = prepared.find(([question, given]) => question === name && isAsked(given));
      if (known) return known[2];
      if (REST[name]) return REST[name](translators, request);
      const translator = named(translators, request.checkpoint);
      if (OF_MODEL[name]) return OF_MODEL[name](translator, request);
      return OF_RUN[name](translator, translator.run(request.sentence, request.changes), request);
    },
  };
}

/** The message of an error, as the server refuses. */
export const refusalOf = (error: unknown): { error: MessageJSON } => ({
  error: (error instanceof Refused ? error : requestRefusal()).reason,
});

function named(translators: Translators, checkpoint: string) {
  const found = translators[checkpoint];
  if (!found) throw refusal("error.no_checkpoint", { names: { shown: Object.keys(translators), rest: 0 } });
  return found;
}

/** The run of a sentence and, if it has changes, the same without them. */
function show(translator: Translator, sentence: string, changes: unknown[] = []): ShownRun {
  const [baseline, run] = [translator.run(sentence), translator.run(sentence, changes)];
  if (run === baseline) return { run: pageRun(translator, run), baseline: null, refused: null };
  return { run: pageRun(translator, run, baseline), baseline: pageRun(translator, baseline), refused: null };
}

/** Where the model cannot read the sentence, another one that can, or its own first example. */
function translate(translators: Translators, request: Questions["translate"]["request"]): ShownRun {
  const { checkpoint, sentence } = request;
  const translator = named(translators, checkpoint);
  const changes = parseChanges(request.changes ?? [], translator.data.changes);
  try {
    return show(translator, sentence, changes);
  } catch (error) {
    if (!(error instanceof Refused) || error.reason.key === "error.changes") throw error;
    const other = Object.values(translators).find((each) => each !== translator && each.reads(sentence));
    if (request.or_other_model && other) return show(other, sentence);
    if (!request.or_example) throw error;
    const lasting = changes.filter((change) => !translator.data.changes[change.do].of_sentence);
    return { ...show(translator, translator.data.examples[0], lasting), refused: error.reason };
  }
}

/** The run of a sentence that training never saw. */
function surprise(translator: Translator, { changes }: Questions["surprise"]["request"]) {
  const { pairs, unseen: set } = translator.data;
  const unseen = pairs.filter(({ held_out }) => set && held_out === set);
  if (!unseen.length) throw refusal("error.no_held_out");
  return show(translator, unseen[Math.floor(Math.random() * unseen.length)].spelling, changes);
}

/** Suggestions after a sentence that a model has refused. */
function alternatives(translators: Translators, request: Questions["alternatives"]["request"]): Alternatives {
  const { checkpoint, sentence } = request;
  const { pairs } = named(translators, checkpoint).data;
  const others = Object.keys(translators).filter((name) => name !== checkpoint);
  const readers = others.filter((name) => translators[name].reads(sentence));
  return { readers, nearest: nearestSentence(sentence, pairs) };
}
