// What the worksheet and the rest of a handout both put on paper.

import type { Kind, Side } from "../../api/types.ts";
import { formatPercent } from "../../state/i18n.ts";
import { argmax, attentionRow, state } from "../../state/state.ts";
import { word } from "../../ui/dom.ts";

export function shownHead(kind: Kind) {
  const { layers, heads } = state.run.attention[kind];
  return { layer: Math.min(state.layer, layers - 1), head: Math.min(state.head, heads - 1) };
}

export const wordWithShare = (token: string, side: Side, share: number) => [
  word(token, side),
  ` ${formatPercent(share)}`,
];

/** The source word with the highest weight in a row of cross-attention. @param head null for the mean of the layer */
export function strongestWord(layer: number, head: number | null, query: number) {
  const weights = attentionRow("cross", layer, head, query);
  const key = argmax(weights);
  return wordWithShare(state.run.source[key], "source", weights[key]);
}
