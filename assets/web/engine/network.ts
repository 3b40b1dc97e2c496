// The network of "Attention Is All You Need" in typed arrays: ids in, logits and every intermediate out. Post-norm with
// ReLU, one sentence at a time. Numbers are stored as float32, as PyTorch's are; sums are float64.
//
// S source, T target, Q queries, K keys, H heads, D model width, d one head's width, F feed-forward width.

import type { Weights } from "./safetensors.ts";

export type Config = {
  src_vocab_size: number;
  tgt_vocab_size: number;
  d_model: number;
  n_heads: number;
  d_ff: number;
  num_encoder_layers: number;
  num_decoder_layers: number;
  pad_id: number;
};

/**
 * Sees every intermediate, by the names of transformer/README.md, and returns the value to continue with: watching and
 * intervening are one mechanism. Vectors are (rows, D), those of heads side by side; scores and weights are (H, Q, K); a
 * mask is (Q, K), 1 where a query may attend to a key. `columns` is the size of the last axis.
 */
export type Probe = (name: string, value: Float32Array, columns: number) => Float32Array;

type KeysAndValues = { k: Float32Array; v: Float32Array };

/** Keys and values of every decoder layer for a growing target; those of cross-attention are computed once. */
export type Cache = { ids: number[]; self: KeysAndValues[]; cross: KeysAndValues[] };

export type Encoded = { memory: Float32Array; isOpen: boolean[] };

export const EPS = 1e-5; // of LayerNorm

const applyProbe = (probe: Probe | undefined, name: string, value: Float32Array, columns: number) =>
  probe ? probe(name, value, columns) : value;

export const range = (count: number) => Array.from({ length: count }, (_, i) => i);

/** x Wᵀ + b of each row of x; W is (outputs, inputs). Four sums at a time, which the processor computes side by side. */
export function linear(x: Float32Array, weight: Float32Array, outputs: number, bias?: Float32Array) {
  const inputs = weight.length / outputs;
  const rows = x.length / inputs;
  const y = new Float32Array(rows * outputs);
  for (let o = 0; o < outputs; o++) {
    const begin = o * inputs;
    const b = bias ? bias[o] : 0;
    for (let r = 0; r < rows; r++) {
      let [s0, s1, s2, s3] = [0, 0, 0, 0];
      for (let i = begin, at = r * inputs; i < begin + inputs; i += 4, at += 4) {
        s0 += weight[i] * x[at];
        s1 += weight[i + 1] * x[at + 1];
        s2 += weight[i + 2] * x[at + 2];
        s3 += weight[i + 3] * x[at + 3];
      }
      y[r * outputs + o] = s0 + s1 + s2 + s3 + b;
    }
  }
  return y;
}

/** LayerNorm of each row. */
function layerNorm(x: Float32Array, weight: Float32Array, bias: Float32Array) {
  const width = weight.length;
  const y = new Float32Array(x.length);
  for (let at = 0; at < x.length; at += width) {
    let mean = 0;
    let variance = 0;
    for (let i = 0; i < width; i++) mean += x[at + i];
    mean /= width;
    for (let i = 0; i < width; i++) variance += (x[at + i] - mean) ** 2;
    const scale = 1 / Math.sqrt(variance / width + EPS);
    for (let i = 0; i < width; i++) y[at + i] = (x[at + i] - mean) * scale * weight[i] + bias[i];
  }
  return y;
}

/** The softmax of a row, as float32. */
export function softmax(logits: Float32Array) {
  const highest = logits.reduce((a, b) => Math.max(a, b));
  const powers = Float64Array.from(logits, (logit) => Math.exp(logit - highest));
  const sum = powers.reduce((a, b) => a + b);
  return Float32Array.from(powers, (power) => power / sum);
}

/** The softmax of each row over its open cells, of which a fully masked row has none: all its weights are 0. */
export function attentionWeights(scores: Float32Array, mask: Float32Array, keys: number) {
  const weights = new Float32Array(scores.length);
  for (let row = 0; row < scores.length; row += keys) {
    let highest = -Infinity;
    let sum = 0;
    for (let c = 0; c < keys; c++) if (mask[(row + c) % mask.length]) highest = Math.max(highest, scores[row + c]);
    for (let c = 0; c < keys; c++)
      if (mask[(row + c) % mask.length]) sum += weights[row + c] = Math.exp(scores[row + c] - highest);
    if (sum) for (let c = 0; c < keys; c++) weights[row + c] /= sum;
  }
  return weights;
}

