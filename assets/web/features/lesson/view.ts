// The data of a lesson's stop: the run without its changes, at the visitor's place as far as that run has
// it.

import type { Child } from "../../api/types.ts";
import { cellExplainer } from "../../charts/arithmetic.ts";
import { askAboutRun, fetchSublayer } from "../../state/server-cache.ts";
import { argmax, attentionRow, baselineRun, decodeFloats, state } from "../../state/state.ts";
import { word } from "../../ui/dom.ts";

export type LessonView = ReturnType<typeof lessonView>;

/** @param signal ends what the stop has drawn @param showArithmetic shows the arithmetic of a cell */
export function lessonView(signal: AbortSignal, showArithmetic: (title: string, body: Child[]) => void) {
  const run = baselineRun();
  const { encoder, cross } = run.attention;
  const lastWord = run.source.findLastIndex((token) => token !== "P" && token !== "E");
  const query = state.kind === "encoder" ? state.query : lastWord;
  const place = {
    step: Math.min(state.step, run.steps.length - 1), // a modified run may have more
    query,
    layer: Math.min(state.layer, encoder.layers - 1),
    head: Math.min(state.head, encoder.heads - 1),
    decoderLayer: Math.min(state.layer, cross.layers - 1),
    crossHead: Math.min(state.head, cross.heads - 1),
  };
  const places = { word: word(run.source[query], "source"), layer: place.layer + 1, head: place.head + 1 };
  return { run, signal, showArithmetic, ...place, places };
}

/** The chosen head of the encoder, as charts/sublayer-stages.ts draws it. */
export async function encoderHead({ run, signal, showArithmetic, layer, head, query }: LessonView) {
  const data = await fetchSublayer("encoder", layer, run);
  return { run, data, kind: "encoder" as const, layer, head, query, signal, explain: cellExplainer(showArithmetic) };
}

/** The encoder's input: of every token its embedding, its position and their sum. */
export async function encoderInput({ run }: LessonView) {
  const { figure, tokens, d_model } = await askAboutRun("input_sum", { stack: "encoder" }, run);
  const strips = figure.data as { z: { bdata: string } }[];
  const [embedding, positions, input] = strips.map(({ z }) => toRows(decodeFloats(z.bdata), d_model));
  return { tokens, d_model, embedding, positions, input };
}

/** The chosen word's vector after each layer of the encoder, the input first. */
export async function wordInEveryLayer({ run, query }: LessonView) {
  const { encoder } = await askAboutRun("stack", {}, run);
  const [layers, tokens, width] = encoder.shape;
  const vectors = toRows(decodeFloats(encoder.data), width);
  return Array.from({ length: layers }, (_, layer) => vectors[layer * tokens + query]);
}

/** The step with the highest weight of the chosen cross-attention head. */
export const highestCrossStep = ({ run, decoderLayer, crossHead }: LessonView) =>
  argmax(run.steps.map((_, step) => Math.max(...attentionRow("cross", decoderLayer, crossHead, step, run))));

const toRows = (values: Float32Array, width: number) =>
  Array.from({ length: values.length / width }, (_, i) => Array.from(values.subarray(i * width, (i + 1) * width)));
