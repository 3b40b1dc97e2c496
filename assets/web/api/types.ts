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
  /** Base64; of maps that came otherwise there is none. */
  weights?: string;
  /** Whether the weights are packed, else they are float32. */
  packed?: true;
  /** (L, H, Q, K) in one row. */
  values: Float32Array | number[];
  /** Where these are changes of weights: the change with the strongest colour, for each head of each layer. */
  difference?: number[];
}

/** What a picture of attention needs of a run: snapshots of a training have no more. */
export interface DrawnRun {
  attention: Record<Kind, AttentionMaps>;
  reference: Wire.Reference | null;
  output: string[];
}

/** One translation with everything that was recorded of it. */
export type Run = Omit<Wire.Run, "attention" | "steps"> &
  DrawnRun & {
    steps: Step[];
    /** Where the run is by words: itself in the model's own tokens. */
    pieces?: Run;
  };
export type PieceRun = Run & Required<Pick<Run, "words">>;

/** A run that a link or a click asks for. */
export interface RunRequest {
  checkpoint: string;
  sentence: string;
  changes: Change[];
}

/** A model of this session, or one that somebody has shared. */
export type OwnModel = Required<Wire.Model> & { shared?: true };

/** What `mount` of a view gets. `signal` aborts when the view is mounted again. */
export interface View {
  element: HTMLElement;
  signal: AbortSignal;
}

/** What this visitor looks at. Numbers count from 0. */
export interface State extends Omit<Wire.DecodingSettings, "seed"> {
  /** Where sampling starts; null for the first that draws something else than greedy decoding. */
  seed: number | null;
  /** The latest run that succeeded. Views are drawn only once there is one. */
  run: Run;
  /** The run without its changes; null where it has none. */
  baseline: Run | null;
  tab: string;
  /** Decoding step. */
  step: number;
  /** The row that Inside a head follows; in decoder and cross it moves with the step. */
  query: number;
  kind: Kind;
  layer: number;
  head: number;
  /** Translate shows the mean of a layer's heads. */
  averaged: boolean;
  drawing: "heatmap" | "lines" | "table" | "all";
  /** Show words where the model's tokens are pieces of them. */
  inWords: boolean;
  /** Lay the gold alignment over cross-attention. */
  gold: boolean;
  /** Stop of the lesson. */
  stop: number;
  /** The stops of the lesson in the order that a teacher chose; null for all of them. */
  stops: readonly number[] | null;
  /** The stop of the lesson that led to another tab. */
  returnStop: number | null;
  /** Whose input Positions adds up. */
  stack: Stack;
  /** Part of Break it. */
  part: string;
  /** Exercise of Spot the bug. */
  exercise: string;
  /** Decoding strategy. */
  strategy: "beam" | "sampling" | "forced";
  /** A word that the model is made to output by mistake, beside teacher forcing. */
  forcedMistake: { step: number; word: string } | null;
}

declare global {
  interface DocumentEventMap {
    "teach:wanted": CustomEvent<[sentence: string, pairs: [string, string][]]>;
  }
}
