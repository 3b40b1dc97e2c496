// Decoding strategies beside greedy: transformer/web/api/decoding.py. The changes of a run have no part here.

import type * as Wire from "#schema";
import { beamSearch, firstOtherSeed, mostLikely, ranked, sampledFrom, sampler } from "../decoding.ts";
import { requestRefusal } from "../refusal.ts";
import type { Translation, Translator } from "../translator.ts";
import { END, SPECIAL } from "../vocabulary.ts";

const MAX_DROPPED = 3; // branches that the page shows of those dropped at a step, the likeliest
const MAX_CANDIDATES = 10; // a step
const MAX_MISTAKES = 24; // tried in search of one from which free running does not recover
const SMALLEST = 2.2250738585072014e-308; // Python's sys.float_info.min

const probabilityAt = ({ steps }: Translation, t: number) => steps[t].distribution[steps[t].token];

/** That the model gives a whole sentence, E included; the logarithm in nats. */
function likelihood(run: Translation) {
  const log_probability = run.steps.reduce((sum, _, t) => sum + Math.log(probabilityAt(run, t) || SMALLEST), 0);
  return { log_probability, probability: Math.exp(log_probability) };
}

const isComplete = (translator: Translator, run: Translation) => run.output.at(-1) === translator.ends.end;

/** The tree of a beam search beside greedy decoding, without most of what was dropped. */
export function beam(translator: Translator, sentence: string, width: number, alpha: number): Wire.ShownBeamSearch {
  const { network, target, ends } = translator;
  const { branches, best } = beamSearch(network, network.encode(translator.sourceIds(sentence)), ends, width, alpha);
  const greedy = translator.run(sentence);
  const textOf = (branch: number) => {
    const ids: number[] = [];
    for (let here: number | null = branch; here !== null; here = branches[here].parent)
      ids.unshift(branches[here].token);
    return target.decode(ids);
  };
  const finished = branches.some(({ fate }) => fate === "finished");
  const last = branches[branches.length - 1].step;
  const hypotheses: Wire.RankedText[] = branches
    .map((branch, n) => ({ ...branch, n }))
    .filter(({ fate, step }) => (finished ? fate === "finished" : fate === "kept" && step === last))
    .sort((one, two) => two.score - one.score || +(two.n === best) - +(one.n === best))
    .map(({ n, log_probability, score }) => {
      return { branch: n, text: textOf(n), log_probability, probability: Math.exp(log_probability), score, finished };
    });
  return {
    text: textOf(best),
    width,
    alpha,
    greedy: { text: target.decode(greedy.output), complete: isComplete(translator, greedy), ...likelihood(greedy) },
    ...withoutMostDropped(translator, { branches, best, hypotheses }),
  };
}

type Tree = { branches: ReturnType<typeof beamSearch>["branches"]; best: number; hypotheses: Wire.RankedText[] };

/** Of each step the likeliest branches come first; no parent is dropped. */
function withoutMostDropped({ target }: Translator, { branches, best, hypotheses }: Tree) {
  const left_out: number[] = Array(branches[branches.length - 1].step + 1).fill(0);
  const dropped = left_out.map(() => 0);
  const here = new Map<number, number>(); // number in the whole tree -> in this one
  branches.forEach(({ fate, step }, n) => {
    if (fate === "dropped" && ++dropped[step] > MAX_DROPPED) left_out[step]++;
    else here.set(n, here.size);
  });
  const place = (n: number) => here.get(n) as number;
  return {
    branches: [...here.keys()].map((n) => {
      const { token, parent, ...branch } = branches[n];
      return { ...branch, token: target.tokens[token], parent: parent === null ? null : place(parent) };
    }),
    best: place(best),
    hypotheses: hypotheses.map((each) => ({ ...each, branch: place(each.branch) })),
    left_out,
  };
}

/** A translation whose words are drawn, with what they were drawn from. */
export function sampled(translator: Translator, request: Wire.SampleRequest): Wire.Sample {
  const { sentence, temperature = 1, top_k = 0, top_p = 1 } = request;
  const sampling = { temperature, top_k, top_p };
  const seed = request.seed ?? firstOtherSeed(translator.run(sentence).steps, sampling);
  const drawn = translator.translate(sentence, { choose: sampler(sampling, seed) });
  const steps = drawn.steps.map(({ token, distribution }) => {
    const drawnFrom = sampledFrom(distribution, sampling);
    const candidate = (id: number): Wire.DrawnCandidate => {
      return { token: translator.target.tokens[id], probability: distribution[id], drawn: drawnFrom[id] };
    };
    const ids = ranked(distribution, MAX_CANDIDATES);
    if (!ids.includes(token)) ids[ids.length - 1] = token;
    return { ...candidate(token), left: drawnFrom.filter((p) => p > 0).length, candidates: ids.map(candidate) };
  });
  const text = translator.target.decode(drawn.output);
  return { text, complete: isComplete(translator, drawn), ...sampling, seed, ...likelihood(drawn), steps };
}

