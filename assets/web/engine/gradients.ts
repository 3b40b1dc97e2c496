// Integrated gradients of a logit (Sundararajan et al. 2017, §3 and §5): the reverse pass of the network.

import { LOCATIONS, probeName } from "./interventions.ts";
import { EPS, type Network, type Probe, range } from "./network.ts";
import { there } from "./sublayers.ts";
import { Recorder, type Translation, type Translator } from "./translator.ts";

const IG_STEPS = 50;

/** The gradient of x, where that of x Wᵀ is `gradient`. */
function linearBackward(gradient: Float32Array, weight: Float32Array, outputs: number) {
  const inputs = weight.length / outputs;
  const rows = gradient.length / outputs;
  const found = new Float32Array(rows * inputs);
  for (let r = 0; r < rows; r++)
    for (let o = 0; o < outputs; o++) {
      const each = gradient[r * outputs + o];
      if (each) for (let i = 0; i < inputs; i++) found[r * inputs + i] += each * weight[o * inputs + i];
    }
  return found;
}

/** The gradient of what LayerNorm read. */
function layerNormBackward(gradient: Float32Array, x: Float32Array, weight: Float32Array) {
  const width = weight.length;
  const found = new Float32Array(x.length);
  for (let at = 0; at < x.length; at += width) {
    const row = x.subarray(at, at + width);
    const mean = row.reduce((sum, value) => sum + value, 0) / width;
    const scale = 1 / Math.sqrt(row.reduce((sum, value) => sum + (value - mean) ** 2, 0) / width + EPS);
    const scaled = Float64Array.from(row, (_, i) => gradient[at + i] * weight[i]);
    const shift = scaled.reduce((sum, value) => sum + value) / width;
    const slope = scaled.reduce((sum, value, i) => sum + value * (row[i] - mean) * scale, 0) / width;
    for (let i = 0; i < width; i++) found[at + i] = scale * (scaled[i] - shift - slope * (row[i] - mean) * scale);
  }
  return found;
}

const added = (...all: Float32Array[]) => all[0].map((_, i) => all.reduce((sum, each) => sum + each[i], 0));

/**
 * From the values of a pass to the gradient of both embeddings. A change multiplies what it changes by numbers (heads and
 * residual connections by 0, scores by 1 / temperature), so that it changes a gradient as it changed the value.
 */
class ReversePass {
  private readonly network: Network;
  private readonly seen: Map<string, Float32Array[]>;
  private readonly changed: Probe;

  constructor(network: Network, seen: Map<string, Float32Array[]>, changed: Probe = (_, value) => value) {
    this.network = network;
    this.seen = seen;
    this.changed = changed;
  }

  /** Of the logits of the last step, (V,), to the embeddings of source and target. */
  run(logits: Float32Array) {
    const { d_model: width, num_encoder_layers, num_decoder_layers } = this.network.config;
    const x = this.value("decoder.output");
    let gradient = new Float32Array(x.length);
    gradient.set(
      linearBackward(logits, this.network.weights["output_projection.weight"], logits.length),
      x.length - width,
    );
    let memory = new Float32Array(this.value("encoder.output").length);
    for (const layer of range(num_decoder_layers).reverse()) {
      gradient = this.feedForward(`decoder.${layer}`, 3, gradient);
      const cross = this.attention("cross", layer, gradient);
      memory = added(memory, cross.memory);
      const self = this.attention("decoder", layer, cross.x);
      gradient = added(self.x, self.memory);
    }
    for (const layer of range(num_encoder_layers).reverse()) {
      const self = this.attention("encoder", layer, this.feedForward(`encoder.${layer}`, 2, memory));
      memory = added(self.x, self.memory);
    }
    return { source: memory, target: gradient };
  }

  private value = (name: string) => there(this.seen.get(name))[0];

  /** Through LayerNorm(x + Sublayer(x)): the gradient of the sublayer's output, and of x without the sublayer. */
  private norm(name: string, n: number, gradient: Float32Array) {
    const { weights, config } = this.network;
    const sum = layerNormBackward(gradient, this.value(`${name}.sum${n}`), weights[`${name}.norm${n}.weight`]);
    return { sum, residual: this.changed(`${name}.residual${n}`, sum, config.d_model) };
  }

  private feedForward(name: string, n: number, gradient: Float32Array) {
    const { weights, config } = this.network;
    const { sum, residual } = this.norm(name, n, gradient);
    const hidden = this.value(`${name}.feed_forward.hidden`);
    const open = linearBackward(sum, weights[`${name}.linear2.weight`], config.d_model).map((each, i) =>
      hidden[i] > 0 ? each : 0,
    );
    return added(residual, linearBackward(open, weights[`${name}.linear1.weight`], config.d_ff));
  }

