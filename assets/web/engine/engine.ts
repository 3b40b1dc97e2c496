// Questions about runs, answered in the browser as transformer/web/api answers them on a server.

import type { Alternatives, FoundCandidates, MessageJSON, ShownRun, Wire } from "#schema";
import type { EngineData } from "./data.ts";
import { ranked } from "./decoding.ts";
import { parseChanges } from "./interventions.ts";
import { range, softmax } from "./network.ts";
import { crossAblations, lens, sweep, why } from "./questions/contribution.ts";
import { nearestPairs } from "./questions/nearest.ts";
import { pageRun } from "./questions/payload.ts";
import { inputSum, positionalEncoding } from "./questions/positions.ts";
import { beam, diverging, forced, sampled } from "./questions/strategies.ts";
import { checks, inside, parameters, shapes, stack, there, valueNorms, valueOutput } from "./questions/sublayers.ts";
import { Refusal, requestRefusal } from "./refusal.ts";
import { type Translation, Translator } from "./translator.ts";
import { casefold, PAD, SPECIAL, START } from "./vocabulary.ts";

type Questions = Wire["Questions"];
type Name = keyof Questions;
type Answered = { [N in Name]?: (request: Questions[N]["request"]) => Questions[N]["answer"] };

export type Model = { data: EngineData; weights: ArrayBuffer };
export type Engine = { answer: (name: string, request: any) => unknown };

const MAX_FOUND = 10; // candidates of a search
const MAX_WORDS = 2000; // of a list to choose from
const SUGGESTED_PAIRS = 8;

/** Answers the questions about these models, in the order in which one stands in for another. */
export function makeEngine(models: Record<string, Model>): Engine {
  const translators = Object.fromEntries(
    Object.entries(models).map(([name, { data, weights }]) => [name, new Translator(data, weights)]),
  );
  const prepared = Object.values(models).flatMap(({ data }) => data.answers);
  const answers: Record<string, any> = { ...runAnswers(translators), ...wordAnswers(translators) };
  return {
    answer(name, request) {
      const isAsked = (given: Record<string, unknown>) =>
        Object.entries(given).every(([key, value]) => request[key] === value);
      const known = prepared.find(([question, given]) => question === name && isAsked(given));
      if (known) return known[2];
      if (!(name in answers)) throw requestRefusal();
      return answers[name](request);
    },
  };
}

/** The message of an error, as the server refuses. */
export const refusalOf = (error: unknown): { error: MessageJSON } => ({
  error: (error instanceof Refusal ? error : requestRefusal()).reason,
});

type Translators = Record<string, Translator>;

/** A model by its name. */
function named(translators: Translators, checkpoint: string) {
  const found = translators[checkpoint];
  if (!found) throw new Refusal("error.no_checkpoint", { names: { shown: Object.keys(translators), rest: 0 } });
  return found;
}

/** Pairs of the corpus that training never saw. */
const heldOut = ({ pairs }: Translator) => [...pairs.values()].filter(({ heldOut }) => heldOut === 0);

function runAnswers(translators: Translators): Answered {
  const model = ({ checkpoint }: { checkpoint: string }) => named(translators, checkpoint);
  const runOf = (request: { checkpoint: string; sentence: string; changes?: unknown }) =>
    [model(request), model(request).run(request.sentence, request.changes)] as const;
  return {
    translate: (request) => translate(translators, request),
    surprise(request) {
      const known = heldOut(model(request));
      if (!known.length) throw new Refusal("error.no_held_out");
      return show(model(request), known[Math.floor(Math.random() * known.length)].spelling, request.changes);
    },
    candidates: (request) => candidates(...runOf(request), request.step, request.text ?? ""),
    checks: (request) => ({ checks: checks(...runOf(request)) }),
    why(request) {
      const other = request.other ? there(model(request).target.ids.get(request.other)) : null;
      return why(...runOf(request), request.step, other);
    },
    lens: (request) => lens(...runOf(request)),
    heads(request) {
      return { held_out: model(request).data.held_out_scores, ablations: crossAblations(...runOf(request)) };
    },
    inside: (request) => inside(...runOf(request), request.kind, request.layer),
    value_output: (request) => valueOutput(...runOf(request), request),
    value_norms: (request) => valueNorms(...runOf(request)),
    stack: (request) => stack(...runOf(request)),
    shapes: (request) => shapes(...runOf(request)),
    parameters: (request) => parameters(model(request), request),
    positional_encoding: positionalEncoding,
    input_sum: (request) => inputSum(...runOf(request), request.stack),
    sweep: (request) => sweep(...runOf(request)),
    beam: (request) => beam(model(request), request.sentence, request.width ?? 4, request.alpha ?? 0.6),
    sampled: (request) => sampled(model(request), request),
    forced: (request) => forced(model(request), request.sentence, request.mistake),
    diverging: (request) => diverging(model(request), request.sentence),
    mistake(request) {
      const { elsewhere, ...symptom } = there(model(request).data.mistakes[request.name]);
      return { ...symptom, elsewhere: elsewhere || symptom.sentence !== request.sentence };
    },
  };
}

