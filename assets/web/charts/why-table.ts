// What source words have to do with an output word, by several measures, a row each: shares in one scale of colour.

import type { Why } from "#schema";
import type { Child } from "../api/types.ts";
import { t } from "../state/i18n.ts";
import { argmax } from "../state/state.ts";
import { h, word } from "../ui/dom.ts";
import { fixed } from "../ui/numbers.ts";
import { columnHeading, rowHeading, table } from "../ui/parts.ts";
import { contrastClass } from "./map-parts.ts";

const MEASURES = ["attribution", "attention", "contribution", "removal"] as const;
export type Measure = (typeof MEASURES)[number];
export type Shares<M extends Measure = Exclude<Measure, "contribution">> = Record<M, number[]>;

export const measuresOf = <M extends Measure>(shares: Shares<M>) => MEASURES.filter((each) => each in shares) as M[];

const NEEDED = 0.2; // of its probability, or odds, that an output loses without a word that it needs

/**
 * Each source word's share of what all add to the logit; of the attention; of the probability that is lost without it,
 * or of the odds against another word: as a share of its row, a row of mere rounding would look like one of effects.
 */
export function sharesOf({ attribution, attention, score, without }: Why, isContrast: boolean): Shares {
  const all = attribution.reduce((sum, value) => sum + Math.abs(value), 0) || 1;
  const kept = (value: number) => (isContrast ? Math.exp(value - score) : score ? value / score : 1);
  return {
    attribution: attribution.map((value) => value / all),
    attention,
    removal: without.map((value) => Math.max(-1, 1 - kept(value))),
  };
}

/** Which of the words each measure points to: none where none counts for the output, or it needs none alone. */
export function pointedTo<M extends Measure>(shares: Shares<M>) {
  const tops = measuresOf(shares).map((measure) => {
    const word = argmax(shares[measure]);
    return [measure, shares[measure][word] > (measure === "removal" ? NEEDED : 0) ? word : null];
  });
  return Object.fromEntries(tops) as Record<M, number | null>;
}

/** @param shown which of the words, in their order @param gold whether a word is linked to the output */
export function whyTable<M extends Measure>(
  words: string[],
  shares: Shares<M>,
  shown: number[],
  gold = (_: number) => false,
) {
  const heading = (i: number): Child =>
    columnHeading(h("span", {}, word(words[i], "source")), { class: gold(i) ? "gold" : "" });
  const cell = (measure: M) => (i: number) => {
    const share = shares[measure][i];
    const tint = 96 * Math.min(1, Math.abs(share));
    const name = `tint ${contrastClass(tint, share < 0)} ${share < 0 ? "against" : ""}`;
    return h("td", { class: name, style: `--tint: ${tint}%`, data: { share } }, fixed(100 * share, 0));
  };
  const rows = measuresOf(shares).map((measure) =>
    h("tr", { "data-measure": measure }, rowHeading(t(`why.${measure}`)), shown.map(cell(measure))),
  );
  return table({ class: "why-table" }, [h("td", {}, "%"), ...shown.map(heading)], rows);
}
