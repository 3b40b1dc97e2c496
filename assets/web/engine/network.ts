// The network of "Attention Is All You Need" in typed arrays: ids in, logits and every intermediate out. Post-norm with
// ReLU, one sentence at a time.
//
// S source, T target, Q queries, K keys, H heads, D model width, d one head's width, F feed-forward width, V vocabulary.

import type { NetworkFacts } from "#schema";
import type { Stack } from "../api/types.ts";
import { dot, eachRow, joined, linear, normalised, range, softmax, sum, transposedLinear } from "./arrays.ts";
import type { Weights } from "./safetensors.ts";
import type { Tape } from "./tape.ts";
import { PAD_ID } from "./vocabulary.ts";

/**
 * Sees every intermediate, by the names of transformer/README.md, and returns the value to continue with: watching and
 * intervening are one mechanism. Vectors are (rows, D), those of heads side by side; scores and weights are (H, Q, K); a
 * mask is (Q, K), 1 where a query may attend to a key. `columns` is the size of the last axis.
 */
export type Probe = (name: string, value: Float32Array, columns: number) => Float32Array;

type KeysAndValues = { k: Float32Array; v: Float32Array };
/** Keys and values of every decoder layer for a growing target; those of cross-attention are computed once. */
type Cache = { ids: number[]; self: KeysAndValues[]; cross: KeysAndValues[] };
export type Encoded = { memory: Float32Array; isOpen: boolean[] };

export const EPS = 1e-5; // of LayerNorm
export const startCache = (): Cache => ({ ids: [], self: [], cross: [] });

/** A network, whose passes a probe may watch and change, and a tape may record for their derivatives. */
export class Network {
  readonly config: NetworkFacts;
  readonly weights: Weights;
  private readonly probe?: Probe;
  private readonly tape?: Tape;

  constructor(config: NetworkFacts, weights: Weights, probe?: Probe, tape?: Tape) {
    this.config = config;
    this.weights = weights;
    this.probe = probe;
    this.tape = tape;
  }

  /** This network, whose intermediates another probe sees after those that change or watch them already. */
  watchedBy(probe: Probe, tape?: Tape) {
    const { probe: first } = this;
    const both: Probe = (name, value, columns) => probe(name, first ? first(name, value, columns) : value, columns);
    return new Network(this.config, this.weights, both, tape);
  }

  /** The numbers of the layers of either stack. */
  get layers() {
    return range(this.config.layers);
  }

  get headDim() {
    return this.config.d_model / this.config.heads;
  }

  encode(source: number[]): Encoded {
    const isOpen = source.map((id) => id !== PAD_ID);
    const mask = maskOf(source.length, source.length, (_, key) => isOpen[key]);
    let x = this.embed("encoder", source, 0);
    for (const layer of this.layers) {
      const name = `encoder.${layer}`;
      const attention = `${name}.self_attention`;
      x = this.addAndNorm(name, 1, x, this.attend(attention, x, this.keysAndValues(attention, x), mask));
      x = this.addAndNorm(name, 2, x, this.feedForward(name, x));
    }
    return { memory: this.see("encoder.output", x), isOpen };
  }

  /**
   * The decoder's output for its newest inputs, (T, D): one per step with the cache of all earlier steps, or all of them
   * with an empty one. The cache grows by them.
   */
  decode(newest: number[], { memory, isOpen }: Encoded, cache = startCache()) {
    const past = cache.ids.length;
    const ids = [...cache.ids, ...newest];
    cache.ids = ids;
    const causal = maskOf(newest.length, ids.length, (t, key) => key <= past + t && ids[key] !== PAD_ID);
    const padding = maskOf(newest.length, isOpen.length, (_, key) => isOpen[key]);
    let x = this.embed("decoder", newest, past);
    for (const layer of this.layers) {
      const name = `decoder.${layer}`;
      const [self, cross] = [`${name}.self_attention`, `${name}.cross_attention`];
      const [before, { k, v }] = [cache.self[layer], this.keysAndValues(self, x)];
      cache.self[layer] = before ? { k: joined([before.k, k]), v: joined([before.v, v]) } : { k, v };
      x = this.addAndNorm(name, 1, x, this.attend(self, x, cache.self[layer], causal));
      cache.cross[layer] ??= this.keysAndValues(cross, memory);
      x = this.addAndNorm(name, 2, x, this.attend(cross, x, cache.cross[layer], padding));
      x = this.addAndNorm(name, 3, x, this.feedForward(name, x));
    }
    return this.see("decoder.output", x);
  }

