// Arithmetic that a reader can check with a pencil. A number is shown with few digits, but never so few that what is
// shown does not give the shown result: adding the shown terms and rounding the sum gives the very digits beside "=".

const HAIR = 1e-10;
const MAX_DIGITS = 12; // after the point; a 32-bit number has no more to tell
const PENCIL = [-5, 10]; // a largest score in here makes powers that a pencil can handle

/**
 * A number with `digits` digits after the point, and a minus that is as wide as a plus.
 * @param {number} value @param {number} digits
 */
export const fixed = (value, digits) => plain(value, digits).replace("-", "−");

/** The same, as a program reads it. Zero has no sign. @param {number} value @param {number} digits */
export function plain(value, digits) {
  const text = value.toFixed(digits);
  return /[1-9]/.test(text) ? text : text.replace("-", "");
}

/** @param {number[]} values */
const total = (values) => values.reduce((all, value) => all + value, 0);

/** @param {number[]} values */
export const mean = (values) => total(values) / values.length;

/** As LayerNorm takes it: divided by n, not n − 1. @param {number[]} values */
export const variance = (values) => {
  const middle = mean(values);
  return mean(values.map((value) => (value - middle) ** 2));
};

/** @param {number[]} a @param {number[]} b */
export const dot = (a, b) => total(a.map((value, i) => value * b[i]));

/** A number as the reader sees it. @param {number} value @param {number} digits */
const asShown = (value, digits) => Number(plain(value, digits));

/**
 * Whether `shown` rounds to the digits of `value`, and is not so near a half that a pencil could round it otherwise.
 * @param {number} shown @param {number} digits @param {number} value
 */
const rounds = (shown, digits, value) =>
  [shown - HAIR, shown + HAIR].every((each) => plain(each, digits) === plain(value, digits));

/** The fewest digits for which it holds. @param {number} least @param {(n: number) => boolean} holds */
function fewest(least, holds, most = MAX_DIGITS) {
  for (let n = least; n <= most; n++) if (holds(n)) return n;
  return null;
}

/**
 * The fewest digits, `least` or more, with which the terms give the result.
 * @param {number} result @param {(digits: number) => number} shown the result computed from terms of that many digits
 */
function fewestDigits(result, shown, least = 2) {
  for (let rounded = least; rounded < MAX_DIGITS; rounded++) {
    const digits = fewest(rounded, (n) => rounds(shown(n), rounded, result));
    if (digits !== null) return { digits, rounded };
  }
  throw new Error(`${result} is not what its terms give`);
}

/**
 * The digits with which the shown sum of every column of `parts`, rounded to two digits, is the total's; null if none
 * are enough.
 * @param {number[][]} parts @param {number[]} totals
 */
export function commonDigits(parts, totals) {
  const column = (/** @type {number} */ i, /** @type {number} */ n) => total(parts.map((part) => asShown(part[i], n)));
  return fewest(2, (n) => totals.every((value, i) => rounds(column(i, n), 2, value)), 5);
}

/**
 * Σ aᵢ bᵢ (+ bias): {terms: [[a, b]], bias, result}, all as text; the result has at least `least` digits.
 * @param {number[]} a @param {number[]} b @param {number | null} bias @param {number} result
 */
export function products(a, b, bias, result, least = 2) {
  const { digits, rounded } = fewestDigits(
    result,
    (n) => asShown(bias ?? 0, n) + total(a.map((value, i) => asShown(value, n) * asShown(b[i], n))),
    least,
  );
  return {
    terms: a.map((value, i) => [fixed(value, digits), fixed(b[i], digits)]),
    bias: bias === null ? null : fixed(bias, digits),
    result: fixed(result, rounded),
  };
}

/** a + b: {terms: [a, b], result}. @param {number} a @param {number} b @param {number} result */
export function sum(a, b, result) {
  const { digits, rounded } = fewestDigits(result, (n) => asShown(a, n) + asShown(b, n));
  return { terms: [fixed(a, digits), fixed(b, digits)], result: fixed(result, rounded) };
}

/**
 * dot ÷ √d: {dot, result}; the dot has as many digits as the quotient needs.
 * @param {number} dot @param {number} d @param {number} score
 */
export function scaled(dot, d, score) {
  const { digits, rounded } = fewestDigits(score, (n) => asShown(dot, n) / Math.sqrt(d));
  return { dot: fixed(dot, digits), digits, result: fixed(score, rounded) };
}

/**
 * e^s ÷ Σ e^s: {scores, powers, total, result, shifted}, of the open cells; `index` is the one that is asked for. Where
 * the powers would be too large or too small, the largest score is taken from each first, which changes no share.
 * @param {number[]} all @param {number} index @param {number} weight
 */
export function softmax(all, index, weight) {
  const most = Math.max(...all);
  const shifted = most < PENCIL[0] || most > PENCIL[1];
  const scores = shifted ? all.map((score) => score - most) : all;
  const powers = (/** @type {number} */ n) => scores.map((score) => asShown(Math.exp(asShown(score, n)), n));
  const { digits, rounded } = fewestDigits(weight, (n) => powers(n)[index] / asShown(total(powers(n)), n));
  return {
    scores: scores.map((score) => fixed(score, digits)),
    powers: powers(digits).map((power) => fixed(power, digits)),
    total: fixed(total(powers(digits)), digits),
    shifted,
    result: fixed(weight, rounded),
  };
}

/**
 * (x − mean) ÷ deviation × gain + bias: all as text.
 * @param {number} x @param {number} mean @param {number} deviation @param {number} gain @param {number} bias
 * @param {number} result
 */
export function normalised(x, mean, deviation, gain, bias, result) {
  const terms = [x, mean, deviation, gain, bias];
  const { digits, rounded } = fewestDigits(result, (n) => {
    const [a, b, c, d, e] = terms.map((value) => asShown(value, n));
    return ((a - b) / c) * d + e;
  });
  const [a, b, c, d, e] = terms.map((value) => fixed(value, digits));
  return { x: a, mean: b, deviation: c, gain: d, bias: e, result: fixed(result, rounded) };
}

/**
 * One row of attention as columns: every dot product divided gives the score beside it, the scores' softmax gives the
 * weights, and the weights add up to `total`. A key that is not `open` has no part in the softmax.
 * @param {number[]} dots @param {number} d @param {number[]} scores @param {boolean[]} open @param {number[]} weights
 */
export function attentionColumns(dots, d, scores, open, weights) {
  const [attended, shares] = [scores, weights].map((values) => values.filter((_, i) => open[i]));
  const addUp = (/** @type {number} */ n) =>
    !shares.length || rounds(total(shares.map((weight) => asShown(weight, n))), n - 1, 1);
  const give = (/** @type {number} */ digits, /** @type {number} */ n) => {
    const powers = attended.map((score) => Math.exp(asShown(score, digits)));
    return shares.every((weight, i) => rounds(powers[i] / total(powers), n, weight));
  };
  const w = fewest(2, (n) => addUp(n) && fewest(n, (digits) => give(digits, n)) !== null) ?? MAX_DIGITS;
  const s = fewest(w, (digits) => give(digits, w)) ?? MAX_DIGITS;
  const fits = (/** @type {number} */ n) =>
    dots.every((dot, i) => rounds(asShown(dot, n) / Math.sqrt(d), s, scores[i]));
  const q = fewest(s, fits) ?? MAX_DIGITS;
  return {
    dots: dots.map((dot) => fixed(dot, q)),
    scores: scores.map((score) => fixed(score, s)),
    weights: weights.map((weight) => fixed(weight, w)),
    total: fixed(shares.length ? 1 : 0, w - 1),
  };
}
