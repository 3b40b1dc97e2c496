// Where a stop of the lesson leads in Break it: to a place, or to a change of the run that is shown.

import { replaceChange } from "../core/changes.js";
import { t } from "../core/i18n.js";
import { link } from "../core/parts.js";
import { state, update } from "../core/state.js";

/** @import { Child, Run, State } from "../core/types.d.ts" */
/** @typedef {Parameters<typeof replaceChange>} Replacement */

/**
 * `change` gives what it takes the place of, and the change; null where a model has no such part.
 * @type {Record<string, Partial<State> & { change?: (run: Run) => Replacement | null }>}
 */
const LINKS = {
  tokens: { part: "mistakes", exercise: "positions_from_ids" },
  positions: {
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
    change: () => [
      { do: "temperature", kind: "all" },
      { do: "temperature", kind: "all", temperature: 5 },
    ],
  },
  heads: { part: "mistakes", exercise: "one_head" },
  residual: {
    change: ({ attention }) => {
      const layer = attention.decoder.layers - 1;
      const one = /** @type {const} */ ({ do: "drop_residual", stack: "decoder", layer, sublayer: 2 });
      return [one, one];
    },
  },
  masked: { part: "mistakes", exercise: "causal_mask" },
  cross: { part: "mistakes", exercise: "rank_collapse" },
  logits: { part: "decoding", strategy: "sampling" },
  loop: { part: "decoding", strategy: "beam" },
};

/** A button that leads there from the stop of this name, or null. @param {string} name @returns {Child} */
export function lessonLink(name) {
  if (!Object.hasOwn(LINKS, name)) return null;
  const { change, ...place } = LINKS[name];
  const replacement = change?.(state.run);
  if (change && !replacement) return null;
  return link(t(`lesson.try.${name}`), () => {
    update({ tab: "break", part: "whatif", ...place });
    if (replacement) replaceChange(...replacement);
  });
}