  /** Logits of the next token after each row of the decoder's output, (T, V). */
  logits = (x: Float32Array) => this.see("logits", this.linear("output_projection", x), this.config.target_words);

  /** The logits of every step of one full pass. */
  forward = (source: number[], target: number[]) => this.logits(this.decode(target, this.encode(source)));

  private see(name: string, value: Float32Array, columns = this.config.d_model) {
    const seen = this.probe ? this.probe(name, value, columns) : value;
    // A change multiplies what it changes by numbers, so that it changes a gradient as it changed the value.
    if (seen !== value) this.tape?.pass(seen, value, (gradient) => this.probe?.(name, gradient, columns) ?? gradient);
    return seen;
  }

  /** Embedding · √D + position (§3.4, §3.5); the first id stands at position `past`. */
  private embed(stack: Stack, ids: number[], past: number) {
    const width = this.config.d_model;
    const table = this.weights[stack === "encoder" ? "src_embedding.weight" : "tgt_embedding.weight"];
    const rows = joined(ids.map((id) => table.subarray(id * width, (id + 1) * width)));
    const scaled = rows.map((each) => each * Math.sqrt(width));
    const embedding = this.see(`${stack}.embedding`, scaled);
    const places = this.weights.positions.subarray(past * width, (past + ids.length) * width);
    return this.see(`${stack}.input`, this.add(embedding, this.see(`${stack}.positions`, places)));
  }

  /** Multi-head attention (§3.2): each row of x attends to all keys that the mask leaves open. */
  private attend(name: string, x: Float32Array, { k, v }: KeysAndValues, mask: Float32Array) {
    const keys = k.length / this.config.d_model;
    const q = this.see(`${name}.q`, this.linear(`${name}.q_proj`, x));
    const scores = this.see(`${name}.scores`, this.scores(q, k), keys);
    const open = this.see(`${name}.mask`, mask, keys);
    const weights = this.see(`${name}.weights`, this.softmax(scores, open, keys), keys);
    const heads = this.see(`${name}.head_output`, this.headOutput(weights, v, q.length));
    return this.see(`${name}.output`, this.linear(`${name}.out_proj`, heads));
  }

  private keysAndValues(name: string, x: Float32Array): KeysAndValues {
    const k = this.see(`${name}.k`, this.linear(`${name}.k_proj`, x));
    return { k, v: this.see(`${name}.v`, this.linear(`${name}.v_proj`, x)) };
  }

  /** max(0, x W1 + b1) W2 + b2 (§3.3). */
  private feedForward(name: string, x: Float32Array) {
    const active = this.relu(this.linear(`${name}.linear1`, x));
    const hidden = this.see(`${name}.feed_forward.hidden`, active, this.config.d_ff);
    return this.see(`${name}.feed_forward.output`, this.linear(`${name}.linear2`, hidden));
  }

  /** LayerNorm(x + Sublayer(x)) (§3.1). */
  private addAndNorm(name: string, n: number, x: Float32Array, change: Float32Array) {
    const both = this.see(`${name}.sum${n}`, this.add(this.see(`${name}.residual${n}`, x), change));
    return this.see(`${name}.norm${n}`, this.layerNorm(`${name}.norm${n}`, both));
  }

  // ---- operations, each with its derivative ----

  private linear(name: string, x: Float32Array) {
    const [weight, bias] = [this.weights[`${name}.weight`], this.weights[`${name}.bias`]];
    const y = linear(x, weight, bias);
    this.tape?.pass(y, x, (gradient) => transposedLinear(gradient, weight, bias.length));
    return y;
  }

  private add(x: Float32Array, change: Float32Array) {
    const y = x.map((each, i) => each + change[i]);
    for (const each of [x, change]) this.tape?.pass(y, each, (gradient) => gradient);
    return y;
  }

  private relu(x: Float32Array) {
    const y = x.map((each) => Math.max(0, each));
    this.tape?.pass(y, x, (gradient) => gradient.map((each, i) => (y[i] > 0 ? each : 0)));
    return y;
  }

