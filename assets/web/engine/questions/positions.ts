// The positional encoding, and as part of what a run reads: transformer/web/api/positions.py.

import type { Encoding, EncodingRequest, InputParts } from "#schema";
import type { Stack } from "../../api/types.ts";
import { range, sinusoidalPositions } from "../network.ts";
import type { Translation, Translator } from "../translator.ts";
import { floats } from "./payload.ts";
import { there } from "./sublayers.ts";

export function positionalEncoding({ length, d_model, sinusoid }: EncodingRequest): Encoding {
  const encoding = sinusoidalPositions(length, d_model, sinusoid === "halves");
  const sines = Math.ceil(d_model / 2);
  const pair = (dimension: number) => (sinusoid === "halves" ? dimension % sines : dimension >> 1);
  return {
    length,
    d_model,
    wavelengths: range(d_model).map((i) => 2 * Math.PI * 10000 ** ((2 * pair(i)) / d_model)),
    values: floats(encoding),
    similarity: floats(similarity(encoding, length, d_model)),
  };
}

/** The cosine between every two positions; 0 where one of them is the zero vector. */
function similarity(encoding: Float32Array, length: number, width: number) {
  const rows = range(length).map((at) => encoding.subarray(at * width, (at + 1) * width));
  const dot = (one: Float32Array, two: Float32Array) => one.reduce((sum, value, i) => sum + value * two[i], 0);
  const norms = rows.map((row) => Math.sqrt(dot(row, row)) || 1);
  return Float32Array.from({ length: length ** 2 }, (_, at) => {
    const [one, two] = [Math.floor(at / length), at % length];
    return dot(rows[one], rows[two]) / norms[one] / norms[two];
  });
}

/** Embedding + position = input of a stack of a run. */
export function inputSum(translator: Translator, run: Translation, stack: Stack): InputParts {
  const seen = translator.record(run, (name) => /^\w+\.(embedding|positions|input)$/.test(name));
  const part = (name: string) => floats(there(seen.get(`${stack}.${name}`)));
  return {
    tokens: stack === "encoder" ? translator.sourceTokens(run) : translator.targetTokens(run.input),
    d_model: translator.network.config.d_model,
    embedding: part("embedding"),
    positions: part("positions"),
    input: part("input"),
  };
}