/** The run of a sentence and, if it has changes, the same without them. */
function show(translator: Translator, sentence: string, changes: unknown = []): ShownRun {
  const baseline = translator.run(sentence);
  const run = translator.run(sentence, changes);
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
    if (!(error instanceof Refusal) || error.reason.key === "error.changes") throw error;
    const other = Object.values(translators).find((each) => each !== translator && each.reads(sentence));
    if (request.or_other_model && other) return show(other, sentence);
    if (!request.or_example) throw error;
    const lasting = changes.filter((change) => !translator.data.changes[change.do].of_sentence);
    return { ...show(translator, translator.data.examples[0], lasting), refused: error.reason };
  }
}

/** The tokens that contain a text: exact matches first, then those that begin with it, then the likeliest. */
function candidates(translator: Translator, run: Translation, step: number, text: string): FoundCandidates {
  const { tokens } = translator.target;
  if (step >= run.steps.length) throw requestRefusal();
  const recorded = there(translator.record(run, (name) => name === "logits").get("logits"));
  const logits = recorded.subarray(step * tokens.length, (step + 1) * tokens.length);
  const probabilities = softmax(logits);
  const ranks = new Map(ranked(logits, logits.length).map((id, rank) => [id, rank + 1]));
  const wanted = casefold(text.trim());
  const place = (id: number) => {
    const token = casefold(tokens[id]);
    return [+(token !== wanted), +!token.startsWith(wanted), ranks.get(id) as number];
  };
  const matching = range(tokens.length).filter((id) => casefold(tokens[id]).includes(wanted));
  const found = matching
    .map((id) => ({ id, place: place(id) }))
    .sort(({ place: a }, { place: b }) => a[0] - b[0] || a[1] - b[1] || a[2] - b[2])
    .slice(0, MAX_FOUND)
    .map(({ id, place }) => ({ token: tokens[id], rank: place[2], probability: probabilities[id], logit: logits[id] }));
  return { count: matching.length, found };
}

function wordAnswers(translators: Translators): Answered {
  return {
    vocabulary({ checkpoint }) {
      const { source, target } = named(translators, checkpoint);
      const inOrder = (tokens: string[], without: string[]) =>
        tokens
          .filter((token) => !without.includes(token))
          .sort((a, b) => (a < b ? -1 : 1))
          .slice(0, MAX_WORDS);
      return { source: inOrder(source.tokens, SPECIAL), target: inOrder(target.tokens, [PAD, START]) };
    },
    alternatives({ checkpoint, sentence }): Alternatives {
      const translator = named(translators, checkpoint);
      const nearest = nearestPairs(sentence, translator.pairs.values(), SUGGESTED_PAIRS);
      const largest = Object.values(translators).toSorted((a, b) => b.pairs.size - a.pairs.size)[0];
      const others = nearest.length ? nearest : nearestPairs(sentence, largest.pairs.values(), SUGGESTED_PAIRS);
      const unseen = heldOut(largest).filter(({ spelling }) => !largest.data.examples.includes(spelling));
      const spelled = (target: string) => {
        const words = target
          .split(" ")
          .map((word) => (largest.data.capitalised.includes(word) ? capitalised(word) : word));
        return capitalised(words.join(" ").replace(/ (?=[.,?!])/g, ""));
      };
      return {
        readers: Object.keys(translators).filter((name) => name !== checkpoint && translators[name].reads(sentence)),
        nearest: nearest[0]?.spelling ?? null,
        pairs: (others.length ? others : unseen.slice(0, SUGGESTED_PAIRS)).map(({ spelling, target }) => [
          spelling,
          spelled(target),
        ]),
      };
    },
  };
}

const capitalised = (word: string) => word.slice(0, 1).toUpperCase() + word.slice(1);
