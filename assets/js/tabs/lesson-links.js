// What a stop of the lesson leads to in Break it: a place there, or what is broken in the run that is shown.

import { replaceChange } from "../core/changes.js";
import { h } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { state, update } from "../core/state.js";

const TRIES = {
  tokens: { part: "bugs", exercise: "positions_from_ids" },
  positions: {
    breaks: ({ model }) => model.positions && { do: "positions", stack: "encoder", how: "removed", seed: 0 },
  },
  scores: { part: "bugs", exercise: "unscaled" },
  softmax: { breaks: () => ({ do: "temperature", kind: "all", temperature: 5 }) },
  heads: { part: "bugs", exercise: "one_head" },
  residual: {
    breaks: ({ attention }) => ({
      do: "drop_residual",
      stack: "decoder",
      layer: attention.decoder.layers - 1,
      sublayer: 2,
    }),
  },
  masked: { part: "bugs", exercise: "causal_mask" },
  cross: { part: "bugs", exercise: "rank_collapse" },
  logits: { part: "roads", strategy: "sampling" },
  loop: { part: "roads", strategy: "beam" },
};

// What a change of a kind takes the place of.
const CLASH = {
  positions: ({ stack }) => ({ do: "positions", stack }),
  temperature: ({ kind }) => ({ do: "temperature", kind }),
  drop_residual: (one) => one,
};

/** A button that leads there from the stop of this name, or none. */
export function lessonLink(name) {
  if (!Object.hasOwn(TRIES, name)) return null;
  const { breaks, ...place } = TRIES[name];
  const one = breaks?.(state.run);
  if (breaks && !one) return null; // this model has no such part
  const go = () => {
    update({ tab: "break", part: "whatif", ...place });
    if (one) replaceChange(CLASH[one.do](one), one);
  };
  return h("button", { type: "button", class: "link", onclick: go }, t(`lesson.try.${name}`));
}