  private layerNorm(name: string, x: Float32Array) {
    const [weight, bias] = [this.weights[`${name}.weight`], this.weights[`${name}.bias`]];
    const width = weight.length;
    const { unit, scales } = normalised(x, width, EPS);
    const y = new Float32Array(x.length);
    for (let at = 0; at < x.length; at += width)
      for (let i = 0; i < width; i++) y[at + i] = unit[at + i] * weight[i] + bias[i];
    // Neither a shift nor a stretch of a row passes a norm.
    this.tape?.pass(y, x, (gradient) =>
      eachRow(gradient, width, (row, at) => {
        const [scaled, its] = [row.map((each, i) => each * weight[i]), unit.subarray(at, at + width)];
        const shift = sum(scaled) / width;
        const stretch = dot(scaled, its) / width;
        return scaled.map((each, i) => (each - shift - stretch * its[i]) * scales[at / width]);
      }),
    );
    return y;
  }

  /** q kᵀ / √d of every head (§3.2.1), (H, Q, K). */
  private scores(q: Float32Array, k: Float32Array) {
    const root = Math.sqrt(this.headDim);
    const scores = this.products(q, k, root);
    this.tape?.pass(scores, q, (gradient) => this.toQueries(gradient, k, q.length, root));
    this.tape?.pass(scores, k, (gradient) => this.toKeys(gradient, q, k.length, root));
    return scores;
  }

  /** The softmax of each row over its open cells, of which a fully masked row has none: all its weights are 0. */
  private softmax(scores: Float32Array, mask: Float32Array, keys: number) {
    const masked = scores.map((score, at) => (mask[at % mask.length] ? score : -Infinity));
    const weights = softmax(masked, keys);
    this.tape?.pass(weights, scores, (gradient) =>
      eachRow(gradient, keys, (row, at) => {
        const its = weights.subarray(at, at + keys);
        const mean = dot(row, its);
        return row.map((each, key) => its[key] * (each - mean));
      }),
    );
    return weights;
  }

  /** Each head's values weighted, (Q, D). */
  private headOutput(weights: Float32Array, v: Float32Array, size: number) {
    const output = this.toQueries(weights, v, size);
    this.tape?.pass(output, v, (gradient) => this.toKeys(weights, gradient, v.length));
    this.tape?.pass(output, weights, (gradient) => this.products(gradient, v));
    return output;
  }

  /** The product of each query's and each key's vector in every head, (H, Q, K), divided. */
  private products(queries: Float32Array, keys: Float32Array, divisor = 1) {
    const { d_model: width, heads } = this.config;
    const [d, found] = [this.headDim, new Float32Array((heads * queries.length * keys.length) / width ** 2)];
    this.eachCell(queries.length, keys.length, (at, query, key) => {
      let sum = 0;
      for (let i = 0; i < d; i++) sum += queries[query + i] * keys[key + i];
      found[at] = sum / divisor;
    });
    return found;
  }

  /** For each query the sum of the keys' vectors, times its cells. */
  private toQueries(cells: Float32Array, keys: Float32Array, size: number, divisor = 1) {
    const [d, found] = [this.headDim, new Float32Array(size)];
    this.eachCell(size, keys.length, (at, query, key) => {
      for (let i = 0; i < d; i++) found[query + i] += (cells[at] * keys[key + i]) / divisor;
    });
    return found;
  }

  /** For each key the sum of the queries' vectors, times its cells. */
  private toKeys(cells: Float32Array, queries: Float32Array, size: number, divisor = 1) {
    const [d, found] = [this.headDim, new Float32Array(size)];
    this.eachCell(queries.length, size, (at, query, key) => {
      for (let i = 0; i < d; i++) found[key + i] += (cells[at] * queries[query + i]) / divisor;
    });
    return found;
  }

  /** Every cell of every head's map: its number, and where its query's and its key's vectors begin. */
  private eachCell(queries: number, keys: number, see: (at: number, query: number, key: number) => void) {
    const { d_model: width } = this.config;
    let at = 0;
    for (let head = 0; head < width; head += this.headDim)
      for (let query = head; query < queries; query += width)
        for (let key = head; key < keys; key += width) see(at++, query, key);
  }
}

/** 1 where a query may attend to a key, (Q, K). */
const maskOf = (queries: number, keys: number, isOpen: (query: number, key: number) => boolean) =>
  new Float32Array(queries * keys).map((_, at) => +isOpen(Math.floor(at / keys), at % keys));
