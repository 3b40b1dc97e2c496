// Where a stop of the lesson leads in Break it: to an experiment on a sentence for which it shows, or to a place.

import type { State } from "../../api/types.ts";
import { findExperiment, openExperiment } from "../../state/experiments.ts";
import { t } from "../../state/i18n.ts";
import type { StopName } from "../../state/lesson-plan.ts";
import { state, update } from "../../state/state.ts";
import { link } from "../../ui/parts.ts";

/** Each place, with the name of its experiment if it has one. */
const LINKS: Partial<Record<StopName, Partial<State> & { experiment?: string }>> = {
  tokens: { part: "mistakes", exercise: "positions_from_ids" },
  positions: { part: "whatif", experiment: "positions" },
  scores: { part: "mistakes", exercise: "unscaled" },
  softmax: { part: "whatif", experiment: "temperature" },
  heads: { part: "mistakes", exercise: "heads_by_view" },
  residual: { part: "whatif", experiment: "residual" },
  stack: { part: "mistakes", exercise: "rank_collapse" },
  masked: { part: "mistakes", exercise: "causal_mask" },
  cross: { part: "whatif", experiment: "head" },
  logits: { part: "decoding", strategy: "sampling", experiment: "sampling" },
  loop: { part: "decoding", strategy: "beam", experiment: "beam" },
};

export function lessonLink(name: StopName) {
  if (!LINKS[name]) return null;
  const { experiment, ...rest } = LINKS[name];
  const place = { tab: "break", returnStop: state.stop, ...rest };
  const found = experiment && findExperiment(experiment);
  return link(t(`lesson.try.${name}`), () => (found ? openExperiment(found, place) : update(place)));
}
