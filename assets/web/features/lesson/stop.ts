// What a stop of the lesson draws and asks (see stops/), and the data that it does it with: the run without its changes,
// at the visitor's place as far as that run has it.

import type { Child, Kind, Places } from "../../api/types.ts";
import { cellExplainer } from "../../charts/arithmetic.ts";
import type { Stage } from "../../charts/sublayer-stages.ts";
import { formatNumber, t } from "../../state/i18n.ts";
import type { StopName } from "../../state/lesson-plan.ts";
import { askAboutRun, fetchSublayer } from "../../state/server-cache.ts";
import { argmax, attentionRow, baselineRun, decodeFloats, state } from "../../state/state.ts";
import { distinctWord } from "../../state/words.ts";
import { word } from "../../ui/dom.ts";

/**
 * A stop of the lesson. Its figure is a `stage` of a head, or drawn under a headline of its own: a formula and its
 * shapes. Until the question is answered a figure that would give the answer away (`hides`) is veiled, or `evidence`
 * stands in its place, from which the answer can be reasoned; or a table of scores has fewer `columns`. With the answer
 * come more `columns`, or what `answer` draws. A `wide` figure stands above the text, another beside it. A text is taken
 * in the first of the `variants` that the catalogue has it in.
 */
export type Stop = {
  hides?: boolean;
  wide?: boolean;
  colours?: "strips" | Kind;
  captioned?: boolean;
  variants?: (view: LessonView) => (string | false)[];
  evidence?: (view: LessonView) => Promise<Child>;
  ask: (view: LessonView) => Quiz | Promise<Quiz>;
} & (
  | { stage: Stage; columns?: { asked: string[]; answered?: string[] } }
  | {
      headline: (view: LessonView) => [formula: string, ...shapes: ((number | string)[] | string)[]];
      draw: (view: LessonView) => Child | Promise<Child>;
      answer?: (view: LessonView) => Promise<Child>;
    }
);

/** A choice; a wrong one with the key of the text that says why, filled from `places`. */
export type Choice = { text: string; why?: string; places?: Places };
/** `right` is the index of the right choice; `places` fill the texts of the stop. */
export type Quiz = { choices: Choice[]; right: number; places: Places };

// ---- data ----

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
    head: state.head,
    decoderLayer: Math.min(state.layer, cross.layers - 1),
  };
  const places = { word: word(run.source[query], "source"), layer: place.layer + 1, head: place.head + 1 };
  return { run, signal, showArithmetic, ...place, places };
}

export const encoderHead = async (view: LessonView) => ({
  ...view,
  kind: "encoder" as const,
  data: await fetchSublayer("encoder", view.layer, view.run),
  explain: cellExplainer(view.showArithmetic),
});

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

export const highestCrossStep = ({ run, decoderLayer, head }: LessonView) =>
  argmax(run.steps.map((_, step) => Math.max(...attentionRow("cross", decoderLayer, head, step, run))));

const toRows = (values: Float32Array, width: number) =>
  Array.from({ length: values.length / width }, (_, i) => Array.from(values.subarray(i * width, (i + 1) * width)));

// ---- questions ----

export const NO_QUESTION: Quiz = { choices: [], right: -1, places: {} };

type Wrong = Record<string, number>;

/** Values as choices in their order, each text once. @param wrong by the name of the text that says why */
export function valueQuiz(stop: StopName, right: number, wrong: Wrong, places: Places, format = rounded) {
  const offered: (Choice & { value: number })[] = [{ value: right, text: format(right) }];
  for (const [name, value] of Object.entries(wrong)) {
    const text = format(value);
    if (offered.every((each) => each.text !== text)) offered.push({ value, text, why: `lesson.${stop}.why.${name}` });
  }
  return orderedQuiz(
    offered.toSorted((a, b) => a.value - b.value),
    places,
  );
}

/** Choices in the order that they are given in, of which the right one has no `why`. */
export const orderedQuiz = (choices: Choice[], places: Places): Quiz => ({
  choices,
  right: choices.findIndex(({ why }) => !why),
  places,
});

export const rounded = (value: number) => formatNumber(Math.round(value * 100) / 100);

export const MAX_CHOICES = 9; // as many as there are keys to choose by

/** Choices by their names, whose texts the catalogue has under the stop's. @param why name of the text on a wrong one */
export const namedQuiz = (
  stop: StopName,
  names: string[],
  right: string,
  places: Places,
  why = (name: string) => name,
) =>
  orderedQuiz(
    names.map((name) => ({
      text: t(`lesson.${stop}.${name}`, places),
      why: name === right ? undefined : `lesson.${stop}.why.${why(name)}`,
    })),
    places,
  );

type Values = { words: string[]; values: number[]; format: (value: number) => string };

/** Which source word has the largest value? Of a long sentence, those with the largest are offered, in their order. */
export function largestWordQuiz(stop: StopName, { words, values, format }: Values, usual: Places): Quiz {
  const right = argmax(values);
  const key = (i: number) => word(words[i], "source");
  const largest = [...words.keys()].sort((a, b) => values[b] - values[a] || a - b);
  const shown = largest.slice(0, MAX_CHOICES).sort((a, b) => a - b);
  const wrong = (i: number) => ({ why: `lesson.${stop}.why`, places: { chosen: key(i), own: format(values[i]) } });
  const choices = shown.map((i) => ({ text: distinctWord(words, i), ...(i === right ? {} : wrong(i)) }));
  return { choices, right: shown.indexOf(right), places: { ...usual, key: key(right), share: format(values[right]) } };
}
