// Arithmetic that a reader can check with a pencil. A number is shown with few digits, but never so few that what is
// shown does not give the shown result: adding the shown terms and rounding the sum gives the very digits beside "=".

import { dot, sum as total } from "../engine/arrays.ts";

const HAIR = 1e-10;
const MAX_DIGITS = 12; // after the point; a 32-bit number has no more to tell
const PENCIL = [-5, 10]; // a largest score in here makes powers that a pencil can handle

/** A number with `digits` digits after the point, and a minus that is as wide as a plus. */
export const fixed = (value: number, digits: number) => plain(value, digits).replace("-", "−");

/** A number as a program reads it. Zero has no sign. */
export function plain(value: number, digits: number) {
  const text = value.toFixed(digits);
  return /[1-9]/.test(text) ? text : text.replace("-", "");
}

export const mean = (values: number[]) => total(values) / values.length;

/** As LayerNorm takes it: divided by n, not n − 1. */
export const variance = (values: number[]) => {
  const middle = mean(values);
  return mean(values.map((value) => (value - middle) ** 2));
};

const asShown = (value: number, digits: number) => Number(plain(value, digits));

/** Whether `shown` rounds to the digits of `value`, and not so near a half that a pencil could err. */
const rounds = (shown: number, digits: number, value: number) =>
  [shown - HAIR, shown + HAIR].every((each) => plain(each, digits) === plain(value, digits));

function fewest(least: number, holds: (n: number) => boolean, most = MAX_DIGITS) {
  for (let n = least; n <= most; n++) if (holds(n)) return n;
  return null;
}

/** The fewest digits with which the terms give the result. @param shown the result of terms of that many digits */
function fewestDigits(result: number, shown: (digits: number) => number, least = 2) {
  for (let rounded = least; rounded < MAX_DIGITS; rounded++) {
    const digits = fewest(rounded, (n) => rounds(shown(n), rounded, result));
    if (digits !== null) return { digits, rounded };
  }
  throw new Error(`${result} is not what its terms give`);
}

/** The digits with which every column of `parts`, as shown, adds up to the total's two digits; null if none do. */
export function commonDigits(parts: number[][], totals: number[]) {
  const column = (i: number, n: number) => total(parts.map((part) => asShown(part[i], n)));
  return fewest(2, (n) => totals.every((value, i) => rounds(column(i, n), 2, value)), 5);
}

/** Σ aᵢ bᵢ (+ bias): {terms: [[a, b]], bias, result}, all as text; the result has at least `least` digits. */
export function products(a: number[], b: number[], bias: number | null, result: number, least = 2) {
  const added = (n: number) => total(a.map((value, i) => asShown(value, n) * asShown(b[i], n)));
  const { digits, rounded } = fewestDigits(result, (n) => asShown(bias ?? 0, n) + added(n), least);
  return {
    terms: a.map((value, i) => [fixed(value, digits), fixed(b[i], digits)]),
    bias: bias === null ? null : fixed(bias, digits),
    result: fixed(result, rounded),
  };
}

/** a + b: {terms: [a, b], result}. */
export function sum(a: number, b: number, result: number) {
  const { digits, rounded } = fewestDigits(result, (n) => asShown(a, n) + asShown(b, n));
  return { terms: [fixed(a, digits), fixed(b, digits)], result: fixed(result, rounded) };
}

/** dot ÷ √d: {dot, result}; the dot has as many digits as the quotient needs. */
export function scaled(dot: number, d: number, score: number) {
  const { digits, rounded } = fewestDigits(score, (n) => asShown(dot, n) / Math.sqrt(d));
  return { dot: fixed(dot, digits), digits, result: fixed(score, rounded) };
}

/** √square: {square, result}; the square has as many digits as the root needs. */
export function root(square: number) {
  const { digits, rounded } = fewestDigits(Math.sqrt(square), (n) => Math.sqrt(asShown(square, n)));
  return { square: fixed(square, digits), digits, result: fixed(Math.sqrt(square), rounded) };
}

/**
 * e^s ÷ Σ e^s: {scores, powers, total, result, shifted}, of the open cells; `index` is the one that is asked for. Where
 * the powers would be too large or too small, the largest score is taken from each first, which changes no share.
 */
export function softmax(all: number[], index: number, weight: number) {
  const most = Math.max(...all);
  const shifted = most < PENCIL[0] || most > PENCIL[1];
  const scores = shifted ? all.map((score) => score - most) : all;
  const powers = (n: number) => scores.map((score) => asShown(Math.exp(asShown(score, n)), n));
  const { digits, rounded } = fewestDigits(weight, (n) => powers(n)[index] / asShown(total(powers(n)), n));
  return {
    scores: scores.map((score) => fixed(score, digits)),
    powers: powers(digits).map((power) => fixed(power, digits)),
    total: fixed(total(powers(digits)), digits),
    shifted,
    result: fixed(weight, rounded),
  };
}

/** (x − mean) ÷ deviation × gain + bias: all as text. */
export function normalised(x: number, mean: number, deviation: number, gain: number, bias: number, result: number) {
  const terms = [x, mean, deviation, gain, bias];
  const { digits, rounded } = fewestDigits(result, (n) => {
    const [a, b, c, d, e] = terms.map((value) => asShown(value, n));
    return ((a - b) / c) * d + e;
  });
  const [a, b, c, d, e] = terms.map((value) => fixed(value, digits));
  return { x: a, mean: b, deviation: c, gain: d, bias: e, result: fixed(result, rounded) };
}

/** Every dot product divided gives the score beside it, their softmax the weights, and these add up to `total`. */
export function attentionColumns(dots: number[], d: number, scores: number[], open: boolean[], weights: number[]) {
  const [attended, shares] = [scores, weights].map((values) => values.filter((_, i) => open[i]));
  const addUp = (n: number) => !shares.length || rounds(total(shares.map((weight) => asShown(weight, n))), n - 1, 1);
  const give = (digits: number, n: number) => {
    const powers = attended.map((score) => Math.exp(asShown(score, digits)));
    return shares.every((weight, i) => rounds(powers[i] / total(powers), n, weight));
  };
  const w = fewest(2, (n) => addUp(n) && fewest(n, (digits) => give(digits, n)) !== null) ?? MAX_DIGITS;
  const s = fewest(w, (digits) => give(digits, w)) ?? MAX_DIGITS;
  const fits = (n: number) => dots.every((dot, i) => rounds(asShown(dot, n) / Math.sqrt(d), s, scores[i]));
  const q = fewest(s, fits) ?? MAX_DIGITS;
  return {
    dots: dots.map((dot) => fixed(dot, q)),
    scores: scores.map((score) => fixed(score, s)),
    weights: weights.map((weight) => fixed(weight, w)),
    total: fixed(shares.length ? 1 : 0, w - 1),
  };
}

export const norm = (vector: number[]) => Math.sqrt(dot(vector, vector));

export function formatTiny(value: number) {
  if (!value) return String(value);
  const [digits, power] = value.toExponential(1).split("e");
  const raised = [...power.replace("+", "")].map((sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]);
  return `${digits.replace(".0", "")}\u00a0×\u00a010${raised.join("")}`;
}
