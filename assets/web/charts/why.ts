// Why an output word: what source words have to do with it by several measures, as a table and in words.

import type { Why } from "#schema";
import { NO_ANSWER, reasonOf } from "../api/client.ts";
import type { Child, Places, Run } from "../api/types.ts";
import { argmax } from "../engine/arrays.ts";
import { formatNumber, formatPercent, joinSentences, nodes, t } from "../state/i18n.ts";
import { askAboutRun } from "../state/server-cache.ts";
import { distinctWord, tokenRun } from "../state/words.ts";
import { h, word } from "../ui/dom.ts";
import { fixed } from "../ui/numbers.ts";
import { columnHeading, hint, rowHeading, table } from "../ui/parts.ts";
import { orderKeys } from "./key-order.ts";
import { strength } from "./map-canvas.ts";
import { contrastClass } from "./map-parts.ts";

const MEASURES = ["attribution", "attention", "contribution", "removal"] as const;
export type Measure = (typeof MEASURES)[number];
export type Shares<M extends Measure = Exclude<Measure, "contribution">> = Record<M, number[]>;

export const measuresOf = <M extends Measure>(shares: Shares<M>) => MEASURES.filter((each) => each in shares) as M[];

export const NEEDED = 0.2; // of its probability, or odds, that an output loses without a word that it needs

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

/** @param shown which of the words, in their order @param gold those that are linked to the output */
export function whyTable<M extends Measure>(words: string[], shares: Shares<M>, shown: number[], gold: number[] = []) {
  const heading = (i: number): Child =>
    columnHeading(h("span", {}, word(words[i], "source")), { class: gold.includes(i) ? "gold" : "" });
  const cell = (measure: M) => (i: number) => {
    const share = shares[measure][i];
    const tint = strength(share, 1);
    const name = `tint ${contrastClass(tint, share < 0)} ${share < 0 ? "against" : ""}`;
    return h("td", { class: name, style: `--tint: ${tint}%`, data: { share } }, fixed(100 * share, 0));
  };
  const rows = measuresOf(shares).map((measure) =>
    h("tr", { "data-measure": measure }, rowHeading(t(`why.${measure}`)), shown.map(cell(measure))),
  );
  return table({ class: "why-table" }, [h("td", {}, "%"), ...shown.map(heading)], rows);
}

const MAX_MISSING = 0.05; // of what attributions should add up to

/** `step` is of the run by tokens; `other` is the word that the output is compared with. */
export type Asked = { step: number; answer: Why; other: string | null };

/** The likeliest word beside the output at a step of a run by tokens. */
export function secondWord(run: Run, step: number) {
  const { token, candidates } = tokenRun(run).steps[step];
  return candidates.find((each) => each.token !== token && each.token !== "S" && each.token !== "P")?.token ?? null;
}

/** @param run by words, whose attributions are then of words, or by tokens @param step of the run by tokens */
export const fetchWhy = (run: Run, step: number, other: string | null = null) =>
  askAboutRun("why", { step, other, words: Boolean(run.pieces) }, tokenRun(run));

/** As `fetchWhy`; null where it is refused: a saved run has the answers of some steps. */
export const findWhy = (...asked: Parameters<typeof fetchWhy>) =>
  fetchWhy(...asked).catch((error) => {
    if (reasonOf(error) === NO_ANSWER) throw error;
    return null;
  });

/** @param run by words or by tokens, as it was asked about @param isUnfolded whether all words of many are shown */
export function explainWord(run: Run, asked: Asked, isUnfolded = false) {
  const { answer, other } = asked;
  const words = answer.keys.map((key) => distinctWord(run.source, key));
  const shares = sharesOf(answer, other !== null);
  const named = Object.values(pointedTo(shares)).filter((each) => each !== null);
  const strength = words.map((_, i) => Math.max(...Object.values(shares).map((each) => Math.abs(each[i]))));
  const { shown, rest } = orderKeys(strength, { isOpen: isUnfolded, named });
  return {
    title: nodes(other === null ? "why.of" : "why.against", namesOf(run, asked)),
    said: joinSentences(...describe(run, shares, words, asked)),
    shares,
    table: whyTable(words, shares, shown),
    folded: rest.length,
    warning: isComplete(answer.complete) ? null : hint(t("why.incomplete")),
    about: about(run, asked),
  };
}

/** Else attributions are no evidence: of a random network of a real one's size they may miss by any factor. */
const isComplete = (complete: number) => Math.abs(complete - 1) <= MAX_MISSING;

/** Made anew each time: a node stands in one place. */
const namesOf = (run: Run, { step, other }: Asked) => ({
  token: word(tokenRun(run).steps[step].token, "target"),
  other: word(other ?? "", "target"),
});

function about(run: Run, asked: Asked) {
  const { layers, heads } = run.attention.cross;
  const { step, answer, other } = asked;
  const places = { layers, heads, complete: `${fixed(100 * answer.complete, 1)}%`, ...namesOf(run, asked) };
  const read = tokenRun(run).attention.decoder.allowed.slice(0, step + 1);
  const looksAhead = read.some((row) => row.includes(true, step + 1)); // at words that the step did not have
  return [
    hint(nodes(other === null ? "why.about" : "why.about_lead", places)),
    looksAhead ? hint(t("why.ahead")) : null,
    hint(t("why.debate")),
  ];
}

type Pointed = Record<"attribution" | "attention" | "removal", number | null>;

function whoDiffers({ attribution, attention, removal }: Pointed) {
  if (attribution === null) return "unattributed";
  if (attribution === attention) return attribution === removal ? "same" : "masking";
  if (attribution === removal) return "attention";
  return attention === removal ? "attribution" : "none";
}

/** Whether the three point to one word, and what the output loses without it. */
function describe(run: Run, shares: Shares, words: string[], asked: Asked) {
  const { step, answer, other } = asked;
  const { token, candidates } = tokenRun(run).steps[step];
  const pointed = pointedTo(shares);
  const { attribution, attention, removal } = pointed;
  const name = (i: number | null) => word(words[i ?? 0] ?? "", "source");
  const odds = (lead: number) => {
    const times = formatNumber(Number(Math.exp(Math.abs(lead)).toPrecision(2)));
    return lead < 0 ? `1\u00a0:\u00a0${times}` : `${times}\u00a0:\u00a01`;
  };
  const format = other === null ? formatPercent : odds;
  const places: Places = {
    ...namesOf(run, asked),
    attribution: name(attribution),
    attention: name(attention),
    removal: name(removal),
    score: format(answer.score),
    without: format(answer.without[removal ?? 0]),
    least: format(Math.min(...answer.without)),
    share: formatPercent(NEEDED),
  };
  const of = other === null ? "" : "_lead";
  const isEvidence = isComplete(answer.complete) && attention !== null;
  if (removal !== null)
    return [
      isEvidence ? nodes(`why.odd.${whoDiffers(pointed)}`, places) : "",
      places.score === places.without ? "" : nodes(`why.falls${of}`, places), // of a forced word both may be < 0.01%
    ];
  const isForced = other === null && candidates[0].token !== token;
  const stays = nodes(`why.stays${isForced ? "_forced" : of}`, places);
  return isEvidence && attribution !== null
    ? [stays, nodes(attribution === attention ? "why.still_same" : "why.still", places)]
    : [stays];
}
