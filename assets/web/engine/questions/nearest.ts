// The sentence of a corpus that shares most words with another: transformer/data/nearest.py.

import type { KnownPair } from "#schema";
import { argmax, counted, sum } from "../arrays.ts";
import { fold, stripPunctuation } from "../vocabulary.ts";

/** The words of a sentence, and each two neighbours. */
function partsOf(sentence: string) {
  const all = fold(sentence).split(/[\s'’]+/); // "geht's" shares "geht"
  const words = all.map(stripPunctuation).filter(Boolean);
  return new Set([...words, ...words.slice(1).map((word, i) => `${words[i]} ${word}`)]);
}

/** What two sentences share of all words and neighbours of both counts. Rarer words weigh more, and two neighbours weigh as
 * much as one of them. */
export function nearestSentence(sentence: string, pairs: KnownPair[]) {
  const [wanted, candidates] = [partsOf(sentence), pairs.map(({ spelling }) => partsOf(spelling))];
  const known = counted(candidates.flatMap((parts) => [...parts]));
  const weight = (part: string) => {
    const rarities = part.split(" ").map((word) => Math.log(1 + candidates.length / (known.get(word) ?? 1)));
    return sum(rarities) / rarities.length;
  };
  const total = (parts: string[]) => sum(Float64Array.from(parts, weight).sort()); // an order makes no difference
  const scores = candidates.map((parts) => {
    const shared = [...parts].filter((part) => wanted.has(part));
    return shared.length && Math.round((total(shared) / total([...new Set([...wanted, ...parts])])) * 1e12);
  });
  const best = argmax(scores); // the first of equal ones
  return scores[best] ? pairs[best].spelling : null;
}
