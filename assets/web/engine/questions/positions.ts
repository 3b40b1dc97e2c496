// The positional encoding: transformer/web/api/positions.py.

import type { Encoding, EncodingRequest } from "#schema";
import { dot, parts, range, sinusoidalPositions } from "../arrays.ts";
import { floats } from "./payload.ts";

/** The encoding, its wavelengths, and the cosine between every two positions; 0 where one of them is the zero vector. */
export function positionalEncoding({ length, d_model, sinusoid }: EncodingRequest): Encoding {
  const isHalves = sinusoid === "halves";
  const values = sinusoidalPositions(length, d_model, isHalves);
  const pair = (dimension: number) => (isHalves ? dimension % Math.ceil(d_model / 2) : dimension >> 1);
  const rows = parts(values, length);
  const norms = rows.map((row) => Math.sqrt(dot(row, row)) || 1);
  const cosines = rows.flatMap((one, i) => rows.map((other, j) => dot(one, other) / norms[i] / norms[j]));
  return {
    ...{ length, d_model, values: floats(values), similarity: floats(Float32Array.from(cosines)) },
    wavelengths: range(d_model).map((i) => 2 * Math.PI * 10000 ** ((2 * pair(i)) / d_model)),
  };
}
