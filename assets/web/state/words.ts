// A run whose tokens are pieces of words, by words: attention to a word is the sum over its pieces, attention from a word
// the mean over its pieces (Clark et al., 2019), as transformer/inference/words.py does it for files.

import type { TokenWords } from "#schema";
import type { AttentionMaps, Kind, PieceRun, Run, Side, Step } from "../api/types.ts";

/** Whose tokens are the queries of a kind of attention, and whose are its keys. */
export const SIDES: Record<Kind, [Side, Side]> = {
  encoder: ["source", "source"],
  decoder: ["target", "target"],
  cross: ["target", "source"],
};

export const tokenRun = (run: Run) => run?.pieces ?? run;

/** The first token of a row of maps: of the decoder, where its step's word begins. @param run by words or tokens */
export function tokenIndex({ pieces, words, steps }: Run, kind: Kind, query: number) {
  if (!pieces || !words) return query;
  return kind === "encoder" ? words.source.of.indexOf(query) : (steps[query]?.first ?? 0);
}

/** The piece of a step of words that is among its candidates, else the step's token. */
export const outputToken = ({ token, pieces }: Step) => pieces?.[0].token ?? token;
const wordsOf = ({ words }: Run, side: Side) => (side === "source" ? words?.source : words?.decoder_input);

/** The pieces of a word of a map's axis; where tokens are words, the token alone. @param run by words or by tokens */
export function piecesOf(run: Run, side: Side, word: number) {
  const words = run.pieces && wordsOf(run, side);
  return words ? grouped(words)[word] : [word];
}

/** A word as a choice; each of several equal ones with its position. */
export const distinctWord = (words: string[], i: number) =>
  words.indexOf(words[i]) === words.lastIndexOf(words[i]) ? words[i] : `${words[i]} (${i + 1})`;

const known: WeakMap<Run, Run> = new WeakMap();

/** @param run whose tokens are pieces @param baseline the same without its changes */
export function byWords(run: Run, baseline: Run | null = null): Run {
  const made = known.get(run) ?? madeOf(run, baseline);
  known.set(run, made);
  return made;
}

function madeOf(run: Run, baseline: Run | null) {
  const { words } = run as PieceRun;
  const attention = Object.fromEntries(
    Object.entries(SIDES).map(([kind, sides]) => [kind, mapsOfWords(run, kind as Kind, sides)]),
  ) as Run["attention"];
  return {
    ...run,
    pieces: run,
    source: words.source.names,
    typed: words.typed,
    decoder_input: words.decoder_input.names,
    output: words.output.names,
    steps: stepsOfWords(run.steps, words.output),
    attention,
    ...(run.comparison && baseline?.words
      ? { comparison: comparisonOfWords(run.comparison, baseline.words.output) }
      : {}),
  };
}

const grouped = ({ of, names }: TokenWords) => names.map((_, word) => [...of.keys()].filter((i) => of[i] === word));

/** A word's probability is the product of its pieces'; its candidates are those of its first piece. */
const stepsOfWords = (steps: Step[], words: TokenWords): Step[] =>
  grouped(words).map((pieces, word) => ({
    token: words.names[word],
    probability: pieces.reduce((product, i) => product * steps[i].probability, 1),
    candidates: steps[pieces[0]].candidates,
    first: pieces[0],
    pieces: pieces.map((i) => steps[i]),
  }));

const comparisonOfWords = (comparison: NonNullable<Run["comparison"]>, words: TokenWords): Run["comparison"] =>
  grouped(words).map((pieces) => {
    const its = pieces.flatMap((i) => comparison[i] ?? []);
    const shares = its.map((each) => each.new_probability);
    const isKnown = shares.length === pieces.length && !shares.includes(null);
    return {
      new_probability: isKnown ? shares.reduce((product, each) => Number(product) * Number(each), 1) : null,
      same_input: its.every((each) => each.same_input),
    };
  });

/** The largest contribution, or 1 where nothing contributes: the same for all heads of a kind, so that they compare. */
export const largest = (values: Float32Array) => values.reduce((most, value) => Math.max(most, value), 0) || 1;

function mapsOfWords(run: Run, kind: Kind, [from, to]: [Side, Side]): AttentionMaps {
  const { layers, heads, values, allowed } = run.attention[kind];
  const [queries, keys] = [wordsOf(run, from) as TokenWords, wordsOf(run, to) as TokenWords];
  const [rows, columns] = [queries.of.length, keys.of.length];
  const [wide, size] = [keys.names.length, queries.names.length * keys.names.length];
  const pieces = grouped(queries).map((each) => each.length);
  const merged = new Float32Array(layers * heads * size);
  for (let map = 0; map < layers * heads; map++)
    for (let row = 0; row < rows; row++) {
      const word = queries.of[row];
      const [at, start] = [map * size + word * wide, (map * rows + row) * columns];
      for (let column = 0; column < columns; column++)
        merged[at + keys.of[column]] += values[start + column] / pieces[word];
    }
  const open = queries.names.map(() => keys.names.map(() => false));
  for (const [query, row] of allowed.entries())
    for (const [key, isOpen] of row.entries()) if (isOpen) open[queries.of[query]][keys.of[key]] = true;
  const most = run.attention[kind].most && { most: largest(merged) }; // a sum over pieces may be larger
  return { layers, heads, queries: queries.names, keys: keys.names, allowed: open, values: merged, ...most };
}
