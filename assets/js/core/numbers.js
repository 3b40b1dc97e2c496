// Arithmetic that a reader can check with a pencil. A number is shown with few digits, but never so few that what is
// shown does not give the shown result: adding the shown terms and rounding the sum gives the very digits beside "=".

const HAIR = 1e-10;
const MAX_DIGITS = 12; // digits after the point; a 32-bit number has no more to tell

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

/**
 * Whether a value rounds to a text, and is not so near a half that a pencil could round it the other way.
 * @param {number} value @param {number} digits @param {string} text
 */
const rounds = (value, digits, text) => [value - HAIR, value + HAIR].every((each) => plain(each, digits) === text);

/**
 * The fewest digits, `least` or more, with which the terms give the result.
 * @param {(digits: number) => number} shown the result computed from terms of that many digits
 * @param {number} result @param {number} least
 */
function fewestDigits(shown, result, least) {
  for (let rounded = least; rounded < MAX_DIGITS; rounded++) {
    const wanted = plain(result, rounded);
    for (let digits = rounded; digits <= MAX_DIGITS; digits++) {
      if (rounds(shown(digits), rounded, wanted)) return { digits, rounded };
    }
  }
  throw new Error(`${result} is not what its terms give`);
}

/** A number as the reader sees it. @param {number} value @param {number} digits */
const asShown = (value, digits) => Number(plain(value, digits));

/**
 * The digits with which the shown sum of every column of `parts`, rounded to two digits, is the total's; null if none
 * are enough.
 * @param {number[][]} parts @param {number[]} total
 */
export function commonDigits(parts, total) {
  const right = (/** @type {number} */ digits) =>
    total.every((value, i) =>
      rounds(
        parts.reduce((all, part) => all + asShown(part[i], digits), 0),
        2,
        plain(value, 2),
      ),
    );
  return [2, 3, 4, 5].find(right) ?? null;
}

/**
 * Σ aᵢ bᵢ (+ bias): {terms: [[a, b]], bias, result}, all as text; the result has at least `least` digits.
 * @param {number[]} a @param {number[]} b @param {number | null} bias @param {number} result
 */
export function products(a, b, bias, result, least = 2) {
  const shown = (/** @type {number} */ digits) =>
    a.reduce(
      (sum, value, i) => sum + asShown(value, digits) * asShown(b[i], digits),
      bias === null ? 0 : asShown(bias, digits),
    );
  const { digits, rounded } = fewestDigits(shown, result, least);
  return {
    terms: Array.from(a, (value, i) => [fixed(value, digits), fixed(b[i], digits)]),
    bias: bias === null ? null : fixed(bias, digits),
    result: fixed(result, rounded),
  };
}

/** a + b: {terms: [a, b], result}. @param {number} a @param {number} b @param {number} result */
export function sum(a, b, result, least = 2) {
  const { digits, rounded } = fewestDigits((n) => asShown(a, n) + asShown(b, n), result, least);
  return { terms: [fixed(a, digits), fixed(b, digits)], result: fixed(result, rounded) };
}

/**
 * dot ÷ √d: {dot, result}; the dot has as many digits as the quotient needs.
 * @param {number} dot @param {number} d @param {number} score
 */
export function scaled(dot, d, score, least = 2) {
  const { digits, rounded } = fewestDigits((n) => asShown(dot, n) / Math.sqrt(d), score, least);
  return { dot: fixed(dot, digits), digits, result: fixed(score, rounded) };
}

const PLAIN = [-5, 10]; // a largest score in here makes powers that a pencil can handle

/**
 * e^s ÷ Σ e^s: {scores, powers, total, result, shifted}, of the open cells; `index` is the one that is asked for. Where
 * the powers would be too large or too small, the largest score is taken from each first, which changes no share.
 * @param {number[]} all @param {number} index @param {number} weight
 */
