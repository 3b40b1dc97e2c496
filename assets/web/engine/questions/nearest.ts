// Whole pairs of a corpus that share words with a sentence: transformer/data/nearest.py.

import type { Pair } from "../translator.ts";
import { fold, stripPunctuation } from "../vocabulary.ts";

/** The words of a sentence, and each two neighbours. */
function partsOf(sentence: string) {
  const all = fold(sentence).split(/[\s'’]+/); // "geht's" shares "geht"
  const words = all.map(stripPunctuation).filter(Boolean);
  return new Set([...words, ...words.slice(1).map((word, i) => `${words[i]} ${word}`)]);
}

/** The nearest first: ranked by what they share of all words and neighbours of both sentences. Rarer words weigh more, and
 * two neighbours weigh as much as one of them. */
export function nearestPairs(sentence: string, pairs: Iterable<Pair>, most: number): Pair[] {
  const candidates = [...pairs].map((pair) => ({ pair, parts: partsOf(pair.spelling) }));
  const frequency = new Map<string, number>();
  for (const { parts } of candidates) for (const part of parts) frequency.set(part, (frequency.get(part) ?? 0) + 1);
  const wanted = partsOf(sentence);
  const weight = (part: string) => {
    const rarities = part.split(" ").map((word) => Math.log(1 + candidates.length / (frequency.get(word) ?? 1)));
    return rarities.reduce((sum, each) => sum + each) / rarities.length;
  };
  const total = (parts: Set<string>) => {
    const weights = [...parts].map(weight).sort((a, b) => a - b); // so that an order makes no difference
    return weights.reduce((sum, each) => sum + each, 0);
  };
  return candidates
    .filter(({ parts }) => !wanted.isDisjointFrom(parts))
    .map(({ pair, parts }) => ({ pair, score: total(wanted.intersection(parts)) / total(wanted.union(parts)) }))
    .map(({ pair, score }) => ({ pair, score: Math.round(score * 1e12) })) // equal ones keep their order
    .sort((one, two) => two.score - one.score)
    .slice(0, most)
    .map(({ pair }) => pair);
}
