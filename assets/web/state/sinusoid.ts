// The waves of the positional encoding (§3.5), and how alike they make two positions.

import type { Run } from "../api/types.ts";
import { dot, parts } from "../engine/arrays.ts";

type Order = Run["model"]["sinusoid"];

/** A dimension's wave: its place `pair` among the sines or the cosines, and how many positions one turn takes. */
export function waveOf(dimension: number, width: number, order: Order) {
  const sines = Math.ceil(width / 2);
  const isHalves = order === "halves";
  const pair = isHalves ? dimension % sines : dimension >> 1;
  const isSine = isHalves ? dimension < sines : dimension % 2 === 0;
  return { name: isSine ? "sin" : "cos", pair, wavelength: 2 * Math.PI * 10000 ** ((2 * pair) / width) } as const;
}

/** The cosine between a position and each; 0 where one of them is the zero vector. */
export function cosinesTo(position: number, values: Float32Array, width: number) {
  const rows = parts(values, values.length / width);
  const norm = (row: Float32Array) => Math.sqrt(dot(row, row)) || 1;
  return rows.map((row) => dot(row, rows[position]) / norm(row) / norm(rows[position]));
}
