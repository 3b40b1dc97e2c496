// Every number inside the network: transformer/analysis/sublayer.py and transformer/web/api/sublayers.py.
//
// Q queries, K keys, H heads, D model width, d one head's width, L layers.

import type * as Wire from "#schema";
import type { Kind } from "../../api/types.ts";
import { eachRow, joined, linear, parts, range, softmax, sum } from "../arrays.ts";
import { KINDS, LOCATIONS, ofKinds, probeName, withoutHeads } from "../interventions.ts";
import { EPS, type Network } from "../network.ts";
import { there } from "../refusal.ts";
import { looksAhead, type Translation, type Translator } from "../translator.ts";
import { allowed, array, axes, floats } from "./payload.ts";

type Seen = Map<string, Float32Array>;

/** (rows, D), heads side by side -> (H, rows, d). */
function splitHeads(x: Float32Array, { headDim, config: { d_model: width, heads } }: Network) {
  const rows = parts(x, x.length / width).map((row) => parts(row, heads));
  return array(joined(range(heads).flatMap((head) => rows.map((row) => row[head]))), heads, rows.length, headDim);
}

/** Every number of one attention sublayer and of its layer's feed-forward. */
export function inside(translator: Translator, run: Translation, { kind, layer }: Wire.SublayerRequest): Wire.Sublayer {
  const { network } = translator;
  const { d_model: width, heads: n_heads, d_ff } = network.config;
  const { stack, sublayer, number, feedForward } = LOCATIONS[kind];
  const seen = translator.record(run);
  const { queries, keys } = axes(run, kind);
  const value = (name: string) => there(seen.get(`${stack}.${layer}.${name}`));
  const rows = (name: string) => array(value(name), value(name).length / width, width);
  const heads = (part: string) => splitHeads(value(`${sublayer}.${part}`), network);
  const map = (part: string) => array(value(`${sublayer}.${part}`), n_heads, queries.length, keys.length);
  const parameter = (name: string) => array(network.weights[`${stack}.${layer}.${name}`], width);
  const below = layer ? `${stack}.${layer - 1}.norm${feedForward}` : `${stack}.input`;
  const x = number > 1 ? rows(`norm${number - 1}`) : array(there(seen.get(below)), queries.length, width);
  const addAndNorm = (n: number, prefix: string) => ({
    [`${prefix}residual`]: rows(`residual${n}`),
    [`${prefix}sum`]: rows(`sum${n}`),
    [`${prefix}norm_input`]: rows(`sum${n}`),
    [`${prefix}norm`]: rows(`norm${n}`),
    [`${prefix}norm_weight`]: parameter(`norm${n}.weight`),
    [`${prefix}norm_bias`]: parameter(`norm${n}.bias`),
  });
  const vectors = valueVectors(network, kind, layer, seen);
  const arrays = {
    x,
    memory: kind === "cross" ? array(there(seen.get("encoder.output")), keys.length, width) : x,
    ...{ q: heads("q"), k: heads("k"), v: heads("v"), head_output: heads("head_output") },
    ...{ scores: map("scores"), weights: map("weights") },
    value_norm: array(Float32Array.from(norms(vectors).flat()), n_heads, keys.length),
    output: rows(`${sublayer}.output`),
    ...addAndNorm(number, ""),
    ...addAndNorm(feedForward, "ff_"),
    ff_input: rows(`norm${feedForward - 1}`),
    ff_hidden: array(value("feed_forward.hidden"), queries.length, d_ff),
    ff_output: rows("feed_forward.output"),
    layer_output: rows(`norm${feedForward}`),
  };
  const open = allowed(value(`${sublayer}.mask`), queries.length);
  return { kind, layer, queries, keys, norm_first: false, head_dim: network.headDim, eps: EPS, allowed: open, arrays };
}

/** v W_O of every key of every head, [head][key] of (D,); b_O belongs to no key. */
function valueVectors({ config, headDim, weights }: Network, kind: Kind, layer: number, seen: Seen) {
  const width = config.d_model;
  const v = there(seen.get(probeName(kind, layer, "v")));
  return range(config.heads).map((head) => {
    const alone = withoutHeads(v, width, headDim, (each) => each !== head);
    const output = linear(alone, weights[probeName(kind, layer, "out_proj.weight")], new Float32Array(width));
    return parts(output, v.length / width);
  });
}

const norms = (vectors: Float32Array[][]) => vectors.map((keys) => keys.map((vector) => Math.hypot(...vector)));

/** One word's value in a head, after W_O. */
export function valueOutput(translator: Translator, run: Translation, { kind, layer, head, key }: Wire.ValueRequest) {
  const seen = translator.record(run, (name) => name.endsWith(".v"));
  const vector = there(valueVectors(translator.network, kind, layer, seen)[head]?.[key]);
  return array(vector, vector.length);
}

