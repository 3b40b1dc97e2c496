// Every number inside the network: transformer/analysis/sublayer.py and transformer/web/api/sublayers.py.
//
// Q queries, K keys, H heads, D model width, d one head's width, L layers.

import type { Check, FloatArray, ParameterRow, ParametersRequest, Shapes, Sublayer } from "#schema";
import type { Kind } from "../../api/types.ts";
import { KINDS, LOCATIONS, probeName } from "../interventions.ts";
import { EPS, linear, type Network, range, softmax } from "../network.ts";
import { requestRefusal } from "../refusal.ts";
import type { Translation, Translator } from "../translator.ts";
import { allowed, array, axes, floats, stacked } from "./payload.ts";

type Seen = Map<string, Float32Array>;

/** What is at a place of a request; a refusal where there is nothing. */
export function there<T>(found: T | undefined): T {
  if (found === undefined) throw requestRefusal();
  return found;
}

/** (rows, D), heads side by side -> (H, rows, d). */
function splitHeads(x: Float32Array, { headDim, config: { d_model: width, n_heads } }: Network) {
  const rows = x.length / width;
  const split = x.map((_, at) => {
    const [head, row, i] = [Math.floor(at / (rows * headDim)), Math.floor(at / headDim) % rows, at % headDim];
    return x[row * width + head * headDim + i];
  });
  return array(split, n_heads, rows, headDim);
}

/** Every number of one attention sublayer and of its layer's feed-forward. */
export function inside(translator: Translator, run: Translation, kind: Kind, layer: number): Sublayer {
  const { network } = translator;
  const { d_model: width, n_heads, d_ff } = network.config;
  const { stack, sublayer, number, feedForward } = LOCATIONS[kind];
  const seen = translator.record(run);
  const { queries, keys } = axes(translator, run, kind);
  const value = (name: string) => there(seen.get(`${stack}.${layer}.${name}`));
  const rows = (name: string) => array(value(name), value(name).length / width, width);
  const heads = (part: string) => splitHeads(value(`${sublayer}.${part}`), network);
  const map = (part: string) => array(value(`${sublayer}.${part}`), n_heads, queries.length, keys.length);
  const parameter = (name: string) => array(network.weights[`${stack}.${layer}.${name}`], width);
  const below = layer ? `${stack}.${layer - 1}.norm${feedForward}` : `${stack}.input`;
  const x = number > 1 ? rows(`norm${number - 1}`) : array(there(seen.get(below)), queries.length, width);
  const joined = (n: number, prefix: string) => ({
    [`${prefix}residual`]: rows(`residual${n}`),
    [`${prefix}sum`]: rows(`sum${n}`),
    [`${prefix}norm_input`]: rows(`sum${n}`),
    [`${prefix}norm`]: rows(`norm${n}`),
    [`${prefix}norm_weight`]: parameter(`norm${n}.weight`),
    [`${prefix}norm_bias`]: parameter(`norm${n}.bias`),
  });
  const arrays = {
    x,
    memory: kind === "cross" ? array(there(seen.get("encoder.output")), keys.length, width) : x,
    ...Object.fromEntries(["q", "k", "v", "head_output"].map((part) => [part, heads(part)])),
    scores: map("scores"),
    weights: map("weights"),
    value_norm: array(keyNorms(network, kind, layer, seen), n_heads, keys.length),
    output: rows(`${sublayer}.output`),
    ...joined(number, ""),
    ...joined(feedForward, "ff_"),
    ff_input: rows(`norm${feedForward - 1}`),
    ff_hidden: array(value("feed_forward.hidden"), queries.length, d_ff),
    ff_output: rows("feed_forward.output"),
    layer_output: rows(`norm${feedForward}`),
  };
  const open = allowed(value(`${sublayer}.mask`), keys.length);
  return { kind, layer, queries, keys, norm_first: false, head_dim: network.headDim, eps: EPS, allowed: open, arrays };
}

type Value = { kind: Kind; layer: number; head: number; key: number };

/** v W_O of one key of a head, (D,); b_O belongs to no key. */
function valueVector({ headDim, weights, config }: Network, { kind, layer, head, key }: Value, v: Float32Array) {
  const width = config.d_model;
  const from = key * width + head * headDim;
  const others = new Float32Array(width); // the other heads are 0
  others.set(v.subarray(from, from + headDim), head * headDim);
  return linear(others, weights[probeName(kind, layer, "out_proj.weight")], new Float32Array(width));
}

/** ‖v W_O‖ of every head and key, (H, K). */
function keyNorms(network: Network, kind: Kind, layer: number, seen: Seen) {
  const v = there(seen.get(probeName(kind, layer, "v")));
  const keys = v.length / network.config.d_model;
  const vector = (at: number) => valueVector(network, { kind, layer, head: Math.floor(at / keys), key: at % keys }, v);
  return Float32Array.from({ length: network.config.n_heads * keys }, (_, at) => Math.hypot(...vector(at)));
}

/** One word's value in a head, after W_O. */
export function valueOutput(translator: Translator, run: Translation, value: Value) {
  const { network } = translator;
  const { keys } = axes(translator, run, value.kind);
  if (!(value.head in range(network.config.n_heads) && value.key in keys)) throw requestRefusal();
  const name = probeName(value.kind, value.layer, "v");
  const v = there(translator.record(run, (each) => each === name).get(name));
  return array(valueVector(network, value, v), network.config.d_model);
}

