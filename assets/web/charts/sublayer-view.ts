// A view of one head of a recorded attention sublayer, and what the run's changes did to it.

import type { Kind, Run } from "../api/types.ts";
import { findChange, isAblated, temperatureOf } from "../state/changes.ts";
import type { Sublayer } from "../state/server-cache.ts";
import { fixed } from "../ui/numbers.ts";

/** One query of one head. */
export type SublayerView = {
  run: Run;
  data: Sublayer;
  kind: Kind;
  layer: number;
  head: number;
  query: number;
  signal?: AbortSignal;
  explain: (view: SublayerView, name: string, i: number) => Promise<void>; // shows the arithmetic of a cell
  columns?: string[]; // of the table of scores, where it does not have all
  fold?: number; // hidden units a line
  opened?: Set<string>; // lists of keys of which none is folded
  width?: number; // px of a figure, where it is known
};

/** Which residual connection: "" around the attention, "ff_" around the feed-forward network. */
export type Part = "" | "ff_";

export const headIsAblated = ({ run, kind, layer, head }: SublayerView) => isAblated(kind, layer, head, run.changes);

export const anyHeadIsAblated = (view: SublayerView) =>
  Array.from({ length: headCount(view) }, (_, head) => headIsAblated({ ...view, head })).includes(true);

export const headCount = ({ data }: SublayerView) => data.arrays.q.shape[0];

/** What the scores were divided by, besides √d: without what binary adds to a product of two decimals. */
export const temperatureIn = ({ run, kind }: SublayerView) => Number(temperatureOf(kind, run.changes).toFixed(8));

export function residualIsDropped({ run, kind, layer }: SublayerView, part: Part) {
  const stack = kind === "encoder" ? "encoder" : "decoder";
  const sublayer = part ? (stack === "encoder" ? 2 : 3) : kind === "cross" ? 2 : 1;
  return Boolean(findChange({ do: "drop_residual", stack, layer, sublayer }, run.changes));
}

const ACTIVATIONS = { relu: "ReLU", gelu: "GELU", silu: "SiLU" };
export const activationName = ({ activation }: { activation: keyof typeof ACTIVATIONS }) => ACTIVATIONS[activation];

const FLOORS = { relu: 0, gelu: -0.17, silu: -0.28 };
/** The lower bound of a network's activation, with two digits. */
export const activationFloor = ({ activation }: { activation: keyof typeof FLOORS }) => fixed(FLOORS[activation], 2);

export const concatenated = ({ data, query }: SublayerView) =>
  Array.from({ length: data.arrays.head_output.shape[0] }, (_, head) => data.at("head_output", head, query)).flat();
