// Decoding strategies beside greedy: transformer/web/api/decoding.py. The changes of a run have no part here.

import type * as Wire from "#schema";
import { argmax, ranked } from "../arrays.ts";
import { beamSearch, firstOtherSeed, sampledFrom } from "../decoding.ts";
import { draw, Generator } from "../random.ts";
import { requestRefusal } from "../refusal.ts";
import type { Translation, Translator } from "../translator.ts";
import { END, SPECIAL } from "../vocabulary.ts";
import { MAX_CANDIDATES } from "./payload.ts";

const MAX_DROPPED = 3; // branches that the page shows of those dropped at a step, the likeliest
const MAX_MISTAKES = 24; // tried in search of one from which free running does not recover
const SMALLEST = 2.2250738585072014e-308; // Python's sys.float_info.min

/** A whole sentence, and the probability that the model gives it, E included; the logarithm in nats. */
function likelihood({ target, ends }: Translator, { output, steps }: Translation) {
  const log_probability = steps.reduce((sum, step) => sum + Math.log(step.distribution[step.token] || SMALLEST), 0);
  const probability = Math.exp(log_probability);
  return { text: target.decode(output), complete: output.at(-1) === ends.end, log_probability, probability };
}

/** The tree of a beam search beside greedy decoding, without most of what was dropped. */
export function beam(translator: Translator, request: Wire.BeamRequest): Wire.ShownBeamSearch {
  const { network, target, ends } = translator;
  const { sentence, width = 4, alpha = 0.6 } = request;
  const encoded = network.encode(translator.sourceIds(sentence));
  const search = beamSearch(network, encoded, ends, { width, alpha, mostDropped: MAX_DROPPED });
  const { branches, leftOut, chosenFrom } = search;
  const textOf = (branch: number) => {
    const ids: number[] = [];
    for (let here: number | null = branch; here !== null; here = branches[here].parent)
      ids.unshift(branches[here].token);
    return target.decode(ids);
  };
  return {
    ...{ text: textOf(chosenFrom[0]), width, alpha, best: chosenFrom[0], left_out: leftOut },
    branches: branches.map((branch) => ({ ...branch, token: target.tokens[branch.token] })),
    hypotheses: chosenFrom.map((branch) => {
      const { log_probability, score, fate } = branches[branch];
      const probability = Math.exp(log_probability);
      return { branch, text: textOf(branch), log_probability, probability, score, finished: fate === "finished" };
    }),
    greedy: likelihood(translator, translator.run(sentence)),
  };
}

/** A translation whose words are drawn, with what they were drawn from. */
export function sampled(translator: Translator, request: Wire.SampleRequest): Wire.Sample {
  const { sentence, temperature = 1, top_k = 0, top_p = 1 } = request;
  const sampling = { temperature, top_k, top_p };
  const seed = request.seed ?? firstOtherSeed(translator.run(sentence).steps, sampling);
  const generator = new Generator(seed);
  const choose = (distribution: Float32Array) => draw(sampledFrom(distribution, sampling), generator);
  const drawn = translator.translate(sentence, { choose });
  const steps = drawn.steps.map(({ token, distribution }) => {
    const drawnFrom = sampledFrom(distribution, sampling);
    const candidate = (id: number): Wire.DrawnCandidate => {
      return { token: translator.target.tokens[id], probability: distribution[id], drawn: drawnFrom[id] };
    };
    const ids = ranked(distribution, MAX_CANDIDATES);
    if (!ids.includes(token)) ids[ids.length - 1] = token;
    return { ...candidate(token), left: drawnFrom.filter((p) => p > 0).length, candidates: ids.map(candidate) };
  });
  return { ...likelihood(translator, drawn), ...sampling, seed, steps };
}

/** Teacher forcing beside free running. With a mistake, the model is made to output that word at that step. */
export const forced = (translator: Translator, { sentence, mistake }: Wire.ForcedRequest) =>
  teacherForcing(translator, sentence).compared(mistake);

/** A free run, the reference, and what compares that run with teacher forcing. Without a reference the run's own output
 * stands in for it, and forcing that changes nothing. */
function teacherForcing(translator: Translator, sentence: string) {
  const { target } = translator;
  const own = translator.run(sentence);
  const pair = translator.reference(own);
  const wanted = pair ? [...pair.target.split(" "), END] : own.tokens.output;
  const taught = pair ? translator.translate(sentence, { forced: wanted }) : own;
  const rows = ({ steps, tokens }: Translation, output: number[]): Wire.ForcedRow[] =>
    steps.map(({ distribution }, t) => ({
      read: tokens.input[t],
      output: target.tokens[output[t]],
      probability: distribution[output[t]],
      wanted: wanted[t] ?? null,
    }));

  function compared(mistake?: Wire.ForcedMistake | null): Wire.TeacherForcing {
    let free = own;
    const ids = taught.steps.map(({ distribution }) => argmax(distribution));
    if (mistake) {
      if (mistake.step >= Math.min(wanted.length, own.output.length)) throw requestRefusal();
      const output = [...own.tokens.output.slice(0, mistake.step), mistake.word];
      free = translator.translate(sentence, { forced: output });
      ids[mistake.step] = target.ids.get(mistake.word) as number;
    }
    const rest = wanted.slice(mistake ? mistake.step + 1 : 0);
    const both = { teacher: rows(taught, ids), free: rows(free, free.output) };
    const right = (of: Wire.ForcedRow[]) => of.filter(({ output, wanted }) => output === wanted).length;
    const recovered = (of: Wire.ForcedRow[]) => {
      const outputs = of.slice(mistake?.step ?? 0).map(({ output }) => output);
      return outputs.length >= rest.length && rest.every((word, i) => outputs.at(i - rest.length) === word);
    };
    return {
      ...both,
      right: { teacher: right(both.teacher), free: right(both.free) },
      recovered: { teacher: recovered(both.teacher), free: recovered(both.free) },
      of: wanted.length,
      mistake: mistake?.step ?? null,
      reference: taught !== own,
    };
  }
  return { own, wanted, compared };
}

/** Teacher forcing after a mistake from which free running does not recover; after the likeliest one, if it recovers from
 * all that are tried. No mistake is forced where nothing would follow it. */
export function diverging(translator: Translator, { sentence }: { sentence: string }) {
  const { own, wanted, compared } = teacherForcing(translator, sentence);
  let likeliest: Wire.TeacherForcing | undefined;
  for (const mistake of likelyMistakes(translator, own, wanted)) {
    const found = compared(mistake);
    if (!found.recovered.free) return found;
    likeliest ??= found;
  }
  return likeliest ?? compared();
}

/** Words that the model could output instead of the right one before its last step, the likeliest first. */
function likelyMistakes({ target }: Translator, own: Translation, wanted: string[]): Wire.ForcedMistake[] {
  return own.steps
    .slice(0, Math.min(wanted.length, own.output.length) - 1)
    .flatMap(({ distribution }, step) => {
      const others = ranked(distribution, MAX_CANDIDATES).slice(1);
      return others.map((id) => ({ p: distribution[id], step, word: target.tokens[id] }));
    })
    .filter(({ step, word }) => !SPECIAL.includes(word) && word !== wanted[step])
    .sort((one, two) => two.p - one.p)
    .slice(0, MAX_MISTAKES)
    .map(({ step, word }) => ({ step, word }));
}