export function softmax(all, index, weight, least = 2) {
  const most = Math.max(...all);
  const shifted = most < PLAIN[0] || most > PLAIN[1];
  const scores = shifted ? all.map((score) => score - most) : all;
  const powers = (/** @type {number} */ n) => scores.map((score) => asShown(Math.exp(asShown(score, n)), n));
  const total = (/** @type {number} */ n) =>
    asShown(
      powers(n).reduce((x, y) => x + y, 0),
      n,
    );
  const { digits, rounded } = fewestDigits((n) => powers(n)[index] / total(n), weight, least);
  return {
    scores: scores.map((score) => fixed(score, digits)),
    powers: powers(digits).map((power) => fixed(power, digits)),
    total: fixed(total(digits), digits),
    shifted,
    result: fixed(weight, rounded),
  };
}

/**
 * (x − mean) ÷ deviation × gain + bias: all as text.
 * @param {number} x @param {number} mean @param {number} deviation @param {number} gain @param {number} bias
 * @param {number} result
 */
export function normalised(x, mean, deviation, gain, bias, result, least = 2) {
  const shown = (/** @type {number} */ n) =>
    ((asShown(x, n) - asShown(mean, n)) / asShown(deviation, n)) * asShown(gain, n) + asShown(bias, n);
  const { digits, rounded } = fewestDigits(shown, result, least);
  const [a, b, c, d, e] = [x, mean, deviation, gain, bias].map((value) => fixed(value, digits));
  return { x: a, mean: b, deviation: c, gain: d, bias: e, result: fixed(result, rounded) };
}

/**
 * One row of attention as columns: every dot product divided gives the score beside it, the scores' softmax gives the
 * weights, and the weights add up to `total`. A key that is not `open` has no part in the softmax.
 * @param {number[]} dots @param {number} d @param {number[]} scores @param {boolean[]} open @param {number[]} weights
 */
export function attentionColumns(dots, d, scores, open, weights) {
  const heard = scores.filter((_, i) => open[i]);
  const kept = weights.filter((_, i) => open[i]);
  const least = (/** @type {(digits: number) => boolean} */ right, /** @type {number} */ from) => {
    for (let digits = from; digits <= MAX_DIGITS; digits++) if (right(digits)) return digits;
    return MAX_DIGITS;
  };
  const addsUp = (/** @type {number} */ n) =>
    kept.length === 0 ||
    rounds(
      kept.reduce((total, weight) => total + asShown(weight, n), 0),
      n - 1,
      plain(1, n - 1),
    );
  const share = (/** @type {number} */ n, /** @type {number} */ digits) => {
    const powers = heard.map((score) => Math.exp(asShown(score, digits)));
    const total = powers.reduce((x, y) => x + y, 0);
    return kept.every((weight, i) => rounds(powers[i] / total, n, plain(weight, n)));
  };
  const w = least(
    (n) =>
      addsUp(n) && Array.from({ length: MAX_DIGITS }, (_, i) => i).some((digits) => digits >= n && share(n, digits)),
    2,
  );
  const s = least((n) => share(w, n), w);
  const q = least((n) => dots.every((dot, i) => rounds(asShown(dot, n) / Math.sqrt(d), s, plain(scores[i], s))), s);
  return {
    dots: dots.map((dot) => fixed(dot, q)),
    scores: scores.map((score) => fixed(score, s)),
    weights: weights.map((weight) => fixed(weight, w)),
    total: kept.length ? fixed(1, w - 1) : fixed(0, w - 1),
  };
}

/** @param {number[]} values */
export const mean = (values) => values.reduce((total, value) => total + value, 0) / values.length;

/** As LayerNorm takes it: divided by n, not n − 1. @param {number[]} values */
export const variance = (values) => {
  const middle = mean(values);
  return mean(Array.from(values, (value) => (value - middle) ** 2));
};

/** @param {number[]} a @param {number[]} b */
export const dot = (a, b) => a.reduce((total, value, i) => total + value * b[i], 0);