/** The sinusoidal positions (§3.5), (length, width): sines and cosines in turn, or in halves as Marian has them. */
export function sinusoidalPositions(length: number, width: number, halves = false) {
  const sines = Math.ceil(width / 2);
  const encoding = new Float32Array(length * width);
  for (let at = 0; at < length; at++)
    for (let i = 0; i < width; i++) {
      const angle = at * Math.exp((i - (i % 2)) * (-Math.log(10000) / width));
      const place = halves ? (i % 2 ? sines : 0) + (i >> 1) : i;
      encoding[at * width + place] = i % 2 ? Math.cos(angle) : Math.sin(angle);
    }
  return encoding;
}

/** Two series of rows, one after the other. */
function joined(before: Float32Array | undefined, newest: Float32Array) {
  if (!before) return newest;
  const both = new Float32Array(before.length + newest.length);
  both.set(before);
  both.set(newest, before.length);
  return both;
}

export class Network {
  readonly config: Config;
  readonly weights: Weights;

  constructor(config: Config, weights: Weights) {
    this.config = config;
    this.weights = weights;
  }

  layers = (stack: "encoder" | "decoder") =>
    stack === "encoder" ? this.config.num_encoder_layers : this.config.num_decoder_layers;

  get headDim() {
    return this.config.d_model / this.config.n_heads;
  }

  /** Encode source ids. */
  encode(source: number[], probe?: Probe): Encoded {
    const isOpen = source.map((id) => id !== this.config.pad_id);
    const mask = Float32Array.from({ length: source.length ** 2 }, (_, at) => +isOpen[at % source.length]);
    let x = this.embed("encoder", source, 0, probe);
    for (let layer = 0; layer < this.config.num_encoder_layers; layer++) {
      const name = `encoder.${layer}`;
      const attention = `${name}.self_attention`;
      x = this.addAndNorm(
        name,
        1,
        x,
        this.attend(attention, x, this.keysAndValues(attention, x, probe), mask, probe),
        probe,
      );
      x = this.addAndNorm(name, 2, x, this.feedForward(name, x, probe), probe);
    }
    return { memory: applyProbe(probe, "encoder.output", x, this.config.d_model), isOpen };
  }

  startCache = (): Cache => ({ ids: [], self: [], cross: [] });

  /**
   * The decoder's output for its newest inputs, (T, D): one per step with the cache of all earlier steps, or all of them
   * with an empty one. The cache grows by them.
   */
  decode(newest: number[], { memory, isOpen }: Encoded, cache: Cache, probe?: Probe) {
    const past = cache.ids.length;
    cache.ids = [...cache.ids, ...newest];
    const { ids } = cache;
    const isVisible = (at: number) =>
      at % ids.length <= past + Math.floor(at / ids.length) && ids[at % ids.length] !== this.config.pad_id;
    const causal = Float32Array.from({ length: newest.length * ids.length }, (_, at) => +isVisible(at));
    const padding = Float32Array.from(
      { length: newest.length * isOpen.length },
      (_, at) => +isOpen[at % isOpen.length],
    );
    let x = this.embed("decoder", newest, past, probe);
    for (let layer = 0; layer < this.config.num_decoder_layers; layer++) {
      const name = `decoder.${layer}`;
      const [self, cross] = [`${name}.self_attention`, `${name}.cross_attention`];
      const { k, v } = this.keysAndValues(self, x, probe);
      cache.self[layer] = { k: joined(cache.self[layer]?.k, k), v: joined(cache.self[layer]?.v, v) };
      x = this.addAndNorm(name, 1, x, this.attend(self, x, cache.self[layer], causal, probe), probe);
      cache.cross[layer] ??= this.keysAndValues(cross, memory, probe);
      x = this.addAndNorm(name, 2, x, this.attend(cross, x, cache.cross[layer], padding, probe), probe);
      x = this.addAndNorm(name, 3, x, this.feedForward(name, x, probe), probe);
    }
    return applyProbe(probe, "decoder.output", x, this.config.d_model);
  }

  /** Logits of the next token after each row of the decoder's output, (T, V). */
  logits(x: Float32Array, probe?: Probe) {
    return applyProbe(probe, "logits", this.project("output_projection", x), this.config.tgt_vocab_size);
  }

  /** The logits of every step of one full pass. */
  forward(source: number[], target: number[], probe?: Probe) {
    return this.logits(this.decode(target, this.encode(source, probe), this.startCache(), probe), probe);
  }

  /** Embedding · √D + position (§3.4, §3.5); the first id stands at position `past`. */
  private embed(stack: "encoder" | "decoder", ids: number[], past: number, probe?: Probe) {
    const width = this.config.d_model;
    const table = this.weights[stack === "encoder" ? "src_embedding.weight" : "tgt_embedding.weight"];
    const scale = Math.sqrt(width);
    const scaled = Float32Array.from({ length: ids.length * width }, (_, at) => {
      return table[ids[Math.floor(at / width)] * width + (at % width)] * scale;
    });
    const embedding = applyProbe(probe, `${stack}.embedding`, scaled, width);
    const places = this.positions(past + ids.length).subarray(past * width);
    const positions = applyProbe(probe, `${stack}.positions`, places, width);
    const input = embedding.map((value, i) => value + positions[i]);
    return applyProbe(probe, `${stack}.input`, input, width);
  }

