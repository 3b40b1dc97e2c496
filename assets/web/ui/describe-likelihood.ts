// Why a correct sentence can have a low probability.

import { models } from "../api/models.ts";
import type { Run } from "../api/types.ts";
import { formatPercent, joinSentences, nodes } from "../state/i18n.ts";
import { likelihood } from "../state/state.ts";

const CERTAIN = 0.9; // of a whole sentence: needs no explanation

/** The probability of a correct sentence as a product, and what keeps its factors below 1. */
export function explainLikelihood(run: Run) {
  const whole = likelihood(run);
  if (!run.reference?.same || whole > CERTAIN) return [];
  const count = run.steps.length;
  const smoothing = models()[run.checkpoint]?.label_smoothing ?? 0;
  const limit = 1 - smoothing + smoothing / run.model.target_words;
  const places = { count, mean: formatPercent(whole ** (1 / count)), whole: formatPercent(whole) };
  const spread = { spread: formatPercent(smoothing), limit: formatPercent(limit) };
  return joinSentences(nodes("likelihood.product", places), smoothing ? nodes("likelihood.smoothing", spread) : "");
}
