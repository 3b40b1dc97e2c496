// Which layer, which head: buttons in a row for as many as there are.

import { h, numberedOptions, segmented } from "../core/dom.js";
import { t } from "../core/i18n.js";
import { changeDetector } from "../core/parts.js";
import { state, update } from "../core/state.js";

/** @import { AttentionMaps } from "../core/types.d.ts" */

/** {element, draw(maps)}: `draw` after every change, with the maps of the kind that is shown. */
export function headPicker() {
  const element = h("div", { class: "pickers" });
  const hasNewShape = changeDetector();
  /** @type {["layer" | "head", ReturnType<typeof segmented>][]} */
  let pickers = [];
  function draw(/** @type {AttentionMaps} */ { layers, heads }) {
    if (hasNewShape(layers, heads)) {
      pickers = [
        ["layer", segmented(t("layer"), numberedOptions(layers), (value) => update({ layer: Number(value) }))],
        ["head", segmented(t("head"), numberedOptions(heads), (value) => update({ head: Number(value) }))],
      ];
      element.replaceChildren(...pickers.map(([name, each]) => h("span", { class: "pair" }, t(name), each.element)));
    }
    for (const [name, each] of pickers) each.set(state[name]);
  }
  return { element, draw };
}