  private computed = new Float32Array();

  /** The first positions, (length, D). */
  positions(length: number) {
    const width = this.config.d_model;
    if (this.computed.length < length * width) this.computed = sinusoidalPositions(length + 32, width);
    return this.computed.subarray(0, length * width);
  }

  private project(name: string, x: Float32Array) {
    const bias = this.weights[`${name}.bias`];
    return linear(x, this.weights[`${name}.weight`], bias.length, bias);
  }

  private keysAndValues(name: string, x: Float32Array, probe?: Probe): KeysAndValues {
    const { d_model: width } = this.config;
    return {
      k: applyProbe(probe, `${name}.k`, this.project(`${name}.k_proj`, x), width),
      v: applyProbe(probe, `${name}.v`, this.project(`${name}.v_proj`, x), width),
    };
  }

  /** Multi-head attention (§3.2): each row of x attends to all keys that the mask leaves open. */
  private attend(name: string, x: Float32Array, { k, v }: KeysAndValues, mask: Float32Array, probe?: Probe) {
    const { d_model: width } = this.config;
    const keys = k.length / width;
    const q = applyProbe(probe, `${name}.q`, this.project(`${name}.q_proj`, x), width);
    const scores = applyProbe(probe, `${name}.scores`, this.scores(q, k), keys);
    const open = applyProbe(probe, `${name}.mask`, mask, keys);
    const weights = applyProbe(probe, `${name}.weights`, attentionWeights(scores, open, keys), keys);
    const heads = applyProbe(probe, `${name}.head_output`, this.headOutput(weights, v, q.length), width);
    return applyProbe(probe, `${name}.output`, this.project(`${name}.out_proj`, heads), width);
  }

  /** q kᵀ / √d of every head (§3.2.1), (H, Q, K). */
  private scores(q: Float32Array, k: Float32Array) {
    const { d_model: width, n_heads } = this.config;
    const [d, root] = [this.headDim, Math.sqrt(this.headDim)];
    const scores = new Float32Array((n_heads * q.length * k.length) / width ** 2);
    let at = 0;
    for (let head = 0; head < n_heads; head++)
      for (let query = head * d; query < q.length; query += width)
        for (let key = head * d; key < k.length; key += width) {
          let sum = 0;
          for (let i = 0; i < d; i++) sum += q[query + i] * k[key + i];
          scores[at++] = sum / root;
        }
    return scores;
  }

  /** Each head's values weighted, (Q, D). */
  private headOutput(weights: Float32Array, v: Float32Array, size: number) {
    const { d_model: width, n_heads } = this.config;
    const [d, queries, keys] = [this.headDim, size / width, v.length / width];
    const output = new Float32Array(size);
    for (let head = 0, at = 0; head < n_heads; head++)
      for (let query = 0; query < queries; query++)
        for (let key = 0; key < keys; key++, at++) {
          const weight = weights[at];
          if (weight === 0) continue; // NaN goes on
          const [from, to] = [key * width + head * d, query * width + head * d];
          for (let i = 0; i < d; i++) output[to + i] += weight * v[from + i];
        }
    return output;
  }

  /** max(0, x W1 + b1) W2 + b2 (§3.3). */
  private feedForward(name: string, x: Float32Array, probe?: Probe) {
    const activated = this.project(`${name}.linear1`, x).map((value) => Math.max(0, value));
    const hidden = applyProbe(probe, `${name}.feed_forward.hidden`, activated, this.config.d_ff);
    return applyProbe(
      probe,
      `${name}.feed_forward.output`,
      this.project(`${name}.linear2`, hidden),
      this.config.d_model,
    );
  }

  /** LayerNorm(x + Sublayer(x)) (§3.1). */
  private addAndNorm(name: string, n: number, x: Float32Array, change: Float32Array, probe?: Probe) {
    const { d_model: width } = this.config;
    const residual = applyProbe(probe, `${name}.residual${n}`, x, width);
    const added = residual.map((value, i) => value + change[i]);
    const sum = applyProbe(probe, `${name}.sum${n}`, added, width);
    const { [`${name}.norm${n}.weight`]: weight, [`${name}.norm${n}.bias`]: bias } = this.weights;
    return applyProbe(probe, `${name}.norm${n}`, layerNorm(sum, weight, bias), width);
  }
}
