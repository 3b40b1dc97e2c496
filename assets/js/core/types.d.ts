// The types that modules share: a run as the server sends it, the changes in it, and what Gradio hands a component.

export type Kind = "encoder" | "decoder" | "cross";
export type Side = "source" | "target";
export type Stack = "encoder" | "decoder";

/** What a text's {places} are filled with, and what goes into an element. */
export type Place = string | number | boolean | null | undefined | Node | (string | Node)[];
export type Places = Record<string, Place>;
export type Child = string | number | Node | null | undefined | Child[];

/** A text of the server: its key in the catalogue and the values of its places. */
export interface Message {
  key: string;
  values: Record<string, string | number | { shown: string[]; rest: number }>;
  english?: string;
}

/** One intervention. Numbers count from 0, those of sublayers from 1. */
export type Change =
  | { do: "silence"; kind: Kind; layer: number; head: number }
  | { do: "isolate"; kind: Kind; layer: number; heads: number[] }
  | { do: "remove_mask"; kind: Kind }
  | { do: "edit_mask"; kind: Kind; query: number; key: number; allowed: boolean }
  | { do: "positions"; stack: Stack; how: "removed" | "shuffled"; seed: number }
  | { do: "temperature"; kind: Kind | "all"; temperature: number }
  | { do: "drop_residual"; stack: Stack; layer: number; sublayer: number }
  | { do: "swap_word"; position: number; word: string }
  | { do: "force_word"; step: number; word: string };

export type ChangeOf<Name extends Change["do"]> = Extract<Change, { do: Name }>;

/** All maps of one kind: L layers of H heads, from Q queries to K keys. */
export interface AttentionMaps {
  layers: number;
  heads: number;
  queries: string[];
  keys: string[];
  /** [query][key]: false where the mask is closed. */
  allowed: boolean[][];
  /** Base64 of float32, read into `values` once. */
  weights: string;
  /** (L, H, Q, K) in one row. */
  values: Float32Array | number[];
  /** These are changes of weights, −1 to 1. */
  difference?: boolean;
}

export interface Candidate {
  token: string;
  probability: number;
}

export interface Step extends Candidate {
  candidates: Candidate[];
}

/** Gold links per output position: numbers of source words. */
export interface GoldLinks {
  sure: number[][];
  possible: number[][];
}

export interface Reference {
  text: string;
  same: boolean;
  aligned: boolean;
  held_out: boolean;
  gold: GoldLinks | null;
  /** [layer][head] of cross-attention. */
  error_rates: number[][] | null;
}

/** What a picture of attention needs of a run: snapshots of a training have no more. */
export interface DrawnRun {
  attention: Record<Kind, AttentionMaps>;
  reference: Reference | null;
  output: string[];
}

/** One translation with everything that was recorded of it: `for_page` of web/api/payload.py. */
export interface Run extends DrawnRun {
  sentence: string;
  checkpoint: string;
  changes: Change[];
  complete: boolean;
  source: string[];
  decoder_input: string[];
  steps: Step[];
  ids: { source: number[]; decoder_input: number[] };
  model: {
    d_model: number;
    heads: number;
    layers: number;
    d_ff: number;
    positions: boolean;
    norm_first: boolean;
    final_norm: boolean;
    tied: boolean;
    source_words: number;
    target_words: number;
  };
  heads: { columns: string[]; data: (string | number)[][] };
  /** Of a run with changes: the probability that each step still gives the original word. */
  beside?: { kept: number | null; same_input: boolean }[];
}

/** A run that a link or a click asks for. */
export interface RunRequest {
  checkpoint: string;
  sentence: string;
  changes: Change[];
}

export interface Example {
  sentence: string;
  name: string;
  watch: string;
}

/** What the page knows of a model before it runs: `about` of web/api/models.py. */
export interface Model {
  checkpoint: string;
  sentences: number;
  examples: Example[];
  words: Record<string, [string, string][]>;
  surprise: boolean;
}

/** A model of this session: trained here, or brought as a file. */
export interface OwnModel extends Model {
  name: string;
  corpus: string;
  weights: number;
  layers: number;
  heads: number;
  d_model: number;
}

/** A function of the server: asks it one question. */
// biome-ignore lint/suspicious/noExplicitAny: until web/schema.py declares every question and answer
export type ServerFunction = (question: any) => Promise<any>;
export type Server = Record<string, ServerFunction>;

/** What Gradio hands a component's script. */
export interface Component {
  element: HTMLElement;
  // biome-ignore lint/suspicious/noExplicitAny: each view knows its own
  props: any;
  server: Server;
  trigger: (event: string, data: unknown) => void;
  watch: (name: string, listener: () => void) => void;
}

/** What `mount` of a view gets. `signal` aborts when the view is mounted again. */
export interface View extends Component {
  signal: AbortSignal;
}

export type DecodingSetting = "width" | "alpha" | "temperature" | "top_k" | "top_p" | "seed";

/** What this visitor looks at. Numbers count from 0. */
export interface State extends Record<DecodingSetting, number> {
  /** The latest run that succeeded. Views are drawn only once there is one. */
  run: Run;
  /** The same run without its changes; null where it has none. */
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
  drawing: "heatmap" | "lines" | "table";
  /** Lay the gold alignment over cross-attention. */
  gold: boolean;
  /** Stop of the lesson. */
  stop: number;
  /** Whose input Positions adds up. */
  stack: Stack;
  /** Part of Break it. */
  part: "whatif" | "bugs" | "roads";
  /** Exercise of Spot the bug. */
  exercise: string;
  /** Decoding strategy. */
  strategy: "beam" | "sampling" | "forced";
  /** A word that the model is made to output by mistake, beside teacher forcing. */
  forcedMistake: { step: number; word: string } | null;
}