  /** The gradients of the rows that attend, with that of their residual connection, and of those attended to. */
  private attention(kind: "encoder" | "decoder" | "cross", layer: number, gradient: Float32Array) {
    const { weights: parameters, config, headDim } = this.network;
    const { d_model: width, n_heads } = config;
    const { stack, number } = LOCATIONS[kind];
    const { sum, residual } = this.norm(`${stack}.${layer}`, number, gradient);
    const name = (part: string) => probeName(kind, layer, part);
    const projected = (part: string, each: Float32Array) =>
      linearBackward(each, parameters[name(`${part}.weight`)], width);
    const output = this.changed(name("head_output"), projected("out_proj", sum), width);
    const [q, k, v, weights] = ["q", "k", "v", "weights"].map((part) => this.value(name(part)));
    const [queries, keys] = [q.length / width, k.length / width];
    const [ofQ, ofK, ofV] = [q, k, v].map((each) => new Float32Array(each.length));
    const ofScores = new Float32Array(weights.length);
    eachCell(n_heads, queries, keys, (at, head, query, key) => {
      const [to, from] = [query * width + head * headDim, key * width + head * headDim];
      for (let i = 0; i < headDim; i++) {
        ofScores[at] += output[to + i] * v[from + i];
        ofV[from + i] += output[to + i] * weights[at];
      }
    });
    for (let row = 0; row < weights.length; row += keys) {
      let mean = 0;
      for (let c = row; c < row + keys; c++) mean += weights[c] * ofScores[c];
      for (let c = row; c < row + keys; c++) ofScores[c] = (weights[c] * (ofScores[c] - mean)) / Math.sqrt(headDim);
    }
    const changed = this.changed(name("scores"), ofScores, keys);
    eachCell(n_heads, queries, keys, (at, head, query, key) => {
      const [to, from] = [query * width + head * headDim, key * width + head * headDim];
      for (let i = 0; i < headDim; i++) {
        ofQ[to + i] += changed[at] * k[from + i];
        ofK[from + i] += changed[at] * q[to + i];
      }
    });
    return {
      x: added(residual, projected("q_proj", ofQ)),
      memory: added(projected("k_proj", ofK), projected("v_proj", ofV)),
    };
  }
}

function eachCell(
  heads: number,
  queries: number,
  keys: number,
  see: (at: number, head: number, q: number, k: number) => void,
) {
  let at = 0;
  for (let head = 0; head < heads; head++)
    for (let query = 0; query < queries; query++) for (let key = 0; key < keys; key++) see(at++, head, query, key);
}

/**
 * What each source token adds to the logit of a step's output token, perhaps minus another's, and which share of the whole
 * all tokens together explain: the mean gradient on the line from embeddings of 0, at the midpoints of IG_STEPS parts.
 */
export function integratedGradients({ network }: Translator, run: Translation, step: number, other: number | null) {
  const { d_model: width, tgt_vocab_size } = network.config;
  const input = run.input.slice(0, step + 1);
  const token = run.output[step];
  const ofLogits = new Float32Array(tgt_vocab_size);
  ofLogits[token] = 1;
  if (other !== null) ofLogits[other] -= 1;
  const pass = (share: number) => {
    const recorder = new Recorder(
      () => true,
      (name, value, columns) => {
        const changed = run.probe ? run.probe(name, value, columns) : value;
        return name.endsWith(".embedding") ? changed.map((each) => each * share) : changed;
      },
    );
    const logits = network.forward(run.source, input, recorder.probe).slice(-tgt_vocab_size);
    return { seen: recorder.passes, logit: logits.reduce((sum, logit, id) => sum + logit * ofLogits[id], 0) };
  };
  const whole = pass(1);
  const [source, target] = [run.source, input].map((ids) => new Float64Array(ids.length));
  for (let i = 0; i < IG_STEPS; i++) {
    const gradients = new ReversePass(network, pass((i + 0.5) / IG_STEPS).seen, run.probe).run(ofLogits);
    const add = (to: Float64Array, name: string, gradient: Float32Array) => {
      const embedding = there(whole.seen.get(name))[0];
      gradient.forEach((each, at) => {
        to[Math.floor(at / width)] += (each * embedding[at]) / IG_STEPS;
      });
    };
    add(source, "encoder.embedding", gradients.source);
    add(target, "decoder.embedding", gradients.target);
  }
  const total = [...source, ...target].reduce((sum, each) => sum + each, 0);
  const explained = whole.logit - pass(0).logit;
  return { source, complete: explained ? total / explained : 1 };
}