/** ‖v W_O‖ of every key of every head, (L, H, K); 0 in an ablated head, which adds nothing. */
export function valueNorms(translator: Translator, run: Translation) {
  const { network } = translator;
  const n_heads = network.config.heads;
  const seen = translator.record(run, (name) => name.endsWith(".v") || name.endsWith(".head_output"));
  return ofKinds((kind) => {
    const { queries, keys } = axes(run, kind);
    const layers = network.layers.map((layer) => {
      const rows = parts(there(seen.get(probeName(kind, layer, "head_output"))), queries.length);
      const isOn = (head: number) => rows.some((row) => parts(row, n_heads)[head].some(Boolean));
      return norms(valueVectors(network, kind, layer, seen)).map((each, head) =>
        each.map((norm) => (isOn(head) ? norm : 0)),
      );
    });
    return array(Float32Array.from(layers.flat(2)), layers.length, n_heads, keys.length);
  });
}

export function parameters({ network }: Translator, { kind, layer, part, row }: Wire.ParametersRequest) {
  const { stack } = LOCATIONS[kind];
  const name = part.startsWith("linear") ? `${stack}.${layer}.${part}` : probeName(kind, layer, part);
  const bias = there(network.weights[`${name}.bias`]);
  return { bias: there(bias[row]), weights: floats(parts(network.weights[`${name}.weight`], bias.length)[row]) };
}

/** Every token's vector before the first layer and after each, (L + 1, tokens, D). */
export function stack(translator: Translator, run: Translation) {
  const seen = translator.record(run, (name) => /^\w+\.(input|\d+\.norm\d)$/.test(name));
  const { d_model: width } = translator.network.config;
  const of = (name: "encoder" | "decoder", last: number) => {
    const names = translator.network.layers.map((layer) => `${name}.${layer}.norm${last}`);
    const streams = [`${name}.input`, ...names].map((each) => there(seen.get(each)));
    return array(joined(streams), streams.length, streams[0].length / width, width);
  };
  return { encoder: of("encoder", 2), decoder: of("decoder", 3) };
}

export function inputSum(translator: Translator, run: Translation, { stack }: Wire.InputRequest): Wire.InputParts {
  const seen = translator.record(run, (name) => /^\w+\.(embedding|positions|input)$/.test(name));
  const part = (name: string) => floats(there(seen.get(`${stack}.${name}`)));
  return {
    tokens: axes(run, stack).queries,
    d_model: translator.network.config.d_model,
    ...{ embedding: part("embedding"), positions: part("positions"), input: part("input") },
  };
}

const [LIMIT, LARGE_SCORE] = [1e-4, 64]; // see transformer/analysis/self_checks.py

/** Measurements of a run, each with its limit. That against torch.nn.Transformer is the server's alone. */
export function checks(translator: Translator, run: Translation): Wire.Check[] {
  const seen = translator.record(run);
  const value = (name: string) => there(seen.get(name));
  const [rows, masked, differences]: Float32Array[][] = [[], [], []];
  for (const kind of KINDS) {
    const [mask, keys] = [run.masks[kind], axes(run, kind).keys.length];
    run.maps[kind].forEach((map, layer) => {
      const isOpen = (row: number) => mask.subarray(row % mask.length, (row % mask.length) + keys).some(Boolean);
      rows.push(eachRow(map, keys, (row, at) => Float32Array.of(isOpen(at) ? sum(row) - 1 : 0)));
      masked.push(map.map((weight, at) => (mask[at % mask.length] ? 0 : weight)));
      differences.push(minus(map, value(probeName(kind, layer, "weights"))));
    });
  }
  const logits = parts(value("logits"), run.steps.length);
  differences.push(...run.steps.map(({ distribution }, t) => minus(distribution, softmax(logits[t]))));
  const scores = [...seen].filter(([name]) => name.endsWith(".scores")).map(([, values]) => values);
  const limit = LIMIT * Math.max(1, largest(scores) / LARGE_SCORE);
  const found = [
    { name: "rows", error: largest(rows), limit: 1e-5 },
    { name: "masked", error: largest(masked), limit: 0 },
  ];
  const decoding = run.network === translator.network ? "cached" : "steps";
  if (!looksAhead(run)) found.push({ name: decoding, error: largest(differences), limit });
  return found.map((each) => ({ ...each, ok: each.error <= each.limit }));
}

const minus = (one: Float32Array, other: Float32Array) => one.map((each, i) => each - other[i]);

const largest = (arrays: Float32Array[]) =>
  arrays.reduce((most, values) => values.reduce((most, value) => Math.max(most, Math.abs(value)), most), 0);
