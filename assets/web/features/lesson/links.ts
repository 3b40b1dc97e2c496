// Where a stop of the lesson leads in Break it: to an experiment on a sentence for which it shows, where one was found
// by search; else to a place, or to a change of the run that is shown.

import type { Child, Run, State } from "../../api/types.ts";
import { replaceChange } from "../../state/changes.ts";
import { findExperiment, openExperiment } from "../../state/experiments.ts";
import { t } from "../../state/i18n.ts";
import type { StopName } from "../../state/lesson-plan.ts";
import { state, update } from "../../state/state.ts";
import { link } from "../../ui/parts.ts";

type Replacement = Parameters<typeof replaceChange>;

/**
 * `experiment` is its name. Without one `change` gives what it takes the place of, and the change; null where a model
 * has no such part.
 */
const LINKS: Partial<
  Record<StopName, Partial<State> & { experiment?: string; change?: (run: Run) => Replacement | null }>
> = {
  tokens: { part: "mistakes", exercise: "positions_from_ids" },
  positions: {
    experiment: "positions",
    change: ({ model }) =>
      model.positions
        ? [
            { do: "positions", stack: "encoder" },
            { do: "positions", stack: "encoder", how: "removed", seed: 0 },
          ]
        : null,
  },
  scores: { part: "mistakes", exercise: "unscaled" },
  softmax: {
    experiment: "temperature",
    change: () => [
      { do: "temperature", kind: "all" },
      { do: "temperature", kind: "all", temperature: 5 },
    ],
  },
  heads: { part: "mistakes", exercise: "one_head" },
  residual: {
    experiment: "residual",
    change: ({ attention }) => {
      const layer = attention.decoder.layers - 1;
      const one = { do: "drop_residual", stack: "decoder", layer, sublayer: 2 } as const;
      return [one, one];
    },
  },
  stack: { part: "mistakes", exercise: "rank_collapse" },
  masked: { part: "mistakes", exercise: "causal_mask" },
  cross: {
    experiment: "head",
    change: () => {
      const one = { do: "ablate", kind: "cross", layer: state.layer, head: state.head } as const;
      return [one, one];
    },
  },
  logits: { part: "decoding", strategy: "sampling", experiment: "sampling" },
  loop: { part: "decoding", strategy: "beam", experiment: "beam" },
};

/** A button that leads there from the stop of this name, or null. */
export function lessonLink(name: StopName): Child {
  const target = LINKS[name];
  if (!target) return null;
  const { change, experiment, ...rest } = target;
  const place = { tab: "break", part: "whatif", returnStop: state.stop, ...rest };
  const found = experiment ? findExperiment(experiment) : null;
  const replacement = change?.(state.run);
  if (!found && change && !replacement) return null;
  return link(t(`lesson.try.${name}`), () => {
    if (found) {
      openExperiment(found, place);
      return;
    }
    update(place);
    if (replacement) replaceChange(...replacement);
  });
}
