// A visitor's alignment, and how well the cross-attention heads match it.

import type { DrawnRun } from "../api/types.ts";
import { argmax, attentionRow, eachHead } from "./state.ts";

export type Links = Set<number>[];
/** Which output token a row is about: the one it predicts, or the one it reads, output a step earlier. */
export type Reading = "predicted" | "read";
/** Aligned tokens whose linked word has a head's largest weight: `right[layer][head]` of `count`. */
export type HeadScores = { right: number[][]; count: number };

/** The row of a token; -1 where none is about it. */
const ROWS: Record<Reading, (token: number, rows: number) => number> = {
  predicted: (token) => token,
  read: (token, rows) => (token + 1 < rows ? token + 1 : -1),
};

/** The key with the largest weight, [layer][head][row], found once a run. */
const strongest: WeakMap<DrawnRun, number[][][]> = new WeakMap();

function strongestKeys(run: DrawnRun) {
  const { cross } = run.attention;
  const find = (layer: number, head: number) =>
    cross.queries.map((_, row) => argmax(attentionRow("cross", layer, head, row, run)));
  const found = strongest.get(run) ?? eachHead(cross, find);
  strongest.set(run, found);
  return found;
}

export function scoreHeads(run: DrawnRun, links: Links, reading: Reading): HeadScores {
  const rows = run.output.length;
  const asked = links.flatMap((keys, token) => {
    const row = keys.size ? ROWS[reading](token, rows) : -1;
    return row < 0 ? [] : [{ row, keys }];
  });
  const right = strongestKeys(run).map((heads) =>
    heads.map((largest) => asked.filter(({ row, keys }) => keys.has(largest[row])).length),
  );
  return { right, count: asked.length };
}

export function bestHead({ right }: HeadScores) {
  const heads = right[0].length;
  const best = argmax(right.flat());
  return { layer: Math.floor(best / heads), head: best % heads, right: right.flat()[best] };
}