/** A free run, the reference, and the run with teacher forcing; without a reference all three are the free run, because
 * forcing its own output changes nothing. */
type TeacherForced = { free: Translation; wanted: string[]; forced: Translation };

function teacherForced(translator: Translator, sentence: string): TeacherForced {
  const free = translator.run(sentence);
  const pair = translator.reference(free);
  if (!pair) return { free, wanted: translator.targetTokens(free.output), forced: free };
  const wanted = [...pair.target.split(" "), END];
  return { free, wanted, forced: translator.translate(sentence, { forced: wanted }) };
}

/** Teacher forcing beside free running. With a mistake, the model is made to output that word at that step. */
export const forced = (translator: Translator, sentence: string, mistake: Wire.ForcedMistake | null = null) =>
  compared(translator, sentence, teacherForced(translator, sentence), mistake);

function compared(
  translator: Translator,
  sentence: string,
  { free: own, wanted, forced }: TeacherForced,
  mistake: Wire.ForcedMistake | null,
): Wire.TeacherForcing {
  const { target } = translator;
  let free = own;
  if (mistake) {
    if (mistake.step >= Math.min(wanted.length, own.output.length)) throw requestRefusal();
    const output = [...translator.targetTokens(own.output).slice(0, mistake.step), mistake.word];
    free = translator.translate(sentence, { forced: output });
  }
  const rows = (run: Translation, output: (t: number) => number): Wire.ForcedRow[] =>
    run.steps.map(({ distribution }, t) => ({
      read: target.tokens[run.input[t]],
      output: target.tokens[output(t)],
      probability: distribution[output(t)],
      wanted: wanted[t] ?? null,
    }));
  const likeliest = (t: number) => mostLikely(forced.steps[t].distribution);
  const teacher = rows(forced, (t) => {
    return t === mistake?.step ? (target.ids.get(mistake.word) as number) : likeliest(t);
  });
  const running = rows(free, (t) => free.output[t]);
  const right = (of: Wire.ForcedRow[]) => of.filter(({ output, wanted }) => output === wanted).length;
  const start = mistake?.step ?? 0;
  const rest = wanted.slice(mistake ? start + 1 : 0);
  const recovered = (of: Wire.ForcedRow[]) => {
    const outputs = of.slice(start).map(({ output }) => output);
    return (
      !rest.length || (outputs.length >= rest.length && rest.every((word, i) => outputs.at(i - rest.length) === word))
    );
  };
  return {
    teacher,
    free: running,
    right: { teacher: right(teacher), free: right(running) },
    recovered: { teacher: recovered(teacher), free: recovered(running) },
    of: wanted.length,
    mistake: mistake?.step ?? null,
    reference: forced !== own,
  };
}

/** Teacher forcing after a mistake from which free running does not recover; after the likeliest one, if it recovers from
 * all that are tried. No mistake is forced where nothing would follow it. */
export function diverging(translator: Translator, sentence: string): Wire.TeacherForcing {
  const runs = teacherForced(translator, sentence);
  let likeliest: Wire.TeacherForcing | undefined;
  for (const mistake of likelyMistakes(translator, runs)) {
    const found = compared(translator, sentence, runs, mistake);
    if (!found.recovered.free) return found;
    likeliest ??= found;
  }
  return likeliest ?? compared(translator, sentence, runs, null);
}

/** Words that the model could output instead of the right one before its last step, the likeliest first. */
function likelyMistakes({ target }: Translator, { free, wanted }: TeacherForced): Wire.ForcedMistake[] {
  return free.steps
    .slice(0, Math.min(wanted.length, free.output.length) - 1)
    .flatMap(({ distribution }, step) =>
      ranked(distribution, MAX_CANDIDATES)
        .slice(1)
        .map((id) => ({ p: distribution[id], step, word: target.tokens[id] })),
    )
    .filter(({ step, word }) => !SPECIAL.includes(word) && word !== wanted[step])
    .sort((one, two) => two.p - one.p)
    .slice(0, MAX_MISTAKES)
    .map(({ step, word }) => ({ step, word }));
}
