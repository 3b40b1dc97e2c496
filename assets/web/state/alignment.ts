// A visitor's alignment, and how well the cross-attention heads match it.

import type { DrawnRun } from "../api/types.ts";
import { argmax } from "../engine/arrays.ts";
import { attentionRow, eachHead } from "./state.ts";

export type Links = Set<number>[];
/** Which output token a row is about: the one it predicts, or the one it reads, output a step earlier. */
export type Reading = "predicted" | "read";
/** Aligned tokens whose linked word has a head's largest weight: `right[layer][head]` of `count`. */
export type HeadScores = { right: number[][]; count: number };

export function scoreHeads(run: DrawnRun, links: Links, reading: Reading): HeadScores {
  const asked = links.flatMap((keys, token) => {
    const row = reading === "predicted" ? token : token + 1;
    return keys.size && row < run.output.length ? [{ row, keys }] : [];
  });
  const right = eachHead(run.attention.cross, (layer, head) => {
    const strongest = (row: number) => argmax(attentionRow("cross", layer, head, row, run));
    return asked.filter(({ row, keys }) => keys.has(strongest(row))).length;
  });
  return { right, count: asked.length };
}

export function bestHead({ right }: HeadScores) {
  const heads = right[0].length;
  const best = argmax(right.flat());
  return { layer: Math.floor(best / heads), head: best % heads, right: right.flat()[best] };
}
