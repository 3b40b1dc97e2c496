// Which keys of a query are drawn: all of a short sentence; of a long one the strongest first, the rest folded.

const MANY = 12; // words that fit a figure in the order of the sentence
const STRONGEST = 8;

export const areMany = (keys: ArrayLike<unknown>) => keys.length > MANY;

/** A few keys all, in the order of the sentence; of many the strongest first, with those that a text names. */
export function orderKeys(
  weights: number[],
  { isOpen = false, most = STRONGEST, named = [] }: { isOpen?: boolean; most?: number; named?: number[] } = {},
) {
  const all = weights.map((_, key) => key);
  if (!areMany(weights)) return { shown: all, rest: [] };
  const byWeight = all.toSorted((a, b) => weights[b] - weights[a]);
  const shown = byWeight.filter((key, rank) => rank < most || named.includes(key));
  const rest = all.filter((key) => !shown.includes(key));
  return isOpen ? { shown: [...shown, ...rest], rest: [] } : { shown, rest };
}

/** Up to `most` of `count` places: those around the middle one, in their order. */
export function around(middle: number, count: number, most: number) {
  const from = Math.max(0, Math.min(middle - Math.floor(most / 2), count - most));
  return Array.from({ length: Math.min(count, most) }, (_, i) => from + i);
}

/** A key's name among many, of which several may be the same word. */
export const keyName = (keys: string[], key: number) => (areMany(keys) ? `${keys[key]} ${key + 1}` : keys[key]);
