// What the engine is given for a checkpoint beside its weights: transformer/web/engine_data.py makes it.

import type { ChangeForm, DecodingSymptom, HeldOutScores, NetworkFacts } from "#schema";
import type { Config } from "./network.ts";

/** A pair of the corpus as people write the source, its translation, and of each target word the source words that it
 * translates, surely and possibly, as digits in base 36 between commas; and its held-out set, -1 where it has none. */
export type KnownPair = [spelling: string, target: string, sure: string, possible: string, heldOut: number];

export type EngineData = {
  checkpoint: string;
  config: Config;
  source_length: number;
  output_limit: number;
  pad_source: boolean;
  vocabularies: { source: string[]; target: string[] }; // which fold what is typed
  max_characters: number;
  facts: NetworkFacts;
  changes: Record<string, ChangeForm>;
  examples: string[];
  pairs: KnownPair[];
  held_out: string[]; // names of sets; training saw none of the first one, of which there are scores
  held_out_scores: HeldOutScores | null;
  capitalised: string[];
  shapes: { stage: string; layers: number; here: (number | string)[]; paper: (number | string)[] }[];
  mistakes: Record<string, DecodingSymptom>; // of the first example
  answers: [name: string, request: Record<string, unknown>, answer: unknown][];
};
