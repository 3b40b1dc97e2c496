// The types that modules share. Those of requests and answers are made from transformer/web/schema.py: "#schema".

import type * as Wire from "#schema";

export type { Candidate, Example, MessageJSON as Message, Model, Reference } from "#schema";

/** One decoding step; of a run by words, with the steps of its pieces, and where the first of these is. */
export type Step = Wire.Step & { pieces?: Wire.Step[]; first?: number };

export type Kind = "encoder" | "decoder" | "cross";
export type Side = "source" | "target";
export type Stack = "encoder" | "decoder";

/** What a text's {places} are filled with, and what goes into an element. */
export type Place = string | number | boolean | null | undefined | Node | (string | Node)[];
export type Places = Record<string, Place>;
export type Child = string | number | Node | null | undefined | Child[];

/** One intervention. Numbers count from 0, those of sublayers from 1. */
export type Change = Wire.Run["changes"][number];
export type ChangeOf<Name extends Change["do"]> = Extract<Change, { do: Name }>;

/** All maps of one kind, whose weights were read once. */
export interface AttentionMaps extends Omit<Wire.StackedMaps, "weights"> {
  weights?: string; // Base64; of maps that came otherwise there is none
  packed?: true; // whether the weights are packed, else they are float32
  values: Float32Array | number[]; // (L, H, Q, K) in one row
  /** Where these are contributions: the largest of all heads, which has the strongest colour. */
  most?: number;
  /** Where these are changes of weights: the change with the strongest colour, for each head of each layer. */
  difference?: number[];
}

/** What a picture of attention needs of a run: snapshots of a training have no more. */
export interface DrawnRun {
  attention: Record<Kind, AttentionMaps>;
  reference: Wire.Reference | null;
  output: string[];
}

export type Run = Omit<Wire.Run, "attention" | "steps"> &
  DrawnRun & {
    steps: Step[];
    pieces?: Run; // where the run is by words: itself in the model's own tokens
  };
export type PieceRun = Run & Required<Pick<Run, "words">>;

export type RunRequest = { checkpoint: string; sentence: string; changes: Change[] };

/** A model of this session, or one that somebody has shared. */
export type OwnModel = Required<Wire.Model> & { shared?: true };

/** What `mount` of a view gets. `signal` aborts when the view is mounted again. */
export type View = { element: HTMLElement; signal: AbortSignal };

/** What this visitor looks at. Numbers count from 0. */
export interface State extends Omit<Wire.DecodingSettings, "seed"> {
  seed: number | null; // where sampling starts; null for the first that draws something else than greedy decoding
  run: Run; // the latest run that succeeded. Views are drawn only once there is one
  baseline: Run | null; // the run without its changes; null where it has none
  tab: string;
  step: number; // decoding step
  query: number; // the row that Inside a head follows; in decoder and cross it moves with the step
  kind: Kind;
  layer: number;
  head: number;
  averaged: boolean; // Translate shows the mean of a layer's heads
  drawing: "heatmap" | "lines" | "table" | "all";
  measure: "weight" | "contribution"; // what the maps of Attention show
  why: "closed" | "word" | "contrast"; // the panel of Translate: why a word, perhaps in contrast to the second one
  inWords: boolean; // show words where the model's tokens are pieces of them
  gold: boolean; // lay the gold alignment over cross-attention
  stop: number; // stop of the lesson
  stops: readonly number[] | null; // the stops of the lesson in the order that a teacher chose; null for all of them
  returnStop: number | null; // the stop of the lesson that led to another tab
  stack: Stack; // whose input Positions adds up
  part: string; // part of Break it
  exercise: string; // exercise of Spot the bug
  strategy: "beam" | "sampling" | "forced"; // decoding strategy
  /** A word that the model is made to output by mistake, beside teacher forcing. */
  forcedMistake: { step: number; word: string } | null;
}
