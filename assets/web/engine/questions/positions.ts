// The positional encoding as figures, and as part of what a run reads: transformer/web/api/positions.py. What is the same
// in every figure comes from Python.

import type { Encoding, EncodingRequest, InputFigure } from "#schema";
import type { Stack } from "../../api/types.ts";
import type { EngineData, Figure } from "../data.ts";
import { range, sinusoidalPositions } from "../network.ts";
import type { Translation, Translator } from "../translator.ts";
import { floats } from "./payload.ts";
import { there } from "./sublayers.ts";

/** Numbers as Plotly reads them. */
const numbers = (values: Float32Array, ...shape: number[]) => ({
  dtype: "f4",
  bdata: floats(values),
  ...(shape.length > 1 && { shape: shape.join(", ") }),
});

const withData = ({ data: [trace], layout }: Figure, more: Record<string, unknown>) => ({
  data: [{ ...trace, ...more }],
  layout,
});

export function positionalEncoding({ figures }: EngineData, request: EncodingRequest): Encoding {
  const { length, d_model, sinusoid } = request;
  const encoding = sinusoidalPositions(length, d_model, sinusoid === "halves");
  const cosines = similarity(encoding, length, d_model);
  const sines = Math.ceil(d_model / 2);
  const pair = (dimension: number) => (sinusoid === "halves" ? dimension % sines : dimension >> 1);
  return {
    length,
    d_model,
    wavelengths: range(d_model).map((i) => 2 * Math.PI * 10000 ** ((2 * pair(i)) / d_model)),
    similarity: floats(cosines),
    heatmap: withData(figures.heatmap, { z: numbers(encoding, length, d_model) }),
    curve: withData(figures.curve, { y: numbers(encoding.filter((_, at) => at % d_model === 0)) }),
    similar: withData(figures.similar, { y: numbers(cosines.slice(0, length)) }),
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

const ESCAPES: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#x27;" };

/** Embedding + position = input of a stack of a run, as a figure. */
export function inputSum(translator: Translator, run: Translation, stack: Stack): InputFigure {
  const seen = translator.record(run, (name) => /^\w+\.(embedding|positions|input)$/.test(name));
  const tokens = stack === "encoder" ? translator.sourceTokens(run) : translator.targetTokens(run.input);
  const { d_model: width } = translator.network.config;
  const strips = ["embedding", "positions", "input"].map((part) => there(seen.get(`${stack}.${part}`)));
  const largest = strips.reduce((most, strip) => strip.reduce((a, b) => Math.max(a, Math.abs(b)), most), 0);
  const names = tokens.map((token) => token.replace(/[&<>"']/g, (letter) => ESCAPES[letter]));
  const { data, layout } = translator.data.figures.input_sum;
  const ticks = { tickvals: range(tokens.length), ticktext: names };
  const axes = Object.entries(layout).map(([name, value]) => [
    name,
    name.startsWith("yaxis") ? { ...value, ...ticks } : value,
  ]);
  const traces = data.map((trace, i) => ({
    ...trace,
    z: numbers(strips[i], tokens.length, width),
    zmin: -largest,
    zmax: largest,
    customdata: names.map((name) => Array(width).fill(name)),
  }));
  const height = 3 * (tokens.length * 18 + 34) + 44;
  return { tokens, d_model: width, figure: { data: traces, layout: { ...Object.fromEntries(axes), height } } };
}
