// What a stop of the lesson leads to in Break it: a place there, and changes to the run that is shown.

import { change } from "./changes.js";
import { h } from "./dom.js";
import { t } from "./i18n.js";
import { state, update } from "./store.js";

const TRIES = {
  tokens: { part: "bugs", exercise: "positions_from_ids" },
  positions: { changes: () => (state.run.model.positions ? [{ do: "positions", stack: "encoder", how: "removed", seed: 0 }] : []) },
  scores: { part: "bugs", exercise: "unscaled" },
  softmax: { changes: () => [{ do: "temperature", kind: "all", temperature: 5 }] },
  heads: { part: "bugs", exercise: "one_head" },
  residual: { changes: () => [{ do: "drop_residual", stack: "decoder", layer: state.run.attention.decoder.layers - 1, sublayer: 2 }] },
  masked: { part: "bugs", exercise: "causal_mask" },
  cross: { part: "bugs", exercise: "rank_collapse" },
  logits: { part: "roads", road: "sampling" },
  loop: { part: "roads", road: "beam" },
};

/** A button that leads there from the stop of this name, or none. */
export function tryOut(name) {
  if (!Object.hasOwn(TRIES, name)) return null;
  const { changes, ...place } = TRIES[name];
  const go = () => {
    update({ tab: "break", part: "whatif", ...place });
    if (changes) change(changes());
  };
  return h("button", { type: "button", class: "link", onclick: go }, t(`lesson.try.${name}`));
}
