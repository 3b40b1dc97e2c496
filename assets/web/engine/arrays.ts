// Operations on arrays of float32 numbers, as PyTorch's are; sums are float64. A matrix is its rows, one after the other.

export const range = (count: number) => Array.from({ length: count }, (_, i) => i);

/** The equal parts of an array: the rows of a matrix, or the maps of heads. */
export const parts = (x: Float32Array, count: number) =>
  range(count).map((i) => x.subarray((i * x.length) / count, ((i + 1) * x.length) / count));

export function joined(arrays: Float32Array[]) {
  const all = new Float32Array(arrays.reduce((length, each) => length + each.length, 0));
  let at = 0;
  for (const each of arrays) {
    all.set(each, at);
    at += each.length;
  }
  return all;
}

/** A matrix of what becomes of each row, which begins at a number. */
export function eachRow(x: Float32Array, width: number, change: (row: Float32Array, at: number) => Float32Array) {
  const y = new Float32Array(x.length);
  for (let at = 0; at < x.length; at += width) y.set(change(x.subarray(at, at + width), at), at);
  return y;
}

export function sum(x: ArrayLike<number>) {
  let all = 0;
  for (let i = 0; i < x.length; i++) all += x[i];
  return all;
}

export function dot(one: ArrayLike<number>, two: ArrayLike<number>) {
  let sum = 0;
  for (let i = 0; i < one.length; i++) sum += one[i] * two[i];
  return sum;
}

/** How often each value comes, by the order in which they come first. */
export function counted<Value>(values: Iterable<Value>) {
  const counts = new Map<Value, number>();
  for (const each of values) counts.set(each, (counts.get(each) ?? 0) + 1);
  return counts;
}

/** The place of the highest number, of equal ones the first. */
export function argmax(x: ArrayLike<number>) {
  let best = 0;
  for (let i = 1; i < x.length; i++) if (x[i] > x[best]) best = i;
  return best;
}

/** The places of the highest numbers, as many as are wanted, the highest first; of equal ones the lower place first. */
export function ranked(x: ArrayLike<number>, most = x.length) {
  const places: number[] = [];
  for (let i = 0; i < x.length; i++) {
    if (places.length === most && !(x[i] > x[places[most - 1]])) continue;
    let rank = places.length;
    while (rank && x[i] > x[places[rank - 1]]) rank--;
    places.splice(rank, 0, i);
    if (places.length > most) places.pop();
  }
  return places;
}

/** The softmax of each row; 0 where all of its numbers are −∞. */
export function softmax(x: Float32Array, width = x.length) {
  const y = new Float32Array(x.length);
  for (let at = 0; at < x.length; at += width) {
    let [highest, sum] = [-Infinity, 0];
    for (let i = at; i < at + width; i++) highest = Math.max(highest, x[i]);
    if (highest === -Infinity) continue;
    for (let i = at; i < at + width; i++) sum += y[i] = Math.exp(x[i] - highest);
    for (let i = at; i < at + width; i++) y[i] /= sum;
  }
  return y;
}

/** Rows of mean 0 and variance 1, and what each was multiplied by for that. */
export function normalised(x: Float32Array, width: number, eps: number) {
  const [unit, scales] = [new Float32Array(x.length), new Float64Array(x.length / width)];
  for (let at = 0; at < x.length; at += width) {
    let [mean, variance] = [0, 0];
    for (let i = at; i < at + width; i++) mean += x[i] / width;
    for (let i = at; i < at + width; i++) variance += (x[i] - mean) ** 2 / width;
    const scale = 1 / Math.sqrt(variance + eps);
    scales[at / width] = scale;
    for (let i = at; i < at + width; i++) unit[i] = (x[i] - mean) * scale;
  }
  return { unit, scales };
}

/** x Wᵀ + b of each row of x; W is (outputs, inputs). Four outputs at a time share what is read of x. */
export function linear(x: Float32Array, weight: Float32Array, bias: Float32Array) {
  const outputs = bias.length;
  const inputs = weight.length / outputs;
  const y = new Float32Array((x.length / inputs) * outputs);
  for (let o = 0; o < outputs; o += 4) {
    const [o1, o2, o3] = [1, 2, 3].map((more) => Math.min(o + more, outputs - 1)); // the last one perhaps again
    for (let at = 0, to = 0; at < x.length; at += inputs, to += outputs) {
      let [s0, s1, s2, s3] = [bias[o], bias[o1], bias[o2], bias[o3]];
      for (let i = 0, w0 = o * inputs, w1 = o1 * inputs, w2 = o2 * inputs, w3 = o3 * inputs; i < inputs; i++) {
        const each = x[at + i];
        s0 += weight[w0 + i] * each;
        s1 += weight[w1 + i] * each;
        s2 += weight[w2 + i] * each;
        s3 += weight[w3 + i] * each;
      }
      y[to + o] = s0;
      y[to + o1] = s1;
      y[to + o2] = s2;
      y[to + o3] = s3;
    }
  }
  return y;
}

/** x W */
export function transposedLinear(x: Float32Array, weight: Float32Array, outputs: number) {
  const inputs = weight.length / outputs;
  const y = new Float32Array((x.length / outputs) * inputs);
  for (let at = 0; at < x.length; at++) {
    const [value, to, from] = [x[at], Math.floor(at / outputs) * inputs, (at % outputs) * inputs];
    if (value) for (let i = 0; i < inputs; i++) y[to + i] += value * weight[from + i];
  }
  return y;
}

/** The sinusoidal positions (§3.5), (length, width): sines and cosines in turn, or in halves as Marian has them. */
export function sinusoidalPositions(length: number, width: number, halves = false) {
  const encoding = new Float32Array(length * width);
  for (let at = 0; at < encoding.length; at++) {
    const [position, i] = [Math.floor(at / width), at % width];
    const angle = position * Math.exp((i - (i % 2)) * (-Math.log(10000) / width));
    const place = halves ? (i % 2) * Math.ceil(width / 2) + (i >> 1) : i;
    encoding[position * width + place] = i % 2 ? Math.cos(angle) : Math.sin(angle);
  }
  return encoding;
}
