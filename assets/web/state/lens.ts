// What each decoder layer would output if it were the last: the logit lens of a run, a step at a time.

import type { Lens } from "#schema";
import type { Run } from "../api/types.ts";
import { askAboutRun } from "./server-cache.ts";
import { tokenRun } from "./words.ts";

/** `turn` is the first layer from which on all say what the last one says. */
export type Readings = { layers: { token: string; probability: number }[]; turn: number };

export const fetchLens = (run: Run) => askAboutRun("lens", {}, tokenRun(run));

/** @param step of a run by words or by tokens: of a word it is the first piece's */
export function readings({ tokens, probabilities }: Lens, run: Run, step: number): Readings {
  const at = run.steps[step].first ?? step;
  const layers = tokens.map((row, layer) => ({ token: row[at], probability: probabilities[layer][at] }));
  return { layers, turn: layers.findLastIndex(({ token }) => token !== layers.at(-1)?.token) + 1 };
}

/** At how many steps each layer says what is output. */
export const agreements = ({ tokens }: Lens, run: Run) =>
  tokens.map((row) => row.filter((token, step) => token === tokenRun(run).output[step]).length);
