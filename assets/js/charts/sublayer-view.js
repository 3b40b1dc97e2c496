// A view of one head of a recorded attention sublayer, and what the run's changes did to it.

import { findChange, isAblated, temperatureOf } from "../core/changes.js";
import { fixed } from "../core/numbers.js";

/** @import { Child, Kind, Run, Server } from "../core/types.d.ts" */
/** @import { Sublayer } from "../core/server-cache.js" */

/**
 * One query of one head. `showArithmetic` shows the arithmetic of a cell; `columns` are those of the table of scores,
 * where it does not have all; `fold`: hidden units a line; `opened`: the lists of keys of which none is folded;
 * `width`: px of a figure, where it is known.
 *
 * @typedef {{
 *   run: Run, data: Sublayer, kind: Kind, layer: number, head: number, query: number, server: Server,
 *   signal?: AbortSignal, showArithmetic: (title: string, body: Child[]) => void, columns?: string[], fold?: number,
 *   opened?: Set<string>, width?: number,
 * }} SublayerView
 */

/**
 * Which residual connection: "" around the attention, "ff_" around the feed-forward network.
 * @typedef {"" | "ff_"} Part
 */

/** Whether this head is ablated. @param {SublayerView} view */
export const headIsAblated = ({ run, kind, layer, head }) => isAblated(kind, layer, head, run.changes);

/** Whether any head of this layer is. @param {SublayerView} view */
export const anyHeadIsAblated = (view) =>
  Array.from({ length: headCount(view) }, (_, head) => headIsAblated({ ...view, head })).includes(true);

/** @param {SublayerView} view */
export const headCount = ({ data }) => data.arrays.q.shape[0];

/**
 * What the scores were divided by, besides √d: a product of two numbers of four digits, without what binary adds to it.
 * @param {SublayerView} view
 */
export const temperatureIn = ({ run, kind }) => Number(temperatureOf(kind, run.changes).toFixed(8));

/** Whether the stream that a sublayer is added to was dropped. @param {SublayerView} view @param {Part} part */
export function residualIsDropped({ run, kind, layer }, part) {
  const stack = kind === "encoder" ? "encoder" : "decoder";
  const sublayer = part ? (stack === "encoder" ? 2 : 3) : kind === "cross" ? 2 : 1;
  return Boolean(findChange({ do: "drop_residual", stack, layer, sublayer }, run.changes));
}

const ACTIVATIONS = { relu: "ReLU", gelu: "GELU", silu: "SiLU" };
/** The name of a network's activation. @param {{ activation: keyof typeof ACTIVATIONS }} network */
export const activationName = ({ activation }) => ACTIVATIONS[activation];

const FLOORS = { relu: 0, gelu: -0.17, silu: -0.28 };
/** The lower bound of a network's activation, with two digits. @param {{ activation: keyof typeof FLOORS }} network */
export const activationFloor = ({ activation }) => fixed(FLOORS[activation], 2);

/** All heads' outputs of one query, side by side. @param {SublayerView} view */
export const concatenated = ({ data, query }) =>
  Array.from({ length: data.arrays.head_output.shape[0] }, (_, head) => data.at("head_output", head, query)).flat();