/** ‖v W_O‖ of every key of every head, (L, H, K); 0 in an ablated head, which adds nothing. */
export function valueNorms(translator: Translator, run: Translation) {
  const { network } = translator;
  const { n_heads, d_model: width } = network.config;
  const seen = translator.record(run, (name) => name.endsWith(".v") || name.endsWith(".head_output"));
  const ofKind = (kind: Kind): FloatArray => {
    const keys = axes(translator, run, kind).keys.length;
    const layers = range(network.layers(LOCATIONS[kind].stack)).map((layer) => {
      const output = there(seen.get(probeName(kind, layer, "head_output")));
      const isOn = range(n_heads).map((head) =>
        output.some((value, at) => value && Math.floor((at % width) / network.headDim) === head),
      );
      return keyNorms(network, kind, layer, seen).map((norm, at) => (isOn[Math.floor(at / keys)] ? norm : 0));
    });
    return array(stacked(layers), layers.length, n_heads, keys);
  };
  return { encoder: ofKind("encoder"), decoder: ofKind("decoder"), cross: ofKind("cross") };
}

/** One row of a matrix and its bias. */
export function parameters({ network }: Translator, { kind, layer, part, row }: ParametersRequest): ParameterRow {
  const { stack } = LOCATIONS[kind];
  const name = part.startsWith("linear") ? `${stack}.${layer}.${part}` : probeName(kind, layer, part);
  const bias = there(network.weights[`${name}.bias`]);
  const weight = network.weights[`${name}.weight`];
  const inputs = weight.length / bias.length;
  return { weights: floats(weight.subarray(row * inputs, (row + 1) * inputs)), bias: there(bias[row]) };
}

/** Every token's vector before the first layer and after each, (L + 1, tokens, D). */
export function stack(translator: Translator, run: Translation) {
  const seen = translator.record(run, (name) => /^\w+\.(input|\d+\.norm\d)$/.test(name));
  const { d_model: width } = translator.network.config;
  const of = (name: "encoder" | "decoder", last: number) => {
    const names = range(translator.network.layers(name)).map((layer) => `${name}.${layer}.norm${last}`);
    const streams = [`${name}.input`, ...names].map((each) => there(seen.get(each)));
    return array(stacked(streams), streams.length, streams[0].length / width, width);
  };
  return { encoder: of("encoder", 2), decoder: of("decoder", 3) };
}

/** The shape of every tensor here, and in a network of the paper's size. */
export function shapes({ data }: Translator, run: Translation): Shapes {
  const lengths: Record<string, number> = { source: run.source.length, target: run.input.length };
  const filled = (shape: (number | string)[]) => shape.map((size) => (typeof size === "string" ? lengths[size] : size));
  const { d_model, n_heads, d_ff, num_encoder_layers: layers } = data.config;
  const rows = data.shapes.map((each) => ({ ...each, here: filled(each.here), paper: filled(each.paper) }));
  return { rows, facts: { d_model, n_heads, d_ff, layers } };
}

const [LIMIT, LARGE_SCORE] = [1e-4, 64]; // see transformer/analysis/self_checks.py

/** Measurements of a run, each with its limit. That against torch.nn.Transformer is the server's alone. */
export function checks(translator: Translator, run: Translation): Check[] {
  const seen = translator.record(run);
  const [rows, masked, differences] = [[0], [0], [0]];
  for (const kind of KINDS) {
    const keys = axes(translator, run, kind).keys.length;
    run.maps[kind].forEach((map, layer) => {
      const mask = (at: number) => run.masks[kind][at % run.masks[kind].length];
      const full = there(seen.get(probeName(kind, layer, "weights")));
      for (let row = 0; row < map.length; row += keys)
        if (range(keys).some((key) => mask(row + key)))
          rows.push(map.subarray(row, row + keys).reduce((sum, weight) => sum + weight, -1));
      for (let at = 0; at < map.length; at++) {
        if (!mask(at)) masked.push(map[at]);
        differences.push(map[at] - full[at]);
      }
    });
  }
  const logits = there(seen.get("logits"));
  const size = translator.target.tokens.length;
  run.steps.forEach(({ distribution }, t) => {
    const again = softmax(logits.subarray(t * size, (t + 1) * size));
    for (let id = 0; id < size; id++) differences.push(distribution[id] - again[id]);
  });
  const largest = (values: Iterable<number>) =>
    Array.from(values).reduce((most, value) => Math.max(most, Math.abs(value)), 0);
  const highest = Math.max(
    ...[...seen].filter(([name]) => name.endsWith(".scores")).map(([, values]) => largest(values)),
  );
  const found = [
    { name: "rows", error: largest(rows), limit: 1e-5 },
    { name: "masked", error: largest(masked), limit: 0 },
  ];
  const limit = LIMIT * Math.max(1, highest / LARGE_SCORE);
  if (!looksAhead(run)) found.push({ name: run.probe ? "steps" : "cached", error: largest(differences), limit });
  return found.map((each) => ({ ...each, ok: each.error <= each.limit }));
}

/** Whether the decoder's mask was opened, so that in a full pass a step reads inputs that came later. */
export const looksAhead = ({ masks, input }: Translation) =>
  masks.decoder.some((open, at) => open && at % input.length > Math.floor(at / input.length));
